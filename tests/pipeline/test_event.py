"""Events: what `encode` writes, and what Satellite has written."""

import json
from pathlib import Path
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from mmapqueue.pipeline import Event, EventType, encode

SAMPLES = Path(__file__).parents[1] / "data" / "v1-samples"

texts = st.text(max_size=50)
json_values = st.recursive(
    st.none() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=10,
)


@given(
    data=st.binary(max_size=20_000),
    logs=st.none() | st.lists(st.binary(max_size=300), max_size=5),
    segment=st.none() | st.binary(max_size=300),
    strings=st.lists(texts, min_size=4, max_size=4),
    meta=st.dictionaries(texts, texts, max_size=5),
    fields=st.none() | st.dictionaries(texts, json_values, max_size=4),
    time_ms=st.integers(-(2**63), 2**63 - 1),
    type_=st.sampled_from(EventType.values()),
    remote=st.booleans(),
)
def test_encode_is_protobufs_own_encoding(
    data: bytes,
    logs: list[bytes] | None,
    segment: bytes | None,
    strings: list[str],
    meta: dict[str, str],
    fields: dict[str, Any] | None,
    time_ms: int,
    type_: EventType,
    remote: bool,
) -> None:
    content_type, name, identity, source = strings
    expected = Event(
        timestamp=time_ms,
        name=name,
        type=type_,
        remote=remote,
        meta=meta,
        content_type=content_type,
        data=data,
        id=identity,
        source=source,
    )
    if segment is not None:
        expected.segment = segment
    if logs is not None:
        expected.log_list.logs.extend(logs)
    if fields is not None:
        expected.fields.update(fields)
    written = encode(
        type=type_,
        data=data,
        content_type=content_type,
        name=name,
        time_ms=time_ms,
        remote=remote,
        meta=meta,
        segment=segment,
        logs=logs,
        fields=fields,
        id=identity,
        source=source,
    )
    assert Event.FromString(written) == expected


def test_what_satellite_wrote_is_an_event() -> None:
    manifest = json.loads((SAMPLES / "k2-events-protobuf-main.json").read_text())
    whole = [each for each in manifest["to_deliver"] if len(each.get("payload_hex", "")) == 2 * each["length"]]
    assert len(whole) >= 3
    for record in whole:
        event = Event.FromString(bytes.fromhex(record["payload_hex"]))
        told = record["event"]
        assert (event.name, event.timestamp, event.type, event.remote, dict(event.meta)) == (
            told["name"],
            told["timestamp"],
            EventType.LOGGING,
            told["remote"],
            told["meta"],
        )
        assert len(event.log_list.logs) == 1
        assert told["text"].encode() in event.log_list.logs[0]


def test_unknown_members_of_satellites_oneof_are_kept() -> None:
    # Field 8, a meter, which Event does not name.
    raw = bytes([8 << 3 | 2, 3]) + b"abc" + encode(type=EventType.METRICS, time_ms=1)
    assert Event.FromString(raw).SerializeToString().endswith(bytes([8 << 3 | 2, 3]) + b"abc")
