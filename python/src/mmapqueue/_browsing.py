"""Reading records by their offsets, without a consumer."""

from mmapqueue import _names
from mmapqueue._checks import count
from mmapqueue._errors import OutOfRange
from mmapqueue._interrupts import Shield
from mmapqueue._message import Message
from mmapqueue._opened import Opened
from mmapqueue._places import as_long


def get(opened: Opened, offset: int) -> Message:
    """As `Queue.get`."""
    return _read(opened, as_long(offset), 1)[0]


def get_many(opened: Opened, offset: int, most: int) -> list[Message]:
    """As `Queue.get_many`."""
    most = count("max_records", most)
    start = as_long(offset)
    found = _read(opened, start, most)
    if len(found) < most:
        # More than one stage holds, as far as it was the end.
        most = min(most, opened.ask("endOffset") - start)
    try:
        while len(found) < most:
            found += _read(opened, start + len(found), most - len(found))
    except OutOfRange:
        pass  # The next one is not retained any more.
    return found


def _read(opened: Opened, offset: int, most: int) -> list[Message]:
    """What one call reads, at least one record."""
    opened.check()
    with Shield(), opened.pool.lent(opened.max_event_size * most) as stage:
        if stage.get(offset, min(most, _names.INT_MAX)) == _names.CLOSED:
            raise opened.closed_error()
        return stage.read(opened.origin)
