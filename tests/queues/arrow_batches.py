"""What the tests of batches of Arrow share."""

from typing import Any

import pyarrow as pa

SCHEMA = pa.schema(
    [
        pa.field("offset", pa.int64(), nullable=False),
        pa.field("timestamp", pa.timestamp("us", "UTC")),
        pa.field("value", pa.binary(), nullable=False),
    ]
)
RECORDS = [bytes([i % 256]) * (i * 31 % 1000) for i in range(3000)]
#: As many as a batch of 1 MB has: such a batch is lent.
KILOBYTES = [b"%04d" % i * 256 for i in range(1000)]


def values(batch: Any) -> list[bytes]:
    batch.validate(full=True)
    assert batch.schema.equals(SCHEMA)
    found: list[bytes] = batch["value"].to_pylist()
    return found


def offsets(batch: Any) -> list[int]:
    found: list[int] = batch["offset"].to_pylist()
    return found
