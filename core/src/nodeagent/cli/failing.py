"""What an error is on the command line: one sentence and an exit code.

====  ===============================================================================
code  meaning
====  ===============================================================================
0     done
1     the job failed, is blocked or was canceled; a check or a proof failed
2     the command or the configuration is wrong: a word, a value, a file, a job's id
3     the store failed: unreachable, too busy, damaged, or of another schema
4     an error that nobody expected: please report it
130   interrupted by Ctrl-C (143: by SIGTERM)
141   whoever read stdout has left
====  ===============================================================================
"""

from __future__ import annotations

from nodeagent.cli.printing import clean
from nodeagent.errors import BackendError, NodeAgentError, SchemaMismatch

USAGE = 2
STORE = 3


def code_of(error: Exception, unexpected: int) -> int:
    """Return the exit code of an error that ended a command."""
    if isinstance(error, BackendError):
        return STORE
    return USAGE if isinstance(error, NodeAgentError) else unexpected


def sentence_of(error: Exception) -> str:
    """Return the error in one sentence for people. Of an unexpected one only the type: its text may hold anything."""
    if not isinstance(error, NodeAgentError):
        kind = type(error).__name__
        return f"an unexpected {kind} ended the command; `nodeagent --debug …` shows where"
    sentence = clean(str(error), keep="\n")
    for note in getattr(error, "__notes__", ()):
        sentence += f"\n({clean(note)})"
    if isinstance(error, SchemaMismatch) and "migrate" not in sentence:
        sentence += "; run `nodeagent migrate`"
    return sentence
