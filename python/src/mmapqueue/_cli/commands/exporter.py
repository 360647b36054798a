"""`mmapqueue exporter`."""

import signal
import threading
from typing import Annotated

import typer

from mmapqueue._cli.exporting import Exporter
from mmapqueue._cli.output import print_error
from mmapqueue._cli.status import DONE
from mmapqueue._tools.pages import address, serve


def exporter(
    directories: Annotated[
        list[str], typer.Argument(metavar="DIR", help="Directories of queues, also of partitioned ones.")
    ],
    listen: Annotated[
        str, typer.Option(metavar="HOST:PORT", help="Where to listen; port 0 takes a free one.")
    ] = "127.0.0.1:9465",
) -> int:
    """Serve the metrics of queues that other processes write, for Prometheus.

    Prints `ready: http://HOST:PORT/metrics`, and runs until SIGTERM or Ctrl-C. Moves no consumer. A directory without
    a queue has mmapqueue_up 0 until it has one.
    """
    host, port = address("--listen", listen)
    found = Exporter(directories)
    server = serve("exporter", host, port, found.answer)
    try:
        stopped = threading.Event()
        signal.signal(signal.SIGTERM, lambda *_: stopped.set())
        found.metrics()
        for failure in found.failures.values():
            print_error(failure)
        shown = host or "0.0.0.0"
        print(f"ready: http://{f'[{shown}]' if ':' in shown else shown}:{server.server_address[1]}/metrics", flush=True)
        stopped.wait()
    finally:
        server.shutdown()
        server.server_close()
        found.close()
    return DONE
