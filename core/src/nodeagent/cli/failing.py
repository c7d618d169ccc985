"""What an error is on the command line: one sentence and an exit code.

====  ===============================================================================
code  meaning
====  ===============================================================================
0     done
1     the job failed, is blocked or was canceled; a check or a proof failed; a question was
      not answered with yes
2     the command or the configuration is wrong: a word, a value, a file, a job's id
3     the store failed: unreachable, too busy, damaged, or of another schema; or the
      operating system refused: a full disk, a folder that may not be written to
4     an error that nobody expected: please report it
130   interrupted by Ctrl-C (143: by SIGTERM)
141   whoever read stdout has left
====  ===============================================================================
"""

from __future__ import annotations

import os

from nodeagent.cli.printing import clean, command
from nodeagent.errors import BackendError, NodeAgentError, SchemaMismatch

USAGE = 2
STORE = 3


def code_of(error: Exception, unexpected: int) -> int:
    """Return the exit code of an error that ended a command."""
    if isinstance(error, BackendError) or is_refusal(error):
        return STORE
    return USAGE if isinstance(error, NodeAgentError) else unexpected


def is_refusal(error: Exception) -> bool:
    """Say whether the operating system refused something, in words of its own."""
    return isinstance(error, OSError) and not isinstance(error, NodeAgentError) and bool(error.strerror)


def refusal(error: OSError) -> str:
    """Return what the operating system refused, in one sentence."""
    if not _is_here():
        return "the working directory does not exist any more; change to another one"
    what = "" if error.filename is None else f" {clean(str(error.filename))}"
    return f"the operating system refused{what}: {clean(str(error.strerror))}"


def _is_here() -> bool:
    try:
        return bool(os.getcwd())  # noqa: PTH109 - asks for no more than whether there is one
    except FileNotFoundError:
        return False


def sentence_of(error: Exception) -> str:
    """Return the error in one sentence for people. Of an unexpected one only the type: its text may hold anything."""
    if isinstance(error, OSError) and is_refusal(error):
        return refusal(error)
    if not isinstance(error, NodeAgentError):
        kind = type(error).__name__
        return f"an unexpected {kind} ended the command; `{command()} --debug …` shows where"
    sentence = clean(str(error), keep="\n")
    for note in getattr(error, "__notes__", ()):
        sentence += f"\n({clean(note)})"
    if isinstance(error, SchemaMismatch) and "migrate" not in sentence:
        sentence += f"; run `{command()} migrate`"
    return sentence
