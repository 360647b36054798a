"""`mmapqueue completion`."""

import os
from enum import Enum
from typing import Annotated

import typer


class Shell(str, Enum):
    """A shell with completion."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


def completion(
    shell: Annotated[Shell, typer.Argument(help="The shell.", show_default=False)],
) -> int:
    """Print a script that completes commands and options in a shell.

    In bash: source <(mmapqueue completion bash), in ~/.bashrc for all later shells.
    """
    from mmapqueue._cli import app

    os.environ[app.COMPLETE] = f"source_{shell.value}"
    return app.run([])
