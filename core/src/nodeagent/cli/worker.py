"""`nodeagent worker`: work on what is enqueued."""

from __future__ import annotations

import signal
import threading
from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import opening
from nodeagent.cli.interrupts import DONE, EXIT_BY_SIGNAL, News, leave
from nodeagent.cli.journalist import Journalist
from nodeagent.cli.params import DURATION
from nodeagent.cli.printing import clean, say, span

if TYPE_CHECKING:
    from nodeagent.runtime.app import App
    from nodeagent.runtime.client import Runtime
    from nodeagent.runtime.worker import Worker

MAX_CONCURRENCY: Final = 10_000


@click.command(short_help="Work on what is enqueued.")
@opening.app_option
@click.option("--concurrency", type=click.IntRange(1, MAX_CONCURRENCY), help="How many frames at once.")
@click.option("--queue", "queues", multiple=True, metavar="NAME", help="Serve this queue; repeat it for several.")
@click.option("--tenant", "tenants", multiple=True, metavar="NAME", help="Where lanes are told apart by tenant.")
@click.option("--lease", type=DURATION, help="How long a claim holds without a sign of life.")
@click.option("--until-idle", is_flag=True, help="End when nothing becomes due soon.")
@click.option("--max-wait", type=DURATION, help="What soon means.  [default: twice the lease]")
@click.option("--quiet", "-q", is_flag=True, help="Print no line per job.")
@opening.backend_option
@click.option("--json", "as_json", is_flag=True, help="Print every event as a line of JSON.")
@click.pass_context
def worker(
    ctx: click.Context,
    /,
    *,
    app: str | None,
    queues: tuple[str, ...],
    tenants: tuple[str, ...],
    until_idle: bool,
    max_wait: int | None,
    quiet: bool,
    backend: str | None,
    as_json: bool,
    **numbers: int | None,
) -> None:
    """Work on what is enqueued for the runners of an application.

    SIGTERM and Ctrl-C let running frames finish for a while, give back the others, and lose nothing; a
    second signal leaves at once, and another worker goes on when the leases have run out.
    """
    if max_wait is not None and not until_idle:
        raise click.UsageError("--max-wait says when --until-idle ends; give both")
    config = opening.configuration(backend)
    application = opening.application(config, app)
    _check(application, opening.app_name(config, app), queues, tenants)
    with opening.opened(config, application) as runtime:
        _set(runtime, **numbers)
        ours = runtime.worker(queues=queues or ("default",), tenants=tenants or ("default",))
        journalist = Journalist(
            ours.stop, is_quiet=quiet, as_json=as_json, is_canceled=lambda job_id: _is_canceled(runtime, job_id)
        )
        runtime.observers.add(journalist)
        greeting = _serving(runtime, queues or ("default",))
        code = work(ours, greeting, until_idle=until_idle, max_wait_ms=max_wait)
    journalist.sum_up()
    if journalist.is_unread:
        raise BrokenPipeError
    ctx.exit(code)


def work(ours: Worker, greeting: str, **how: Any) -> int:
    """Let the worker run in a thread, and heed signals here. Return the code to exit with."""
    failures: list[BaseException] = []

    def body() -> None:
        try:
            ours.run(**how)
        except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits
            failures.append(error)
        finally:
            news.tell(DONE)

    with News() as news:
        say(greeting)
        threading.Thread(target=body, name="nodeagent-worker", daemon=True).start()
        code = _until_done(ours, news)
    if failures:
        raise failures[0]
    return code


def _until_done(ours: Worker, news: News) -> int:
    first = DONE
    while (number := news.next()) != DONE:
        if first != DONE:
            leave(EXIT_BY_SIGNAL + signal.SIGINT)
        first = number
        ours.stop()
        say("stopping: running frames may finish, the others are given back; a second signal leaves at once")
    return EXIT_BY_SIGNAL + signal.SIGINT if first == signal.SIGINT else 0


def _check(application: App, name: str, queues: tuple[str, ...], tenants: tuple[str, ...]) -> None:
    from nodeagent.errors import Invalid
    from nodeagent.records.ids import check_id

    for option, values in (("--queue", queues), ("--tenant", tenants)):
        for value in values:
            check_id(option, value)
    if not application.runners:
        problem = f"{name} has no runners, so this worker has no lane to serve; register one with @app.runner(…)"
        raise Invalid("--app", problem)


def _set(runtime: Runtime, *, concurrency: int | None, lease: int | None) -> None:
    from attrs import evolve

    if concurrency is not None:
        runtime.options = evolve(runtime.options, concurrency=concurrency)
    if lease is not None:
        runtime.options = evolve(runtime.options, lease_ms=lease)


def _is_canceled(runtime: Runtime, job_id: str) -> bool:
    from nodeagent.errors import NodeAgentError

    try:
        return runtime.job(job_id).header.status == "canceled"
    except NodeAgentError:  # nobody can say now; the worker goes on
        return False


def _serving(runtime: Runtime, queues: tuple[str, ...]) -> str:
    runners = ", ".join(clean(name) for name in sorted(runtime.app.runners))
    lanes = ", ".join(clean(name) for name in queues)
    options = runtime.options
    return (
        f"serving runner {runners} in queue {lanes} of {runtime.backend.name}: up to {options.concurrency} at once,"
        f" leases of {span(options.lease_ms)}; Ctrl-C stops"
    )
