"""The stop of gather under load: no connection is reset, and no request is left without an answer."""

import http.client
import os
import signal
import socket
import threading
from pathlib import Path

import grpc
import pytest

import conftest
from mmapqueue.pipeline.gather import grpc_server, http_server, sockets

from .echoing import ECHO, Echoing
from .gathering import SECONDS, gathering, request, stored
from .load_clients import ANSWERED, CLIENTS, Clients
from .serving import wait_for

_REQUEST = b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 4\r\n\r\nbody"


@pytest.mark.parametrize("number", range(int(os.environ.get("STOPS", "1"))))
def test_a_stop_under_load_breaks_no_request(tmp_path: Path, number: int) -> None:
    with gathering(tmp_path, "256m") as gather, Clients(gather.grpc_address, gather.http_address) as clients:
        assert conftest.eventually(
            lambda: len(clients.answered) > 100 + 10 * number and clients.number(ANSWERED).keys() == CLIENTS, SECONDS
        )
        gather.process.send_signal(signal.SIGTERM)
        assert gather.process.wait(SECONDS) == 0
        clients.stop()
        assert clients.broken == {}
        found = stored(tmp_path / "queue")
    assert len(found) == len(clients.answered)
    assert set(found) == {request(str(number)) for number in clients.answered}


def read_answer(client: socket.socket) -> bytes:
    """All bytes until the server ends the connection; raises ConnectionResetError when it is reset."""
    data = b""
    while part := client.recv(4096):
        data += part
    return data


def test_a_further_signal_to_a_supervised_process_breaks_no_request(tmp_path: Path) -> None:
    """The end of its supervisor during a stop is such a signal. A kill of the supervisor's ends it at once."""
    arguments = ("--parent", str(os.getpid()))
    body = request("1")
    head = (
        "POST /v1/logs HTTP/1.1\r\nHost: h\r\nExpect: 100-continue\r\n"
        f"Content-Type: application/x-protobuf\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with gathering(tmp_path, further="gather: {stop_within: 10m}\n", arguments=arguments) as gather:
        host, _, port = gather.http_address.rpartition(":")
        with socket.create_connection((host, int(port)), SECONDS) as client:
            client.sendall(head.encode())
            assert client.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
            for _ in range(2):
                gather.process.send_signal(signal.SIGTERM)
                assert conftest.eventually(lambda: "stopping: " in gather.log.read_text(), SECONDS)
            client.sendall(body)
            answer = read_answer(client)
        assert gather.process.wait(SECONDS) == 0
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert stored(tmp_path / "queue") == [body]


def test_a_stopping_http_server_answers_requests_on_open_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_server, "_QUIET", SECONDS)
    with Echoing() as serving:
        clients = [socket.create_connection(("127.0.0.1", serving.http.port), 60) for _ in range(3)]
        early, late, idle = clients
        # The first half of a request arrives before the stop.
        early.sendall(_REQUEST[:-2])
        wait_for(lambda: serving.http.connections == 3)
        stopping = serving.submit(serving.http.stop(60))
        wait_for(lambda: not serving.http._listeners)
        early.sendall(_REQUEST[-2:])
        late.sendall(_REQUEST)
        for client in (early, late):
            answer = read_answer(client)
            assert answer.startswith(b"HTTP/1.1 200 ")
            assert b"\r\nConnection: close\r\n" in answer
            assert answer.endswith(b"\r\n\r\nbody")
        monkeypatch.setattr(http_server, "_QUIET", 0.0)
        # Ended in order. What the client sends then is discarded, and does not reset the connection.
        assert read_answer(idle) == b""
        idle.sendall(_REQUEST)
        for client in clients:
            client.close()
        stopping.result(60)
    assert len(serving.requests) == 2


def test_a_stop_ends_requests_that_take_too_long() -> None:
    with Echoing() as serving, socket.create_connection(("127.0.0.1", serving.http.port), 60) as client:
        client.sendall(_REQUEST[:-2])
        wait_for(lambda: serving.http.connections == 1)
        serving.run(serving.http.stop(0.05))
        # Its rest is missing, so that there is nothing to answer.
        assert read_answer(client) == b""


def test_a_stop_holds_no_answer_beyond_the_deadline_of_its_client(monkeypatch: pytest.MonkeyPatch) -> None:
    # As if further requests came all the time.
    monkeypatch.setattr(grpc_server, "_LOOKS", 1 << 30)
    monkeypatch.setattr(grpc_server, "_SETTLE_WITHIN", SECONDS)
    with Echoing() as serving, grpc.insecure_channel(serving.grpc_address) as channel:
        echo = channel.unary_unary(ECHO)
        assert echo(b"first", timeout=60) == b"first"
        stopping = serving.submit(serving.grpc.stop(SECONDS))
        wait_for(lambda: not serving.grpc._answering.is_set())
        assert echo(b"second", timeout=4) == b"second"
        monkeypatch.setattr(grpc_server, "_LOOKS", 0)
        stopping.result(60)


def test_the_sockets_of_a_port_are_found() -> None:
    with Echoing() as serving:
        for server in (serving.grpc, serving.http):
            with sockets.duplicates(sockets.listening(server.port)) as found:
                assert {each.getsockname()[1] for each in found} == {server.port}


#: After it the kernel lets nobody attach a filter to the socket (EPERM).
_SO_LOCK_FILTER = 44


@pytest.mark.parametrize("filtered", [True, False])
def test_connections_that_wait_are_accepted_before_a_stop(filtered: bool) -> None:
    with Echoing() as serving:
        server = serving.http
        if not filtered:
            with sockets.duplicates(sockets.listening(server.port)) as found:
                for each in found:
                    each.setsockopt(socket.SOL_SOCKET, _SO_LOCK_FILTER, 1)
        # The loop does not accept as long as it is busy: the connection waits in its listening socket.
        busy, connected = threading.Event(), threading.Event()

        async def stop() -> None:
            busy.set()
            connected.wait(60)
            await server.stop(60)

        stopping = serving.submit(stop())
        assert busy.wait(60)
        connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
        connection.request("POST", "/echo", b"body")
        connected.set()
        with connection.getresponse() as answer:
            assert (answer.status, answer.read(), answer.getheader("Connection")) == (200, b"body", "close")
        connection.close()
        stopping.result(60)
