"""The ports: one protocol each, whose docstrings are the promise that a provider makes."""

from nodeagent.ports.artifacts import ArtifactStore
from nodeagent.ports.connection import Connection
from nodeagent.ports.journal import StepJournal
from nodeagent.ports.leases import LeaseStore
from nodeagent.ports.maintenance import Maintenance
from nodeagent.ports.model import Model
from nodeagent.ports.records import FrameStore, JobStore, RunStore
from nodeagent.ports.scheduler import Scheduler
from nodeagent.ports.tools import Policy, ToolRuntime
from nodeagent.ports.transactions import Transactions
from nodeagent.ports.wakeups import Subscription, Wakeups

__all__ = [
    "ArtifactStore",
    "Connection",
    "FrameStore",
    "JobStore",
    "LeaseStore",
    "Maintenance",
    "Model",
    "Policy",
    "RunStore",
    "Scheduler",
    "StepJournal",
    "Subscription",
    "ToolRuntime",
    "Transactions",
    "Wakeups",
]
