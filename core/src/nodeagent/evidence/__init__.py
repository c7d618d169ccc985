"""The built-in frame runner: it answers a goal from files and folders, and cites every statement.

It gathers text, Markdown, HTML, source code and configuration, ranks passages for the goal with
SQLite's full-text index, and writes a memo of sentences taken from the sources. A quote stands
character for character in the cited file, beginning in the cited line. Nothing is looked up
elsewhere and nothing is made up: when the sources do not cover the goal's words, the confidence is
low and nothing is stated. Equal inputs give equal bytes.
"""

from nodeagent.evidence.limits import Limits
from nodeagent.evidence.runner import Frame, answer, evidence_runner
from nodeagent.evidence.verify import verify_citations

__all__ = ["Frame", "Limits", "answer", "evidence_runner", "verify_citations"]
