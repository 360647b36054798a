"""`mmapqueue ship`."""

import signal
import threading
from typing import Annotated

import typer

from mmapqueue._cli.arguments import ClassPath, Directory
from mmapqueue._cli.output import print_object
from mmapqueue._cli.shipping import Shippers
from mmapqueue._cli.status import DONE
from mmapqueue._cli.warnings import show_warnings
from mmapqueue._jvm import archive_jars
from mmapqueue._values.arguments import location
from mmapqueue._values.configuration import Configuration
from mmapqueue._values.durations import time_span
from mmapqueue._values.texts import size_text

#: Seconds after which new partitions, and shipping that has ended, are noticed at the latest.
_LOOK_SECONDS = 1.0


def ship(
    directory: Directory,
    *,
    to: Annotated[
        str, typer.Option(metavar="URI", help="The archive: a URI, or the path of a directory.", show_default=False)
    ],
    period: Annotated[str, typer.Option(metavar="TIME", help="The time between two files.")] = "1s",
    size: Annotated[str, typer.Option("--bytes", metavar="SIZE", help="Bytes that are shipped earlier.")] = "8m",
    codec: Annotated[str, typer.Option(metavar="CODEC", help="Compression: none or zstd.")] = "none",
    retain: Annotated[
        str | None,
        typer.Option(metavar="TIME", help="Delete records of this age that every query has committed."),
    ] = None,
    host: Annotated[
        str | None, typer.Option(metavar="NAME", help="The name of this host in the archive; by default its own.")
    ] = None,
    take_over: Annotated[
        bool,
        typer.Option("--take-over", help="Ship although another host or copy has shipped it: that one ends."),
    ] = False,
    another_archive: Annotated[
        bool, typer.Option("--another-archive", help="Ship into another archive than until now.")
    ] = False,
    classpath: ClassPath = None,
    once: Annotated[bool, typer.Option("--once", help="Ship what is durable now, and end.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="With --once: print JSON, one object.")] = False,
) -> int:
    """Ship durable records of a queue, or of a directory of partitions, into an archive that many hosts share.

    Runs beside the process that writes, until SIGTERM or Ctrl-C. The queue keeps records until the archive has them:
    while it is away, attempts are repeated.
    """
    if as_json and not once:
        raise typer.BadParameter("--json needs --once")
    archive = location("--to", to)
    archive_jars.add(archive, codec, classpath)
    # Keys of the configuration: times with a unit.
    time = time_span("--period", period)
    options = Configuration(archive_uri=archive, ship_period=time, ship_bytes=size, archive_codec=codec)
    if retain is not None:
        options["archive_retain"] = time_span("--retain", retain)
    if host is not None:
        options["archive_host"] = host
    stopped = threading.Event()
    if not once:
        show_warnings()
    with Shippers(directory, options, takes_over=take_over, changes=another_archive) as shippers:
        if once:
            shippers.ship_all()
            shipped = shippers.shipped()
            if as_json:
                print_object(shipped)
            else:
                print(
                    f"shipped {shipped['shipped']} records, {size_text(shipped['bytes'])}, in {shipped['files']} files"
                )
        else:
            signal.signal(signal.SIGTERM, lambda *_: stopped.set())
            print(f"ready: {', '.join(shippers.paths)} to {archive}", flush=True)
            while not stopped.wait(_LOOK_SECONDS):
                shippers.check()
    return DONE
