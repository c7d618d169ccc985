"""The application that serves where none is configured: questions to files and folders."""

from nodeagent.evidence import evidence_runner
from nodeagent.runtime.app import App

app = App()
app.add_runner("evidence", evidence_runner)
