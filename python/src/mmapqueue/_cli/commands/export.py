"""`mmapqueue export`."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from mmapqueue._cli import exchange
from mmapqueue._cli.arguments import AsJson, Directory, seek_target
from mmapqueue._cli.log_reader import LogReader
from mmapqueue._cli.output import print_error, print_object
from mmapqueue._cli.progress import Progress
from mmapqueue._cli.pushing import records_text
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.status import DONE, USAGE
from mmapqueue._values.errors import ConfigError, MmapQueueError
from mmapqueue._values.offsets import offsets_text


def export(
    directory: Directory,
    file: Annotated[
        str,
        typer.Argument(metavar="FILE", help="x.parquet or x.jsonl; - for JSON lines to stdout.", show_default=False),
    ],
    *,
    start: Annotated[
        str, typer.Option("--from", metavar="START", help='earliest, an offset, a time, or "-5m".')
    ] = "earliest",
    stop: Annotated[
        str, typer.Option("--to", metavar="START", help="The same, or latest; this record is not written.")
    ] = "latest",
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    as_json: AsJson = False,
) -> int:
    """Write records to a file: offset, timestamp and value of each. Moves no consumer.

    Runs beside the process that writes the queue. Parquet needs the extra arrow.
    """
    exchange.format_of(file)
    path = None if file == exchange.STANDARD else Path(file)
    if path is not None and path.exists() and not force:
        raise MmapQueueError(f"{file} exists: add --force to replace it")
    # Both on one terminal would be mixed.
    has_progress = path is not None or not sys.stdout.isatty()
    with open_to_read(directory) as queue:
        reader = LogReader(queue)
        first = reader.offset_of(seek_target("--from", start))
        end = reader.offset_of(seek_target("--to", stop))
        if end < first:
            allowed = f"an offset of {first} or more, or a later time"
            raise ConfigError(f"--to = {stop!r} is offset {end}; allowed: {allowed}", "--to", stop, allowed)
        written = 0
        try:
            with Progress(end - first, in_bytes=False, wanted=has_progress) as progress:
                for count in exchange.write(reader.records(first, end), path):
                    written += count
                    progress.update(written, records=written)
        except ImportError as error:
            print_error(f"Parquet needs pyarrow: pip install 'mmapqueue[arrow]' ({error})")
            return USAGE
    missing = end - first - written
    if as_json and path is not None:
        found = {"file": file, "exported": written, "first_offset": first, "end_offset": end, "missing": missing}
        print_object(found)
        return DONE
    text = f"exported {records_text(written)} to {'stdout' if path is None else file}"
    if written:
        text += f": {offsets_text(first, end)}"
    if missing:
        text += f", without {records_text(missing)}"
    print(text, file=sys.stderr if path is None else sys.stdout)
    return DONE
