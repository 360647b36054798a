"""The command line with typer: every command, each imported when it is called."""

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from inspect import cleandoc
from keyword import iskeyword
from typing import Annotated, Any, Literal

import typer
from typer.completion import completion_init  # type: ignore[attr-defined]
from typer.core import TyperGroup

from mmapqueue._cli import overview
from mmapqueue._cli.status import DONE, INTERRUPTED, USAGE
from mmapqueue._values.version import __version__

#: The environment variable by which a shell's completion calls the program.
COMPLETE = "_MMAPQUEUE_COMPLETE"
#: A class of typer, or of click in a typer that is built on click.
_UsageError: Any = typer.BadParameter.__mro__[1]


class _Commands(TyperGroup):
    """A group with commands that are imported one by one."""

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        # Names for the hint `Did you mean`.
        known: Any = dict.fromkeys(overview.SUMMARIES)
        self.commands = known

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002
        return names()

    def get_command(self, ctx: Any, cmd_name: str) -> Any:  # noqa: ARG002
        return None if cmd_name not in overview.SUMMARIES else command(cmd_name)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ARG002
        formatter.write(f"\n{overview.text()}\n")


def run(words: Sequence[str]) -> int:
    """Runs a command; returns the exit status. Without words, prints the help."""
    root = typer.Typer(
        name="mmapqueue",
        cls=_Commands,
        add_completion=False,
        pretty_exceptions_enable=False,
        rich_markup_mode=_markup(),
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    root.callback()(_root)
    if COMPLETE in os.environ:
        completion_init()
    try:
        status = typer.main.get_command(root)(list(words) or ["--help"], prog_name="mmapqueue", standalone_mode=False)
    except _UsageError as error:
        error.show()
        return USAGE
    except typer.Abort:
        return INTERRUPTED
    except SystemExit as end:
        # Typer would end the program when the output is closed; `main` handles that.
        if isinstance(end.__context__, BrokenPipeError):
            raise end.__context__ from None
        raise
    if not words:
        return USAGE
    return status if isinstance(status, int) else DONE


def names() -> list[str]:
    """The names of all commands, in the order of the help."""
    return list(overview.SUMMARIES)


def command(name: str) -> Any:
    """The command of a name, as typer makes it."""
    place: dict[str, Any] = {"short_help": overview.SUMMARIES[name], "rich_help_panel": overview.GROUP_OF[name]}
    function = name + "_" if iskeyword(name) else name.replace("-", "_")
    places = {"Collector": "collector", "Archive": f"commands.archives.{function}"}
    # A group of the collector has a module of its own.
    module = function if name == "dead-letters" else places.get(overview.GROUP_OF[name], f"commands.{function}")
    found = getattr(import_module(f"mmapqueue._cli.{module}"), function)
    if isinstance(found, typer.Typer):
        found.rich_markup_mode = _markup()
        group = typer.main.get_command(found)
        group.name = name
        for key, value in place.items():
            setattr(group, key, value)
        return group
    single = typer.Typer(add_completion=False, pretty_exceptions_enable=False, rich_markup_mode=_markup())
    single.command(name, help=_in_lines(found.__doc__), **place)(found)
    return typer.main.get_command(single)


def _markup() -> Literal["rich"] | None:
    """How help is formatted: in boxes on a terminal, else as plain text."""
    return "rich" if sys.stdout.isatty() else None


def _in_lines(text: str) -> str:
    """A docstring with each paragraph on one line: rich keeps line breaks."""
    return re.sub(r"(?<!\n)\n(?!\n)", " ", cleandoc(text))


def _print_version(*, wanted: bool) -> None:
    if wanted:
        print(f"mmapqueue {__version__}")
        raise typer.Exit


def _root(
    *,
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Persistent queues on memory-mapped files."""
