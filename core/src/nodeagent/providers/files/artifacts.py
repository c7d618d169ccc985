"""Artifacts as files.

A file begins with one line of JSON that says the media type and the size; the bytes follow. Both come
into being with one rename, so neither can be there without the other. The file's date is its age.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import BinaryIO

from attrs import define

from nodeagent import ArtifactInfo, ArtifactRef, Corrupt, Invalid, Ms, NotFound
from nodeagent.providers.files import disk
from nodeagent.providers.files.connection import FilesConnection
from nodeagent.providers.files.places import place_of

_MOST = 8192
"""Bytes of the first line at most: a media type is an id, and an id has at most 512."""


@define(eq=False)
class FileArtifacts:
    """Bytes by the digest of what they are, one file for each."""

    _connection: FilesConnection

    def put(self, data: bytes, media_type: str) -> ArtifactRef:
        """Store the bytes durably; what is there already is checked, repaired if torn, and renewed."""
        ref = ArtifactRef.of(data)
        ArtifactInfo(ref=ref, size=len(data), media_type=media_type, put_at=self._connection.now())
        path = self._place(ref)
        with disk.told(path):
            disk.make_folder(path.parent)
            is_whole = self._is_whole(ref)
            if is_whole:
                disk.renew(path, self._connection.now())
            else:
                whole = _first_line(media_type, len(data)) + data
                torn = is_whole is False
                disk.write_whole(path, whole, self._connection.now(), replace=torn)
        return ref

    def get(self, ref: ArtifactRef) -> bytes:
        """Return the bytes, whose hash is checked."""
        path = self._place(ref)
        with disk.told(path):
            try:
                with os.fdopen(disk.open_file(path), "rb") as file:
                    _read_label(file, ref)
                    data = file.read()
            except FileNotFoundError:
                raise NotFound(f"no artifact {ref.id!r} is stored in this namespace") from None
        if ArtifactRef.of(data) != ref:
            raise Corrupt(f"the bytes of artifact {ref.id!r} are not the ones that were put")
        return data

    def stat(self, ref: ArtifactRef) -> ArtifactInfo | None:
        """Return size, media type and age, or None."""
        path = self._place(ref)
        with disk.told(path):
            try:
                with os.fdopen(disk.open_file(path), "rb") as file:
                    return _read_label(file, ref)
            except FileNotFoundError:
                return None

    def _place(self, ref: ArtifactRef) -> Path:
        return place_of(self._connection.folder, ref)

    def _is_whole(self, ref: ArtifactRef) -> bool | None:
        """Say whether the stored bytes are right; None if there are none."""
        try:
            self.get(ref)
        except NotFound:
            return None
        except Corrupt:
            return False
        return True


def _first_line(media_type: str, size: int) -> bytes:
    return json.dumps({"media_type": media_type, "size": size}).encode() + b"\n"


def _read_label(file: BinaryIO, ref: ArtifactRef) -> ArtifactInfo:
    """Read the first line, which says media type and size, and compare the size it says with the file's."""
    line = file.readline(_MOST)
    status = os.fstat(file.fileno())
    try:
        said = json.loads(line)
        put_at = Ms(status.st_mtime_ns // 1_000_000)
        info = ArtifactInfo(ref=ref, size=said["size"], media_type=said["media_type"], put_at=put_at)
    except (ValueError, TypeError, KeyError, Invalid, RecursionError):
        raise Corrupt(f"the file of artifact {ref.id!r} does not begin as one does") from None
    if status.st_size != len(line) + info.size:
        raise Corrupt(f"the file of artifact {ref.id!r} has another size than was put")
    return info
