"""What can go wrong with a folder of artifacts."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final

from nodeagent import Check
from nodeagent.providers.files.connection import FilesSettings
from nodeagent.providers.files.places import UNFINISHED

_LITTLE: Final = 100 * 1024 * 1024


def checks(settings: FilesSettings) -> list[Check]:
    """Look at the folder; change nothing."""
    path = settings.path.absolute()
    if not path.is_dir():
        return [
            Check(
                name="folder",
                status="failed",
                found=f"{str(path)!r} is no folder",
                remedy="open the backend once, which makes it, or choose another path",
            )
        ]
    return [_writable(path), _private(path), _space(path), _leftovers(path)]


def _writable(path: Path) -> Check:
    if os.access(path, os.R_OK | os.W_OK | os.X_OK):
        return Check(name="folder", status="ok", found=f"{str(path)!r} can be read and written")
    return Check(
        name="folder",
        status="failed",
        found=f"{str(path)!r} may not be read and written by this user",
        remedy="change its owner or its mode, or choose another path",
    )


def _private(path: Path) -> Check:
    mode = path.stat().st_mode & 0o777
    if not mode & 0o077:
        return Check(name="mode", status="ok", found="only its owner may look into it")
    return Check(
        name="mode",
        status="warning",
        found=f"others may look into it: its mode is {mode:03o}",
        remedy=f"chmod 700 {path}",
    )


def _space(path: Path) -> Check:
    free = shutil.disk_usage(path).free
    found = f"{free // 2**20} MiB are free"
    if free >= _LITTLE:
        return Check(name="space", status="ok", found=found)
    return Check(name="space", status="warning", found=found, remedy="free some space")


def _leftovers(path: Path) -> Check:
    count = sum(1 for _ in path.glob(f"*/sha256/*/{UNFINISHED}*"))
    if not count:
        return Check(name="leftovers", status="ok", found="no file is unfinished")
    return Check(
        name="leftovers",
        status="warning",
        found=f"{count} files are unfinished: they are being written, or a crash left them",
        remedy=f"delete files named {UNFINISHED}* that are older than an hour",
    )
