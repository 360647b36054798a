"""What both clients of the demo share: common options, and a stop by SIGTERM or SIGINT."""

from __future__ import annotations

import argparse
import signal
import threading
from collections.abc import Callable, Sequence
from pathlib import Path


def parser(description: str, endpoint: str) -> argparse.ArgumentParser:
    """A parser with the options that each client has.

    Args:
        description: What the client does.
        endpoint: What its endpoint is.
    """
    options = argparse.ArgumentParser(description=description)
    options.add_argument("--endpoint", required=True, help=endpoint)
    options.add_argument("--journal", required=True, type=Path, help="JSON lines of what was sent and answered")
    options.add_argument("--service", default="shop", help="name of the service (shop)")
    return options


def main(
    options: argparse.ArgumentParser,
    run: Callable[[argparse.Namespace, threading.Event], None],
    arguments: Sequence[str] | None = None,
) -> int:
    """Parses arguments and runs a client until it ends. SIGTERM and SIGINT set its event."""
    parsed = options.parse_args(arguments)
    stopped = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stopped.set())
    run(parsed, stopped)
    return 0
