"""Sources that cannot be read: each is skipped with a reason, none is an exception."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from nodeagent.evidence import Limits, answer
from nodeagent.evidence.gather import MAX_SKIPPED, Manifest, gather

Write = Callable[[str, str | bytes], str]


def reasons(manifest: Manifest) -> dict[str, str]:
    """Return the reason for each skipped path, by its last name."""
    return {Path(each.source).name: each.reason for each in manifest.skipped}


def taken(*paths: str, limits: Limits | None = None) -> Manifest:
    """Gather some paths."""
    return gather(paths, limits or Limits()).manifest()


def test_a_document_is_named_by_the_given_path_joined_with_the_way_to_it(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Citations use the user's own words for a place, with slashes, sorted by name."""
    for name in ("docs/b/deep.md", "docs/a.md", "docs/c.md"):
        write(name, "text\n")
    monkeypatch.chdir(tmp_path)

    found = taken("docs/", "./docs/c.md")

    assert [each.source for each in found.sources] == ["docs/a.md", "docs/b/deep.md", "docs/c.md"]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("picture.png", b"\x89PNG\x00\x01", "is binary"),
        ("latin.txt", b"caf\xe9", "is not valid UTF-8"),
        ("wide.txt", "wide".encode("utf-16"), "is UTF-16, not UTF-8"),
        ("large.txt", b"x" * 2049, "is larger than 2 KiB"),
        (".secret", b"token", "is hidden"),
    ],
)
def test_what_is_not_text_is_skipped_with_a_reason(
    write: Write, tmp_path: Path, name: str, content: bytes, reason: str
) -> None:
    """One bad file costs itself only."""
    write("good.txt", "The mill grinds rye.\n")
    write(name, content)

    found = taken(str(tmp_path), limits=Limits(max_file_bytes=2048))

    assert reasons(found) == {name: reason}
    assert [Path(each.source).name for each in found.sources] == ["good.txt"]


def test_links_below_a_root_are_never_followed(write: Write, tmp_path: Path) -> None:
    """A link cannot lead out of a folder nor around in it; a root that is a link is what the user meant."""
    write("outside/secret.txt", "The mill grinds rye.")
    write("root/real.txt", "The mill grinds rye.")
    root = tmp_path / "root"
    (root / "leak.txt").symlink_to(tmp_path / "outside" / "secret.txt")
    (root / "loop").symlink_to(root)
    (root / "gone.txt").symlink_to("nowhere")
    (tmp_path / "alias").symlink_to(root)

    found = taken(str(tmp_path / "alias"))

    assert [each.source for each in found.sources] == [(tmp_path / "alias" / "real.txt").as_posix()]
    assert reasons(found) == {
        "leak.txt": "is a symbolic link",
        "loop": "is a symbolic link",
        "gone.txt": "is a broken symbolic link",
    }


def test_pipes_and_devices_are_never_opened(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Opening a FIFO would wait for a writer, opening a device may act; neither happens."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    opened: list[object] = []
    monkeypatch.setattr(os, "open", lambda path, *_: opened.append(path))

    found = taken(str(pipe), str(tmp_path), "/dev/null")

    assert reasons(found) == {"pipe": "is a FIFO, not a file", "null": "is a device, not a file"}
    assert opened == []


def test_a_file_swapped_for_a_pipe_while_it_is_read_is_refused(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the opening another thing may take the name: it is not read, nothing waits."""
    path = Path(write("swap.txt", "text"))
    opens = os.open

    def swapping(name: str, flags: int) -> int:
        path.unlink()
        os.mkfifo(path)
        return opens(name, flags)

    monkeypatch.setattr(os, "open", swapping)
    done: list[Manifest] = []
    thread = threading.Thread(target=lambda: done.append(taken(str(tmp_path))), daemon=True)
    thread.start()
    thread.join(10)

    assert [reasons(found) for found in done] == [{"swap.txt": "was replaced while it was read"}]


def test_an_unreadable_file_and_folder_are_skipped(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What the operating system refuses is told in its own words."""
    write("closed.txt", "text")
    write("folder/inner.txt", "text")

    def refusing(*_: object) -> int:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(os, "open", refusing)

    found = taken(str(tmp_path))

    assert reasons(found) == dict.fromkeys(["closed.txt", "inner.txt"], "cannot be read (Permission denied)")


def test_too_many_files_are_bounded_and_counted(write: Write, tmp_path: Path) -> None:
    """The first files by name are read; the memo says how many were left out."""
    for number in range(130):
        write(f"n{number:03}.txt", f"Jar {number} holds rye.\n")

    limits = Limits(max_files=10)
    found = taken(str(tmp_path), limits=limits)
    page = answer("Which jar holds rye?", [tmp_path], limits).deliverables["memo"].data.decode()

    assert [Path(each.source).name for each in found.sources] == [f"n{number:03}.txt" for number in range(10)]
    assert len(found.skipped) == MAX_SKIPPED
    assert found.more_skipped == {"is beyond the limit of 10 files": 20}
    assert "Skipped: 120 paths" in page
    assert "and 115 more" in page


@pytest.mark.parametrize(
    ("limits", "told"),
    [
        (Limits(max_files=2), "in what was read (3 files were left out by the limit of 2)"),
        (Limits(max_total_bytes=89), "in what was read (1 file was left out by the limit of 89 bytes together)"),
        (Limits(max_file_bytes=19), "in what was read (1 file was left out by the limit of 19 bytes each)"),
        (Limits(), "nowhere in the sources"),
    ],
)
def test_a_word_is_not_said_to_be_nowhere_when_files_were_left_out(
    write: Write, tmp_path: Path, limits: Limits, told: str
) -> None:
    """The reason says what was searched, and what the limits left out."""
    for number in range(4):
        write(f"n{number}.txt", f"Jar {number} holds rye.\n")
    write("n4.txt", "Jar 4 holds much rye.\n")
    page = answer("Which jar holds caviar and rye?", [tmp_path], limits).deliverables["memo"].data.decode()

    assert "“caviar” stands nowhere" in page
    assert told in page.replace("\\", "")


def test_all_bytes_and_all_entries_are_bounded(write: Write, tmp_path: Path) -> None:
    """A tree cannot exhaust memory by many small files or by names alone."""
    for number in range(5):
        write(f"n{number}.txt", "x" * 100)

    by_bytes = taken(str(tmp_path), limits=Limits(max_total_bytes=250))
    by_entries = taken(str(tmp_path), limits=Limits(max_entries=4))

    assert len(by_bytes.sources) == 2
    assert set(reasons(by_bytes).values()) == {"is beyond the limit of bytes in all files together"}
    assert reasons(by_entries) == {tmp_path.name: "is beyond the limit of 4 folder entries"}


def test_a_name_that_is_not_utf8_is_skipped_and_shown_escaped(tmp_path: Path) -> None:
    """Such a name could not be recorded or cited without loss."""
    try:
        Path(os.fsdecode(os.fsencode(tmp_path) + b"/bad\xff.txt")).write_text("text")
    except OSError:
        pytest.skip("this file system accepts UTF-8 names only")

    assert reasons(taken(str(tmp_path))) == {"bad\\udcff.txt": "has a name that is not valid UTF-8"}


def test_the_same_file_given_twice_is_read_once(write: Write, tmp_path: Path) -> None:
    """A file and its folder, or a hard link, do not count twice."""
    path = write("once.txt", "text")
    os.link(path, tmp_path / "twice.txt")

    assert len(taken(path, str(tmp_path), path).sources) == 1


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("missing", "missing does not exist"),
        ("empty", "empty holds no files"),
        ("binary.bin", "binary.bin is binary"),
    ],
)
def test_nothing_to_read_is_one_clear_sentence(
    write: Write, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, path: str, told: str
) -> None:
    """A user's slip in a path is the answer's error, with a memo that says so."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "empty").mkdir()
    write("binary.bin", b"\0")

    found = answer("What does the mill grind?", [path])

    assert found.error == f"No source could be read: {told}."
    assert (found.confidence, found.statements, found.evidence) == ("low", (), ())
    assert f"No source could be read: {told}." in found.deliverables["memo"].data.decode()


def test_a_missing_path_beside_a_good_one_is_named_in_the_memo(write: Write) -> None:
    """The answer goes on without it, and says so."""
    found = answer("What does the mill grind?", [write("mill.txt", "The mill grinds rye."), "/no/such/file"])

    assert found.error is None
    assert found.confidence == "high"
    assert "- does not exist: /no/such/file" in found.deliverables["memo"].data.decode()
