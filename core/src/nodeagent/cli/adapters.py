"""`nodeagent adapters`: which stores there are, and setting one up."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import agreed, clean, command, put, put_json, put_table, say

if TYPE_CHECKING:
    from nodeagent.plugins import Provider

ALIASES: Final = {"sqlite-local": "sqlite"}
"""Names that other tools of this kind use."""
_NEXT: Final = {"files": 'artifacts = "…" under [ports], beside another store'}
FILE: Final = "nodeagent.toml"


@click.group(short_help="List stores, and set one up.")
def adapters() -> None:
    """List stores, and set one up."""


@adapters.command("list", short_help="List the stores that are installed, and those that could be.")
@opening.json_option
def list_(*, as_json: bool) -> None:
    """List the stores that are installed, and those of this project that could be."""
    from nodeagent.plugins import installed_providers
    from nodeagent.plugins.discovery import FIRST_PARTY

    live = [info for info in installed_providers() if info.is_live]
    names = {info.name for info in live}
    absent = [name for name in FIRST_PARTY if name not in names]
    rows: list[dict[str, Any]] = [
        {
            "name": info.name,
            "installed": info.origin,
            "next": _NEXT.get(info.name, f"{command()} adapters setup {info.name}"),
        }
        for info in live
    ]
    rows += [{"name": name, "installed": None, "next": f"pip install nodeagent-{name}"} for name in absent]
    if as_json:
        put_json({"adapters": rows})
        return
    put_table(("name", "installed", "next"), [(r["name"], r["installed"] or "-", r["next"]) for r in rows])


@adapters.command(short_help="Write nodeagent.toml for a store, and check it.")
@click.argument("name")
@click.option("--set", "pairs", multiple=True, metavar="KEY=VALUE", help="A setting; the value is TOML, or a string.")
@click.option("--namespace", help="Isolates this application from others in the same store.")
@click.option("--app", metavar="MODULE:NAME", help="The application that workers import.")
@click.option("--yes", is_flag=True, help="Ask nothing; replace a configuration that is there.")
@click.option("--run", "run_smoke", is_flag=True, help="Prove the store's promises afterwards.")
@click.pass_context
def setup(
    ctx: click.Context,
    *,
    name: str,
    pairs: tuple[str, ...],
    namespace: str | None,
    app: str | None,
    yes: bool,
    run_smoke: bool,
) -> None:
    """Write nodeagent.toml for a store, and check it before it counts.

    \b
    nodeagent adapters setup sqlite --run
    nodeagent adapters setup postgres --set 'dsn={ env = "DATABASE_URL" }'

    On a terminal it asks for what the store needs; elsewhere the options say it. A secret is best written as a
    reference: { env = "NAME" } or { file = "path" }.
    """  # noqa: D301 - click reads \b
    from nodeagent.cli import guide

    provider = _provider(ALIASES.get(name, name))
    asks = sys.stdin.isatty() and not yes
    path = Path.cwd() / FILE
    _may_write(path, asks=asks, yes=yes)
    settings = guide.settings(provider, guide.parse(pairs), asks=asks)
    if namespace is None:
        namespace = guide.namespace(asks=asks)
    text = guide.document(provider.name, settings, namespace=namespace, app=app)
    guide.write(path, text)
    put(f"wrote {FILE}: {provider.name}, checked")
    if not run_smoke:
        say(f"next: {command()} doctor")
        return
    from nodeagent.cli.smoke import smoke_configured

    ctx.exit(smoke_configured(opening.configuration()))


def _provider(name: str) -> Provider:
    from nodeagent.errors import Invalid
    from nodeagent.plugins import load_provider

    provider = load_provider(name)
    if not provider.has_ledger:
        raise Invalid(f"the provider {name!r}", "stores artifacts only, no jobs; name it under [ports] beside another")
    return provider


def _may_write(path: Path, *, asks: bool, yes: bool) -> None:
    if not path.exists() or yes:
        return
    if not asks:
        raise click.UsageError(f"{FILE} is here already and was left as it is; --yes replaces it")
    agreed(f"{clean(str(path))} is here already; replace it?")
