"""The entry of the command line."""

import logging
import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper

from mmapqueue._cli import ahead
from mmapqueue._cli.commands.jar import jar
from mmapqueue._cli.output import error_text, print_error
from mmapqueue._cli.owners import Owner
from mmapqueue._cli.status import DONE, FAILED, INTERRUPTED, PIPE_CLOSED, USAGE, status_of
from mmapqueue._values.errors import Locked, MmapQueueError
from mmapqueue._values.texts import printable

#: What the extra `cli` installs.
_EXTRA = ("typer", "rich")
#: The maximum number of characters of a program's command line in an error.
_MOST_PROGRAM = 60


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status.

    Args:
        arguments: The words after `mmapqueue`; None for those of this process.
    """
    _open_standard_streams()
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        ahead.start_jvm(words)
        status = _run(words)
        print(end="", flush=True)
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        status = INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    except Locked as error:
        return _failed(f"{error}{_owner_text(error.pid)}", status_of(error))
    except MmapQueueError as error:
        return _failed(str(error), status_of(error))
    except OSError as error:
        _discard_output()
        return _failed(error_text(error), FAILED)
    if status == INTERRUPTED:
        # py4j logs calls of other threads that fail when the JVM is ended.
        logging.disable()
    return status


def _open_standard_streams() -> None:
    """Opens streams that the caller has closed, and makes stdout UTF-8 in every locale.

    A file or a socket would get the number of a closed stream. Writes to a closed stream are discarded, and reads fail.
    """
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            # The lowest free number: that of the closed stream.
            number = os.open(os.devnull, os.O_WRONLY)
            setattr(sys, name, open(number, mode, encoding="utf-8", errors="backslashreplace"))  # noqa: PTH123, SIM115
    if isinstance(sys.stdout, TextIOWrapper):
        sys.stdout.reconfigure(encoding="utf-8", errors="backslashreplace")


def _run(words: list[str]) -> int:
    try:
        from mmapqueue._cli import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        if words == ["jar"]:
            # `spark-submit --jars "$(mmapqueue jar)"` also where the library alone is installed.
            jar()
            return DONE
        print_error(f"the command line needs {' and '.join(_EXTRA)}: pip install 'mmapqueue[cli]'")
        return USAGE
    return app.run(words)


def _discard_output() -> None:
    """Discards output that cannot be written to stdout, since the interpreter flushes once more at its end."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _owner_text(pid: int | None) -> str:
    """The program of a process; of a JVM that a Python process has started, that process, too."""
    if pid is None:
        return ""
    try:
        owner = Owner.of_process(pid)
    except ProcessLookupError:
        return ""
    program = printable(owner.program or "")
    if len(program) > _MOST_PROGRAM:
        program = f"{program[: _MOST_PROGRAM - 1]}…"
    return ("" if owner.pid == pid else f": the JVM of process {owner.pid}") + (program and f", {program}")


def _failed(text: str, status: int) -> int:
    print_error(text)
    return status
