"""A three-step frame that dies, or loses an answer, at every call that it makes at a port."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import pytest
from attrs import define, field

from nodeagent import Answer, Backend, FrameContext, HostClock, Json, Unavailable
from nodeagent.testing import Crash, CrashAt

if TYPE_CHECKING:
    from core.tests.runtime.conftest import Lab

STEPS = ("a", "b", "c")
LARGE = "x" * 200_000
"""So that artifacts are put, too."""


@define(eq=False)
class World:
    """The effects of the steps, in order, as the world outside sees them."""

    lab: Lab
    effects: list[str] = field(factory=list)

    def register(self) -> None:
        """Register the runner."""

        @self.lab.runner
        def work(context: FrameContext) -> Answer:
            for name in STEPS:
                assert context.step(name, lambda name=name: self.effect(name))  # type: ignore[misc]
            return self.lab.answer(deliverables={"memo": self.lab.memo()})

    def effect(self, name: str) -> Json:
        """Do what a step does, and return a large result for one of them."""
        self.effects.append(name)
        return LARGE if name == "b" else name

    def whole(self, backend: Backend) -> None:
        """Enqueue a job and work on it."""
        runtime = self.lab.runtime(backend)
        runtime._clock = HostClock()  # for the pauses between two requests
        runtime.enqueue(self.lab.request(deliverables=("memo",)), job_id="j")
        runtime.run(self.lab.request(deliverables=("memo",)), job_id="j")
        runtime.close()

    def check(self) -> None:
        """Say that all is well that ends well."""
        lab = self.lab
        assert lab.header("j").status == "completed"
        assert lab.keys("j") == list(STEPS)
        assert len(lab.receipts("j")) == 1
        assert lab.runtime().receipt("j")
        assert lab.backend.leases.get(("job", "j")) is None
        assert [name for name, _ in itertools.groupby(self.effects)] == list(STEPS)
        tokens = [entry.token for entry in (*lab.steps("j"), *lab.receipts("j"))]
        assert tokens == sorted(tokens)


@pytest.fixture
def world(lab: Lab) -> World:
    """A world in which nothing has happened yet."""
    made = World(lab)
    made.register()
    return made


POINTS = 21
"""More calls than the frame makes: a point that is never reached ends well without a crash."""


def test_the_sweep_covers_every_call(world: World) -> None:
    """Should the frame come to make more calls, the number of points must grow."""
    counting = CrashAt()
    world.whole(counting.wrap(world.lab.backend))

    world.check()
    assert 10 < len(counting.calls) <= POINTS


@pytest.mark.parametrize("mode", ["before", "after"])
@pytest.mark.parametrize("call", range(1, POINTS + 1))
def test_a_fresh_process_goes_on_after_a_crash(world: World, call: int, mode: str) -> None:
    """One receipt, no step recorded twice, and at most the effect in flight repeated."""
    point = CrashAt(call, mode)  # type: ignore[arg-type]
    try:
        world.whole(point.wrap(world.lab.backend))
    except Crash:
        recorded = len(world.lab.steps("j"))
        before = len(world.effects)
        world.lab.clock.advance(60_000)
        world.whole(world.lab.backend)
        assert world.effects[before:] == list(STEPS[recorded:])
    assert point.crashed == (call <= len(point.calls))

    world.check()
    assert len(world.effects) <= len(STEPS) + 1


@pytest.mark.parametrize("call", range(1, POINTS + 1))
def test_the_same_process_goes_on_after_a_lost_answer(world: World, call: int) -> None:
    """The call took effect: it is asked for again under its id, and no effect is repeated."""
    backend = CrashAt(call, "ack-lost").wrap(world.lab.backend)
    try:
        world.whole(backend)
    except Unavailable:  # a look before anything began; whoever asked asks again
        world.whole(backend)

    world.check()
    assert world.effects == list(STEPS)
    assert world.lab.header("j").attempts == 1
