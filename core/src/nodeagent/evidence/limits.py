"""How much the evidence runner reads, and how much it says."""

from __future__ import annotations

from attrs import frozen

MIB = 1024 * 1024


@frozen(kw_only=True)
class Limits:
    """Bounds of one answer; what lies beyond them is skipped, and the memo says so.

    ``max_file_bytes`` bounds one file, ``max_files`` and ``max_total_bytes`` all files together,
    ``max_entries`` the folder entries looked at, ``max_statements`` the sentences of the answer,
    ``max_listed`` the lines of each list in the memo.
    """

    max_file_bytes: int = 2 * MIB
    max_files: int = 2000
    max_total_bytes: int = 48 * MIB
    max_entries: int = 100_000
    max_statements: int = 5
    max_listed: int = 20
