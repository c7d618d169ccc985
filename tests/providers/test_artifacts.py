"""Artifacts: immutable bytes, addressed by their content."""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from nodeagent import ArtifactInfo, ArtifactRef, NotFound

if TYPE_CHECKING:
    from tests.providers.conftest import Lab

BYTES = [b"", b"\0", b"\n", b"{}\n", bytes(range(256)), b"\r\n\x1a", b"x" * 3_000_000]


@pytest.mark.parametrize("data", BYTES, ids=range(len(BYTES)))
def test_bytes_come_back_as_they_were_put(shelf: Lab, data: bytes) -> None:
    """Byte for byte, under the name of their digest."""
    ref = shelf.one.artifacts.put(data, "application/octet-stream")

    assert ref.id == f"sha256:{hashlib.sha256(data).hexdigest()}"
    assert shelf.one.artifacts.get(ref) == data
    assert type(shelf.one.artifacts.get(ref)) is bytes


def test_what_was_never_put_is_not_found(shelf: Lab) -> None:
    """Neither its bytes nor anything about it."""
    ref = ArtifactRef.of(b"never")

    with pytest.raises(NotFound):
        shelf.one.artifacts.get(ref)
    assert shelf.one.artifacts.stat(ref) is None


def test_stat_tells_size_type_and_age(shelf: Lab) -> None:
    """By the store's clock, to the millisecond."""
    shelf.clock.advance(7)
    ref = shelf.one.artifacts.put(b"12345", "text/plain; charset=utf-8")
    now = shelf.clock.now()
    shelf.clock.advance(1_000)

    info = shelf.one.artifacts.stat(ref)

    assert info == ArtifactInfo(ref=ref, size=5, media_type="text/plain; charset=utf-8", put_at=now)


def test_putting_again_renews_the_age(shelf: Lab) -> None:
    """And nothing else: the first media type stays."""
    first = shelf.one.artifacts.put(b"data", "text/plain")
    shelf.clock.advance(5_000)

    second = shelf.one.artifacts.put(b"data", "image/png")

    info = shelf.one.artifacts.stat(first)
    assert second == first
    assert info is not None
    assert (info.media_type, info.put_at) == ("text/plain", shelf.clock.now())
    assert shelf.one.artifacts.get(first) == b"data"


@pytest.mark.parametrize("media_type", ["x", "a/b\n{}", '"', "\0", "é/\U0001f600", "x" * 512])
def test_any_media_type_comes_back(shelf: Lab, media_type: str) -> None:
    """It is an id like any other."""
    ref = shelf.one.artifacts.put(b"data", media_type)

    info = shelf.one.artifacts.stat(ref)
    assert info is not None
    assert (info.media_type, info.size) == (media_type, 4)
    assert shelf.one.artifacts.get(ref) == b"data"


def test_artifacts_survive_closing_and_opening(shelf: Lab) -> None:
    """Another handle finds them."""
    ref = shelf.one.artifacts.put(b"data", "text/plain")
    shelf.close()

    assert shelf.one.artifacts.get(ref) == b"data"


@pytest.mark.parametrize("name", ["..", "../other", "/", "a/b", "\0", "CON", "é", "A", "a", ".", "x" * 512, "%2e"])
def test_namespaces_do_not_share_artifacts(shelf: Lab, name: str) -> None:
    """Whatever they are called, and however alike."""
    handle = shelf.open(name)
    data = name.encode()
    ref = handle.artifacts.put(data, "text/plain")

    assert handle.artifacts.get(ref) == data
    for other in (shelf.namespace, name + " ", "é" if name != "é" else "e", "A" * 400):
        assert shelf.open(other).artifacts.stat(ref) is None


def test_many_threads_put_the_same_bytes(shelf: Lab) -> None:
    """All get the one name, and nobody ever reads half of it."""
    data = b"z" * 200_000
    ref = ArtifactRef.of(data)

    def read() -> ArtifactRef:
        for _ in range(20):
            if shelf.one.artifacts.stat(ref) is not None:
                assert shelf.one.artifacts.get(ref) == data
        return ref

    put = lambda: shelf.one.artifacts.put(data, "text/plain")  # noqa: E731
    assert shelf.one.artifacts.stat(ref) is None
    answers = shelf.race([put, put, put, read, read])

    assert answers == [ref] * 5


def test_many_threads_put_different_bytes(shelf: Lab) -> None:
    """None is lost."""
    answers = shelf.race(
        [
            lambda n=n: [shelf.one.artifacts.put(f"{n} {i}".encode(), "x") for i in range(10)]  # type: ignore[misc]
            for n in range(6)
        ]
    )

    refs = [ref for refs in answers if isinstance(refs, list) for ref in refs]
    assert len(refs) == 60
    assert [shelf.one.artifacts.get(ref) for ref in refs] == [f"{n} {i}".encode() for n in range(6) for i in range(10)]
