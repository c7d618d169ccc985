"""`nodeagent plugins`: what is installed, from metadata alone."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from nodeagent.cli import opening
from nodeagent.cli.printing import clean, put, put_json, put_table, say

if TYPE_CHECKING:
    from nodeagent.plugins import PluginInfo


@click.command(short_help="List the installed providers and extensions.")
@opening.json_option
def plugins(*, as_json: bool) -> None:
    """List the installed providers and extensions. None of them is imported."""
    from nodeagent.plugins import installed_extensions, installed_providers, stale_metadata

    providers, extensions = installed_providers(), installed_extensions()
    if as_json:
        put_json(
            {
                "providers": [_view(info) for info in providers],
                "extensions": [_view(info) for info in extensions],
                "stale": list(stale_metadata()),
            }
        )
        return
    _put("providers", providers)
    put("")
    _put("extensions", extensions)
    for sentence in stale_metadata():
        say(f"warning: {clean(sentence)}")


def _view(info: PluginInfo) -> dict[str, Any]:
    return {
        "name": info.name,
        "distribution": info.distribution,
        "version": info.version,
        "module": info.module,
        "problem": info.problem,
        "is_live": info.is_live,
    }


def _put(title: str, infos: Sequence[PluginInfo]) -> None:
    put(title)
    if not infos:
        put("none is installed")
        return
    rows = [(info.name, info.distribution, info.version, info.problem or "") for info in infos]
    put_table(("name", "distribution", "version", "problem"), rows)
