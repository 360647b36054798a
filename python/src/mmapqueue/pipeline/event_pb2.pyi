from google.protobuf import struct_pb2 as _struct_pb2
from google.protobuf.internal import containers as _containers
from google.protobuf.internal import enum_type_wrapper as _enum_type_wrapper
from google.protobuf import descriptor as _descriptor
from google.protobuf import message as _message
from collections.abc import Iterable as _Iterable, Mapping as _Mapping
from typing import ClassVar as _ClassVar, Optional as _Optional, Union as _Union

DESCRIPTOR: _descriptor.FileDescriptor

class EventType(int, metaclass=_enum_type_wrapper.EnumTypeWrapper):
    __slots__ = ()
    CLR: _ClassVar[EventType]
    JVM: _ClassVar[EventType]
    METRICS: _ClassVar[EventType]
    TRACING: _ClassVar[EventType]
    LOGGING: _ClassVar[EventType]
    MANAGEMENT: _ClassVar[EventType]
    PROFILE: _ClassVar[EventType]
    SERVICE_MESH: _ClassVar[EventType]
    EVENT: _ClassVar[EventType]
    OTHER: _ClassVar[EventType]
CLR: EventType
JVM: EventType
METRICS: EventType
TRACING: EventType
LOGGING: EventType
MANAGEMENT: EventType
PROFILE: EventType
SERVICE_MESH: EventType
EVENT: EventType
OTHER: EventType

class LogList(_message.Message):
    __slots__ = ("logs",)
    LOGS_FIELD_NUMBER: _ClassVar[int]
    logs: _containers.RepeatedScalarFieldContainer[bytes]
    def __init__(self, logs: _Optional[_Iterable[bytes]] = ...) -> None: ...

class Event(_message.Message):
    __slots__ = ("timestamp", "name", "type", "remote", "meta", "segment", "log_list", "content_type", "data", "fields", "id", "source")
    class MetaEntry(_message.Message):
        __slots__ = ("key", "value")
        KEY_FIELD_NUMBER: _ClassVar[int]
        VALUE_FIELD_NUMBER: _ClassVar[int]
        key: str
        value: str
        def __init__(self, key: _Optional[str] = ..., value: _Optional[str] = ...) -> None: ...
    TIMESTAMP_FIELD_NUMBER: _ClassVar[int]
    NAME_FIELD_NUMBER: _ClassVar[int]
    TYPE_FIELD_NUMBER: _ClassVar[int]
    REMOTE_FIELD_NUMBER: _ClassVar[int]
    META_FIELD_NUMBER: _ClassVar[int]
    SEGMENT_FIELD_NUMBER: _ClassVar[int]
    LOG_LIST_FIELD_NUMBER: _ClassVar[int]
    CONTENT_TYPE_FIELD_NUMBER: _ClassVar[int]
    DATA_FIELD_NUMBER: _ClassVar[int]
    FIELDS_FIELD_NUMBER: _ClassVar[int]
    ID_FIELD_NUMBER: _ClassVar[int]
    SOURCE_FIELD_NUMBER: _ClassVar[int]
    timestamp: int
    name: str
    type: EventType
    remote: bool
    meta: _containers.ScalarMap[str, str]
    segment: bytes
    log_list: LogList
    content_type: str
    data: bytes
    fields: _struct_pb2.Struct
    id: str
    source: str
    def __init__(self, timestamp: _Optional[int] = ..., name: _Optional[str] = ..., type: _Optional[_Union[EventType, str]] = ..., remote: bool = ..., meta: _Optional[_Mapping[str, str]] = ..., segment: _Optional[bytes] = ..., log_list: _Optional[_Union[LogList, _Mapping]] = ..., content_type: _Optional[str] = ..., data: _Optional[bytes] = ..., fields: _Optional[_Union[_struct_pb2.Struct, _Mapping]] = ..., id: _Optional[str] = ..., source: _Optional[str] = ...) -> None: ...

class Batch(_message.Message):
    __slots__ = ("events", "key")
    EVENTS_FIELD_NUMBER: _ClassVar[int]
    KEY_FIELD_NUMBER: _ClassVar[int]
    events: _containers.RepeatedScalarFieldContainer[bytes]
    key: str
    def __init__(self, events: _Optional[_Iterable[bytes]] = ..., key: _Optional[str] = ...) -> None: ...

class Pushed(_message.Message):
    __slots__ = ()
    def __init__(self) -> None: ...
