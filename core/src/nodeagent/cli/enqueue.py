"""`nodeagent enqueue`: store requests for a worker."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import asking, opening
from nodeagent.cli.failing import code_of
from nodeagent.cli.params import DUE, parse_json, reason
from nodeagent.cli.printing import clean, count, put, put_json, say
from nodeagent.errors import Invalid

if TYPE_CHECKING:
    from nodeagent.rules.specs import FrameRequest
    from nodeagent.runtime.client import Runtime

BATCH: Final = 200
"""How many are stored in one exchange with the store."""
MAX_PROBLEMS: Final = 20
MAX_COUNT: Final = 1_000_000


@click.command(short_help="Store requests for a worker to work on.")
@asking.request_options
@click.option("--run-after", type=DUE, help="Not before then: 10m, 2h, or 2030-01-31T08:00Z.")
@click.option(
    "--from",
    "source",
    metavar="FILE",
    help="Read one request a line, as a JSON object with the names of these options; - is stdin.",
)
@click.option("--count", "number", type=click.IntRange(1, MAX_COUNT), default=1, help="Store it so many times.")
@opening.backend_option
@opening.json_option
@click.pass_context
def enqueue(
    ctx: click.Context, /, *, source: str | None, number: int, backend: str | None, as_json: bool, **said: Any
) -> None:
    """Store requests for a worker to work on, and print the ids of their jobs.

    \b
    nodeagent enqueue --goal "Which port is used?" --sources docs/
    nodeagent enqueue --from requests.jsonl

    With --from the options are what a line does not say. If one line is wrong, nothing is stored.
    """  # noqa: D301 - click reads \b
    requests = _requests(asking.wanted(said), source, number)
    config = opening.configuration(backend)
    with opening.opened(config) as runtime:
        ctx.exit(_store(runtime, requests, as_json=as_json))


def _requests(said: dict[str, Any], source: str | None, number: int) -> Iterable[tuple[str | None, FrameRequest]]:
    """Return what is to be stored, every piece of it already checked."""
    if source is None:
        job_id, request = asking.request_of(said)
        if number > 1 and job_id is not None:
            raise click.UsageError("--count needs ids of their own for the jobs; leave out --job-id")
        return ((job_id, request) for _ in range(number))
    if number > 1:
        raise click.UsageError("--count and --from exclude each other")
    requests, problems = [], []
    with _lines(source) as lines:
        for place, line in enumerate(lines, 1):
            try:
                requests += _from_line(line, said)
            except ValueError as error:
                problems.append(f"line {place}: {clean(str(error))}")
            if len(problems) > MAX_PROBLEMS:
                break
    _refuse(source, problems)
    if not requests:
        say(f"{_name(source)} holds no request, so nothing was stored")
    return requests


def _name(source: str) -> str:
    return "standard input" if source == "-" else clean(source)


def _from_line(line: str, said: Mapping[str, Any]) -> list[tuple[str | None, FrameRequest]]:
    if not line.strip():
        return []
    found = parse_json(line, "it")
    if not isinstance(found, dict):
        raise ValueError("is no JSON object")  # noqa: TRY004 - a fault of the file, told like the others
    try:
        return [asking.request_of({**said, **asking.from_line(found)})]
    except Invalid as error:
        raise ValueError(asking.key_of(error.what) + str(error).removeprefix(error.what)) from None


def _refuse(source: str, problems: Sequence[str]) -> None:
    if problems:
        more = "\n  - and more" if len(problems) > MAX_PROBLEMS else ""
        listed = "\n  - ".join(["", *problems[:MAX_PROBLEMS]])
        raise click.UsageError(f"nothing was stored, because {_name(source)} has faults:{listed}{more}")


@contextmanager
def _lines(source: str) -> Iterator[IO[str]]:
    if source == "-":
        yield sys.stdin
        return
    try:
        with Path(source).open(encoding="utf-8-sig") as file:
            yield file
    except (OSError, UnicodeDecodeError) as error:
        raise click.UsageError(f"--from: {clean(source)} cannot be read: {reason(error)}") from None


def _store(runtime: Runtime, requests: Iterable[tuple[str | None, FrameRequest]], *, as_json: bool) -> int:
    from nodeagent.runtime.client import Enqueued

    stored: list[dict[str, Any]] = []
    refused: list[dict[str, Any]] = []
    code, waiting, duplicates = 0, iter(requests), 0
    while batch := list(islice(waiting, BATCH)):
        for (job_id, _), answer in zip(batch, runtime.enqueue_many(batch), strict=True):
            if isinstance(answer, Enqueued):
                duplicates += answer.duplicate
                found = {"job_id": answer.job.id, "duplicate": answer.duplicate, "status": answer.job.status}
                stored += [found] if as_json else []
                _put_id(answer.job.id, as_json=as_json)
            else:
                code = max(code, code_of(answer, 1))
                refused.append({"job_id": job_id, "error": str(answer)})
    if as_json:
        put_json({"jobs": stored, "refused": refused})
    _say(duplicates, refused)
    if not runtime.backend.capabilities.shared:
        say("warning: no other process sees this store, so what was stored is gone when this command ends")
    return code


def _put_id(job_id: str, *, as_json: bool) -> None:
    if not as_json:
        put(clean(job_id))


def _say(duplicates: int, refused: Sequence[Mapping[str, Any]]) -> None:
    if duplicates:
        say(f"{count(duplicates, 'job')} had been stored before with the same request")
    for one in refused[:MAX_PROBLEMS]:
        say(f"error: {clean(str(one['error']))}")
    if len(refused) > MAX_PROBLEMS:
        say(f"error: {len(refused) - MAX_PROBLEMS:,} more were refused")
