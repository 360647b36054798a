"""`mmapqueue consumer`: create, delete, seek."""

from typing import Annotated

import typer

import mmapqueue
from mmapqueue._cli.arguments import AsJson, Directory, seek_target
from mmapqueue._cli.log_reader import LogReader
from mmapqueue._cli.output import Column, print_object, print_table
from mmapqueue._cli.queues import open_to_read
from mmapqueue._values.errors import MmapQueueError

consumer = typer.Typer(
    add_completion=False,
    help="Create, delete and move consumers, also beside the process that writes the queue.",
    no_args_is_help=True,
)

Name = Annotated[str, typer.Argument(metavar="NAME", help="The consumer's name.", show_default=False)]
_TARGET_HELP = 'earliest, latest, an offset, a time in ISO 8601, or "-5m": five minutes ago.'
#: Lets a target such as -5m pass as an argument instead of an option.
_SETTINGS = {"ignore_unknown_options": True}


@consumer.command(context_settings=_SETTINGS)
def create(
    directory: Directory,
    name: Name,
    *,
    start: Annotated[str, typer.Argument(metavar="START", help=_TARGET_HELP, show_default=False)] = "earliest",
    as_json: AsJson = False,
) -> None:
    """Create a consumer, at the oldest record unless START says otherwise. The queue retains what it has not acked."""
    target = seek_target("START", start)
    with open_to_read(directory) as queue:
        if name in queue.consumers():
            raise MmapQueueError(f"consumer {name} exists, at offset {queue.consumer_stats()[name].committed_offset}")
        queue.create_consumer(name, start=target)
        offset = queue.consumer_stats()[name].committed_offset
    if as_json:
        print_object({"consumer": name, "offset": offset})
    else:
        print(f"created consumer {name} at offset {offset}")


@consumer.command()
def delete(directory: Directory, name: Name, *, as_json: AsJson = False) -> None:
    """Delete a consumer. Space that only it held becomes free."""
    with open_to_read(directory) as queue:
        found = _existing(queue, name)
        queue.delete_consumer(name)
    if as_json:
        print_object({"consumer": name, "offset": found.committed_offset, "lag_records": found.lag_records})
    else:
        print(f"deleted consumer {name}: it was at offset {found.committed_offset}, with a lag of {found.lag_records}")


@consumer.command(context_settings=_SETTINGS)
def seek(
    directory: Directory,
    name: Name,
    to: Annotated[str, typer.Argument(metavar="START", help=_TARGET_HELP, show_default=False)],
    *,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print the offsets, and move nothing.")] = False,
    as_json: AsJson = False,
) -> None:
    """Move a consumer that no process uses. Records before START count as acked, later ones are delivered again."""
    target = seek_target("START", to)
    with open_to_read(directory) as queue:
        old = _existing(queue, name).committed_offset
        if dry_run:
            new = LogReader(queue).offset_of(target)
            lag = queue.end_offset() - new
        else:
            with queue.consumer(name) as moved:
                moved.seek(target)
            found = queue.consumer_stats()[name]
            new, lag = found.committed_offset, found.lag_records
    print_table(
        [
            Column("consumer", "CONSUMER"),
            Column("old_offset", "OLD", right=True),
            Column("new_offset", "NEW", right=True),
            Column("lag_records", "LAG", right=True),
        ],
        [{"consumer": name, "old_offset": old, "new_offset": new, "lag_records": lag, "dry_run": dry_run}],
        as_json=as_json,
    )


def _existing(queue: mmapqueue.Queue[bytes], name: str) -> mmapqueue.ConsumerStats:
    """The consumer's state; raises MmapQueueError when it does not exist."""
    found = queue.consumer_stats()
    if name not in found:
        names = ", ".join(found) or "none"
        raise MmapQueueError(f"there is no consumer {name} in {queue.path}; its consumers: {names}")
    return found[name]
