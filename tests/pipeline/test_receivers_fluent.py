"""Fluent's Forward protocol: messages of all modes, acknowledgements, the shared key, TLS, limits."""

import contextlib
import gzip
import hashlib
import shutil
import socket
import ssl
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgpack
import pytest
from opentelemetry.proto.collector.logs.v1.logs_service_pb2 import ExportLogsServiceRequest
from pydantic import ValidationError

import mmapqueue
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.config import Tls
from mmapqueue.pipeline.gather.inbox import Full
from mmapqueue.pipeline.gather.receivers._forward import message_of
from mmapqueue.pipeline.gather.receivers.fluent import FluentReceiver

from .serving import FakeInbox, Serving, certificates, inflated, wait_for

TCP = "tcp://127.0.0.1:0"
SECOND = 1_760_000_000
NANOS = SECOND * 1_000_000_000
#: EventTime with 5 ns.
TIME = msgpack.ExtType(0, SECOND.to_bytes(4, "big") + (5).to_bytes(4, "big"))


def connect(serving: Serving) -> socket.socket:
    receiver = serving.receivers[0]
    assert isinstance(receiver, FluentReceiver)
    return socket.create_connection(("127.0.0.1", receiver.port), 60)


def records(serving: Serving) -> list[Any]:
    requests = [ExportLogsServiceRequest.FromString(each.data) for each in serving.events]
    return [each for request in requests for each in request.resource_logs[0].scope_logs[0].log_records]


def members(record: Any) -> dict[str, Any]:
    return {each.key: each.value for each in record.attributes}


def answers(connection: socket.socket) -> Iterator[Any]:
    unpacker = msgpack.Unpacker()
    while data := connection.recv(1000):
        unpacker.feed(data)
        yield from unpacker


def packed(*entries: Any) -> bytes:
    return b"".join(map(msgpack.packb, entries))


ONE, TWO = [TIME, {"log": "one", "n": 1}], [SECOND, {"message": "two"}]
MODES = {
    "message": ["app", *ONE],
    "message with option": ["app", *ONE, {"size": 1}],
    "forward": ["app", [ONE, TWO]],
    "packed": ["app", packed(ONE, TWO), {"size": 2}],
    "packed as text": ["app", packed(ONE, TWO).decode("latin-1"), {}],
    "compressed": ["app", gzip.compress(packed(ONE, TWO)), {"compressed": "gzip"}],
    "compressed in two members": [
        "app",
        gzip.compress(packed(ONE)) + gzip.compress(packed(TWO)),
        {"compressed": "gzip"},
    ],
}


@pytest.mark.parametrize("mode", MODES)
def test_messages_become_log_records(mode: str) -> None:
    message = msgpack.packb(MODES[mode])
    if mode == "packed as text":
        # What loggers of older MessagePack send: bytes as a text.
        entries = packed(ONE, TWO)
        message = b"\x93" + msgpack.packb("app") + b"\xda" + len(entries).to_bytes(2, "big") + entries + b"\x80"
    with Serving(FluentReceiver(listen=TCP)) as serving:
        with connect(serving) as connection:
            name = connection.getsockname()
            # Byte by byte: messages arrive in any parts.
            for at in range(len(message)):
                connection.sendall(message[at : at + 1])
            connection.sendall(msgpack.packb(["last", SECOND, {"x": 1}]))
            wait_for(lambda: len(records(serving)) == (2 if mode.startswith("message") else 3))
        first, *others = records(serving)
        assert (first.time_unix_nano, first.body.string_value) == (NANOS + 5, "one")
        found = members(first)
        assert (found["fluent.tag"].string_value, found["n"].int_value, set(found)) == ("app", 1, {"fluent.tag", "n"})
        if len(others) > 1:
            assert (others[0].time_unix_nano, others[0].body.string_value) == (NANOS, "two")
        event = serving.events[0]
        assert (event.type, event.content_type) == (EventType.LOGGING, "application/x-protobuf; proto=otlp.logs")
        assert event.source == f"fluent://127.0.0.1:{name[1]}"


def test_values_keep_their_types() -> None:
    deep: Any = "end"
    for _ in range(40):
        deep = [deep]
    given = {
        "text": "ä",
        "bytes": b"\xff",
        "int": -5,
        "large": 1 << 63,
        "float": 0.5,
        "bool": True,
        "nil": None,
        "list": [1, "a"],
        "map": {"k": {"l": []}},
        "deep": deep,
        7: "key",
        "log": 5,
    }
    broken = b"\xa3bad\xa2\xff\xfe"
    entry = msgpack.packb(given)
    entry = bytes([entry[0] + 1]) + entry[1:] + broken
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as connection:
        connection.sendall(b"\x93\xa3app" + msgpack.packb(0.5) + entry)
        wait_for(lambda: serving.events)
        (record,) = records(serving)
        found = members(record)
        assert record.time_unix_nano == 500_000_000
        assert not record.HasField("body")
        assert (found["text"].string_value, found["bytes"].bytes_value) == ("ä", b"\xff")
        assert (found["int"].int_value, found["large"].string_value) == (-5, str(1 << 63))
        assert (found["float"].double_value, found["bool"].bool_value) == (0.5, True)
        assert found["nil"].WhichOneof("value") is None
        assert [each.WhichOneof("value") for each in found["list"].array_value.values] == ["int_value", "string_value"]
        inner = found["map"].kvlist_value.values[0].value.kvlist_value.values[0]
        assert (inner.key, inner.value.WhichOneof("value")) == ("l", "array_value")
        assert (found["7"].string_value, found["log"].int_value) == ("key", 5)
        assert found["bad"].string_value == "\ufffd\ufffd"
        # No deeper than what decoders of protobuf take.
        assert '"end"' in str(found["deep"]).replace("\\", "")


def test_a_chunk_is_acknowledged_after_its_records_are_stored() -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as connection:
        serving.run(serving.inbox.hold())
        connection.sendall(
            msgpack.packb(["app", [ONE], {"chunk": "a"}]) + msgpack.packb(["app", [TWO], {"chunk": "b"}])
        )
        assert serving.inbox.waiting.acquire(timeout=60)
        connection.settimeout(0.2)
        with pytest.raises(TimeoutError):
            connection.recv(1)
        serving.run(serving.inbox.release())
        connection.settimeout(60)
        found = answers(connection)
        assert [next(found), next(found)] == [{"ack": "a"}, {"ack": "b"}]
        assert [each.body.string_value for each in records(serving)] == ["one", "two"]


@pytest.mark.parametrize("error", [Full("no consumer"), mmapqueue.MmapQueueError("no space left")])
def test_clients_wait_while_the_queue_is_full(error: Exception) -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as connection:
        serving.inbox.failures += [error] * 2
        connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
        assert next(answers(connection)) == {"ack": "a"}
        assert serving.inbox.refused == 2
        assert len(serving.inbox.puts) == 1


def test_a_client_that_has_gone_is_not_waited_for() -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving:
        for ends in (False, True):  # The end of a connection, and a reset.
            serving.inbox.failures += [Full("no consumer")] * 1_000_000
            with connect(serving) as connection:
                connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
                wait_for(lambda: serving.inbox.refused)
                if ends:
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            wait_for(lambda: not serving.run(held(serving)))
            serving.inbox.failures.clear()
            serving.inbox.refused = 0
        assert not serving.inbox.records
        with connect(serving) as connection:
            connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
            assert next(answers(connection)) == {"ack": "a"}


def test_what_is_not_stored_is_not_acknowledged() -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as connection:
        serving.inbox.failures += [mmapqueue.Closed("stopping")]
        connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
        with contextlib.suppress(ConnectionError):
            assert connection.recv(10) == b""
        assert not serving.inbox.records


def test_a_message_that_is_being_stored_is_acknowledged_when_the_receiver_stops(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as connection, connect(serving) as idle:
        serving.run(serving.inbox.hold())
        connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
        assert serving.inbox.waiting.acquire(timeout=60)
        stopping = serving.submit(serving.receivers[0].stop())
        serving.run(serving.inbox.release())
        stopping.result(60)
        assert next(answers(connection)) == {"ack": "a"}
        for each in (connection, idle):
            with contextlib.suppress(ConnectionError):
                assert each.recv(10) == b""
        assert len(serving.inbox.records) == 1
    assert caplog.text == ""


def test_messages_without_chunks_that_arrive_together_are_stored_together() -> None:
    with Serving(FluentReceiver(listen=TCP)) as serving:
        with connect(serving) as connection:
            connection.sendall(b"".join(msgpack.packb(["app", SECOND, {"log": str(n)}]) for n in range(5000)))
        wait_for(lambda: len(records(serving)) == 5000)
        assert [each.body.string_value for each in records(serving)] == [str(n) for n in range(5000)]
        assert len(serving.inbox.puts) < 500


def test_records_are_divided_among_events_and_one_that_fits_into_none_is_counted() -> None:
    entries = [[SECOND, {"log": "x" * size}] for size in (3000, 3000, 9000, 3000)]
    with Serving(FluentReceiver(listen=TCP), inbox=FakeInbox(8192)) as serving, connect(serving) as connection:
        connection.sendall(msgpack.packb(["app", entries, {"chunk": "a"}]))
        assert next(answers(connection)) == {"ack": "a"}
        assert [len(each.body.string_value) for each in records(serving)] == [3000] * 3
        assert len(serving.inbox.puts) == 1
        assert len(serving.inbox.records) == 2
        assert serving.host.counted["too_large"] == 1


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        msgpack.packb({"tag": "app"}),
        msgpack.packb(["app"]),
        msgpack.packb(["app", SECOND]),
        msgpack.packb(["app", SECOND, "no map"]),
        msgpack.packb(["app", "soon", {}]),
        msgpack.packb(["app", -1, {}]),
        msgpack.packb(["app", [["soon", {}]]]),
        msgpack.packb(["app", packed(ONE)[:-1]]),
        msgpack.packb(["app", b"\xc1"]),
        msgpack.packb(["app", b"no gzip", {"compressed": "gzip"}]),
        msgpack.packb(["app", gzip.compress(packed(ONE))[:-3], {"compressed": "gzip"}]),
        msgpack.packb(["app", gzip.compress(bytes(10_000_000)), {"compressed": "gzip"}]),
        msgpack.packb(["app", packed(ONE), {"compressed": "br"}]),
        msgpack.packb(["app", packed(ONE), {"fluent_signal": 1}]),
        msgpack.packb(["app", SECOND, {"log": "x" * 300_000}]),
        b"\xdd\xff\xff\xff\xff",
        b"\x91" * 3000,
        b"\x93\xa3app\x01\x81\x90\xc0",
        b"\x93\xa3app\x01\x81\xa1a" + b"\x91" * 990 + b"\xc0",
        msgpack.packb(["app", b"\x92\x01\x81\x90\xc0"]),
    ],
    ids=[
        "http",
        "a map",
        "a tag alone",
        "no record",
        "no map",
        "time text",
        "time negative",
        "entry time",
        "cut off",
        "no MessagePack",
        "no gzip",
        "gzip cut off",
        "gzip bomb",
        "unknown compression",
        "metrics of Fluent Bit",
        "too large",
        "too long array",
        "too deep",
        "a list as key",
        "too deep as JSON",
        "entry with a list as key",
    ],
)
def test_what_is_no_message_ends_its_connection_alone(sent: bytes, caplog: pytest.LogCaptureFixture) -> None:
    with Serving(FluentReceiver(listen=TCP, max_message_size=100_000)) as serving, connect(serving) as other:
        with connect(serving) as connection, contextlib.suppress(ConnectionError):
            connection.sendall(sent)
            connection.shutdown(socket.SHUT_WR)
            assert connection.recv(10) == b""
        wait_for(lambda: serving.host.counted["malformed"] == 1)
        other.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
        assert next(answers(other)) == {"ack": "a"}
        assert len(serving.inbox.records) == 1
    assert "is ended: " in caplog.text


def test_small_members_of_gzip_are_not_copied_again_and_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fluentd compresses each of its appends: a message has as many members. The event loop waits meanwhile."""
    given = inflated(monkeypatch)
    members = 2000
    message = message_of(["app", gzip.compress(packed(ONE)) * members, {"compressed": "gzip"}], 1 << 20)
    assert len([*message.records]) == members
    # Of the rest of the message, all of it at each member, these were 50 KB.
    assert sum(given) < members * 8192


def test_the_logger_from_pypi() -> None:
    sender = pytest.importorskip("fluent.sender", reason="the oldest libraries' run has no fluent-logger")
    with Serving(FluentReceiver(listen=TCP)) as serving:
        receiver = serving.receivers[0]
        assert isinstance(receiver, FluentReceiver)
        logger = sender.FluentSender("app", port=receiver.port, nanosecond_precision=True, timeout=60)
        for number in range(1000):
            assert logger.emit("web", {"message": f"text {number}", "number": number, "ok": True})
        assert logger.emit_with_time("", sender.EventTime(SECOND, 7), {"nested": {"list": [1, "two"]}})
        logger.close()
        wait_for(lambda: len(records(serving)) == 1001)
        found = records(serving)
        assert [members(each)["number"].int_value for each in found[:1000]] == list(range(1000))
        assert (found[999].body.string_value, members(found[999])["fluent.tag"].string_value) == ("text 999", "app.web")
        assert found[1000].time_unix_nano == NANOS + 7
        assert members(found[1000])["nested"].kvlist_value.values[0].value.array_value.values[1].string_value == "two"


# ---- the handshake, and TLS


def ping(key: str, nonce: bytes, name: str = "client") -> bytes:
    salt = b"0123456789abcdef"
    digest = hashlib.sha512(salt + name.encode() + nonce + key.encode()).hexdigest()
    return bytes(msgpack.packb(["PING", name, salt, digest, "", ""]))


def test_the_shared_key() -> None:
    with Serving(FluentReceiver(listen=TCP, shared_key="open")) as serving:
        with connect(serving) as connection:
            found = answers(connection)
            kind, options = next(found)
            assert (kind, options["keepalive"], options["auth"]) == ("HELO", True, b"")
            nonce = options["nonce"]
            connection.sendall(ping("open", nonce) + msgpack.packb(["app", [ONE], {"chunk": "a"}]))
            kind, success, reason, name, digest = next(found)
            assert (kind, success, reason) == ("PONG", True, "")
            expected = hashlib.sha512(b"0123456789abcdef" + name.encode() + nonce + b"open").hexdigest()
            assert digest == expected
            assert next(found) == {"ack": "a"}
        for wrong in ("open ", "", "clos"):
            with connect(serving) as connection:
                found = answers(connection)
                connection.sendall(ping(wrong, next(found)[1]["nonce"]) + msgpack.packb(["app", [ONE]]))
                assert next(found)[:3] == ["PONG", False, "shared_key mismatch"]
                with contextlib.suppress(ConnectionError):
                    assert next(found, None) is None
        for message in (["app", [ONE]], ["PING"], ["PING", 1, 2, 3, 4, 5], {"a": 1}):
            with connect(serving) as connection:
                found = answers(connection)
                next(found)
                connection.sendall(msgpack.packb(message))
                assert next(found)[:2] == ["PONG", False]
        wait_for(lambda: serving.host.counted["unauthenticated"] == 7)
        assert len(serving.inbox.records) == 1


def test_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = certificates(tmp_path)
    tls = Tls(certificate=files["server.pem"], key=files["server.key"], client_ca=files["ca.pem"])
    with Serving(FluentReceiver(listen="tls+tcp://127.0.0.1:0", tls=tls)) as serving:
        context = ssl.create_default_context(cafile=str(files["ca.pem"]))
        context.load_cert_chain(files["client.pem"], files["client.key"])
        with connect(serving) as plain:
            plain.sendall(msgpack.packb(["app", [ONE]]))
            with contextlib.suppress(ConnectionError):
                while plain.recv(100):
                    pass
        with connect(serving) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
            assert next(answers(connection)) == {"ack": "a"}
        assert serving.host.counted == {"tls": 1}
        assert len(serving.inbox.records) == 1


def test_connections_above_the_limit_are_closed() -> None:
    with Serving(FluentReceiver(listen=TCP, max_connections=1)) as serving, connect(serving) as first:
        first.sendall(msgpack.packb(["app", [ONE], {"chunk": "a"}]))
        assert next(answers(first)) == {"ack": "a"}
        with contextlib.suppress(ConnectionError), connect(serving) as second:
            assert second.recv(10) == b""
        wait_for(lambda: serving.host.counted["connections"] == 1)
        first.sendall(msgpack.packb(["app", [ONE], {"chunk": "b"}]))
        assert next(answers(first)) == {"ack": "b"}


def test_connections_that_hold_too_much_are_ended() -> None:
    message = msgpack.packb(["app", [[SECOND, {"log": "x" * 60_000}]], {"chunk": "a"}])
    with Serving(FluentReceiver(listen=TCP, max_held_bytes=100_000)) as serving, connect(serving) as first:
        first.sendall(message[:-1])
        wait_for(lambda: serving.run(held(serving)) == [len(message) - 1])
        with contextlib.suppress(ConnectionError), connect(serving) as second:
            second.sendall(message[:-1])
            assert second.recv(10) == b""
        wait_for(lambda: serving.host.counted["overloaded"] == 1)
        first.sendall(message[-1:])
        assert next(answers(first)) == {"ack": "a"}
        # What is stored is not held, and one message alone may be larger.
        wait_for(lambda: serving.run(held(serving)) == [0])
        with connect(serving) as third:
            third.sendall(msgpack.packb(["app", [[SECOND, {"log": "x" * 200_000}]], {"chunk": "b"}]))
            assert next(answers(third)) == {"ack": "b"}


async def held(serving: Serving) -> list[int]:
    receiver = serving.receivers[0]
    assert isinstance(receiver, FluentReceiver)
    return [each._hold.size for each in receiver._connections.values()]


def test_a_message_that_does_not_arrive_ends_its_connection() -> None:
    message = msgpack.packb(["app", [ONE], {"chunk": "a"}])
    with Serving(FluentReceiver(listen=TCP)) as serving, connect(serving) as slow, connect(serving) as idle:
        idle.sendall(message)
        assert next(answers(idle)) == {"ack": "a"}
        slow.sendall(message[:-1])
        wait_for(lambda: len(message) - 1 in serving.run(held(serving)))
        serving.pass_time(61)
        with contextlib.suppress(ConnectionError):
            assert slow.recv(10) == b""
        assert serving.host.counted == {"timeout": 1}
        idle.sendall(message)
        assert next(answers(idle)) == {"ack": "a"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"listen": "0.0.0.0:24224"}, "expected tcp://HOST:PORT"),
        ({"listen": "udp://0.0.0.0:24224"}, "expected tcp://HOST:PORT"),
        ({"listen": "tls+tcp://0.0.0.0:24224"}, "needs tls"),
        ({"listen": TCP, "tls": {"certificate": "a", "key": "b"}}, "tls has no effect"),
        ({"listen": TCP, "shared_key": ""}, "at least 1"),
        ({"listen": TCP, "max_connections": 0}, "greater than or equal to 1"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        FluentReceiver(**options)
