"""`nodeagent smoke`: prove the runtime's promises."""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import opening
from nodeagent.cli.adapters import ALIASES
from nodeagent.cli.printing import clean, command, count, put, put_json, say, tick
from nodeagent.cli.proofs import Proof, Proofs, write_json

if TYPE_CHECKING:
    from nodeagent.cli.places import Place
    from nodeagent.config import Config

FRAME: Final = "frame"
DURABLE: Final = "durable"
ALL: Final = "all"
DETAIL_WIDTH: Final = 200


@click.command(short_help="Prove the runtime's promises on a store.")
@click.argument("what", default=ALL, metavar="[frame|durable|PROVIDER|all]")
@click.option("--json-out", type=click.Path(dir_okay=False, path_type=Path), help="Write the JSON to this file too.")
@opening.json_option
@click.pass_context
def smoke(ctx: click.Context, *, what: str, json_out: Path | None, as_json: bool) -> None:
    """Prove the runtime's promises: leases that fence, a write-once journal, replay, receipts.

    \b
    frame      a frame without any store
    durable    a durable frame in memory
    PROVIDER   on this store: one made for the purpose, or the configured backend
               in a namespace of its own that is dropped afterwards
    all        all of these: frame, durable, each installed store that needs no
               configuration, and the configured backend
    """  # noqa: D301 - click reads \b
    began = time.monotonic()
    smokes = [_run(name, place, as_json=as_json) for name, place in _chosen(ALIASES.get(what, what))]
    ctx.exit(_finish(smokes, began, json_out, as_json=as_json))


def smoke_configured(config: Config) -> int:
    """Prove the promises on the configured backend, and return the code to exit with."""
    from nodeagent.cli.places import configured_place

    began = time.monotonic()
    smokes = [_run(config.backend, configured_place(config), as_json=False)]
    return _finish(smokes, began, None, as_json=False)


def _chosen(what: str) -> list[tuple[str, AbstractContextManager[Place] | None]]:
    from nodeagent.cli.places import provider_place

    if what == FRAME:
        return [(FRAME, None)]
    if what == DURABLE:
        return [(DURABLE, provider_place("memory"))]
    return _everything() if what == ALL else [(what, _place(what))]


def _everything() -> list[tuple[str, AbstractContextManager[Place] | None]]:
    """Return what can be proved here. A broken plugin is not a store, and the doctor speaks of it."""
    from nodeagent.cli.places import configured_place, needs_nothing, provider_place
    from nodeagent.config import load
    from nodeagent.plugins import installed_providers

    config = load()
    found: list[tuple[str, AbstractContextManager[Place] | None]] = [*_chosen(FRAME), *_chosen(DURABLE)]
    names = dict.fromkeys(info.name for info in installed_providers() if info.problem is None)
    found += [(name, provider_place(name)) for name in names if name != "memory" and needs_nothing(name)]
    if config.source is not None:
        found.append((f"configured: {config.backend}", configured_place(config)))
    return found


def _place(provider: str) -> AbstractContextManager[Place]:
    from nodeagent.cli.places import configured_place, needs_nothing, provider_place
    from nodeagent.config import load
    from nodeagent.errors import Invalid
    from nodeagent.plugins import load_provider

    if not load_provider(provider).has_ledger:
        raise Invalid(f"the provider {provider!r}", "stores artifacts only, so there is nothing to prove a frame on")
    if needs_nothing(provider):
        return provider_place(provider)
    config = load()
    if config.provider == provider:
        return configured_place(config)
    problem = f"is not configured; run `{command()} adapters setup {provider}`"
    raise Invalid(f"the provider {provider!r}", problem)


def _run(name: str, where: AbstractContextManager[Place] | None, *, as_json: bool) -> Proofs:
    from nodeagent.cli.frameproofs import prove_frame
    from nodeagent.cli.storeproofs import prove_store

    proofs = Proofs(name, shown=_silent if as_json else _show)
    if where is None:
        _title("a frame without a store", as_json=as_json)
        prove_frame(proofs)
    else:
        with where as place:
            _title(f"a durable frame on {place.name}", as_json=as_json)
            prove_store(proofs, place.recipe)
    proofs.end()
    return proofs


def _title(text: str, *, as_json: bool) -> None:
    if not as_json:
        put(f"\n{clean(text)}")


def _show(proof: Proof) -> None:
    put(f"  {tick(ok=proof.ok)} {clean(proof.name)}")
    put(f"      {clean(proof.detail, limit=DETAIL_WIDTH)}  ({proof.ms} ms)")


def _silent(proof: Proof) -> None:
    del proof


def _finish(smokes: Sequence[Proofs], began: float, json_out: Path | None, *, as_json: bool) -> int:
    from nodeagent.cli.storeproofs import view

    document = view(list(smokes), round((time.monotonic() - began) * 1000))
    if json_out is not None:
        write_json(json_out, document)
    if as_json:
        put_json(document)
    else:
        _sum_up(document)
    return 0 if document["ok"] else 1


def _sum_up(document: dict[str, Any]) -> None:
    for absent in document["notApplicable"]:
        say(f"not proved on {clean(absent['smoke'])}: {clean(absent['name'])}, because {clean(absent['why'])}")
    failed = [proof for proof in document["proofs"] if not proof["ok"]]
    total = count(len(document["proofs"]), "proof")
    verdict = f"{total} hold" if not failed else f"{len(failed)} of {total} failed"
    put(f"\n{verdict}  ({document['totalMs']:,} ms)")
