"""`mmapqueue completion`."""

import os
from contextlib import redirect_stdout, suppress
from enum import Enum
from io import StringIO
from typing import Annotated

import typer


class Shell(str, Enum):
    """A shell with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(metavar="SHELL", help="The shell: bash, zsh or fish.", show_default=False)],
) -> None:
    """Print a script that completes commands and options in a shell.

    In bash: source <(mmapqueue completion bash), in ~/.bashrc for all later shells.
    """
    from mmapqueue._cli import app

    os.environ[app.COMPLETE] = f"source_{shell.value}"
    with redirect_stdout(StringIO()) as script, suppress(SystemExit):
        app.run([])
    # zsh looks for #compdef in the first line alone.
    print(script.getvalue().strip())
