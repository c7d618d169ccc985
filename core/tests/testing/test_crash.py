"""Crashes at a chosen call: before it, after it, or with its answer lost."""

from __future__ import annotations

import itertools
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest
from attrs import define, field

from nodeagent import Conflict, OutcomeUnknown, Unavailable
from nodeagent.testing import Crash, CrashAt


@define
class Ports:
    """Stands for every port: it remembers what was done to it."""

    done: list[str] = field(factory=list)
    subscribed: list[Callable[[str], None]] = field(factory=list)

    def commit(self, what: str) -> str:
        """Do something."""
        self.done.append(what)
        if what == "refused":
            raise Conflict("exists", "it")
        return f"committed {what}"

    def commit_many(self, many: list[str]) -> list[str]:
        """Do many things."""
        return [self.commit(each) for each in many]

    def get(self, what: str) -> str:
        """Read something."""
        return f"found {what}"

    def notify(self, what: str) -> None:
        """Send a hint."""
        self.done.append(what)

    def subscribe(self, _: list[str], wake: Callable[[str], None]) -> str:
        """Listen."""
        self.subscribed.append(wake)
        return "subscription"


@define
class Backend:
    """The shape of a backend."""

    transactions: Ports
    jobs: Ports
    wakeups: Ports
    namespace: str = "app"
    closed: int = 0

    @classmethod
    def new(cls) -> Backend:
        """Make one whose ports are one."""
        ports = Ports()
        return cls(ports, ports, ports)

    def now(self) -> int:
        """Tell the time."""
        return 17

    def close(self) -> None:
        """Close."""
        self.closed += 1

    def __enter__(self) -> Self:
        """Open."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close."""
        self.close()


def _work(backend: Backend) -> Iterator[Any]:
    yield backend.transactions.commit("a")
    yield backend.jobs.get("a")
    yield backend.transactions.commit("b")
    yield backend.transactions.commit("c")


def test_without_a_point_calls_are_counted_and_named() -> None:
    """By port and method, in order; what is no port's call is not counted."""
    point = CrashAt()
    backend = point.wrap(Backend.new())

    answers = list(_work(backend))
    backend.now()

    assert answers == ["committed a", "found a", "committed b", "committed c"]
    assert point.calls == (
        "transactions.commit#1",
        "jobs.get#1",
        "transactions.commit#2",
        "transactions.commit#3",
    )
    assert not point.crashed


def test_all_else_is_the_backends_own() -> None:
    """Attributes, time, and the end of a with block."""
    inner = Backend.new()

    with CrashAt().wrap(inner) as backend:
        assert (backend.namespace, backend.now()) == ("app", 17)

    assert inner.closed == 1


@pytest.mark.parametrize("call", [3, "transactions.commit#2"])
def test_a_crash_before_a_call_has_no_effect(call: int | str) -> None:
    """The call is named by its number or by its name."""
    inner, point = Backend.new(), CrashAt(call, "before")

    with pytest.raises(Crash) as caught:
        list(_work(point.wrap(inner)))

    assert caught.value.call == "transactions.commit#2"
    assert inner.transactions.done == ["a"]


def test_a_crash_after_a_call_took_effect() -> None:
    """But its answer is never seen."""
    inner, point = Backend.new(), CrashAt(3, "after")
    answers: list[Any] = []

    with pytest.raises(Crash):
        answers.extend(_work(point.wrap(inner)))

    assert inner.transactions.done == ["a", "b"]


def test_a_dead_program_does_nothing_more() -> None:
    """Whatever it tries, on whatever thread, and nobody calls it back."""
    inner, point = Backend.new(), CrashAt("transactions.commit#1", "after")
    backend = point.wrap(inner)
    heard: list[str] = []
    backend.wakeups.subscribe(["x"], heard.append)
    inner.wakeups.subscribed[0]("alive")
    with pytest.raises(Crash):
        backend.transactions.commit("a")

    with pytest.raises(Crash):
        backend.transactions.commit("b")
    with pytest.raises(Crash):
        backend.jobs.get("b")
    inner.wakeups.subscribed[0]("dead")

    assert point.crashed
    assert heard == ["alive"]
    assert inner.transactions.done == ["a"]


def test_a_lost_answer_leaves_its_caller_alive() -> None:
    """The write took effect, the caller does not know, and may ask again."""
    inner, point = Backend.new(), CrashAt("transactions.commit#1", "ack-lost")
    backend = point.wrap(inner)

    with pytest.raises(OutcomeUnknown):
        backend.transactions.commit("a")

    assert backend.transactions.commit("a") == "committed a"
    assert inner.transactions.done == ["a", "a"]
    assert not point.crashed


def test_the_answers_to_many_are_lost_in_their_places() -> None:
    """As the port promises, nothing is raised."""
    backend = CrashAt(1, "ack-lost").wrap(Backend.new())

    answers: list[Any] = [*backend.transactions.commit_many(["a", "b"])]

    assert [type(each) for each in answers] == [OutcomeUnknown, OutcomeUnknown]


def test_a_reader_that_gets_no_answer_may_read_again() -> None:
    """Nothing happened, so nothing is unknown."""
    backend = CrashAt(1, "ack-lost").wrap(Backend.new())

    with pytest.raises(Unavailable):
        backend.jobs.get("a")
    assert backend.jobs.get("a") == "found a"


def test_a_lost_hint_never_raises() -> None:
    """Nor does a subscription."""
    backend = CrashAt("wakeups.notify#1", "ack-lost").wrap(Backend.new())

    backend.wakeups.notify("hint")

    assert backend.wakeups.subscribe([], print) == "subscription"


def test_a_refusal_is_an_answer_that_can_be_lost() -> None:
    """The caller learns of the crash or of nothing, not of the refusal."""
    with pytest.raises(OutcomeUnknown):
        CrashAt(1, "ack-lost").wrap(Backend.new()).transactions.commit("refused")
    with pytest.raises(Crash):
        CrashAt(1, "after").wrap(Backend.new()).transactions.commit("refused")
    with pytest.raises(Conflict):
        CrashAt(2, "after").wrap(Backend.new()).transactions.commit("refused")


def test_two_backends_of_one_program_are_counted_together() -> None:
    """They die together too."""
    point = CrashAt(2, "before")
    one, two = point.wrap(Backend.new()), point.wrap(Backend.new())
    one.transactions.commit("a")

    with pytest.raises(Crash):
        two.transactions.commit("b")
    with pytest.raises(Crash):
        one.transactions.commit("c")


def test_a_sweep_reaches_every_point() -> None:
    """Number by number until nothing crashes any more."""
    crashed = []
    for number in itertools.count(1):
        point = CrashAt(number, "before")
        try:
            list(_work(point.wrap(Backend.new())))
        except Crash as crash:
            crashed.append(crash.call)
        else:
            break

    assert crashed == list(point.calls)


def test_an_unknown_mode_is_refused() -> None:
    """With the list of those there are."""
    with pytest.raises(ValueError, match="before, after, ack-lost"):
        CrashAt(1, "later")  # type: ignore[arg-type]


KILL = """
from types import SimpleNamespace
from nodeagent.testing import CrashAt
port = SimpleNamespace(commit=lambda: print("done", flush=True))
CrashAt(1, {mode!r}, kill=True).wrap(SimpleNamespace(transactions=port)).transactions.commit()
"""


@pytest.mark.parametrize(("mode", "output"), [("before", ""), ("after", "done\n")])
def test_a_process_can_really_be_killed(mode: str, output: str) -> None:
    """By SIGKILL, at the same place."""
    program = KILL.format(mode=mode)

    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)

    assert (found.returncode, found.stdout) == (-signal.SIGKILL, output)
