"""Runs `mmapqueue` as a user does: in pipes, and in a terminal of its own."""

import errno
import fcntl
import io
import os
import pty
import re
import struct
import subprocess
import sys
import termios
from pathlib import Path
from typing import IO, Any, NamedTuple

import pytest

from mmapqueue._cli.main import main

_SECONDS = 120
_MASKS = (
    (re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z"), "TIME"),
    (re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]"), ""),
)


class Ended(NamedTuple):
    """A command that has ended. In a terminal, `out` is all that was shown, without colours."""

    status: int
    out: str
    err: str = ""
    shown: str = ""


class CommandLine:
    """Runs the command line in processes of its own.

    Args:
        cache: The cache directory of all runs.
    """

    def __init__(self, cache: Path) -> None:
        self._environment = {**os.environ, "XDG_CACHE_HOME": str(cache), "TERM": "xterm-256color", "TZ": "UTC"}
        for name in ("NO_COLOR", "COLUMNS", "LINES"):
            self._environment.pop(name, None)
        self._started: list[subprocess.Popen[Any]] = []

    def run(self, *words: object, stdin: str = "", **environment: str) -> Ended:
        """Runs a command in pipes; times in its output are masked."""
        ended = subprocess.run(
            self._words(words),
            input=stdin.encode(),
            capture_output=True,
            env={**self._environment, **environment},
            timeout=_SECONDS,
            check=False,
        )
        out = ended.stdout.decode(errors="backslashreplace")
        return Ended(ended.returncode, masked(out), masked(ended.stderr.decode()), out)

    def call(self, *words: object, stdin: str = "") -> Ended:
        """Calls the command's function in this process, which costs a tenth: for tables of inputs."""
        out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", write_through=True) for _ in range(2))
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
            patch.setattr(sys, "stdout", out)
            patch.setattr(sys, "stderr", err)
            status = main([str(word) for word in words])
        texts = [stream.buffer.getvalue().decode(errors="backslashreplace") for stream in (out, err)]
        return Ended(status, masked(texts[0]), masked(texts[1]), texts[0])

    def start(self, *words: object, **options: Any) -> "subprocess.Popen[Any]":
        """Starts a command; it is killed when the test ends."""
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        # A test run in the background ignores Ctrl-C, and so would the command.
        process = subprocess.Popen(
            [sys.executable, "-c", HEED_CTRL_C, *self._words(words)], env=self._environment, **{**pipes, **options}
        )
        self._started.append(process)
        return process

    def terminal(
        self, *words: object, columns: int = 100, keys: str = "", stdout: IO[bytes] | None = None, **environment: str
    ) -> Ended:
        """Runs a command in a terminal; `keys` are typed at once. With `stdout`, results go to that file."""
        ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        process = subprocess.Popen(
            self._words(words),
            stdin=theirs,
            stdout=theirs if stdout is None else stdout,
            stderr=theirs,
            env={**self._environment, **environment},
            start_new_session=True,
        )
        os.close(theirs)
        self._started.append(process)
        os.write(ours, keys.encode())
        shown = _read_all(ours).decode(errors="backslashreplace").replace("\r\n", "\n")
        os.close(ours)
        return Ended(process.wait(_SECONDS), masked(shown), "", shown)

    def end(self) -> None:
        for process in self._started:
            process.kill()
            process.wait()
            for pipe in (process.stdin, process.stdout, process.stderr):
                if pipe is not None:
                    pipe.close()

    def _words(self, words: tuple[object, ...]) -> list[str]:
        return [sys.executable, "-m", "mmapqueue", *map(str, words)]


HEED_CTRL_C = """
import os, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
os.execv(sys.argv[1], sys.argv[1:])
"""


def masked(text: str) -> str:
    """The text without colours; times are TIME."""
    for pattern, mask in _MASKS:
        text = pattern.sub(mask, text)
    return text


def _read_all(terminal: int) -> bytes:
    found = b""
    while True:
        try:
            block = os.read(terminal, 65536)
        except OSError as error:
            # Linux says so when the last process has closed the terminal.
            if error.errno == errno.EIO:
                return found
            raise
        if not block:
            return found
        found += block
