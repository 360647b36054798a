"""Fluent's Forward protocol, version 1: messages, the handshake, and entries as OTLP's logs."""

import hashlib
import hmac
import json
import secrets
import zlib
from collections.abc import Iterator
from typing import Any, NamedTuple

import msgpack
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import AnyValue
from opentelemetry.proto.logs.v1.logs_pb2 import LogRecord

from mmapqueue.pipeline.gather.wire import Malformed

#: Bytes that are decompressed at once.
_PART = 4096
_EVENT_TIME = 0
_NANOS = 1_000_000_000
#: Members of a record that are the text of the log, if they are texts.
_BODIES = ("log", "message")
_TAG = "fluent.tag"
#: Lists and maps in each other, beyond which a value is JSON: decoders of protobuf take 100 nested messages.
_MOST_DEPTH = 25
_INT64 = range(-(1 << 63), 1 << 63)


class Message(NamedTuple):
    """One message of a client.

    Attributes:
        records: Its entries. They are made as they are taken, which raises Malformed for a damaged one.
        chunk: What the client wants back when they are stored; None for nothing.
    """

    records: Iterator[LogRecord]
    chunk: str | None


def unpacker(limit: int) -> Any:
    """A reader of the messages of a connection: msgpack's Unpacker. It raises BufferFull for one beyond the limit."""
    return msgpack.Unpacker(
        raw=False, unicode_errors="surrogateescape", strict_map_key=False, ext_hook=_extension, max_buffer_size=limit
    )


def unpacked(reader: Any, what: str) -> Iterator[Any]:
    """The values that a reader has.

    Raises:
        Malformed: What follows is no MessagePack, or has a map with a key that is a list or a map.
    """
    try:
        yield from reader
    except (ValueError, TypeError, msgpack.UnpackException) as error:
        raise Malformed(f"{what} not MessagePack: {error or type(error).__name__}") from None


def message_of(value: Any, limit: int) -> Message:
    """A message in any of the four modes: Message, Forward, PackedForward, CompressedPackedForward.

    Args:
        value: What the unpacker returned.
        limit: The maximum number of bytes of entries after decompression.

    Raises:
        Malformed: It is no message.
    """
    if type(value) is not list or not 2 <= len(value) <= 4 or type(value[0]) is not str:
        raise Malformed(f"{_shown(value)} is not a message of the Forward protocol: an array with a tag")
    tag, second, *rest = value
    if type(second) in (list, str, bytes):
        option = rest[0] if rest else None
        entries = _entries(second, option or {}, limit)
    else:
        if not rest:
            raise Malformed("a message of the Forward protocol has a time and no record")
        entries = iter([[second, rest[0]]])
        option = rest[1] if len(rest) > 1 else None
    if option is not None and type(option) is not dict:
        raise Malformed(f"{_shown(option)} is not an option of the Forward protocol: a map")
    option = option or {}
    signal = option.get("fluent_signal", 0)
    if signal != 0:
        raise Malformed(f"fluent_signal = {_shown(signal)}: metrics and traces of Fluent Bit are not taken; expected 0")
    chunk = option.get("chunk")
    records = (_record(_text(tag), each) for each in entries)
    return Message(records, _text(chunk) if isinstance(chunk, str) else None)


def request_of(records: "list[LogRecord]") -> bytes:
    """An Export request of OTLP with these records."""
    request = ExportLogsServiceRequest()
    request.resource_logs.add().scope_logs.add().log_records.extend(records)
    serialized: bytes = request.SerializeToString(deterministic=True)
    return serialized


def _extension(code: int, data: bytes) -> Any:
    if code == _EVENT_TIME and len(data) == 8:
        return EventTime(int.from_bytes(data[:4], "big") * _NANOS + int.from_bytes(data[4:], "big"))
    return data


class EventTime(int):
    """Nanoseconds since 1970."""


def _entries(second: Any, option: Any, limit: int) -> Iterator[Any]:
    if type(second) is list:
        yield from second
        return
    packed = second.encode(errors="surrogateescape") if type(second) is str else second
    compressed = option.get("compressed") if type(option) is dict else None
    if compressed == "gzip":
        packed = _gunzip(packed, limit)
    elif compressed not in (None, "text"):
        raise Malformed(f"compressed = {_shown(compressed)} is not one of text, gzip")
    entries = unpacker(max(len(packed), 1))
    entries.feed(packed)
    end = 0
    for each in unpacked(entries, "entries are"):
        end = entries.tell()
        yield each
    if end < len(packed):
        raise Malformed("entries are cut off")


def _gunzip(packed: bytes, limit: int) -> bytes:
    """Decompresses one or several members of gzip."""
    out = bytearray()
    rest = memoryview(packed)
    while rest:
        inflate = zlib.decompressobj(16 + zlib.MAX_WBITS)
        while not inflate.eof:
            # In parts: what follows a member is copied, and there may be many small ones.
            part = rest[:_PART]
            if not part:
                raise Malformed("entries are cut off: their gzip data has no end")
            try:
                out += inflate.decompress(part, limit + 1 - len(out))
            except zlib.error as error:
                raise Malformed(f"entries are not gzip: {error}") from None
            if len(out) > limit:
                raise Malformed(f"entries have more than max_message_size = {limit} bytes after decompression")
            rest = rest[len(part) - len(inflate.unused_data) :]
    return bytes(out)


def _record(tag: str, entry: Any) -> LogRecord:
    if type(entry) is not list or len(entry) < 2 or type(entry[1]) is not dict:
        raise Malformed(f"{_shown(entry)} is not an entry of the Forward protocol: a time and a map")
    time, members = _time(entry[0]), entry[1]
    record = LogRecord(time_unix_nano=time)
    record.attributes.add(key=_TAG).value.string_value = tag
    body = next((each for each in _BODIES if isinstance(members.get(each), str | bytes)), None)
    for key, value in members.items():
        if key == body:
            record.body.string_value = _text(value)
        else:
            _set(record.attributes.add(key=_text(key)).value, value, 0)
    return record


def _time(given: Any) -> int:
    """Nanoseconds since 1970. Fluent Bit sends a time with metadata in an array."""
    if type(given) is list and given:
        given = given[0]
    if isinstance(given, EventTime):
        return int(given)
    if isinstance(given, int | float) and 0 <= given < 1 << 34:
        return int(given * _NANOS)
    raise Malformed(f"{_shown(given)} is not a time of the Forward protocol")


def _set(target: AnyValue, value: Any, depth: int) -> None:
    if isinstance(value, str):
        target.string_value = _text(value)
    elif isinstance(value, bool):
        target.bool_value = value
    elif isinstance(value, int):
        if value in _INT64:
            target.int_value = value
        else:
            target.string_value = str(value)
    elif isinstance(value, float):
        target.double_value = value
    elif isinstance(value, bytes):
        target.bytes_value = value
    elif value is None:
        pass
    elif depth == _MOST_DEPTH:
        target.string_value = json.dumps(value, default=repr, skipkeys=True)
    elif isinstance(value, dict):
        target.kvlist_value.SetInParent()
        for key, each in value.items():
            _set(target.kvlist_value.values.add(key=_text(key)).value, each, depth + 1)
    elif isinstance(value, list):
        target.array_value.SetInParent()
        for each in value:
            _set(target.array_value.values.add(), each, depth + 1)
    else:
        target.string_value = str(value)


def _text(value: Any) -> str:
    """A value as text; bytes that are not UTF-8 are replaced."""
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    if not isinstance(value, str):
        return str(value)
    try:
        value.encode()
    except UnicodeEncodeError:
        return value.encode(errors="surrogateescape").decode(errors="replace")
    return value


def _shown(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


class Handshake:
    """The server's side of the handshake with a shared key.

    Args:
        key: The shared key.
        name: The server's name.
    """

    def __init__(self, key: str, name: str) -> None:
        self._key = key.encode()
        self._name = name
        self._nonce = secrets.token_bytes(16)

    def hello(self) -> bytes:
        """The server's first message."""
        return _packed(["HELO", {"nonce": self._nonce, "auth": b"", "keepalive": True}])

    def answer(self, ping: Any) -> tuple[bytes, str]:
        """The answer to the client's message, and why it is refused; empty for a success."""
        texts = list(map(_bytes, ping)) if type(ping) is list and len(ping) == 6 and _all_texts(ping) else []
        if not texts or texts[0] != b"PING":
            return self._refusal("the first message is not a PING")
        _, client, salt, digest = texts[:4]
        if not hmac.compare_digest(digest, self._digest(salt, client)):
            return self._refusal("shared_key mismatch")
        mine = self._digest(salt, self._name.encode()).decode()
        return _packed(["PONG", True, "", self._name, mine]), ""

    def _digest(self, salt: bytes, name: bytes) -> bytes:
        return hashlib.sha512(salt + name + self._nonce + self._key).hexdigest().encode()

    @staticmethod
    def _refusal(reason: str) -> tuple[bytes, str]:
        return _packed(["PONG", False, reason, "", ""]), reason


def acknowledgement(chunk: str) -> bytes:
    """The answer to a message that is stored."""
    return _packed({"ack": chunk})


def _packed(value: Any) -> bytes:
    packed: bytes = msgpack.packb(value)
    return packed


def _all_texts(values: "list[Any]") -> bool:
    return all(isinstance(each, str | bytes) for each in values)


def _bytes(value: "str | bytes") -> bytes:
    return value.encode(errors="surrogateescape") if isinstance(value, str) else value
