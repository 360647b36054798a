"""How a stream of bytes is divided into records."""

import fcntl
import os
import random
import resource
import threading
from collections.abc import Iterable
from io import FileIO

import pytest

import mmapqueue
from mmapqueue._cli import framing

MOST = 1000


def split(kind: type[framing.Splitter], chunks: Iterable[bytes]) -> list[bytes]:
    splitter = kind("input", MOST)
    return [record for batch in framing.batches(chunks, splitter) for record in batch]


def extend(found: list[bytes], batches: Iterable[list[bytes]]) -> None:
    for batch in batches:
        found += batch


def pieces(data: bytes, seed: int) -> list[bytes]:
    """The data, cut at random."""
    cuts = sorted(random.Random(seed).choices(range(len(data) + 1), k=5))
    return [data[start:stop] for start, stop in zip([0, *cuts], [*cuts, len(data)], strict=True)]


@pytest.mark.parametrize("seed", range(20))
def test_the_cuts_between_reads_make_no_difference(seed: int) -> None:
    records = [b"one", b"", b"three\r", bytes(range(10, 250)) * 4, b"last"]
    lines = [record.replace(b"\n", b"") for record in records]
    assert split(framing.Lines, pieces(b"\n".join(lines), seed)) == lines
    assert split(framing.Lines, pieces(b"\n".join(lines) + b"\n", seed)) == lines
    texts = [record.replace(b"\0", b"") for record in records]
    assert split(framing.NulSeparated, pieces(b"\0".join(texts) + b"\0", seed)) == texts
    prefixed = b"".join(len(record).to_bytes(4, "big") + record for record in records)
    assert split(framing.LengthPrefixed, pieces(prefixed, seed)) == records
    objects = [b'{"a": 1}', b"[]", b'"\xc3\xa4"', b"1"]
    assert split(framing.JsonLines, pieces(b"\n".join(objects), seed)) == objects


def test_nothing_is_no_record() -> None:
    kinds = (framing.Lines, framing.NulSeparated, framing.JsonLines, framing.LengthPrefixed)
    assert [split(kind, []) for kind in kinds] == [[]] * 4


@pytest.mark.parametrize(
    ("kind", "data", "before", "text"),
    [
        (
            framing.Lines,
            b"ok\n" + b"x" * 1001 + b"\n",
            1,
            "input: line 2 has 1001 bytes or more, and max_event_size is",
        ),
        (framing.Lines, b"x" * 1001, 0, "input: line 1 has 1001 bytes or more"),
        (framing.NulSeparated, b"ok\0ok\0" + b"x" * 1001 + b"\0", 2, "input: record 3 has 1001 bytes"),
        (framing.JsonLines, b'{}\n[]\n{"a":\n{}\n', 2, "input: line 3 is not JSON: Expecting value at character 6"),
        (framing.JsonLines, b"{}\n\n{}\n", 1, "input: line 2 is not JSON"),
        (framing.JsonLines, b"NaN\n", 0, "input: line 1 is not JSON: JSON has no NaN"),
        (framing.JsonLines, b'"\xff"\n', 0, "input: line 1 is not JSON: 'utf-8' codec can't decode"),
        (framing.JsonLines, b"[" * 999 + b"\n", 0, "input: line 1 is not JSON"),
        (framing.LengthPrefixed, b"\0\0\0\2ok\0\0\0\5abc", 1, "input: record 2 ends after 7 of 9 bytes, its length in"),
        (framing.LengthPrefixed, b"\0\0\0\2ok\0\0", 1, "input: record 2 ends after 2 of 4 bytes"),
        (framing.LengthPrefixed, b"GET / HTTP/1.1\r\n", 0, "input: record 1 has 1195725856 bytes or more"),
    ],
)
def test_a_wrong_record_is_named_after_those_before_it(
    kind: type[framing.Splitter], data: bytes, before: int, text: str
) -> None:
    for chunks in ([data], [data[index : index + 1] for index in range(len(data))]):
        batches = framing.batches(chunks, kind("input", MOST))
        found: list[bytes] = []
        with pytest.raises(mmapqueue.MmapQueueError) as caught:
            extend(found, batches)
        assert str(caught.value).startswith(text)
        assert len(found) == before


def test_an_empty_chunk_is_an_empty_batch() -> None:
    assert list(framing.batches([b"one\ntw", b"", b"o\n"], framing.Lines("input", MOST))) == [[b"one"], [], [b"two"]]


def test_a_stream_that_does_not_block_ends_at_its_end() -> None:
    reader, writer = os.pipe()
    os.set_blocking(reader, False)
    with FileIO(reader) as stream, FileIO(writer, "w") as source:
        found = framing.chunks(stream)
        assert next(found) == b"", "nothing has come yet"
        later = threading.Timer(0.1, source.write, (b"one",))
        later.start()
        assert next(found) == b"one"
        later.join()
        assert next(found) == b""
        source.close()
        assert list(found) == []


def test_an_input_after_a_thousand_others_is_read() -> None:
    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(2048, limits[0]), limits[1]))
    reader, writer = os.pipe()
    try:
        high = fcntl.fcntl(reader, fcntl.F_DUPFD, 1500)
        with FileIO(high) as stream:
            found = framing.chunks(stream)
            assert next(found) == b""
            os.write(writer, b"one")
            assert next(found) == b"one"
    finally:
        os.close(reader)
        os.close(writer)
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
