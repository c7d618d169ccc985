"""Goals that the documents answer, with the line that does, and goals that they do not answer."""

from __future__ import annotations

from pathlib import Path

import pytest

from nodeagent.evidence import answer

ANSWERABLE = [
    ("How long does the country loaf rest?", "runbook.md", 13, "rests for sixteen hours"),
    ("What do I do when alarm A2 comes?", "runbook.md", 25, "Move the doughs to the van"),
    ("Which alarm means that the flue is blocked?", "runbook.md", 26, "The flue is blocked"),
    ("Which role weighs the flour?", "runbook.md", 33, "Mixer weighs the flour"),
    ("How long does the deck oven need to reach 250 °C?", "runbook.md", 7, "75 minutes"),
    ("Is brioche dough frozen?", "runbook.md", 17, "never frozen"),
    ("What happens with brioche left over at noon?", "runbook.md", 17, "goes to the canteen"),
    ("What is the default rounding step?", "settings.md", 8, "0.05"),
    ("drawer_timeout", "settings.md", 9, "Seconds until an open drawer beeps"),
    ("max discount", "settings.md", 10, "The largest discount"),
    ("How is the currency changed?", "settings.md", 12, "needs a restart"),
    ("Why is the baking stone never washed?", "oven.html", 10, "makes it crack"),
    ("How often are steam nozzles descaled?", "oven.html", 13, "every Monday"),
    ("What does fault E30 mean?", "oven.html", 20, "The steam valve is stuck"),
    ("When must the starter be fed twice?", "starter.py", 16, "smells of acetone"),
    ("Why is half of the jar discarded?", "starter.py", 19, "never overflows"),
    ("MAX_TEMPERATURE", "starter.py", 4, "MAX_TEMPERATURE = 28"),
    ("Who founded the bakery?", "history.txt", 3, "Agathe Lindqvist"),
    ("When was the wood oven torn down?", "history.txt", 4, "1974"),
    ("Which supplier brings butter?", "history.txt", 9, "Dairy Holm"),
]

UNANSWERABLE = [
    "What is the boiling point of tungsten?",
    "Who won the 1998 football world cup?",
    "Which database port is fastest on Mars?",
    "How do I bake a chocolate cake?",
    "Which wine goes with rye bread?",
    "What is the salary of a cashier?",
    "When was the moon landing?",
    "How does the bakery pay its taxes?",
    "What is the phone number of the mill?",
    "Who is the mayor of the city?",
    "How many customers came last year?",
    "Which alarm clock should I buy?",
    "What did the market crash of 1931 cause?",
    "Which cold war ended in 1991?",
    "What is the meaning of life?",
    "How do I deploy the till to Kubernetes?",
    'tungsten" OR passage MATCH "oven',
    "NEAR(tungsten molybdenum) AND NOT own:*",
]


@pytest.mark.parametrize(("goal", "document", "line", "said"), ANSWERABLE, ids=lambda value: str(value)[:40])
def test_an_answerable_goal_is_answered_from_the_right_line(
    documents: Path, goal: str, document: str, line: int, said: str
) -> None:
    """The answer is confident enough, and its first statements cite the line that answers."""
    found = answer(goal, [documents])

    places = [(Path(each.source).name, each.line) for each in found.evidence]
    stated = [each.text for each in found.statements]
    assert found.confidence in {"medium", "high"}
    assert (document, line) in places[:3]
    assert any(said in text for text in stated[:3])


@pytest.mark.parametrize("goal", UNANSWERABLE)
def test_an_unanswerable_goal_gets_low_confidence_and_no_statement(documents: Path, goal: str) -> None:
    """What the documents do not say is not stated, whatever words it shares with them."""
    found = answer(goal, [documents])

    assert found.confidence == "low"
    assert found.statements == ()
    assert found.error is None
    assert b"The sources do not answer this." in found.deliverables["memo"].data


def test_every_statement_of_every_answer_cites_evidence_that_is_there(documents: Path) -> None:
    """No statement is ungrounded, and no citation points nowhere."""
    for goal, *_ in ANSWERABLE:
        found = answer(goal, [documents])
        known = {each.id for each in found.evidence}

        assert found.statements
        assert all(each.citations and set(each.citations) <= known for each in found.statements)


def test_a_goal_with_one_foreign_word_is_never_answered_with_high_confidence(documents: Path) -> None:
    """A word that stands nowhere in the sources weighs against the answer and is named."""
    found = answer("Which role weighs the flour on Saturn?", [documents])

    assert found.confidence != "high"
    assert "“saturn” stands nowhere".encode() in found.deliverables["memo"].data


@pytest.mark.parametrize(
    "line",
    [
        'nodeagent run --goal "What does a fence hold for?"',
        "WHAT does a *fence*  hold for",
        "- What does\n  a fence hold for?",
    ],
)
def test_a_passage_that_repeats_the_question_is_no_evidence(tmp_path: Path, line: str) -> None:
    """It has all of the goal's words and answers nothing."""
    (tmp_path / "a.md").write_text(f"# Fences\n\n{line}\n\nSheep like grass.\n", encoding="utf-8")

    found = answer("What does a fence hold for?", [tmp_path])

    assert found.confidence == "low"
    assert not any("hold" in each.quote for each in found.evidence)


def test_what_stands_under_the_question_answers_it(tmp_path: Path) -> None:
    """The heading leads to its section, and its words stand in the sources."""
    text = "# How long are backups kept?\n\nThirty days, in the cellar.\n\n# Who bakes?\n\nAgathe does.\n"
    (tmp_path / "faq.md").write_text(text, encoding="utf-8")

    found = answer("How long are backups kept?", [tmp_path])

    assert found.evidence[0].quote == "Thirty days, in the cellar."
    assert b"nowhere" not in found.deliverables["memo"].data


@pytest.mark.parametrize("goal", ["default rounding step", "the rounding step"])
def test_a_goal_that_asks_nothing_may_stand_in_its_answer(tmp_path: Path, goal: str) -> None:
    """Words to look for are no question."""
    (tmp_path / "a.md").write_text("The default rounding step is 0.05.\n", encoding="utf-8")

    assert answer(goal, [tmp_path]).confidence == "high"


def test_a_word_of_the_goal_matches_in_any_form_and_in_camel_case(documents: Path) -> None:
    """Stemming and the parts of camelCase words lead to the same row."""
    goals = ["rounding steps", "roundingStep", "ROUNDED STEP", "rounding_step"]
    found = [answer(goal, [documents]).evidence[0].line for goal in goals]

    assert found == [8, 8, 8, 8]


def test_an_answer_can_be_reached_by_words_that_stand_beside_the_goals_own(write: object) -> None:
    """A row that shares one word with the goal wins by the words that stand beside the best passage."""
    text = """Proof

The demonstration shows:

  • a duplicate order replays the stored receipt
  • the order ledger is idempotent

Drawers

Drawer Purpose
TillDrawer coins and notes
OrderLedger one idempotent entry for each receipt
SpareDrawer bags and string
"""
    path = write("plain.txt", text)  # type: ignore[operator]
    found = answer("Which drawer makes a duplicate order replay a stored receipt?", [path])

    quotes = [each.quote for each in found.evidence]
    assert quotes[0] == "a duplicate order replays the stored receipt"
    assert "OrderLedger one idempotent entry for each receipt" in quotes[:3]
