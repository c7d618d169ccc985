"""The journal: written once, in order, and read in pages."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import pytest

from nodeagent import (
    Commit,
    Conflict,
    Entry,
    Held,
    Require,
    Seq,
    Shared,
    WriteOnce,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab


def _pages(lab: Lab, scope: Held, limit: int) -> list[tuple[Entry, ...]]:
    pages, after = [], Seq(0)
    for _ in range(100):
        page = lab.one.journal.read(scope, after, limit)
        pages.append(page.items)
        if page.next is None:
            return pages
        after = page.items[-1].seq if page.items else after
    raise AssertionError("expected the pages to end, but they go on and on")


def test_get_finds_one_entry(lab: Lab) -> None:
    """By scope and key, as it is in the listing; None if it is not there."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job, ("a", "1")), lab.step(claim.job, ("a", "2")))
    scope = Held(claim.job.owner, "steps")

    found = lab.one.journal.get(scope, ("a", "2"))

    assert found == lab.rows(scope)[1]
    assert lab.one.journal.get(scope, ("a",)) is None
    assert lab.one.journal.get(scope, ("a", "2", "x")) is None
    assert lab.one.journal.get(Held(claim.job.owner, "other"), ("a", "2")) is None


def test_an_unwritten_scope_is_empty(lab: Lab) -> None:
    """Reading what nobody wrote is no error."""
    page = lab.one.journal.read(Held(("job", "absent"), "steps"), Seq(0), 10)

    assert (page.items, page.next) == ((), None)


@pytest.mark.parametrize("limit", [1, 2, 3, 4, 100])
def test_a_scope_is_read_in_pages(lab: Lab, limit: int) -> None:
    """In order of seq, each entry once, however the pages fall."""
    claim = lab.running()
    for number in range(4):
        lab.fenced(claim, lab.step(claim.job, f"step {number}"))

    pages = _pages(lab, Held(claim.job.owner, "steps"), limit)

    entries = [entry for page in pages for entry in page]
    assert [entry.seq for entry in entries] == [1, 2, 3, 4]
    assert [entry.key for entry in entries] == [(f"step {number}",) for number in range(4)]
    assert max(map(len, pages)) <= limit


def test_reading_goes_on_after_a_seq(lab: Lab) -> None:
    """``after`` is a place, and beyond the end there is nothing yet."""
    claim = lab.running()
    scope = Held(claim.job.owner, "steps")
    lab.fenced(claim, *(lab.step(claim.job, f"{number}") for number in range(3)))

    assert [entry.seq for entry in lab.one.journal.read(scope, Seq(1), 10).items] == [2, 3]
    assert lab.one.journal.read(scope, Seq(3), 10).items == ()
    lab.fenced(claim, lab.step(claim.job, "more"))
    assert [entry.seq for entry in lab.one.journal.read(scope, Seq(3), 10).items] == [4]


def test_the_first_record_wins_for_ever(lab: Lab) -> None:
    """Later writers of the key change nothing, even after the job ended and by another door."""
    job = lab.enqueue()
    scope = Shared(job.owner, "wait", "paid")
    version = Require("job", "job", job.header.version)
    lab.commit(version, WriteOnce(scope, lab.entry("1", b"first")))

    for data in (b"second", b"third"):
        with pytest.raises(Conflict) as caught:
            lab.commit(version, WriteOnce(scope, lab.entry("1", data)))
        assert caught.value.found == lab.rows(scope)[0]
    claim = lab.claim()
    with pytest.raises(Conflict):
        lab.fenced(claim, WriteOnce(scope, lab.entry("1", b"held")))

    (entry,) = lab.rows(scope)
    assert entry.value == lab.entry("1", b"first").value


def test_one_of_many_threads_writes(lab: Lab) -> None:
    """Exactly one wins; every other one gets the winner's entry."""
    claim = lab.running()
    scope = Held(claim.job.owner, "steps")
    deeds = [lambda n=n: lab.fenced(claim, lab.step(claim.job, "key", f"{n}".encode())) for n in range(8)]

    answers = lab.race(deeds)

    (entry,) = lab.rows(scope)
    losers = [each for each in answers if isinstance(each, Conflict)]
    assert len(losers) == 7
    assert all((each.kind, each.found) == ("written", entry) for each in losers)


def test_one_of_many_deliveries_wins(lab: Lab) -> None:
    """Through the unfenced door and over several handles too."""
    job = lab.enqueue()
    scope = Shared(job.owner, "wait", "paid")
    version = Require("job", "job", job.header.version)
    handles = [lab.open() for _ in range(4)]

    def deliver(number: int) -> object:
        write = WriteOnce(scope, lab.entry("1", f"{number}".encode()))
        commit = Commit.unfenced(f"deliver {number}", version, write)
        return handles[number % 4].transactions.commit(commit)

    answers = lab.race([partial(deliver, n) for n in range(8)])

    (entry,) = lab.rows(scope)
    losers = [each for each in answers if isinstance(each, Conflict)]
    assert len(losers) == 7
    assert all(each.found == entry for each in losers)


def test_a_reader_sees_prefixes_while_others_write(lab: Lab) -> None:
    """Each page is 1, 2, 3, … without a hole, and grows."""
    claim = lab.running()
    scope = Held(claim.job.owner, "steps")

    def write(writer: int) -> int:
        for number in range(15):
            lab.fenced(claim, lab.step(claim.job, (f"{writer}", f"{number}")))
        return 0

    def read() -> int:
        seen = 0
        for _ in range(30):
            seqs = [entry.seq for entry in lab.rows(scope)]
            assert seqs == list(range(1, len(seqs) + 1))
            assert len(seqs) >= seen
            seen = len(seqs)
        return seen

    answers = lab.race([lambda: write(1), lambda: write(2), read])

    assert not [each for each in answers if isinstance(each, Exception)]
    assert [entry.seq for entry in lab.rows(scope)] == list(range(1, 31))


def test_scopes_of_two_owners_are_two(lab: Lab) -> None:
    """The owner, the door and the path all belong to a scope's name."""
    one, two = lab.running("one"), lab.running("two")
    for claim in (one, two):
        lab.fenced(
            claim,
            lab.step(claim.job, "k", claim.job.id.encode()),
            WriteOnce(Shared(claim.job.owner, "steps"), lab.entry("k", b"shared")),
            WriteOnce(Held(claim.job.owner, "steps", "sub"), lab.entry("k", b"sub")),
        )

    assert [entry.value for entry in lab.rows(Held(one.job.owner, "steps"))] == [lab.entry("k", b"one").value]
    assert [entry.value for entry in lab.rows(Shared(two.job.owner, "steps"))] == [lab.entry("k", b"shared").value]
    assert len(lab.rows(Held(two.job.owner, "steps", "sub"))) == 1
