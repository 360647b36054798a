"""`mmapqueue dead-letters`: list, show, resend."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import datetime
from typing import TYPE_CHECKING, Annotated

import typer

from mmapqueue._cli.arguments import AsJson
from mmapqueue._cli.collector import extra
from mmapqueue._cli.output import Column, escaped, print_error, print_object, print_table, time_text
from mmapqueue._cli.queues import open_to_read, open_to_write
from mmapqueue._cli.status import DONE, EMPTY, FAILED
from mmapqueue._values.texts import size_text

if TYPE_CHECKING:
    from mmapqueue.pipeline._dead_letters import DeadLetterQueues, Letter, Wanted

dead_letters = typer.Typer(
    add_completion=False,
    help="List, show and send again what the senders of a pipeline could not send, also while it runs.",
    no_args_is_help=True,
)

_File = Annotated[str, typer.Argument(metavar="FILE", help="The configuration, YAML.", show_default=False)]
_Pipe = Annotated[str | None, typer.Option(metavar="NAME", help="Only those of this pipe.")]
_Sender = Annotated[
    str | None, typer.Option(metavar="NAME", help='Only those of this sender; "" for those that no sender gets.')
]
_Reason = Annotated[str | None, typer.Option(metavar="TEXT", help="Only those whose reason has this text.")]
_Offset = Annotated[
    list[int] | None, typer.Option(metavar="N", min=0, help="Only the one at this offset, as show prints it.")
]
#: Bytes of a payload that are shown.
_PREVIEW = 200
_GROUPS = [
    Column("pipe", "PIPE"),
    Column("sender", "SENDER", lambda name: name or "-"),
    Column("records", "RECORDS", right=True),
    Column("bytes", "BYTES", size_text, right=True),
    Column("first", "FIRST", lambda time: _short(time)),
    Column("last", "LAST", lambda time: _short(time)),
    Column("reason", "REASON", cut=True),
]
_OUTCOMES = [
    Column("pipe", "PIPE"),
    Column("sender", "SENDER", lambda name: name or "-"),
    Column("sent", "SENT", right=True),
    Column("left", "LEFT", right=True),
    Column("reason", "REASON"),
]


@dead_letters.command("list")
def list_(
    file: _File,
    *,
    pipe: _Pipe = None,
    sender: _Sender = None,
    reason: _Reason = None,
    as_json: AsJson = False,
) -> int:
    """Count the dead letters that were not sent again, by pipe, sender and reason.

    Exit status: 0 there are some, 3 there are none.
    """
    with _opened(file, pipe) as queues:
        groups = queues.groups(_wanted(sender, reason, None))
    if groups or as_json:
        print_table(_GROUPS, (each._asdict() for each in groups), as_json=as_json)
    return DONE if groups else EMPTY


@dead_letters.command()
def show(
    file: _File,
    *,
    pipe: _Pipe = None,
    sender: _Sender = None,
    reason: _Reason = None,
    offset: _Offset = None,
    count: Annotated[int, typer.Option("-n", min=0, metavar="N", help="The maximum number; 0 for all.")] = 10,
    raw: Annotated[bool, typer.Option("--raw", help="Print the payloads alone, byte for byte.")] = False,
    as_json: AsJson = False,
) -> int:
    """Print dead letters: the reason, where the record was, and the event.

    Exit status: 0 there are some, 3 there are none.
    """
    shown = 0
    with _opened(file, pipe) as queues:
        for letter in queues.letters(_wanted(sender, reason, offset)):
            if raw:
                sys.stdout.buffer.write(letter.data)
                sys.stdout.buffer.flush()
            elif as_json:
                print_object(_facts(letter, whole=True))
            else:
                _print(letter, first=not shown)
            shown += 1
            if shown == count:
                break
    return DONE if shown else EMPTY


@dead_letters.command()
def resend(
    file: _File,
    *,
    pipe: _Pipe = None,
    sender: _Sender = None,
    reason: _Reason = None,
    offset: _Offset = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Print what would be sent; send nothing.")] = False,
    as_json: AsJson = False,
) -> int:
    """Send dead letters again, each to the sender that has not sent it; what no sender got, through the pipe's queue.

    A dead letter that is refused again stays, and so does what the options do not select.

    Exit status: 0 all were sent, 1 some were not, 3 there were none.
    """
    wanted = _wanted(sender, reason, offset)
    with _opened(file, pipe) as queues:
        if dry_run:
            groups = queues.groups(wanted)
            if groups or as_json:
                print_table(_GROUPS, (each._asdict() for each in groups), as_json=as_json)
            return DONE if groups else EMPTY
        outcome = queues.resend(wanted)
    rows = [
        *({"pipe": of, "sender": name, "sent": number, "left": 0, "reason": None} for (of, name), number in
          sorted(outcome.sent.items()) if number),
        *({**each._asdict(), "sent": 0, "left": number} for each, number in sorted(outcome.left.items())),
    ]  # fmt: skip
    if rows or as_json:
        print_table(_OUTCOMES, rows, as_json=as_json)
    if outcome.left:
        print_error(f"{outcome.left.total()} dead letters were not sent, and stay")
        return FAILED
    return DONE if rows else EMPTY


@contextmanager
def _opened(file: str, pipe: str | None) -> "Iterator[DeadLetterQueues]":
    with extra():
        from mmapqueue.pipeline._dead_letters import DeadLetterQueues
    yield DeadLetterQueues(file, pipe, read=open_to_read, write=open_to_write)


def _wanted(sender: str | None, reason: str | None, offsets: list[int] | None) -> "Wanted":
    with extra():
        from mmapqueue.pipeline._dead_letters import Wanted
    return Wanted(sender, reason, frozenset(offsets or ()))


def _short(time: datetime | None) -> str:
    return "-" if time is None else f"{time_text(time)[:19]}Z"


def _print(letter: "Letter", *, first: bool) -> None:
    from mmapqueue._cli.output import print_facts

    if not first:
        print()
    facts = {name: str(value) for name, value in _facts(letter, whole=False).items() if value not in ("", {}, None)}
    print_facts(facts, cut=("data",))


def _facts(letter: "Letter", *, whole: bool) -> dict[str, object]:
    data = letter.data
    shown = escaped(data if whole else data[:_PREVIEW]) + ("" if whole or len(data) <= _PREVIEW else "…")
    return {
        "offset": letter.position,
        "time": letter.time and time_text(letter.time),
        "reason": letter.reason,
        "pipe": letter.pipe,
        "sender": letter.sender,
        "record": f"partition {letter.partition}, offset {letter.offset}",
        "type": letter.type,
        "name": letter.event.name,
        "id": letter.event.id,
        "source": letter.event.source,
        "meta": letter.own_meta,
        "content_type": letter.content_type,
        "bytes": len(data),
        "data": shown,
    }
