"""The entry of the command line."""

import os
import sys
from collections.abc import Sequence
from pathlib import Path

from mmapqueue._cli import plain
from mmapqueue._cli.status import FAILED, INTERRUPTED, PIPE_CLOSED, USAGE, status_of
from mmapqueue._values.errors import MmapQueueError

#: What the extra `cli` installs.
_EXTRA = ("typer", "rich")


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command; returns the exit status.

    Args:
        arguments: The words after `mmapqueue`; None for those of this process.
    """
    if sys.stdout is None:  # Closed by the caller.
        sys.stdout = Path(os.devnull).open("w")  # noqa: SIM115
    words = list(sys.argv[1:] if arguments is None else arguments)
    try:
        status = _run(words)
        print(end="", flush=True)
    except BrokenPipeError:
        _discard_output()
        return PIPE_CLOSED
    except KeyboardInterrupt:
        return INTERRUPTED
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else USAGE
    except MmapQueueError as error:
        return _failed(error, status_of(error))
    except OSError as error:
        _discard_output()
        return _failed(error, FAILED)
    return status


def _run(words: list[str]) -> int:
    if words and words[0] in plain.NAMES:
        return plain.run(words)
    try:
        from mmapqueue._cli import app
    except ImportError as error:
        if (error.name or "").partition(".")[0] not in _EXTRA:
            raise
        if not words or words[0].startswith("-"):
            return plain.run(words)
        print(
            f"mmapqueue: this command needs {' and '.join(_EXTRA)}: pip install 'mmapqueue[cli]'; without these there "
            f"are {', '.join(plain.NAMES)}",
            file=sys.stderr,
        )
        return USAGE
    return app.run(words)


def _discard_output() -> None:
    """Discards output that cannot be written to stdout, since the interpreter flushes once more at its end."""
    try:
        print(end="", flush=True)
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _failed(error: Exception, status: int) -> int:
    print(f"mmapqueue: {error}", file=sys.stderr)
    return status
