"""Checks requests of OTLP: what no decoder accepts must not be answered with success, nor stored.

Protobuf is parsed by its own library, which takes less than a microsecond for each log record; JSON takes some ten.
Texts that are not UTF-8 are not errors: decoders replace the bytes at fault.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import cache
from typing import Any, NamedTuple

from google.protobuf.descriptor import Descriptor, FieldDescriptor
from google.protobuf.descriptor_pb2 import DescriptorProto, FieldDescriptorProto, FileDescriptorProto
from google.protobuf.descriptor_pool import DescriptorPool
from google.protobuf.message import DecodeError
from google.protobuf.message_factory import GetMessageClass
from google.protobuf.unknown_fields import UnknownFieldSet
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.logs.v1 import logs_pb2
from opentelemetry.proto.metrics.v1 import metrics_pb2
from opentelemetry.proto.profiles.v1development import profiles_pb2
from opentelemetry.proto.resource.v1 import resource_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from mmapqueue.pipeline.gather.wire import Malformed

#: Larger requests are checked in part for fields of another wire type: see decision 169.
_WHOLLY_CHECKED_BYTES = 16 << 10
_CHECKED_OF_A_LIST = 4
#: Nested messages, as in the decoder.
_MOST_DEPTH = 100
_MOST_CHARACTERS = 1000
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?", re.ASCII)
_PLAIN = re.compile(r"-?[0-9]{1,18}", re.ASCII)
_HEX = re.compile(r"(?:[0-9a-fA-F]{2})*")
_BASE64 = re.compile(r"[A-Za-z0-9+/_-]*={0,2}")
_NOT_FINITE = ("NaN", "Infinity", "-Infinity")
#: Bytes that are hexadecimal in OTLP's JSON; others are Base64.
_IDENTITIES = ("traceId", "spanId", "parentSpanId")


class _Signal(NamedTuple):
    """A request of one signal: the message, and the members that lead to its records."""

    message: Any
    path: tuple[tuple[str, ...], ...]


_KINDS = ("gauge", "sum", "histogram", "exponentialHistogram", "summary")
_SIGNALS = {
    # These messages have the fields of the requests.
    "logs": _Signal(logs_pb2.LogsData, (("resourceLogs",), ("scopeLogs",), ("logRecords",))),
    "traces": _Signal(trace_pb2.TracesData, (("resourceSpans",), ("scopeSpans",), ("spans",))),
    "metrics": _Signal(
        metrics_pb2.MetricsData,
        (("resourceMetrics",), ("scopeMetrics",), ("metrics",), _KINDS, ("dataPoints",)),
    ),
    "profiles": _Signal(profiles_pb2.ProfilesData, (("resourceProfiles",), ("scopeProfiles",), ("profiles",))),
}
_FILES = (common_pb2, resource_pb2, logs_pb2, trace_pb2, metrics_pb2, profiles_pb2)


class Checked(NamedTuple):
    """What a request has.

    Attributes:
        content: Whether it has more than empty lists.
        records: Whether it has a log record, span, data point or profile.
    """

    content: bool
    records: bool


def check_protobuf(signal: str, request: bytes) -> Checked:
    """Checks a request in protobuf.

    Args:
        signal: logs, traces, metrics or profiles.
        request: The request.

    Raises:
        Malformed: The bytes are not a request of that signal.
    """
    try:
        message = _class(signal).FromString(request)
    except DecodeError as error:
        raise Malformed(f"the request is not OTLP {signal}: {error}") from None
    records = any(len(each) > 0 for each in _lists(message, _fields(signal)))
    checked = request
    if records and len(request) > _WHOLLY_CHECKED_BYTES:
        _keep_first(message, _fields(signal))
        checked = message.SerializeToString()
    # Fields of another wire type are unknown ones to protobuf's library, and the decoder refuses them.
    message.DiscardUnknownFields()
    if len(message.SerializeToString()) != len(checked):
        _check_types(_class(signal).FromString(checked), signal)
    return Checked(bool(request), records)


def check_json(signal: str, request: bytes) -> Checked:
    """Checks a request in JSON, as `check_protobuf`."""
    try:
        document = json.loads(request, parse_float=Decimal, parse_constant=_no_constant, object_pairs_hook=tuple)
        _json(_SIGNALS[signal].message.DESCRIPTOR).check(document, 1)
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise Malformed(f"the request is not OTLP {signal} in JSON: {error}") from None
    content = any(value not in (None, [], ()) for _, value in document)
    return Checked(content, _leads_json(document, _SIGNALS[signal].path))


def ids_of_records(signal: str, request: bytes, names: Sequence[str], *, is_json: bool) -> list[bytes] | None:
    """The ids of the log records, spans or data points of a request, which was checked.

    Args:
        signal: logs, traces, metrics or profiles.
        request: The request.
        names: Attributes whose values are together the id of a record.
        is_json: Whether the request is JSON.

    Returns:
        An id for each record, in their order. None when a record has not all of these attributes, and for no records.
    """
    if is_json:
        found = [
            {each.get("key"): json.dumps(each.get("value")).encode() for each in record.get("attributes") or ()}
            for records in _json_lists(json.loads(request), _SIGNALS[signal].path)
            for record in records
        ]
        wanted: list[Any] = [*names]
    else:
        found = [
            # Profiles have indexes of attributes.
            {each.key: each.value.SerializeToString(deterministic=True) for each in getattr(record, "attributes", ())}
            for records in _lists(_class(signal).FromString(request), _fields(signal))
            for record in records
        ]
        wanted = [name.encode() for name in names]
    if not all(name in attributes for attributes in found for name in wanted):
        return None
    ids = [[attributes[name] for name in wanted] for attributes in found]
    return [b"".join(len(each).to_bytes(4, "little") + each for each in values) for values in ids] or None


def without_large_protobuf(signal: str, request: bytes, most: int) -> tuple[bytes, int, int]:
    """A request that was checked, without its records of more than `most` bytes.

    Args:
        signal: As for `check_protobuf`.
        request: The request.
        most: Bytes that a record may have, as it is serialized.

    Returns:
        The request, unchanged if it has no such record; the number of records left out; the number of the others.
    """
    if len(request) <= most:
        return request, 0, 1
    message = _class(signal).FromString(request)
    removed = kept = 0
    for records in _lists(message, _fields(signal)):
        large = [position for position, each in enumerate(records) if each.ByteSize() > most]
        removed += len(large)
        kept += len(records) - len(large)
        for position in reversed(large):
            del records[position]
    return (message.SerializeToString() if removed else request), removed, kept


def without_large_json(signal: str, request: bytes, most: int) -> tuple[bytes, int, int]:
    """As `without_large_protobuf`, for JSON. A record's bytes are those of its JSON without spaces.

    Raises:
        Malformed: It has such a record, and cannot be written without it: an object has a member twice, or a number is
            larger than any double.
    """
    if len(request) <= most:
        return request, 0, 1
    removed = kept = 0
    try:
        document = json.loads(request, object_pairs_hook=_unique)
        for records in _json_lists(document, _SIGNALS[signal].path):
            fitting = [each for each in records if len(_dumped(each)) <= most]
            removed += len(records) - len(fitting)
            kept += len(fitting)
            records[:] = fitting
        return (_dumped(document) if removed else request), removed, kept
    except (ValueError, RecursionError) as error:
        raise Malformed(f"the request is not OTLP {signal} in JSON: {error}") from None


@cache
def _pool() -> DescriptorPool:
    """OTLP's messages with bytes in place of texts, which need not be UTF-8."""
    pool = DescriptorPool()
    for module in _FILES:
        file = FileDescriptorProto.FromString(module.DESCRIPTOR.serialized_pb)
        for message in file.message_type:
            _texts_as_bytes(message)
        pool.AddSerializedFile(file.SerializeToString())
    return pool


def _texts_as_bytes(message: DescriptorProto) -> None:
    for field in message.field:
        if field.type == FieldDescriptorProto.TYPE_STRING:
            field.type = FieldDescriptorProto.TYPE_BYTES
    for nested in message.nested_type:
        _texts_as_bytes(nested)


@cache
def _class(signal: str) -> Any:
    return GetMessageClass(_pool().FindMessageTypeByName(_SIGNALS[signal].message.DESCRIPTOR.full_name))


@cache
def _fields(signal: str) -> list[list[str]]:
    """The names of the fields that lead to records."""
    return [[_snake(name) for name in names] for names in _SIGNALS[signal].path]


def _snake(name: str) -> str:
    return re.sub(r"[A-Z]", lambda found: f"_{found[0].lower()}", name)


def _lists(message: Any, path: Sequence[Sequence[str]]) -> Iterator[Any]:
    """The lists of records."""
    names, rest = path[0], path[1:]
    for name in names:
        if len(names) > 1 and not message.HasField(name):
            continue
        value = getattr(message, name)
        if not rest:
            yield value
            continue
        for each in (value,) if len(names) > 1 else value:
            yield from _lists(each, rest)


def _keep_first(message: Any, path: Sequence[Sequence[str]]) -> None:
    """Cuts the lists that lead to records, and those of records."""
    names, rest = path[0], path[1:]
    for name in names:
        if len(names) > 1:
            if message.HasField(name):
                _keep_first(getattr(message, name), rest)
            continue
        value = getattr(message, name)
        del value[_CHECKED_OF_A_LIST:]
        if rest:
            for each in value:
                _keep_first(each, rest)


def _check_types(message: Any, signal: str) -> None:
    """Raises Malformed for a field of another wire type than its own."""
    known = message.DESCRIPTOR.fields_by_number
    unknown_fields: Any = UnknownFieldSet(message)
    for unknown in unknown_fields:
        if unknown.field_number in known:
            name = known[unknown.field_number].name
            raise Malformed(f"the request is not OTLP {signal}: {name} has the wire type {unknown.wire_type}")
    for field, value in message.ListFields():
        if field.type == FieldDescriptor.TYPE_MESSAGE:
            for each in value if field.is_repeated else (value,):
                _check_types(each, signal)


# ---- JSON: an object is a tuple of its members, in their order


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _leads_json(document: Any, path: Sequence[Sequence[str]]) -> bool:
    names, rest = path[0], path[1:]
    for name, value in document:
        if name in names and value:
            if not rest:
                return True
            if any(_leads_json(each, rest) for each in (value if type(value) is list else [value])):
                return True
    return False


def _json_lists(document: Any, path: Sequence[Sequence[str]]) -> Iterator[list[Any]]:
    """The lists of records of a document whose objects are dicts."""
    for name in path[0]:
        value = document.get(name)
        if not value:
            continue
        if len(path) == 1:
            yield value
            continue
        for each in value if type(value) is list else [value]:
            yield from _json_lists(each, path[1:])


def _unique(members: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(members)
    if len(found) < len(members):
        raise ValueError("an object has a member twice")
    return found


def _dumped(value: Any) -> bytes:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode(errors="surrogatepass")


class _Member(NamedTuple):
    check: Callable[[Any, int], None]
    repeated: bool
    oneof: str | None


class _Object:
    """Checks the objects of one message."""

    def __init__(self, message: Descriptor) -> None:
        self._name = message.name
        self._message = message
        self._members: dict[str, _Member] | None = None

    def check(self, value: Any, depth: int) -> None:
        """Raises ValueError if a value is not such an object."""
        if type(value) is not tuple:
            raise ValueError(f"{_shown(value)} is not an object {self._name}")
        if depth > _MOST_DEPTH:
            raise ValueError(f"it has more than {_MOST_DEPTH} nested objects")
        members = self._members or self._prepare()
        chosen: list[str] = []
        for name, content in value:
            member = members.get(name)
            if member is None or content is None:
                continue
            check, repeated, oneof = member
            if oneof is not None:
                if oneof in chosen:
                    raise ValueError(f"{self._name} has a second {oneof}, {name}")
                chosen.append(oneof)
            try:
                if not repeated:
                    check(content, depth + 1)
                elif type(content) is list:
                    for each in content:
                        check(each, depth + 1)
                else:
                    raise ValueError(f"{_shown(content)} is not an array")
            except _Wrong:
                raise
            except ValueError as error:
                raise _Wrong(f"{name}: {error}") from None

    def _prepare(self) -> dict[str, _Member]:
        self._members = {
            field.json_name: _Member(
                _check_of(field),
                field.is_repeated,
                None if field.containing_oneof is None else field.containing_oneof.name,
            )
            for field in self._message.fields
        }
        return self._members


class _Wrong(ValueError):
    """A ValueError that names its member."""


@cache
def _json(message: Descriptor) -> _Object:
    return _Object(message)


def _check_of(field: FieldDescriptor) -> Callable[[Any, int], None]:
    """The check of a field's value, or of each of its values."""
    if field.type == FieldDescriptor.TYPE_MESSAGE:
        return _json(field.message_type).check
    if field.type == FieldDescriptor.TYPE_BYTES:
        return _check_hex if field.json_name in _IDENTITIES else _check_base64
    if field.type in _BITS:
        signed, bits = _BITS[field.type]
        return _integers(-(1 << bits - 1) if signed else 0, (1 << bits - signed) - 1)
    return _CHECKS[field.type]


def _check_text(value: Any, _: int) -> None:
    if type(value) is not str:
        raise ValueError(f"{_shown(value)} is not text")


def _check_bool(value: Any, _: int) -> None:
    if type(value) is not bool:
        raise ValueError(f"{_shown(value)} is neither true nor false")


def _check_hex(value: Any, _: int) -> None:
    if type(value) is not str or _HEX.fullmatch(value) is None:
        raise ValueError(f"{_shown(value)} is not hexadecimal")


def _check_base64(value: Any, _: int) -> None:
    if type(value) is str and _BASE64.fullmatch(value) is not None:
        digits = len(value.rstrip("="))
        if digits % 4 != 1 and (digits == len(value) or len(value) % 4 == 0):
            return
    raise ValueError(f"{_shown(value)} is not Base64")


def _check_double(value: Any, _: int) -> None:
    if value in _NOT_FINITE and type(value) is str:
        return
    try:
        finite = math.isfinite(float(_number(value)))
    except OverflowError:
        finite = False
    if not finite:
        raise ValueError(f"{_shown(value)} is out of the range of a double")


def _integers(least: int, most: int) -> Callable[[Any, int], None]:
    """The check of integers of a range, in any form that protobuf's JSON allows."""

    def check(value: Any, _: int) -> None:
        number = _number(value)
        if type(number) is Decimal:
            # Not made an integer before its size is known, which an exponent may make billions of digits.
            whole = not number or 0 <= number.adjusted() <= 20
            number = int(number) if whole and number == int(number) else most + 1
        if not least <= number <= most:
            raise ValueError(f"{_shown(value)} is not an integer from {least} to {most}")

    return check


def _number(value: Any) -> int | Decimal:
    """The value of a number, or of a string with a number."""
    if type(value) is int or type(value) is Decimal:
        return value
    if type(value) is str:
        if _PLAIN.fullmatch(value) is not None:
            return int(value)
        if len(value) <= _MOST_CHARACTERS and _NUMBER.fullmatch(value) is not None:
            return Decimal(value)
    raise ValueError(f"{_shown(value)} is not a number")


def _shown(value: Any) -> str:
    text = str(value) if type(value) is Decimal else repr(value)
    return text if len(text) <= 60 else f"{text[:60]}…"


#: Whether an integer has a sign, and its bits, by its type.
_BITS = {
    FieldDescriptor.TYPE_ENUM: (True, 32),
    FieldDescriptor.TYPE_INT32: (True, 32),
    FieldDescriptor.TYPE_SINT32: (True, 32),
    FieldDescriptor.TYPE_SFIXED32: (True, 32),
    FieldDescriptor.TYPE_UINT32: (False, 32),
    FieldDescriptor.TYPE_FIXED32: (False, 32),
    FieldDescriptor.TYPE_INT64: (True, 64),
    FieldDescriptor.TYPE_SINT64: (True, 64),
    FieldDescriptor.TYPE_SFIXED64: (True, 64),
    FieldDescriptor.TYPE_UINT64: (False, 64),
    FieldDescriptor.TYPE_FIXED64: (False, 64),
}
_CHECKS = {
    FieldDescriptor.TYPE_STRING: _check_text,
    FieldDescriptor.TYPE_BOOL: _check_bool,
    FieldDescriptor.TYPE_DOUBLE: _check_double,
}
