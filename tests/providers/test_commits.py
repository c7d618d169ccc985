"""Commits: what is written, what repeats, what conflicts, and that nothing is half written."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import pytest
from attrs import evolve

from nodeagent import (
    After,
    At,
    Claim,
    Commit,
    Committed,
    Conflict,
    Corrupt,
    Entry,
    EntryKey,
    Fenced,
    Held,
    Inline,
    JobRecord,
    Ms,
    NodeAgentError,
    Put,
    Release,
    Require,
    Revision,
    Revoke,
    Shared,
    Stored,
    Token,
    Version,
    Write,
    WriteOnce,
)

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

STALE = Version(Revision(7), "somebody")


def _changed(job: JobRecord, state: bytes = b"changed", **header: Any) -> JobRecord:
    return evolve(job, state=state, header=evolve(job.header, **header))


def _snapshot(lab: Lab) -> object:
    """All that a failed commit of these tests could have touched."""
    owner = ("job", "job")
    jobs = [lab.one.jobs.get(name) for name in ("job", "new", "other")]
    frames = [lab.one.frames.get(f"frame of {name}") for name in ("job", "new", "other")]
    scopes = [lab.rows(Held(owner, "steps")), lab.rows(Shared(owner, "audit"))]
    others = lab.one.runs.get("run"), lab.one.leases.get(owner), lab.one.leases.get(("job", "new"))
    return jobs, frames, scopes, others


# --- versions -----------------------------------------------------------------------------------


def test_a_new_record_comes_back_as_written(lab: Lab) -> None:
    """Header, spec and state are stored as given; the version is revision 1 by the commit."""
    job = lab.job(spec=b"\x00spec", state=b"\xffstate", priority=9, round=3, attempts=2)
    frame = lab.frame(job, receipt="sha256:" + "0" * 64)

    lab.commit(Put(None, job), Put(None, frame), commit_id="first")

    version = Version(Revision(1), "first")
    assert lab.one.jobs.get("job") == evolve(job, header=evolve(job.header, version=version))
    stored = lab.one.frames.get(frame.id)
    assert stored == evolve(frame, header=evolve(frame.header, version=version))


def test_runs_and_messages_come_back_as_written(lab: Lab) -> None:
    """The other two kinds of record are stored just so."""
    run = lab.run(ended_at=lab.clock.now(), status="completed")
    message = lab.message(run, 3, role="tool")

    lab.commit(Put(None, run), Put(None, message), commit_id="first")

    version = Version(Revision(1), "first")
    assert lab.one.runs.get("run") == evolve(run, header=evolve(run.header, version=version))
    page = lab.one.runs.messages("conversation", None, 10)
    assert page.items == (evolve(message, header=evolve(message.header, version=version)),)


def test_an_update_raises_the_revision_and_names_its_commit(lab: Lab) -> None:
    """The version says how often and by whom; what the writer put there is ignored."""
    job = lab.enqueue()
    lie = _changed(job, version=Version(Revision(99), "liar"))

    lab.commit(lab.audit(job), Put(job, lie), commit_id="second")

    stored = lab.stored()
    assert stored.header.version == Version(Revision(2), "second")
    assert stored.state == b"changed"


def test_an_update_keeps_the_spec(lab: Lab) -> None:
    """The spec is taken only when the record is created, so a caller may leave it out later."""
    job = lab.enqueue(spec=b"what was asked")

    lab.commit(lab.audit(job), Put(evolve(job, spec=b""), evolve(_changed(job), spec=b"")))

    assert lab.stored().spec == b"what was asked"


def test_every_column_that_rules_change_is_written(lab: Lab) -> None:
    """Status, priority, due time, round, attempts, token and end are written as given."""
    job = lab.enqueue()
    columns: dict[str, Any] = {
        "status": "failed",
        "priority": 0,
        "run_after": None,
        "round": 4,
        "attempts": 7,
        "token": 12,
        "ended_at": lab.clock.now(),
    }

    lab.commit(lab.audit(job), Put(job, _changed(job, **columns)))

    header = lab.stored().header
    assert {name: getattr(header, name) for name in columns} == columns


def test_the_columns_of_frame_run_and_message_are_written(lab: Lab) -> None:
    """A frame's receipt, a run's status and token, and the state of each are rewritten."""
    claim = lab.running()
    frame = claim.frame
    header = evolve(frame.header, receipt="sha256:" + "a" * 64, ended_at=lab.clock.now())
    run = lab.start_run()
    ended = evolve(run.header, status="done", token=Token(5), ended_at=lab.clock.now())
    lab.commit(Put(None, lab.message(run, 1)))
    (message,) = lab.one.runs.messages("conversation", None, 10).items

    lab.fenced(claim, lab.step(claim.job), Put(frame, evolve(frame, header=header, state=b"e")))
    lab.commit(
        lab.audit(run),
        Put(run, evolve(run, header=ended, state=b"s")),
        Put(message, evolve(message, state=b"m")),
    )

    found = lab.one.frames.get(frame.id)
    assert found is not None
    assert (found.header.receipt, found.state) == (header.receipt, b"e")
    assert found.header.ended_at == header.ended_at
    stored = lab.one.runs.get("run")
    assert stored is not None
    assert (stored.header.status, stored.header.token, stored.state) == ("done", 5, b"s")
    assert lab.one.runs.messages("conversation", None, 10).items[0].state == b"m"


def test_a_delay_becomes_a_point_in_time(lab: Lab) -> None:
    """The store adds ``After`` to its own clock when it writes."""
    lab.clock.advance(5)

    job = lab.enqueue(run_after=After(Ms(1_000)))

    assert job.header.run_after == At(lab.clock.now() + 1_000)  # type: ignore[arg-type]


def test_a_point_in_time_and_none_stay(lab: Lab) -> None:
    """``At`` is stored as given, also in the past, and None stays None."""
    past = lab.enqueue("past", run_after=At(Ms(3)))
    never = lab.enqueue("never", run_after=None)

    assert past.header.run_after == At(Ms(3))
    assert never.header.run_after is None


def test_after_is_resolved_in_an_update_too(lab: Lab) -> None:
    """A job that is put back is due so long after the commit."""
    claim = lab.running()
    lab.clock.advance(7)

    job = lab.leave(claim, "queued", run_after=After(Ms(60_000)))

    assert job.header.run_after == At(lab.clock.now() + 60_000)  # type: ignore[arg-type]


# --- entries ------------------------------------------------------------------------------------


def test_the_store_fills_in_place_time_token_and_writer(lab: Lab) -> None:
    """An entry gets seq, the store's time, its fence's token and its commit's id."""
    claim = lab.running()
    lab.clock.advance(11)
    entry = Entry(key=("a", "b"), kind="effect", value=Inline(b"\x00"), attempt=3)

    answer = lab.fenced(claim, WriteOnce(Held(claim.job.owner, "x"), entry), commit_id="c")

    (stored,) = lab.rows(Held(claim.job.owner, "x"))
    token = claim.lease.token
    filled = evolve(entry, seq=1, at=lab.clock.now(), token=token, written_by="c")  # type: ignore[arg-type]
    assert stored == filled
    assert answer == Committed(duplicate=False, fence_holds=True, seqs=(1,))  # type: ignore[arg-type]


def test_what_the_writer_fills_in_is_ignored(lab: Lab) -> None:
    """Seq, time, token and writer are the store's, whatever the writer put there."""
    job = lab.enqueue()
    lie = evolve(lab.entry(), seq=9, at=9, token=9, written_by="liar")  # type: ignore[arg-type]

    lab.commit(Require("job", "job", job.header.version), WriteOnce(Shared(job.owner, "x"), lie))

    (stored,) = lab.rows(Shared(job.owner, "x"))
    assert (stored.seq, stored.at, stored.token) == (1, lab.clock.now(), 0)
    assert stored.written_by != "liar"


def test_a_reference_to_an_artifact_comes_back(lab: Lab) -> None:
    """A ``Stored`` value keeps its reference, digest and size."""
    claim = lab.running()
    value = Stored(ref="sha256:" + "c" * 64, sha256="c" * 64, size=2**40)

    lab.fenced(claim, WriteOnce(Held(claim.job.owner, "x"), Entry(key=("k",), kind="r", value=value)))

    assert lab.rows(Held(claim.job.owner, "x"))[0].value == value


def test_seqs_count_per_scope_without_gaps(lab: Lab) -> None:
    """Each scope counts from 1; the answer gives the places in write order."""
    claim = lab.running()
    other = WriteOnce(Held(claim.job.owner, "other"), lab.entry("o"))

    first = lab.fenced(claim, lab.step(claim.job, "a"), other, lab.step(claim.job, "b"))
    second = lab.fenced(claim, lab.step(claim.job, "c"))

    assert (first.seqs, second.seqs) == ((1, 1, 2), (3,))
    entries = lab.rows(Held(claim.job.owner, "steps"))
    assert [(each.seq, each.key) for each in entries] == [(1, ("a",)), (2, ("b",)), (3, ("c",))]


# --- duplicates ---------------------------------------------------------------------------------


def test_a_repeated_commit_is_a_duplicate(lab: Lab) -> None:
    """It changes nothing and answers the recorded places."""
    claim = lab.running()
    commit = Commit.fenced("c", claim.lease.fence, lab.step(claim.job, "a"), lab.step(claim.job, "b"))
    first = lab.one.transactions.commit(commit)
    before = _snapshot(lab)

    second = lab.one.transactions.commit(commit)

    assert second == evolve(first, duplicate=True)
    assert _snapshot(lab) == before


def test_a_duplicate_is_known_after_later_writers(lab: Lab) -> None:
    """Later entries and later revisions do not hide that a commit was applied."""
    first = Commit.unfenced("c", Put(None, lab.job()), Put(None, lab.frame(lab.job())))
    lab.one.transactions.commit(first)
    job = lab.stored()
    for _ in range(3):
        lab.commit(lab.audit(job), Put(job, _changed(job)))
        job = lab.stored()
    before = _snapshot(lab)

    answer = lab.one.transactions.commit(first)

    assert answer == Committed(duplicate=True, fence_holds=None)
    assert _snapshot(lab) == before


def test_a_duplicate_is_known_after_a_claim_and_an_end(lab: Lab) -> None:
    """Enqueueing again is a duplicate while the job runs and after it ended."""
    job = lab.job()
    commit = Commit.unfenced("c", Put(None, job), Put(None, lab.frame(job)))
    lab.one.transactions.commit(commit)
    claim = lab.claim()

    during = lab.one.transactions.commit(commit)
    lab.leave(claim)
    after = lab.one.transactions.commit(commit)

    assert during.duplicate
    assert after.duplicate


def test_a_duplicate_answers_the_places_of_then(lab: Lab) -> None:
    """The seqs are those of the first delivery, though others wrote behind it."""
    claim = lab.running()
    commit = Commit.fenced("c", claim.lease.fence, lab.step(claim.job, "a"))
    lab.fenced(claim, lab.step(claim.job, "before"))
    lab.one.transactions.commit(commit)
    lab.fenced(claim, lab.step(claim.job, "after"))

    assert lab.one.transactions.commit(commit).seqs == (2,)


def test_a_duplicate_is_known_after_the_fence_was_lost(lab: Lab) -> None:
    """Anchors come before the fence: what was applied is never told as refused."""
    claim = lab.running()
    commit = Commit.fenced("c", claim.lease.fence, lab.step(claim.job))
    lab.one.transactions.commit(commit)
    lab.clock.advance(30_000)
    lab.claim("lane of job")

    answer = lab.one.transactions.commit(commit)

    assert answer == Committed(duplicate=True, fence_holds=False, seqs=(1,))  # type: ignore[arg-type]


def test_a_duplicate_of_leaving_says_that_the_fence_is_gone(lab: Lab) -> None:
    """After a commit with Release nothing further may start, at the first answer or the second."""
    claim = lab.running()
    commit = Commit.fenced("c", claim.lease.fence, lab.step(claim.job), Release())

    first = lab.one.transactions.commit(commit)
    second = lab.one.transactions.commit(commit)

    assert (first.duplicate, first.fence_holds) == (False, False)
    assert (second.duplicate, second.fence_holds) == (True, False)


def test_the_same_key_by_another_commit_is_no_duplicate(lab: Lab) -> None:
    """Only the id decides, not the content."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job, "a", b"same"))

    with pytest.raises(Conflict, match="write-once"):
        lab.fenced(claim, lab.step(claim.job, "a", b"same"))


def test_a_commit_of_which_only_a_part_is_there_is_corrupt(lab: Lab) -> None:
    """Some anchors mine and some not: the store lost half of a commit."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job, "a"), commit_id="c")
    before = _snapshot(lab)

    for key in ("new", "foreign"):
        if key == "foreign":
            lab.fenced(claim, lab.step(claim.job, "foreign"))
            before = _snapshot(lab)
        with pytest.raises(Corrupt):
            lab.fenced(claim, lab.step(claim.job, "a"), lab.step(claim.job, key), commit_id="c")
    assert _snapshot(lab) == before


def test_a_record_and_an_entry_are_anchors_alike(lab: Lab) -> None:
    """Half a commit is Corrupt also when the other half is a record."""
    claim = lab.running()
    run = lab.run("inside", owner=claim.job.owner)
    lab.fenced(claim, Put(None, run), commit_id="c")

    with pytest.raises(Corrupt):
        lab.fenced(claim, Put(None, run), lab.step(claim.job), commit_id="c")
    assert lab.rows(Held(claim.job.owner, "steps")) == ()


def test_a_repeat_after_the_records_were_purged_is_a_new_commit(lab: Lab) -> None:
    """Enqueueing is idempotent until the job is purged."""
    job = lab.job()
    commit = Commit.unfenced("c", Put(None, job), Put(None, lab.frame(job)))
    lab.one.transactions.commit(commit)
    lab.leave(lab.claim())
    lab.clock.advance(1)
    lab.one.maintenance.purge(lab.clock.now(), 10)

    assert not lab.one.transactions.commit(commit).duplicate
    assert lab.stored().header.status == "queued"


# --- conflicts ----------------------------------------------------------------------------------


def _conflict(lab: Lab, *writes: Write, claim: Claim | None = None) -> Conflict:
    before = _snapshot(lab)
    fence = None if claim is None else claim.lease.fence
    with pytest.raises(Conflict) as caught:
        lab.one.transactions.commit(Commit(commit_id=lab.new("refused"), fence=fence, writes=writes))
    assert _snapshot(lab) == before
    return caught.value


def test_a_put_of_what_exists_conflicts(lab: Lab) -> None:
    """*exists*, with the id, and the stored header as what was found."""
    job = lab.enqueue()

    error = _conflict(lab, Put(None, lab.job(spec=b"another")))

    assert (error.kind, error.key, error.expected) == ("exists", "job", None)
    assert error.found == job.header


def test_a_put_of_a_stale_version_conflicts(lab: Lab) -> None:
    """*revision*, with the version that was expected and the stored header."""
    old = lab.enqueue()
    lab.commit(lab.audit(old), Put(old, _changed(old)))

    error = _conflict(lab, lab.audit(old), Put(old, _changed(old, b"late")))

    assert (error.kind, error.key) == ("revision", "job")
    assert (error.expected, error.found) == (old.header.version, lab.stored().header)


def test_the_same_revision_of_another_writer_conflicts(lab: Lab) -> None:
    """A version is the number *and* the commit: a restored history cannot pass for another."""
    job = lab.enqueue()
    twin = Version(job.header.version.revision, "another time line")
    other = evolve(job, header=evolve(job.header, version=twin))

    error = _conflict(lab, lab.audit(job), Put(other, _changed(job)))

    assert (error.kind, error.expected, error.found) == ("revision", twin, job.header)


def test_a_put_of_what_is_gone_conflicts(lab: Lab) -> None:
    """*missing*: nothing is stored under the id."""
    job = evolve(lab.job(), header=evolve(lab.job().header, version=STALE))

    error = _conflict(lab, lab.audit(job), Put(job, _changed(job)))

    assert (error.kind, error.key, error.expected, error.found) == ("missing", "job", STALE, None)


def test_a_taken_key_conflicts_and_gives_the_winner(lab: Lab) -> None:
    """*written*: the loser gets the winner's entry as it is stored."""
    claim = lab.running()
    lab.fenced(claim, lab.step(claim.job, "k", b"winner"))
    (winner,) = lab.rows(Held(claim.job.owner, "steps"))
    write = lab.step(claim.job, "k", b"loser")

    error = _conflict(lab, write, claim=claim)

    assert (error.kind, error.key, error.expected) == ("written", write.key, None)
    assert error.found == winner


def test_a_requirement_that_holds_lets_pass(lab: Lab) -> None:
    """A version that is stored, and an absence that is real, stand in nobody's way."""
    job = lab.enqueue()
    absent = EntryKey(scope=Shared(job.owner, "audit"), key=("absent",))

    answer = lab.commit(
        lab.audit(job),
        Require("job", "job", job.header.version),
        Require("frame", "absent", None),
        Require("entry", absent, None),
    )

    assert not answer.duplicate
    assert lab.stored() == job


def test_a_required_version_that_changed_conflicts(lab: Lab) -> None:
    """*revision*, as for a put."""
    job = lab.enqueue()

    error = _conflict(lab, lab.audit(job), Require("job", "job", STALE))

    assert (error.kind, error.key, error.expected) == ("revision", "job", STALE)
    assert error.found == job.header


def test_a_required_record_that_is_absent_conflicts(lab: Lab) -> None:
    """*missing*, for each kind of record."""
    job = lab.enqueue()

    for kind in ("job", "frame", "run", "message"):
        error = _conflict(
            lab,
            lab.audit(job),
            Require("job", "job", job.header.version),
            Require(kind, "absent", STALE),
        )
        assert (error.kind, error.key, error.found) == ("missing", "absent", None)
        assert error.expected == STALE


def test_a_required_absence_of_what_exists_conflicts(lab: Lab) -> None:
    """*exists*, with the stored header, for each kind of record."""
    run = lab.start_run()
    lab.commit(Put(None, lab.message(run, 1)))
    job = lab.enqueue()
    (message,) = lab.one.runs.messages("conversation", None, 1).items
    frame = lab.one.frames.get(job.header.frame_id)
    assert frame is not None

    for kind, record in (("frame", frame), ("run", run), ("message", message)):
        error = _conflict(
            lab,
            lab.audit(job),
            Require("job", "job", job.header.version),
            Require(kind, record.id, None),  # type: ignore[arg-type]
        )
        assert (error.kind, error.key, error.expected) == ("exists", record.id, None)
        assert error.found == record.header


def test_a_required_absence_of_an_entry_conflicts(lab: Lab) -> None:
    """*written*, with the stored entry: how a park learns of a delivery."""
    claim = lab.running()
    scope = Shared(claim.job.owner, "wait", "paid")
    lab.commit(Require("job", "job", lab.stored().header.version), WriteOnce(scope, lab.entry("1", b"d")))
    key = EntryKey(scope=scope, key=("1",))

    error = _conflict(lab, lab.step(claim.job), Require("entry", key, None), claim=claim)

    assert (error.kind, error.key, error.expected) == ("written", key, None)
    assert error.found == lab.rows(scope)[0]


def test_the_first_failing_write_is_told(lab: Lab) -> None:
    """Preconditions are judged in write order."""
    job = lab.enqueue()
    missing = Require("run", "absent", STALE)
    taken = Put(None, lab.job())

    assert _conflict(lab, lab.audit(job), taken, missing).kind == "exists"
    assert _conflict(lab, missing, Put(None, lab.job("new")), taken).kind == "missing"


def test_a_held_put_that_does_not_match_is_corrupt(lab: Lab) -> None:
    """Only the holder writes: a mismatch under a fence that holds is no conflict."""
    claim = lab.running()
    stale = evolve(claim.job, header=evolve(claim.job.header, version=STALE))
    gone = lab.frame(lab.job("gone"), owner=claim.job.owner, version=STALE)
    before = _snapshot(lab)

    for put in (Put(stale, _changed(claim.job)), Put(gone, gone)):
        with pytest.raises(Corrupt):
            lab.fenced(claim, lab.step(claim.job), put)
    assert _snapshot(lab) == before


def test_a_held_put_of_something_new_that_exists_conflicts(lab: Lab) -> None:
    """A new record's id may be taken by somebody else without anything being broken."""
    claim = lab.running()
    lab.start_run("run")

    error = _conflict(lab, Put(None, lab.run("run", owner=claim.job.owner)), claim=claim)

    assert error.kind == "exists"


def test_a_held_requirement_about_others_conflicts(lab: Lab) -> None:
    """A holder may require what it does not own, and learns of a change by a conflict."""
    claim = lab.running()
    other = lab.enqueue("other")
    lab.commit(lab.audit(other), Put(other, _changed(other)))

    error = _conflict(lab, lab.step(claim.job), Require("job", "other", other.header.version), claim=claim)

    assert error.kind == "revision"


# --- all or nothing -----------------------------------------------------------------------------


def _bad_exists(lab: Lab, _: Claim) -> Write:
    return Put(None, lab.run("run"))


def _bad_key(lab: Lab, claim: Claim) -> Write:
    return lab.step(claim.job, "taken")


def _bad_version(_: Lab, __: Claim) -> Write:
    return Require("job", "job", STALE)


def _bad_missing(_: Lab, __: Claim) -> Write:
    return Require("run", "absent", STALE)


def _bad_absence(_: Lab, claim: Claim) -> Write:
    return Require("frame", claim.frame.id, None)


def _bad_entry(lab: Lab, claim: Claim) -> Write:
    return Require("entry", lab.step(claim.job, "taken").key, None)


def _bad_put(_: Lab, claim: Claim) -> Write:
    stale = evolve(claim.frame, header=evolve(claim.frame.header, version=STALE))
    return Put(stale, claim.frame)


BAD = [_bad_exists, _bad_key, _bad_version, _bad_missing, _bad_absence, _bad_entry, _bad_put]


@pytest.mark.parametrize("bad", BAD, ids=lambda bad: bad.__name__.removeprefix("_bad_"))
def test_a_held_commit_is_all_or_nothing(lab: Lab, bad: Callable[[Lab, Claim], Write]) -> None:
    """Whatever fails, in whatever place: nothing of the others is written, and no place is taken."""
    claim = lab.running()
    lab.start_run()
    lab.fenced(claim, lab.step(claim.job, "taken"))
    good: list[Write] = [
        lab.step(claim.job, "a"),
        Put(claim.job, _changed(claim.job)) if bad is not _bad_version else lab.audit(claim.job),
        Put(None, lab.run("new", owner=claim.job.owner)),
        lab.step(claim.job, "b"),
        Release(),
    ]
    before = _snapshot(lab)

    for place in range(len(good) + 1):
        writes = (*good[:place], bad(lab, claim), *good[place:])
        commit = Commit(commit_id=lab.new("bad"), fence=claim.lease.fence, writes=writes)
        with pytest.raises((Conflict, Corrupt)):
            lab.one.transactions.commit(commit)
        assert _snapshot(lab) == before
        assert lab.one.runs.get("new") is None

    assert lab.fenced(claim, lab.step(claim.job, "next")).seqs == (2,)


def test_an_unfenced_commit_is_all_or_nothing(lab: Lab) -> None:
    """A revoke too is undone, or rather never done, when a later write is refused."""
    claim = lab.running()
    job = claim.job
    good: list[Write] = [
        Revoke(job.owner),
        lab.audit(job),
        Put(job, _changed(job)),
        Put(None, lab.job("new")),
    ]
    before = _snapshot(lab)

    for place in range(len(good) + 1):
        writes = (*good[:place], Require("run", "absent", STALE), *good[place:])
        with pytest.raises(Conflict):
            lab.one.transactions.commit(Commit(commit_id=lab.new(), fence=None, writes=writes))
        assert _snapshot(lab) == before

    assert lab.fenced(claim, lab.step(job)).fence_holds


# --- many ---------------------------------------------------------------------------------------


def test_many_commits_are_independent(lab: Lab) -> None:
    """Each is an atom of its own: a refused one stands in its place and disturbs no other."""
    claim = lab.running()
    job = lab.enqueue("other")
    lost = evolve(claim.lease, claim_id="somebody else's").fence
    half = lab.step(claim.job, "half")
    lab.fenced(claim, half, commit_id="half")
    commits = [
        Commit.fenced(lab.new(), claim.lease.fence, lab.step(claim.job, "a")),
        Commit.unfenced(lab.new(), Put(None, lab.job("other"))),
        Commit.fenced(lab.new(), lost, lab.step(claim.job, "b")),
        Commit.fenced("half", claim.lease.fence, half, lab.step(claim.job, "b")),
        Commit.unfenced(lab.new(), lab.audit(job), Put(job, _changed(job))),
        Commit.fenced("half", claim.lease.fence, half),
        Commit.fenced(lab.new(), claim.lease.fence, lab.step(claim.job, "c")),
    ]

    answers = lab.one.transactions.commit_many(commits)

    kinds = [type(each) for each in answers]
    assert kinds == [Committed, Conflict, Fenced, Corrupt, Committed, Committed, Committed]
    assert [each.seqs for each in answers if isinstance(each, Committed)] == [(2,), (1,), (1,), (3,)]
    assert lab.stored("other").state == b"changed"
    keys = [each.key for each in lab.rows(Held(claim.job.owner, "steps"))]
    assert keys == [("half",), ("a",), ("c",)]


def test_many_commits_see_one_another_in_order(lab: Lab) -> None:
    """What one writes the next one finds."""
    commits = [Commit.unfenced(lab.new(), Put(None, lab.job("same"))) for _ in range(3)]

    first, *others = lab.one.transactions.commit_many(commits)

    assert isinstance(first, Committed)
    assert [each.kind for each in others if isinstance(each, Conflict)] == ["exists", "exists"]


def test_no_commits_have_no_answers(lab: Lab) -> None:
    """An empty sequence is answered by an empty one."""
    assert list(lab.one.transactions.commit_many([])) == []


def test_a_thousand_jobs_go_in_together(lab: Lab) -> None:
    """Enqueueing many at once is what the verb is for."""
    jobs = [lab.job(f"job {n:04}") for n in range(1_000)]
    commits = [Commit.unfenced(job.id, Put(None, job), Put(None, lab.frame(job))) for job in jobs]

    answers = lab.one.transactions.commit_many(commits)
    again = lab.one.transactions.commit_many(commits)

    assert {type(each) for each in answers} == {Committed}
    assert all(isinstance(each, Committed) and each.duplicate for each in again)


def test_no_message_tells_a_payload(lab: Lab) -> None:
    """An error says which id and why, and never what was stored."""
    claim = lab.running(state=b"SECRET", spec=b"SECRET")
    lab.fenced(claim, lab.step(claim.job, "k", b"SECRET"))

    errors: list[NodeAgentError] = [
        _conflict(lab, lab.step(claim.job, "k", b"SECRET"), claim=claim),
        _conflict(lab, Put(None, lab.job(state=b"SECRET"))),
    ]

    assert all("SECRET" not in f"{error} {error!r} {vars(error)!r}" for error in errors)
