"""The cases, in the order of the table."""

from benchmarks.cases import artifacts, batches, claims, jobs, replay, startup, steps
from benchmarks.measuring import Case

CASES: dict[str, Case] = {
    "steps-1-thread": steps.one_thread,
    "steps-8-threads": steps.many_threads,
    "steps-32-tasks": steps.many_tasks,
    "cpu": steps.processor_time,
    "commit-many": batches.commit_many,
    "enqueue-many": batches.enqueue_many,
    "enqueue": batches.enqueue_one,
    "jobs": jobs.end_to_end,
    "claims": claims.claims,
    "replay": replay.replay,
    "artifacts": artifacts.artifacts,
    "startup": startup.startup,
}
"""By the name that ``--only`` takes."""
