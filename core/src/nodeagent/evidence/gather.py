"""Gathering: which files the given paths lead to, what they hold, and what was left out and why.

A path that the user names may be a symbolic link; below it no link is followed, so the walk can
neither leave a given folder nor run in circles. What a link inside the folder points to is read
under its own name. Hidden entries, byte code and installed packages of other languages are left
out. Everything is taken in the order of names, so equal trees give equal manifests.
"""

from __future__ import annotations

import stat
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path, PurePath
from typing import Final

from attrs import define, field, frozen

from nodeagent.evidence.files import (
    Content,
    Identity,
    Unreadable,
    bytes_in_words,
    kind_of,
    look,
    read,
    too_large,
)
from nodeagent.evidence.limits import Limits

MAX_SKIPPED: Final = 100
"""How many skipped paths a manifest names; of the others it keeps only the number per reason."""

_TOO_MANY_FILES: Final = "is beyond the limit of {} files"
_TOO_MANY_ENTRIES: Final = "is beyond the limit of {} folder entries"
_TOO_MANY_BYTES: Final = "is beyond the limit of bytes in all files together"
_LEFT_OUT: Final = frozenset({"node_modules", "__pycache__"})


@frozen(kw_only=True)
class Source:
    """A document that was read: its path as given, the digest and number of its bytes, its lines."""

    source: str
    sha256: str
    size: int
    lines: int


@frozen(kw_only=True)
class Skipped:
    """A path that was not read, and why, as a clause: ``is binary``."""

    source: str
    reason: str


@frozen(kw_only=True)
class Manifest:
    """What was gathered; ``more_skipped`` counts, per reason, what ``skipped`` does not name."""

    sources: tuple[Source, ...] = ()
    skipped: tuple[Skipped, ...] = ()
    more_skipped: dict[str, int] = field(factory=dict)

    def left_out(self, limits: Limits) -> str | None:
        """Say what the limits left out: ``1,000 files were left out by the limit of 2,000``; None if nothing."""
        counts = Counter(each.reason for each in self.skipped) + Counter(self.more_skipped)
        told = [
            f"{counts[reason]:,} {noun if counts[reason] == 1 else noun + 's'}"
            f" {'was' if counts[reason] == 1 else 'were'} left out by the limit of {limit}"
            for reason, noun, limit in _beyond(limits)
            if counts[reason]
        ]
        return "; ".join(told) or None


@define(kw_only=True)
class Gathering:
    """Collects documents within the limits; ``contents`` are at hand for the same process only."""

    limits: Limits
    sources: list[Source] = field(factory=list)
    contents: dict[str, Content] = field(factory=dict)
    skipped: list[Skipped] = field(factory=list)
    more_skipped: Counter[str] = field(factory=Counter)
    seen: set[tuple[int, int]] = field(factory=set)
    total: int = 0
    entries: int = 0

    def manifest(self) -> Manifest:
        """Return what has been gathered so far."""
        return Manifest(
            sources=tuple(self.sources),
            skipped=tuple(self.skipped),
            more_skipped=dict(sorted(self.more_skipped.items())),
        )

    def add(self, path: str) -> None:
        """Gather a file, or every file below a folder, that the user named."""
        name = PurePath(path).as_posix()
        todo = [(name, True)]
        while todo:
            entry, named = todo.pop()
            try:
                todo.extend(reversed(list(self._visit(entry, named=named))))
            except Unreadable as refusal:
                self.skip(entry, refusal.reason)

    def skip(self, name: str, reason: str) -> None:
        """Note a path that is not read."""
        shown = name.encode("utf-8", "backslashreplace").decode()
        if len(self.skipped) < MAX_SKIPPED:
            self.skipped.append(Skipped(source=shown, reason=reason))
        else:
            self.more_skipped[reason] += 1

    def _visit(self, name: str, *, named: bool) -> Iterator[tuple[str, bool]]:
        info = look(name, named=named)
        if (info.st_dev, info.st_ino) in self.seen:
            return
        self.seen.add((info.st_dev, info.st_ino))
        if stat.S_ISDIR(info.st_mode):
            yield from self._folder(name)
        elif stat.S_ISREG(info.st_mode):
            self._file(name, Identity.of(info, named=named))
        elif stat.S_ISLNK(info.st_mode):
            raise Unreadable(_link(name))
        else:
            raise Unreadable(f"is {kind_of(info)}, not a file")

    def _folder(self, name: str) -> Iterator[tuple[str, bool]]:
        try:
            names = sorted(entry.name for entry in Path(name).iterdir())
        except OSError as error:
            raise Unreadable(f"cannot be read ({error.strerror})") from None
        self.entries += len(names)
        if self.entries > self.limits.max_entries:
            raise Unreadable(_TOO_MANY_ENTRIES.format(self.limits.max_entries))
        for entry in names:
            path = (PurePath(name) / entry).as_posix()
            if entry.startswith(".") or entry in _LEFT_OUT:
                self.skip(path, "is hidden" if entry.startswith(".") else "is left out by its name")
            else:
                yield path, False

    def _file(self, name: str, identity: Identity) -> None:
        if len(self.sources) >= self.limits.max_files:
            raise Unreadable(_TOO_MANY_FILES.format(self.limits.max_files))
        if not _is_text(name):
            raise Unreadable("has a name that is not valid UTF-8")
        content = read(name, self.limits.max_file_bytes, identity)
        if self.total + content.size > self.limits.max_total_bytes:
            raise Unreadable(_TOO_MANY_BYTES)
        self.total += content.size
        self.contents[name] = content
        self.sources.append(
            Source(
                source=name,
                sha256=content.sha256,
                size=content.size,
                lines=len(content.text.split("\n")) - content.text.endswith("\n"),
            )
        )


def gather(paths: Sequence[str], limits: Limits) -> Gathering:
    """Read what the given files and folders hold, within the limits."""
    gathering = Gathering(limits=limits)
    for path in paths:
        gathering.add(path)
    return gathering


def _beyond(limits: Limits) -> Iterator[tuple[str, str, str]]:
    """Yield why something is left out by a limit, what it is, and the limit in words."""
    yield _TOO_MANY_FILES.format(limits.max_files), "file", f"{limits.max_files:,}"
    yield _TOO_MANY_BYTES, "file", f"{bytes_in_words(limits.max_total_bytes)} together"
    yield too_large(limits.max_file_bytes), "file", f"{bytes_in_words(limits.max_file_bytes)} each"
    yield _TOO_MANY_ENTRIES.format(limits.max_entries), "folder", f"{limits.max_entries:,} entries"


def _link(name: str) -> str:
    return "is a symbolic link" if Path(name).exists() else "is a broken symbolic link"


def _is_text(name: str) -> bool:
    try:
        name.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True
