"""The public names of :mod:`nodeagent`, which shows them as its own when one is first asked for."""

from nodeagent.backend import Backend, open_backend, open_provider
from nodeagent.clock import Clock, HostClock
from nodeagent.errors import (
    Aborted,
    BackendError,
    BrokenPlugin,
    ConfigError,
    Conflict,
    Corrupt,
    Diverged,
    DuplicateProvider,
    DurabilityError,
    Fenced,
    IncompatiblePlugin,
    Invalid,
    LeaseLost,
    NodeAgentError,
    NotFound,
    NotLossless,
    OutcomeUnknown,
    PluginError,
    PolicyDenied,
    PortError,
    SchemaMismatch,
    TooLarge,
    Unavailable,
    UnknownOutcome,
    UnknownProvider,
    Unsupported,
)
from nodeagent.hookspecs import API_VERSION, hookimpl
from nodeagent.keys import decode_key, encode_key
from nodeagent.lossless import Json
from nodeagent.ports import (
    ArtifactStore,
    Connection,
    FrameStore,
    JobStore,
    LeaseStore,
    Maintenance,
    Model,
    Policy,
    RunStore,
    Scheduler,
    StepJournal,
    Subscription,
    ToolRuntime,
    Transactions,
    Wakeups,
)
from nodeagent.records import *  # noqa: F403 - the records' own sorted __all__ is the list
from nodeagent.records import __all__ as _records
from nodeagent.rules.retry import RetryPolicy
from nodeagent.rules.specs import FrameRequest
from nodeagent.rules.verdict import Verdict
from nodeagent.runtime.app import App
from nodeagent.runtime.client import Enqueued, Runtime
from nodeagent.runtime.context import AsyncFrameContext, FrameContext
from nodeagent.runtime.events import Event
from nodeagent.runtime.failures import Permanent, Suspended
from nodeagent.runtime.frames import run_durable_reasoning_frame, run_reasoning_frame
from nodeagent.runtime.outcome import Outcome
from nodeagent.runtime.worker import Worker, WorkerOptions

__all__ = [  # noqa: PLE0604 - extended by the records' list
    "API_VERSION",
    "Aborted",
    "App",
    "ArtifactStore",
    "AsyncFrameContext",
    "Backend",
    "BackendError",
    "BrokenPlugin",
    "Clock",
    "ConfigError",
    "Conflict",
    "Connection",
    "Corrupt",
    "Diverged",
    "DuplicateProvider",
    "DurabilityError",
    "Enqueued",
    "Event",
    "Fenced",
    "FrameContext",
    "FrameRequest",
    "FrameStore",
    "HostClock",
    "IncompatiblePlugin",
    "Invalid",
    "JobStore",
    "Json",
    "LeaseLost",
    "LeaseStore",
    "Maintenance",
    "Model",
    "NodeAgentError",
    "NotFound",
    "NotLossless",
    "Outcome",
    "OutcomeUnknown",
    "Permanent",
    "PluginError",
    "Policy",
    "PolicyDenied",
    "PortError",
    "RetryPolicy",
    "RunStore",
    "Runtime",
    "Scheduler",
    "SchemaMismatch",
    "StepJournal",
    "Subscription",
    "Suspended",
    "TooLarge",
    "ToolRuntime",
    "Transactions",
    "Unavailable",
    "UnknownOutcome",
    "UnknownProvider",
    "Unsupported",
    "Verdict",
    "Wakeups",
    "Worker",
    "WorkerOptions",
    "decode_key",
    "encode_key",
    "hookimpl",
    "open_backend",
    "open_provider",
    "run_durable_reasoning_frame",
    "run_reasoning_frame",
    *_records,
]
