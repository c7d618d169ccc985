"""`nodeagent run`: enqueue a request and work on it here."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import asking, opening
from nodeagent.cli.interrupts import Interrupts
from nodeagent.cli.printing import clean, command, flow, put, put_json, say
from nodeagent.cli.progress import Progress
from nodeagent.cli.receipts import memo_text, parsed, receipt_id, told

if TYPE_CHECKING:
    from nodeagent.rules.specs import FrameRequest
    from nodeagent.runtime.client import Runtime
    from nodeagent.runtime.outcome import Outcome

LONGEST_NAP: Final = 1.0
"""Seconds between two looks at a job that cannot be worked on now."""
WAITING: Final = ("rescheduled", "not_due", "leased", "fenced")


@click.command(short_help="Ask something of your documents, and work on it here.")
@asking.request_options
@opening.app_option
@opening.backend_option
@opening.json_option
@click.option("--quiet", "-q", is_flag=True, help="Show no progress.")
@click.pass_context
def run(
    ctx: click.Context, /, *, app: str | None, backend: str | None, as_json: bool, quiet: bool, **said: Any
) -> None:
    """Enqueue a request and work on it here, until there is an answer.

    \b
    nodeagent run --goal "How long do we keep backups?" --sources handbook/ notes.md

    The memo cites file and line of every statement. Exit code 1: the answer is blocked or failed, with the
    reason. Ctrl-C gives the job back; the same command with --job-id goes on where it stopped.
    """  # noqa: D301 - click reads \b
    job_id, request = asking.request_of(asking.wanted(said))
    config = opening.configuration(backend)
    application = opening.application(config, app)
    _check_runner(request.runner, list(application.runners), opening.app_name(config, app))
    with opening.opened(config, application) as runtime:
        ctx.exit(_run(runtime, request, job_id, as_json=as_json, quiet=quiet))


def _check_runner(runner: str, known: list[str], app: str) -> None:
    from nodeagent.errors import Invalid
    from nodeagent.plugins.names import listed

    if runner not in known:
        sentence = f"names {runner!r}, but the application {app} has only {listed(known)}"
        if runner == asking.EVIDENCE:
            sentence += f"; for questions to documents use --app {opening.BUILT_IN}"
        raise Invalid("--runner", sentence)


def _run(runtime: Runtime, request: FrameRequest, job_id: str | None, *, as_json: bool, quiet: bool) -> int:
    enqueued = runtime.enqueue(request, job_id=job_id)
    job_id = enqueued.job.id
    if not quiet:
        say(f"job {clean(job_id)}{' (it was stored before)' if enqueued.duplicate else ''}")
    progress = Progress(is_quiet=quiet)
    runtime.observers.add(progress)
    worker = runtime.worker()
    with Interrupts(worker) as interrupts, progress:
        try:
            outcome = _work(runtime, worker, job_id, interrupts, progress)
        except KeyboardInterrupt:
            outcome = None
        finally:
            worker.close()
    if outcome is None or (interrupts.asked and outcome.receipt is None):
        return _given_back(job_id, interrupts.code)
    if not quiet:
        say(progress.counts())
    return _shown(runtime, outcome, as_json=as_json, quiet=quiet)


def _work(runtime: Runtime, worker: Any, job_id: str, interrupts: Interrupts, progress: Progress) -> Outcome:
    """Work on the job, or wait for whoever does, until it has ended or a signal came."""
    from nodeagent.runtime.frames import run_durable_reasoning_frame

    while True:
        outcome = run_durable_reasoning_frame(job_id, worker)
        if outcome.status not in WAITING or interrupts.asked:
            return outcome
        if outcome.status == "rescheduled":
            progress.failed(outcome.reason)
        if outcome.status == "leased":
            say(clean(f"waiting: {outcome.reason}"))
        _nap(runtime, job_id, interrupts)


def _nap(runtime: Runtime, job_id: str, interrupts: Interrupts) -> None:
    """Wait until the job can be claimed."""
    from nodeagent.records.lease import OneJob

    while not interrupts.asked:
        peek = runtime.backend.scheduler.peek(OneJob(job_id))
        if peek.jobs:
            return
        due = LONGEST_NAP if peek.next_due is None else (peek.next_due - peek.now) / 1000
        header = runtime.wait(job_id, min(max(due, 0.005), LONGEST_NAP))
        if header.status not in ("queued", "running"):
            return


def _given_back(job_id: str, code: int) -> int:
    say(f"interrupted: job {clean(job_id)} was given back and loses nothing that is recorded")
    say(f"to go on: the same command with --job-id {clean(job_id)}, or {command()} worker --until-idle")
    return code


def _shown(runtime: Runtime, outcome: Outcome, *, as_json: bool, quiet: bool) -> int:
    """Print the answer, and return the code to exit with."""
    job = outcome.job
    code = 1 if job.status in ("failed", "blocked", "canceled") else 0
    if as_json:
        put_json(_document(runtime, outcome, code))
    elif outcome.receipt is None:
        put(f"{job.status}: {clean(outcome.reason or 'no reason is stored')}")
    else:
        _put_answer(runtime, outcome.receipt)
    if outcome.receipt is not None and not quiet:
        _say_more(runtime, outcome)
    return code


def _say_more(runtime: Runtime, outcome: Outcome) -> None:
    """Say whether anything was executed, and where the receipt can be seen again, if it outlives the command."""
    parts = ["it was stored before, and nothing was executed"] if outcome.replayed else []
    if runtime.backend.capabilities.shared:
        parts.append(f"see it again: {command()} receipt {clean(outcome.job.id)}")
    if parts:
        say("; ".join(parts))


def _put_answer(runtime: Runtime, data: bytes) -> None:
    receipt = parsed(data)
    memo = memo_text(runtime.backend, receipt)
    answer = memo.rstrip("\n") if memo is not None else "\n".join(told(receipt))
    if answer:
        put(f"{flow(answer)}\n")
    put(f"verdict: {receipt['verdict']} ({clean(receipt['reason'])})")
    put(f"receipt: {receipt_id(data)}")


def _document(runtime: Runtime, outcome: Outcome, code: int) -> dict[str, Any]:
    document: dict[str, Any] = {
        "job_id": outcome.job.id,
        "status": outcome.job.status,
        "outcome": outcome.status,
        "replayed": outcome.replayed,
        "reason": outcome.reason,
        "exit_code": code,
        "receipt_id": None,
        "receipt": None,
        "memo": None,
    }
    if outcome.receipt is not None:
        receipt = parsed(outcome.receipt)
        memo = memo_text(runtime.backend, receipt)
        found = {"receipt_id": receipt_id(outcome.receipt), "receipt": receipt, "memo": memo}
        document |= {**found, "reason": receipt["reason"]}
    return document
