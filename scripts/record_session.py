"""Runs commands of `mmapqueue` in a terminal, and writes what it shows, session.svg and top.svg: `make session`."""

import fcntl
import os
import pty
import re
import shlex
import struct
import subprocess
import sys
import tempfile
import termios
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from rich.text import Text

_COLUMNS, _ROWS = 100, 24
_SECONDS = 120
_TOP_SECONDS = 16
_HOME = "\x1b[H"
#: A line of progress with the codes that erase it.
_ERASED = re.compile(r"[^\n]*\n(?:\x1b\[\?25h)?\r\x1b\[1A\x1b\[2K|[^\n]*\r\x1b\[2K(?!\x1b\[1A)")

_COMMANDS = (
    "mmapqueue create events --capacity 64m",
    """seq 1 100000 | sed 's/.*/{"user": &}/' | mmapqueue push events --jsonl""",
    "mmapqueue consumer create events billing",
    r"mmapqueue pop events -c billing -n 3 --ack -f '%o  %t  %s\n'",
    "mmapqueue tail events -n 2 --json",
    "mmapqueue consumers events",
    "mmapqueue consumer seek events billing latest --dry-run",
    "mmapqueue export events users.parquet",
)

#: Pushes in waves. One consumer follows, the other one is slower.
_WRITER = """
import math, sys, threading, time, mmapqueue
with mmapqueue.Queue("events", capacity="64m") as events:
    consumers = events.consumer("billing"), events.consumer("audit")
    def consume(consumer, most):
        while True:
            messages = consumer.pop_many(most, timeout=1.0)
            if messages:
                consumer.ack_up_to(messages[-1])
            time.sleep(0.02)
    for consumer, most in zip(consumers, (2000, 300)):
        threading.Thread(target=consume, args=(consumer, most), daemon=True).start()
    print("ready", flush=True)
    while True:
        events.push_many([b"x" * 500] * int(400 + 380 * math.sin(time.monotonic())))
        time.sleep(0.02)
"""


def main() -> None:
    """Writes both pictures into the directory that is given."""
    images = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        session = Text()
        for command in _COMMANDS:
            session.append("$ ", "bold green").append(f"{command}\n", "bold")
            output = _ERASED.sub("", shown(["bash", "-c", command]))
            session.append_text(Text.from_ansi(output)).append("\n")
        write(images / "session.svg", session, "mmapqueue")
    with tempfile.TemporaryDirectory() as directory:
        os.chdir(directory)
        writer = subprocess.Popen([sys.executable, "-c", _WRITER], stdout=subprocess.PIPE)
        try:
            assert writer.stdout is not None
            writer.stdout.readline()
            words = ["mmapqueue", "top", "events", "--interval", "250ms"]
            frames = shown(words, until=lambda begin: time.monotonic() - begin > _TOP_SECONDS).split(_HOME)
        finally:
            writer.kill()
            writer.wait()
        # The last one may be incomplete. Below the queues the screen is empty.
        write(images / "top.svg", Text.from_ansi(frames[-2].rstrip()), shlex.join(words[:3]))


def shown(words: list[str], until: Callable[[float], bool] | None = None, columns: int = _COLUMNS) -> str:
    """What a command writes to a terminal; it gets a q when `until` is true of the time of its start."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", _ROWS, columns, 0, 0))
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    environment = {**os.environ, "PATH": path, "TERM": "xterm-256color", "COLORTERM": "truecolor"}
    environment.pop("NO_COLOR", None)
    process = subprocess.Popen(words, stdin=theirs, stdout=theirs, stderr=theirs, env=environment)
    os.close(theirs)
    begin = time.monotonic()
    found = bytearray()
    while block := _read(ours):
        found += block
        if until is not None and until(begin):
            until = None
            os.write(ours, b"q")
    os.close(ours)
    if process.wait(_SECONDS):
        raise SystemExit(f"{shlex.join(words)} ended with {process.returncode}: {found.decode()}")
    return found.decode().replace("\r\n", "\n").rstrip("\n")


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 1 << 16)
    except OSError:  # Linux says so when no process has the terminal any more.
        return b""


def write(file: Path, text: Text, title: str, columns: int = _COLUMNS) -> None:
    """Draws what a terminal shows."""
    with Path(os.devnull).open("w") as nowhere:
        console = Console(record=True, width=columns, file=nowhere, force_terminal=True, color_system="truecolor")
        console.print(text, end="")
        console.save_svg(str(file), title=title, theme=MONOKAI)
    print(f"{file}: {file.stat().st_size} bytes")


if __name__ == "__main__":
    main()
