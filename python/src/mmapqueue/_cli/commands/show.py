"""`mmapqueue show`."""

import re
from typing import Annotated

import typer

from mmapqueue._cli.arguments import AsJson, Directory
from mmapqueue._cli.log_reader import read_each
from mmapqueue._cli.output import escaped, micros_text, print_error, print_object
from mmapqueue._cli.queues import open_to_read
from mmapqueue._cli.records import record_object
from mmapqueue._cli.status import DONE, FAILED
from mmapqueue._values.errors import ConfigError, MmapQueueError
from mmapqueue._values.message import AnyMessage

_RANGE = re.compile(r"(\d{1,18})(?:(\.\.)(\d{1,18})?)?")
_HEX_WIDTH = 16


def show(
    directory: Directory,
    offsets: Annotated[
        str,
        typer.Argument(
            metavar="OFFSET[..OFFSET]",
            help="An offset, or the first and the last one.",
            show_default=False,
        ),
    ],
    *,
    as_hex: Annotated[bool, typer.Option("--hex", help="Show payloads in hexadecimal, as hexdump -C does.")] = False,
    as_json: AsJson = False,
) -> int:
    """Show records by their offsets. Moves no consumer; runs beside the process that writes."""
    if as_hex and as_json:
        raise ConfigError("--json prints payloads as text or base64: use it without --hex")
    first, last = _range(offsets)
    status = DONE
    with open_to_read(directory) as queue:
        if last is None:
            end = queue.end_offset()
            # An offset after the log end is an error, also in `17..`.
            last = end - 1 if first <= end else first
        for found in read_each(queue, first, last):
            if isinstance(found, MmapQueueError):
                print_error(str(found))
                status = FAILED
            elif as_json:
                print_object(record_object(found))
            else:
                print(_text(found, as_hex=as_hex))
    return status


def _range(text: str) -> tuple[int, int | None]:
    match = _RANGE.fullmatch(text)
    if match is not None:
        first = int(match[1])
        last = int(match[3]) if match[3] else None if match[2] else first
        if last is None or first <= last:
            return first, last
    allowed = "an offset, or two in rising order, such as 17, 17..20 or 17.."
    raise ConfigError(f"OFFSET = {text!r} is invalid; allowed: {allowed}", "OFFSET", text, allowed)


def _text(message: AnyMessage, *, as_hex: bool) -> str:
    time = micros_text(message.timestamp_micros)
    head = f"offset {message.offset}  {'' if time is None else f'{time}  '}{len(message.data)} bytes"
    body = _dumped(message.data) if as_hex else [escaped(message.data)]
    return "\n".join([head, *(f"  {line}" for line in body)])


def _dumped(data: bytes) -> list[str]:
    lines = []
    for at in range(0, len(data), _HEX_WIDTH):
        row = data[at : at + _HEX_WIDTH]
        left, right = row[: _HEX_WIDTH // 2].hex(" "), row[_HEX_WIDTH // 2 :].hex(" ")
        text = "".join(chr(byte) if 0x20 <= byte < 0x7F else "." for byte in row)
        lines.append(f"{at:08x}  {left:23}  {right:23}  |{text}|")
    return lines
