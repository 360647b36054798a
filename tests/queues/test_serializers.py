"""Serializers: the objects that each one preserves, and those for which it raises."""

import json
import math
import pickle
import sys
from datetime import date
from typing import Any

import pytest

from mmapqueue import ConfigError
from mmapqueue._values.serializers import serializer_of


def through(serializer: Any, item: Any) -> Any:
    codec = serializer_of(serializer)
    return codec.loads(codec.dumps(item))


@pytest.mark.parametrize("name", ["json", "msgpack", "pickle"])
@pytest.mark.parametrize("item", [None, True, -1, 1.5, "", "größe", [1, [2]], {"a": {"b": None}}], ids=repr)
def test_plain_values_come_back(name: str, item: Any) -> None:
    if name == "msgpack":
        pytest.importorskip("msgpack")
    assert through(name, item) == item
    assert serializer_of(name).name == name


def test_json_is_what_other_programs_read() -> None:
    assert serializer_of("json").dumps({"größe": [1, "x"]}) == '{"größe":[1,"x"]}'.encode()
    with pytest.raises(ValueError, match="JSON"):
        serializer_of("json").dumps(math.nan)
    with pytest.raises(TypeError, match="bytes"):
        serializer_of("json").dumps(b"x")


def test_json_keeps_names_of_files_that_are_not_utf_8() -> None:
    name = "a\udce4\\udce4b"
    assert through("json", name) == name
    serializer_of("json").dumps(name).decode()


def test_json_changes_what_it_has_no_notation_for() -> None:
    assert through("json", {1: (2, 3)}) == {"1": [2, 3]}


def test_msgpack_keeps_bytes_and_int_keys() -> None:
    pytest.importorskip("msgpack")
    assert through("msgpack", {1: b"\xff"}) == {1: b"\xff"}


def test_msgpack_names_the_package_that_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "msgpack", None)
    with pytest.raises(ImportError, match=r"mmapqueue\[msgpack\]"):
        serializer_of("msgpack")


def test_pickle_keeps_almost_any_object() -> None:
    item = {date(2000, 1, 1): (1, {2}, b"x")}
    assert through("pickle", item) == item


class Hex:
    def dumps(self, item: int) -> Any:
        return hex(item)

    def loads(self, data: bytes) -> int:
        return int(data, 16)


class Twice(Hex):
    def dumps(self, item: int) -> bytearray:
        return bytearray(hex(2 * item), "ascii")


class Nothing(Hex):
    def dumps(self, item: int) -> None:
        pass


def test_an_object_with_dumps_and_loads() -> None:
    assert serializer_of(Hex()).dumps(255) == b"0xff"
    assert through(Hex(), 255) == 255
    twice: Any = Twice()  # The type of a serializer promises bytes or str; a bytearray will do.
    assert through(twice, 4) == 8
    assert type(serializer_of(twice).dumps(4)) is bytes
    assert serializer_of(Hex()).name == "Hex"


def test_a_module_is_such_an_object() -> None:
    assert serializer_of(json).dumps([1, 2]) == b"[1, 2]"
    assert through(pickle, (1, 2)) == (1, 2)


def test_what_is_no_serializer() -> None:
    with pytest.raises(ConfigError, match='allowed: "json", "msgpack", "pickle"') as caught:
        serializer_of("yaml")
    assert (caught.value.key, caught.value.value) == ("serializer", "yaml")
    for wrong in (None, 1, object(), str):
        with pytest.raises(TypeError, match="an object with dumps and loads"):
            serializer_of(wrong)  # type: ignore[arg-type]
    with pytest.raises(TypeError, match="dumps returned NoneType"):
        serializer_of(Nothing()).dumps(1)  # type: ignore[arg-type]


class AsyncSerializer:
    async def dumps(self, item: object) -> bytes:
        raise NotImplementedError

    async def loads(self, data: bytes) -> object:
        raise NotImplementedError


def test_an_async_serializer_is_refused() -> None:
    with pytest.raises(TypeError, match=r"serializer\.dumps = .* only makes a coroutine"):
        serializer_of(AsyncSerializer())  # type: ignore[arg-type]
