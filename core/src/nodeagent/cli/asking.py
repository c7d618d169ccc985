"""What is asked for: the options that `run` and `enqueue` share, and the request they make."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar, cast

import click

from nodeagent.cli.params import DURATION, JSON, due, duration_ms
from nodeagent.errors import Invalid

if TYPE_CHECKING:
    from nodeagent.lossless import Json
    from nodeagent.rules.specs import FrameRequest

F = TypeVar("F", bound=Callable[..., Any])
EVIDENCE: Final = "evidence"
KEYS: Final = (
    "goal",
    "sources",
    "runner",
    "input",
    "job_id",
    "phase",
    "min_confidence",
    "deliverables",
    "queue",
    "tenant",
    "priority",
    "max_attempts",
    "timeout",
    "run_after",
)
"""What a request may say, on the command line and in a line of a file."""

_OPTIONS: Final = (
    click.argument("more_sources", nargs=-1, metavar="[PATH]..."),
    click.option("--goal", metavar="TEXT", help="What the frame is to answer."),
    click.option(
        "--sources",
        multiple=True,
        metavar="PATH",
        help="A file or folder to find the answer in; more may follow it, or repeat the option.",
    ),
    click.option("--runner", help="Who works on it.  [default: evidence]"),
    click.option("--input", type=JSON, help="The runner's input: JSON, or @FILE that holds it."),
    click.option("--job-id", metavar="ID", help="The job's id; the same request under it is stored once."),
    click.option("--phase", help="What the frame is a part of.  [default: answer]"),
    click.option(
        "--min-confidence",
        type=click.Choice(("low", "medium", "high")),
        help="Block an answer that is less sure.  [default: medium]",
    ),
    click.option(
        "--deliverable", "deliverables", multiple=True, metavar="NAME", help="Block an answer that lacks this."
    ),
    click.option("--queue", help="The queue it waits in.  [default: default]"),
    click.option("--tenant", help="For whom.  [default: default]"),
    click.option("--priority", type=click.IntRange(0, 9), help="9 goes first.  [default: 5]"),
    click.option("--max-attempts", type=click.IntRange(1), help="Give up after so many.  [default: 3]"),
    click.option("--timeout", type=DURATION, help="How long one attempt may take: 90s, 5m."),
)


def request_options(command: F) -> F:
    """Add the options of a request to a command."""
    for option in reversed(_OPTIONS):
        command = option(command)
    return command


def wanted(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what was asked for on the command line, without what was not said."""
    sources = [*options.get("sources", ()), *options.get("more_sources", ())]
    said = {key: options.get(key) for key in KEYS if options.get(key) is not None}
    said = {**said, "sources": sources, "deliverables": list(options.get("deliverables", ()))}
    return {key: value for key, value in said.items() if value != []}


def request_of(said: Mapping[str, Any]) -> tuple[str | None, FrameRequest]:
    """Return the job's id, if one was given, and the request.

    Raises :class:`~nodeagent.Invalid` for anything that no request may say.
    """
    from nodeagent.records.policy import PolicyContext
    from nodeagent.rules.specs import FrameRequest

    _check(said)
    runner = said.get("runner", EVIDENCE)
    tenant = said.get("tenant", "default")
    is_evidence = runner == EVIDENCE
    names = {"queue": "queue", "priority": "priority", "max_attempts": "max_attempts", "phase": "phase"}
    names |= {"run_after": "run_after", "min_confidence": "minimum_confidence", "timeout": "timeout_ms"}
    given = {field: said[key] for key, field in names.items() if key in said}
    request = FrameRequest(
        goal=said["goal"],
        runner=runner,
        input=_input(said, is_evidence=is_evidence),
        deliverables=tuple(said.get("deliverables", ("memo",) if is_evidence else ())),
        tenant=tenant,
        policy=PolicyContext(tenant_id=tenant),
        **given,
    )
    return said.get("job_id"), request


def from_line(said: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a line of a file says in the form that the command line has.

    Raises :class:`ValueError` for an unknown key and for a value of the wrong kind.
    """
    from nodeagent.plugins.names import did_you_mean

    for key in said:
        if key not in KEYS:
            raise ValueError(f"there is no key {key!r}{did_you_mean(key, KEYS)}")
    found = dict(said)
    for key in ("sources", "deliverables"):
        if not _is_list_of_texts(found.get(key, [])):
            raise ValueError(f"{key} must be an array of strings")
    for key, read in (("timeout", duration_ms), ("run_after", due)):
        if key in found:
            found[key] = read(str(found[key]))
    return found


def key_of(option: str) -> str:
    """Return the key that a line of a file has for an option; what is no option as it is."""
    return option.removeprefix("--").replace("-", "_") if option.startswith("--") else option


def _check(said: Mapping[str, Any]) -> None:
    from nodeagent.records.ids import check_id

    if "job_id" in said:
        check_id("--job-id", said["job_id"])
    if said.get("timeout", 1) < 1:
        raise Invalid("--timeout", "must be more than nothing; without it an attempt may take as long as it needs")
    if "goal" not in said:
        raise Invalid("--goal", "is required: say what is to be answered")
    if said.get("runner", EVIDENCE) == EVIDENCE and not said.get("sources") and "input" not in said:
        raise Invalid("--sources", "is required: name files or folders to find the answer in")


def _input(said: Mapping[str, Any], *, is_evidence: bool) -> Json:
    given = said.get("input", {})
    sources = said.get("sources")
    if not sources:
        return cast("Json", given)
    if not isinstance(given, dict):
        raise Invalid("--input", "must be a JSON object where sources are given too")
    if "sources" in given:
        raise Invalid("--sources", "is given twice: by itself and within the input")
    return {**given, "sources": _absolute(sources, must_exist=is_evidence)}


def _absolute(sources: Sequence[str], *, must_exist: bool) -> list[Json]:
    """Return the paths as any worker on this computer finds them."""
    for path in sources:
        if not path:
            raise Invalid("--sources", "must not be empty; a dot means this directory")
        if must_exist and not Path(path).exists():
            raise Invalid("--sources", f"names {path!r}, which does not exist")
    return [str(Path(path).absolute()) for path in sources]


def _is_list_of_texts(value: object) -> bool:
    return isinstance(value, list) and all(isinstance(item, str) for item in value)
