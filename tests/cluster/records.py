"""The records of the tests: each has its host, its number and its time, and all of its bytes follow from these."""

from __future__ import annotations

import hashlib


def make(host: str, number: int, nanos: int, size: int) -> bytes:
    """Returns a record of `size` bytes, or of what the header takes."""
    head = f"{host} {number} {nanos} ".encode()
    filler = hashlib.shake_128(head).hexdigest(max(0, size - len(head) + 1) // 2)
    return head + filler.encode()[: max(0, size - len(head))]


def parse(record: bytes) -> tuple[str, int, int]:
    """Returns host, number and time of a record.

    Raises:
        ValueError: A byte of it is not what `make` has made.
    """
    host, number, nanos = record.split(b" ")[:3]
    found = host.decode(), int(number), int(nanos)
    if record != make(*found, len(record)):
        raise ValueError(f"a record of {host!r} is not as it was pushed: {record[:60]!r}")
    return found
