"""The group of all commands, and what becomes of whatever they raise."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Any, Final

import click

from nodeagent.cli.main import INTERRUPTED
from nodeagent.cli.table import COMMANDS

BROKEN_PIPE: Final = 141
UNEXPECTED: Final = 4


class ReaderLeft(Exception):
    """Whoever read stdout has left."""


class Root(click.Group):
    """The built-in commands, and one for each installed extension; imports only the one that is called."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names in the order of the help."""
        del ctx
        return [*COMMANDS, *_extensions()]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a built-in command, or the one of the extension of this name."""
        del ctx
        if cmd_name in COMMANDS:
            return COMMANDS[cmd_name].load()
        return _extended(cmd_name) if cmd_name in _extensions() else None

    def invoke(self, ctx: click.Context) -> Any:
        """Call the command; click itself would turn a broken pipe into code 1, which says that a job failed."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            raise ReaderLeft from None

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Find the command that was called; name the nearest one if there is none."""
        if not args[0].startswith("-") and self.get_command(ctx, args[0]) is None:
            from nodeagent.cli.printing import command
            from nodeagent.plugins.names import did_you_mean

            near = did_you_mean(args[0], self.list_commands(ctx))
            ctx.fail(f"there is no command {args[0]!r}{near or f'; see {command()} --help'}")
        return super().resolve_command(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands without importing them."""
        del ctx
        with formatter.section("Commands"):
            formatter.write_dl([(name, entry.help) for name, entry in COMMANDS.items()])
        found = _extensions()
        if found:
            with formatter.section("Extensions"):
                formatter.write_dl([(name, f"from {origin}") for name, origin in found.items()])


def _extensions() -> dict[str, str]:
    """Return the names of extensions and where they come from. No extension takes the name of a command."""
    from importlib.metadata import entry_points

    origins = {}
    for point in entry_points(group="nodeagent.extensions"):
        origin = "?" if point.dist is None else f"{point.dist.name} {point.dist.version}"
        origins[point.name] = origin
    return {name: origin for name, origin in sorted(origins.items()) if name not in COMMANDS}


def _extended(name: str) -> click.Command:
    from nodeagent.plugins import load_extension
    from nodeagent.plugins.importing import broken

    extension = load_extension(name)
    group = click.Group(name)
    if "commands" in extension.offers:
        extension.commands(group)
    if name not in group.commands:
        raise broken(extension.info, "extension", f"it adds no command {name!r} to the command line")
    return group.commands[name]


def _version(ctx: click.Context, param: click.Parameter, value: bool) -> None:  # noqa: FBT001 - click calls it
    del param
    if value and not ctx.resilient_parsing:
        from nodeagent import __version__

        click.echo(f"nodeagent {__version__}")
        ctx.exit()


@click.group(cls=Root, invoke_without_command=True, context_settings={"help_option_names": ["-h", "--help"]})
@click.option("--debug", is_flag=True, help="Show tracebacks and the log of every layer.")
@click.option("--version", is_flag=True, expose_value=False, is_eager=True, callback=_version, help="Show the version.")
@click.pass_context
def root(ctx: click.Context, *, debug: bool) -> None:
    """Run the work of AI agents so that it survives crashes.

    Work is stored before it is done, each step is recorded as it ends, and what comes of it is a receipt.
    Whatever dies, the next worker goes on from what is recorded.

    \b
    First steps:
      nodeagent happy-path                                see it survive a kill -9
      nodeagent run --goal "Which …?" --sources docs/     ask your own documents
      nodeagent doctor                                    check this computer
    """  # noqa: D301 - click reads \b
    ctx.obj["debug"] = debug
    if debug:
        import logging

        logging.basicConfig(level=logging.DEBUG, stream=sys.stderr)
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


def called(arguments: Sequence[str]) -> int:
    """Run one command and return the code to exit with."""
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    return _flushed(_guarded(arguments))


def _guarded(arguments: Sequence[str]) -> int:
    state: dict[str, Any] = {"debug": False}
    try:
        answer = root.main(list(arguments), "nodeagent", standalone_mode=False, obj=state)
    except click.Abort as error:
        click.echo("interrupted" if isinstance(error.__cause__, KeyboardInterrupt) else "given up", err=True)
        return INTERRUPTED
    except ReaderLeft:
        return BROKEN_PIPE
    except click.ClickException as error:
        error.show()
        return 2
    except Exception as error:  # noqa: BLE001 - told in one sentence, with the traceback only on demand
        return _told(error, is_debug=state["debug"])
    return answer if isinstance(answer, int) else 0


def _told(error: Exception, *, is_debug: bool) -> int:
    from nodeagent.cli.failing import code_of, sentence_of

    if is_debug:
        import traceback

        traceback.print_exception(error)
    click.echo(f"error: {sentence_of(error)}", err=True)
    return code_of(error, UNEXPECTED)


def _flushed(code: int) -> int:
    """Flush what is still buffered; if the reader of stdout has left, let nobody hear of it."""
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        code = code or BROKEN_PIPE
    except OSError as error:
        code = code or _told(error, is_debug=False)
        _mute()
    if code == BROKEN_PIPE:
        _mute()
    return code


def _mute() -> None:
    """Let what is still buffered go nowhere."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
