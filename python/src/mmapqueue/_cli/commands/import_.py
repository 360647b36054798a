"""`mmapqueue import`."""

from typing import Annotated

import typer

from mmapqueue._cli import exchange
from mmapqueue._cli.arguments import AsJson, Directory, duration
from mmapqueue._cli.output import print_error
from mmapqueue._cli.progress import Progress
from mmapqueue._cli.pushing import InputNumber, Once, Pusher, Sync, Timeout, counted_on_failure, print_pushed
from mmapqueue._cli.queues import open_to_write
from mmapqueue._cli.status import DONE, USAGE
from mmapqueue._cli.warnings import shown_waits


def import_(
    directory: Directory,
    file: Annotated[
        str, typer.Argument(metavar="FILE", help="x.parquet or x.jsonl; - for JSON lines of stdin.", show_default=False)
    ],
    *,
    sync: Sync = False,
    once: Once = None,
    timeout: Timeout = None,
    as_json: AsJson = False,
) -> int:
    """Push the records of a file that `mmapqueue export` has written, or another program with a column or key "value".

    Records get the next offsets of the queue, and the time of this push. It says whether the offsets are those of the
    file: they are in a new queue, if the file begins with offset 0.
    """
    exchange.format_of(file)
    number = None if once is None else InputNumber.parsed(once)
    wait = None if timeout is None else duration("--timeout", timeout)
    with open_to_write(directory) as queue:
        pusher = Pusher(queue, wait, sync=sync, once=number)
        is_same, has_offsets = True, False
        try:
            with shown_waits(), counted_on_failure(pusher), Progress(in_bytes=False) as progress:
                for rows in exchange.read(file):
                    before = pusher.pushed
                    pusher.push(rows.values)
                    progress.update(pusher.pushed, records=pusher.pushed)
                    new = range(pusher.first_offset + before, pusher.first_offset + pusher.pushed)
                    is_same = is_same and rows.offsets[len(rows.offsets) - len(new) :] == list(new)
                    has_offsets = has_offsets or any(offset is not None for offset in rows.offsets)
                pusher.end()
        except ImportError as error:
            print_error(f"Parquet needs pyarrow: pip install 'mmapqueue[arrow]' ({error})")
            return USAGE
    is_known = has_offsets and pusher.pushed > 0
    print_pushed(pusher, "imported", as_json=as_json, offsets_kept=is_same if is_known else None)
    if is_known and not as_json:
        print(f"the offsets are {'' if is_same else 'not '}those of the file")
    return DONE
