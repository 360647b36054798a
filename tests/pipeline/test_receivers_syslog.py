"""Syslog: rsyslog and logger against the receiver, and raw sockets."""

import contextlib
import logging.handlers
import random
import shutil
import socket
import ssl
import subprocess
import threading
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

import mmapqueue
from conftest import Script
from mmapqueue.pipeline import EventType
from mmapqueue.pipeline.config import Tls
from mmapqueue.pipeline.gather.receivers import _line_sockets
from mmapqueue.pipeline.gather.receivers._frames import SyslogFrames
from mmapqueue.pipeline.gather.receivers.syslog import SyslogReceiver

from .serving import FakeInbox, Serving, certificates, wait_for

TCP = "tcp://127.0.0.1:0"
UDP = "udp://127.0.0.1:0"
RFC5424 = b'<165>1 2003-10-11T22:14:15.003Z host app 7 ID47 [a@32473 x="1"] \xef\xbb\xbfmessage'
RFC3164 = b"<34>Oct 11 22:14:15 host su: 'su root' failed for lonvick on /dev/pts/8"


def port(serving: Serving) -> int:
    receiver = serving.receivers[0]
    assert isinstance(receiver, SyslogReceiver)
    return receiver.port


def all_are_read(serving: Serving) -> bool:
    """Whether no TCP connection is paused."""
    return all(each._transport.is_reading() for each in list(listener_of(serving).connections))


def listener_of(serving: Serving) -> _line_sockets.TcpListener:
    receiver = serving.receivers[0]
    assert isinstance(receiver, SyslogReceiver)
    assert isinstance(receiver._listener, _line_sockets.TcpListener)
    return receiver._listener


def data(serving: Serving) -> list[bytes]:
    return [each.data for each in serving.events]


def connect(serving: Serving) -> socket.socket:
    return socket.create_connection(("127.0.0.1", port(serving)), 30)


# ---- framing


@given(st.data())
def test_frames_do_not_depend_on_how_their_bytes_arrive(draw: st.DataObject) -> None:
    texts = st.binary(max_size=40).map(lambda each: b"<1>" + each)
    lines = texts.map(lambda each: each.replace(b"\n", b" ").replace(b"\0", b" "))
    ends = st.sampled_from([b"\n", b"\0"])
    messages, sent = [], b""
    for counted in draw.draw(st.lists(st.booleans(), max_size=20)):
        message = draw.draw(texts if counted else lines)
        messages.append(message)
        sent += b"%d %s" % (len(message), message) if counted else message + draw.draw(ends)
    frames, found = SyslogFrames(100), []
    while sent:
        size = draw.draw(st.integers(1, len(sent)))
        found += frames.feed(sent[:size])
        sent = sent[size:]
    assert found + frames.end() == messages
    assert frames.discarded == 0


@given(st.lists(st.tuples(st.booleans(), st.integers(1, 60)), max_size=20), st.integers(1, 30))
def test_frames_beyond_the_limit_are_left_out_and_the_next_is_found(sizes: list[tuple[bool, int]], step: int) -> None:
    sent, fitting = b"", []
    for counted, size in sizes:
        message = b"<" + b"m" * (size - 1)
        sent += b"%d %s" % (size, message) if counted else message + b"\n"
        if size <= 30:
            fitting.append(message)
    frames, found = SyslogFrames(30), []
    for at in range(0, len(sent), step):
        found += frames.feed(sent[at : at + step])
    assert found == fitting
    assert frames.discarded == len(sizes) - len(fitting)


def test_frames_at_the_end() -> None:
    frames = SyslogFrames(100)
    assert frames.feed(b"\n\n2003 is a year\n<1>no newline") == [b"2003 is a year"]
    assert frames.end() == [b"<1>no newline"]
    assert frames.feed(b"10 <1>cut") == []
    assert frames.end() == []


def test_frames_end_with_newline_or_nul() -> None:
    frames = SyslogFrames(10)
    assert frames.feed(b"<1>a\0<2>b\n<3>c\0\n\0<4>d\0" + b"x" * 20) == [b"<1>a", b"<2>b", b"<3>c", b"<4>d"]
    assert frames.discarded == 1
    assert frames.feed(b"x" * 20 + b"\0<5>e\0") == [b"<5>e"]
    # A counted message may contain both.
    assert frames.feed(b"7 <6>\n\0fg<7>h\0") == [b"<6>\n\0fg", b"<7>h"]
    assert frames.discarded == 1


# ---- TCP


def test_pythons_handler_over_tcp() -> None:
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        handler = logging.handlers.SysLogHandler(("127.0.0.1", port(serving)), socktype=socket.SOCK_STREAM)
        try:
            log = logging.Logger("tests.syslog")
            log.addHandler(handler)
            for number in range(1000):
                log.warning("message %d", number)
        finally:
            handler.close()
        wait_for(lambda: len(serving.inbox.records) == 1000)
        assert data(serving) == [b"<12>message %d" % number for number in range(1000)]


def test_tcp_messages_are_kept_byte_for_byte() -> None:
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        with connect(serving) as connection:
            name = connection.getsockname()
            connection.sendall(b"%d %s" % (len(RFC5424), RFC5424) + RFC3164 + b"\n" + b"<1>last")
        wait_for(lambda: len(serving.inbox.records) == 3)
        assert data(serving) == [RFC5424, RFC3164, b"<1>last"]
        event = serving.events[0]
        assert (event.type, event.content_type) == (EventType.LOGGING, "text/x-syslog")
        assert event.source == f"syslog+tcp://127.0.0.1:{name[1]}"


def test_tcp_messages_that_arrive_together_are_pushed_together() -> None:
    sent = [b"<1>message %d" % number for number in range(5000)]
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        with connect(serving) as connection:
            connection.sendall(b"".join(each + b"\n" for each in sent))
        wait_for(lambda: len(serving.inbox.records) == 5000)
        assert data(serving) == sent
        assert len(serving.inbox.puts) < 500


@pytest.mark.parametrize(
    "error", [mmapqueue.Full("no consumer"), mmapqueue.MmapQueueError("no space left"), RuntimeError("odd")]
)
def test_tcp_clients_wait_while_the_queue_is_full(error: Exception) -> None:
    text = b"<1>" + b"x" * 1000
    sent, written = 20_000, threading.Event()
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        serving.run(serving.inbox.hold())
        serving.inbox.failures += [error] * 3
        with connect(serving) as connection:

            def write() -> None:
                for _ in range(sent):
                    connection.sendall(text + b"\n")
                written.set()

            thread = threading.Thread(target=write)
            thread.start()
            wait_for(lambda: not all_are_read(serving))
            # 20 MB do not fit into the buffers of the sockets.
            assert not written.is_set()
            serving.run(serving.inbox.release())
            thread.join(60)
            assert written.is_set()
        wait_for(lambda: len(serving.inbox.records) == sent)
        assert set(data(serving)) == {text}
        assert serving.inbox.refused == 3


@pytest.mark.parametrize("secure", [False, True], ids=["plain", "tls"])
def test_tcp_all_connections_together_hold_a_limited_number_of_bytes(tmp_path: Path, secure: bool) -> None:
    if secure and shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    clients, sent, limit = 100, 40_000, 1 << 20
    text = b"<1>" + b"x" * 996 + b"\n"
    context: ssl.SSLContext | None = None
    options: dict[str, Any] = {"listen": TCP}
    if secure:
        files = certificates(tmp_path)
        tls = Tls(certificate=files["server.pem"], key=files["server.key"])
        context, options = ssl.create_default_context(cafile=str(files["ca.pem"])), {"listen": f"tls+{TCP}", "tls": tls}
    with (
        Serving(SyslogReceiver.model_validate({**options, "max_held_bytes": limit})) as serving,
        contextlib.ExitStack() as stack,
    ):
        serving.run(serving.inbox.hold())
        listener = listener_of(serving)
        connections = []
        for _ in range(clients):
            plain = stack.enter_context(connect(serving))
            wrapped = plain if context is None else context.wrap_socket(plain, server_hostname="127.0.0.1")
            connections.append(stack.enter_context(wrapped))
        threads = [threading.Thread(target=each.sendall, args=(text * (sent // 1000),)) for each in connections]
        for each in threads:
            each.start()
        # Without a common limit, all that the clients send would be read: 4 MB.
        wait_for(lambda: listener.is_full)
        wait_for(lambda: not any(each._transport.is_reading() for each in list(listener.connections)))
        # The last read may exceed the limit.
        assert listener._held < limit + _line_sockets._MAX_WAITING * 2
        # One that connects now waits, too, and none is closed.
        late = stack.enter_context(connect(serving))
        if context is not None:
            late = stack.enter_context(context.wrap_socket(late, server_hostname="127.0.0.1"))
        late.sendall(b"<1>late\n")
        wait_for(lambda: len(listener.connections) == clients + 1)
        serving.run(serving.inbox.release())
        for each in threads:
            each.join(60)
        wait_for(lambda: len(serving.inbox.records) == clients * sent // 1000 + 1)
        assert sorted(set(data(serving))) == [b"<1>late", text[:-1]]
        wait_for(lambda: all_are_read(serving))
        assert (listener._held, listener.is_full) == (0, False)


@pytest.mark.parametrize("limit", [1, 2, 10])
def test_tcp_a_limit_of_few_bytes_lets_one_read_pass_at_a_time(limit: int) -> None:
    with Serving(SyslogReceiver(listen=TCP, max_held_bytes=limit)) as serving, contextlib.ExitStack() as stack:
        for each in [stack.enter_context(connect(serving)) for _ in range(10)]:
            each.sendall(b"<1>one\n<1>two\n")
        wait_for(lambda: len(serving.inbox.records) == 20)


def test_tcp_incomplete_messages_of_slow_clients_keep_nobody_waiting() -> None:
    limit = 100_000
    with (
        Serving(SyslogReceiver(listen=TCP, max_held_bytes=limit, max_message_size=10_000)) as serving,
        contextlib.ExitStack() as stack,
    ):
        slow = [stack.enter_context(connect(serving)) for _ in range(50)]
        for each in slow:
            each.sendall(b"<1>whole\n<1>" + b"x" * 9000)
        wait_for(lambda: len(serving.inbox.records) == 50)
        with connect(serving) as quick:
            quick.sendall(b"<1>quick\n" * 1000)
            wait_for(lambda: len(serving.inbox.records) == 1050)
        # Connections that end give back what they hold.
        serving.run(serving.inbox.hold())
        for each in slow:
            each.sendall(b"\n" + b"<1>whole\n" * 1000)
        listener = listener_of(serving)
        wait_for(lambda: listener.is_full)
        for each in slow:
            each.close()
        serving.run(serving.inbox.release())
        wait_for(lambda: not listener.connections)
        assert (listener._held, listener.is_full) == (0, False)


def test_tcp_what_was_read_is_pushed_when_the_receiver_stops_and_when_the_client_resets(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_line_sockets, "_STOP_WITHIN", 60.0)
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        serving.run(serving.inbox.hold())
        connection = connect(serving)
        connection.sendall(b"<1>one\n")
        assert serving.inbox.waiting.acquire(timeout=30)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        connection.close()
        stopping = serving.submit(serving.receivers[0].stop())
        serving.run(serving.inbox.release())
        stopping.result(30)
        assert data(serving) == [b"<1>one"]


def test_tcp_a_connection_is_closed_when_all_of_it_is_stored() -> None:
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        serving.run(serving.inbox.hold())
        with connect(serving) as connection:
            connection.sendall(b"<1>one\n<1>two\n<1>no end")
            connection.shutdown(socket.SHUT_WR)
            assert serving.inbox.waiting.acquire(timeout=30)
            connection.settimeout(0.2)
            with pytest.raises(TimeoutError):
                connection.recv(1)
            assert data(serving) == []
            serving.run(serving.inbox.release())
            connection.settimeout(30)
            assert connection.recv(1) == b""
            assert data(serving) == [b"<1>one", b"<1>two", b"<1>no end"]


def test_tcp_a_connection_is_reset_when_the_receiver_stops() -> None:
    with Serving(SyslogReceiver(listen=TCP)) as serving, connect(serving) as connection:
        connection.sendall(b"<1>one\n")
        wait_for(lambda: serving.inbox.records)
        serving.run(serving.receivers[0].stop())
        with pytest.raises(ConnectionResetError):
            connection.recv(1)


#: A receiver that never stores what it has read.
STUCK = """
    import asyncio, importlib, logging, sys
    from types import SimpleNamespace
    from mmapqueue.pipeline.gather.receivers.syslog import SyslogReceiver

    class Inbox:
        max_event_size = 1 << 20

        async def put(self, *records):
            print("read", flush=True)
            await asyncio.Event().wait()

    async def main():
        receiver = SyslogReceiver(listen="tcp://127.0.0.1:0")
        await receiver.start(SimpleNamespace(pipe="p", inbox=Inbox(), log=logging.getLogger(), shared=False))
        print(receiver.port, flush=True)
        await asyncio.Event().wait()

    importlib.import_module(sys.argv[1]).run(main())
"""


@pytest.mark.parametrize("loop", ["asyncio", "uvloop"])
def test_tcp_a_killed_process_resets_its_connections(script: Script, loop: str) -> None:
    # The end of a connection says that all is stored.
    process = script.start(STUCK, loop)
    assert process.stdout is not None
    address = ("127.0.0.1", int(process.stdout.readline()))
    with socket.create_connection(address, 30) as reading, socket.create_connection(address, 30) as idle:
        reading.sendall(b"<1>one\n")
        reading.shutdown(socket.SHUT_WR)
        assert process.stdout.readline() == "read\n"
        process.kill()
        for each in (reading, idle):
            with pytest.raises(ConnectionResetError):
                each.recv(1)


def test_tcp_limits(caplog: pytest.LogCaptureFixture) -> None:
    with Serving(SyslogReceiver(listen=TCP, max_message_size=1000, max_connections=1)) as serving:
        with connect(serving) as first:
            first.sendall(b"<1>" + b"x" * 1000 + b"\n1003 <1>" + b"y" * 1000 + b"<2>fits\n")
            wait_for(lambda: serving.inbox.records)
            with contextlib.suppress(ConnectionError), connect(serving) as second:
                assert second.recv(10) == b""
            first.sendall(b"<3>still there\n")
            wait_for(lambda: len(serving.inbox.records) == 2)
        assert data(serving) == [b"<2>fits", b"<3>still there"]
    assert len([each for each in caplog.messages if "exceeds max_message_size = 1000" in each]) == 1


def test_tls(tmp_path: Path) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = certificates(tmp_path)
    tls = Tls(certificate=files["server.pem"], key=files["server.key"], client_ca=files["ca.pem"])
    with Serving(SyslogReceiver(listen="tls+tcp://127.0.0.1:0", tls=tls)) as serving:
        context = ssl.create_default_context(cafile=str(files["ca.pem"]))
        context.load_cert_chain(files["client.pem"], files["client.key"])
        with connect(serving) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(b"%d %s" % (len(RFC5424), RFC5424))
            wait_for(lambda: serving.inbox.records)
        assert data(serving) == [RFC5424]
        assert serving.events[0].source.startswith("syslog+tls+tcp://127.0.0.1:")


def test_tls_slow_handshakes_and_plain_text_harm_nobody(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    if shutil.which("openssl") is None:
        pytest.skip("openssl is not installed")
    files = certificates(tmp_path)
    tls = Tls(certificate=files["server.pem"], key=files["server.key"])
    context = ssl.create_default_context(cafile=str(files["ca.pem"]))
    with Serving(SyslogReceiver(listen="tls+tcp://127.0.0.1:0", tls=tls)) as serving, contextlib.ExitStack() as stack:
        # Clients that have connected and send nothing, or half of a handshake.
        slow = [stack.enter_context(connect(serving)) for _ in range(20)]
        for each in slow[10:]:
            each.sendall(b"\x16\x03\x01\x02\x00\x01")
        with connect(serving) as plain:
            plain.sendall(RFC3164 + b"\n")
            with contextlib.suppress(ConnectionError):
                while plain.recv(100):
                    pass
        with connect(serving) as plain, context.wrap_socket(plain, server_hostname="127.0.0.1") as connection:
            connection.sendall(RFC3164 + b"\n")
            wait_for(lambda: serving.inbox.records)
        assert data(serving) == [RFC3164]
        assert serving.host.counted == {"tls": 1}
        assert "the client sends plain text to a port of TLS" in caplog.text
        # A handshake that ends after the receiver's stop is the end of its connection.
        serving.run(serving.receivers[0].stop())
        with contextlib.suppress(ConnectionError, ssl.SSLError):
            late = stack.enter_context(context.wrap_socket(slow[0], server_hostname="127.0.0.1"))
            late.sendall(b"<1>late\n")
            assert late.recv(1) == b""
        assert data(serving) == [RFC3164]


# ---- UDP


def test_udp_datagrams_are_kept_byte_for_byte() -> None:
    rng = random.Random(3)
    sent = [RFC5424, RFC3164, *[b"<1>" + rng.randbytes(rng.randrange(1000)) for _ in range(100)]]
    with Serving(SyslogReceiver(listen=UDP)) as serving:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port(serving)))
            for each in sent:
                client.send(each)
            name = client.getsockname()
        wait_for(lambda: len(serving.inbox.records) == len(sent))
        assert data(serving) == sent
        assert {each.source for each in serving.events} == {f"syslog+udp://127.0.0.1:{name[1]}"}


def test_udp_datagrams_wait_in_the_system_during_a_push_and_are_lost_when_the_queue_is_full() -> None:
    with Serving(SyslogReceiver(listen=UDP, max_message_size=1000)) as serving:
        serving.run(serving.inbox.hold())
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port(serving)))
            client.send(b"<1>refused")
            assert serving.inbox.waiting.acquire(timeout=30)
            serving.inbox.failures.append(mmapqueue.Full("no consumer"))
            for each in (b"<1>one", b"x" * 1001, b"<1>two"):
                client.send(each)
            serving.run(serving.inbox.release())
            wait_for(lambda: len(serving.inbox.records) == 2)
        assert data(serving) == [b"<1>one", b"<1>two"]
        assert serving.inbox.refused == 1


def test_udp_is_read_on_after_an_error_that_no_one_expects(caplog: pytest.LogCaptureFixture) -> None:
    with Serving(SyslogReceiver(listen=UDP)) as serving:
        serving.inbox.failures.append(RuntimeError("odd"))
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port(serving)))
            client.send(b"<1>lost")
            wait_for(lambda: serving.inbox.refused == 1)
            client.send(b"<1>kept")
            wait_for(lambda: serving.inbox.records)
        assert data(serving) == [b"<1>kept"]
    assert "syslog: 1 messages are lost: odd" in caplog.text


def test_lost_udp_datagrams_fill_no_log_while_the_queue_fails(caplog: pytest.LogCaptureFixture) -> None:
    with Serving(SyslogReceiver(listen=UDP)) as serving:
        serving.inbox.failures += [mmapqueue.Poisoned("an fsync has failed")] * 3
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
            client.connect(("127.0.0.1", port(serving)))
            while serving.inbox.failures:
                before = len(serving.inbox.failures)
                client.send(b"<1>lost")
                wait_for(lambda: len(serving.inbox.failures) < before)  # noqa: B023
            client.send(b"<1>kept")
            wait_for(lambda: serving.inbox.records)
        assert data(serving) == [b"<1>kept"]
    assert not [each for each in caplog.records if each.levelno >= logging.WARNING]


@pytest.mark.parametrize("zone", ["Europe/Berlin", "UTC", "+02:00", "-11:30"])
@pytest.mark.parametrize("listen", [TCP, UDP])
def test_the_zone_is_stored_with_each_message(listen: str, zone: str) -> None:
    kind = socket.SOCK_STREAM if listen == TCP else socket.SOCK_DGRAM
    with Serving(SyslogReceiver(listen=listen, time_zone=zone)) as serving:
        with socket.socket(socket.AF_INET, kind) as client:
            client.connect(("127.0.0.1", port(serving)))
            client.send(RFC3164 + b"\n")
        wait_for(lambda: serving.inbox.records)
        assert serving.events[0].content_type == f"text/x-syslog; zone={zone}"


@pytest.mark.parametrize("zone", ["Moon/Sea", "EST", "+2", "+19:00", "localtime", "", "../etc/passwd"])
def test_zones_that_are_refused(zone: str) -> None:
    with pytest.raises(ValidationError, match="is not a time zone of this system"):
        SyslogReceiver(listen=TCP, time_zone=zone)


@pytest.mark.parametrize("listen", [TCP, UDP])
def test_processes_share_a_port(listen: str) -> None:
    with Serving(SyslogReceiver(listen=listen), shared=True) as first:
        again = listen.removesuffix("0") + str(port(first))
        with Serving(SyslogReceiver(listen=again), shared=True):
            pass
        with (
            pytest.raises(OSError, match=f"receiver syslog: cannot listen on {again}"),
            Serving(SyslogReceiver(listen=again)),
        ):
            pass


# ---- real clients


def test_logger() -> None:
    if shutil.which("logger") is None:
        pytest.skip("logger is not installed")
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        server = ("--server", "127.0.0.1", "--port", str(port(serving)), "--tcp")
        for options in (("--rfc5424",), ("--rfc3164",), ("--rfc5424", "--octet-count")):
            subprocess.run(["logger", *server, *options, "--tag", "shop", f"by {options}"], check=True, timeout=60)
        wait_for(lambda: len(serving.inbox.records) == 3)
        first, second, third = data(serving)
    assert first.startswith(b"<13>1 ")
    assert first.endswith(b"by ('--rfc5424',)")
    assert second.startswith(b"<13>")
    assert second.endswith(b"shop: by ('--rfc3164',)")
    assert third.startswith(b"<13>1 ")
    assert third.endswith(b"by ('--rfc5424', '--octet-count')")


@pytest.mark.parametrize("framing", ["octet-counted", "traditional"])
def test_rsyslog(tmp_path: Path, framing: str) -> None:
    if shutil.which("rsyslogd") is None:
        pytest.skip("rsyslog is not installed")
    lines = [f"line {number} of a log file" for number in range(1000)]
    log = tmp_path / "app.log"
    log.write_text("")
    with Serving(SyslogReceiver(listen=TCP)) as serving:
        (tmp_path / "rsyslog.conf").write_text(
            f'global(workDirectory="{tmp_path}")\n'
            'module(load="imfile" mode="inotify")\n'
            f'input(type="imfile" file="{log}" tag="app" readMode="0")\n'
            f'action(type="omfwd" target="127.0.0.1" port="{port(serving)}" protocol="tcp" TCP_Framing="{framing}"\n'
            '  template="RSYSLOG_SyslogProtocol23Format")\n'
        )
        daemon = subprocess.Popen(
            ["rsyslogd", "-n", "-f", str(tmp_path / "rsyslog.conf"), "-i", str(tmp_path / "pid")],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            wait_for(lambda: (tmp_path / "pid").exists())
            log.write_text("".join(each + "\n" for each in lines))
            wait_for(lambda: len(serving.inbox.records) >= 1000)
        finally:
            daemon.terminate()
            daemon.wait(30)
        # The newline that rsyslog's template ends with is part of a counted message.
        end = "\n" if framing == "octet-counted" else ""
        assert [each.decode().rpartition("- ")[2] for each in data(serving)] == [each + end for each in lines]


# ---- options


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"listen": "0.0.0.0:514"}, "expected udp://HOST:PORT"),
        ({"listen": "tcp://0.0.0.0:70000"}, "expected udp://HOST:PORT"),
        ({"listen": "tls+tcp://0.0.0.0:6514"}, "needs tls"),
        ({"listen": TCP, "tls": {"certificate": "a", "key": "b"}}, "tls has no effect"),
        ({"listen": UDP, "max_connections": 5}, "max_connections has no effect"),
        ({"listen": UDP, "max_held_bytes": "1m"}, "max_held_bytes has no effect"),
    ],
)
def test_options_that_are_wrong(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        SyslogReceiver(**options)


def test_a_message_must_fit_into_the_queue() -> None:
    receiver = SyslogReceiver(listen=TCP, max_message_size=2000)
    with pytest.raises(ValueError, match="max_event_size = 2000"), Serving(receiver, inbox=FakeInbox(2000)):
        pass
