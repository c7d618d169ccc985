"""What the core checks at the ports that a provider implements singly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from attrs import frozen

from nodeagent.errors import Invalid, Unsupported
from nodeagent.ports import ArtifactStore, Subscription, Wakeups
from nodeagent.records.artifact import ArtifactInfo, ArtifactRef
from nodeagent.records.capabilities import Capabilities
from nodeagent.records.ids import check_id
from nodeagent.records.wake import Topic, Wake, Work


@frozen
class GuardedArtifacts:
    """Artifacts, with the arguments checked."""

    _inner: ArtifactStore

    def put(self, data: bytes, media_type: str) -> ArtifactRef:
        """Store bytes."""
        if type(data) is not bytes:
            raise Invalid("data", f"must be bytes, but is of type {type(data).__name__}")
        return self._inner.put(data, check_id("media_type", media_type))

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the bytes."""
        return self._inner.get(_an_artifact(ref))

    def stat(self, ref: ArtifactRef) -> ArtifactInfo | None:
        """Return what is known of an artifact."""
        return self._inner.stat(_an_artifact(ref))


@frozen
class GuardedWakeups:
    """Wake-ups of the declared kinds: a hint of another kind is dropped, a subscription refused."""

    _inner: Wakeups
    _kinds: tuple[type[Wake], ...]

    @classmethod
    def of(cls, inner: Wakeups, declared: Capabilities) -> GuardedWakeups:
        """Guard ``inner`` by what its connection declares."""
        kinds: list[type[Wake]] = [Work] if declared.wakeups_work else []
        kinds += [Topic] if declared.wakeups_topic else []
        return cls(inner, tuple(kinds))

    def notify(self, wakes: Sequence[Wake]) -> None:
        """Send the hints that can be sent."""
        known = [wake for wake in wakes if isinstance(wake, self._kinds)]
        if known:
            self._inner.notify(known)

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Subscription:
        """Subscribe to hints of declared kinds."""
        if not wakes:
            raise Invalid("wakes", "must name at least one hint to subscribe to")
        for one in wakes:
            if not isinstance(one, self._kinds):
                kind = type(one).__name__
                raise Unsupported(f"this backend declares no wake-ups of kind {kind}; look again later")
        return self._inner.subscribe(wakes, wake)


@frozen
class NoWakeups:
    """The wake-ups of a backend that has none: nothing is sent and nothing ever comes."""

    def notify(self, wakes: Sequence[Wake]) -> None:
        """Send nothing."""

    def subscribe(self, wakes: Sequence[Wake], wake: Callable[[Wake], None]) -> Subscription:  # noqa: ARG002
        """Return a subscription that is never called back."""
        return _NoSubscription()


@frozen
class _NoSubscription:
    def close(self) -> None:
        """End nothing."""


def _an_artifact(ref: ArtifactRef) -> ArtifactRef:
    if not isinstance(ref, ArtifactRef):
        raise Invalid("ref", f"must be an ArtifactRef, but is of type {type(ref).__name__}")
    return ref
