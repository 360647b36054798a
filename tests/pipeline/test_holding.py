"""What servers hold for their clients is limited: bytes, requests, and the time for a body."""

import asyncio
import socket
import threading
from collections.abc import Callable, Iterator
from typing import Any

import grpc
import pytest
from google.rpc.error_details_pb2 import RetryInfo

from mmapqueue.pipeline.gather.holding import Holding, Overloaded

from .echoing import COUNT, ECHO, Echoing, refused
from .serving import wait_for

HALF = b"x" * 600
HOUR = 3600.0


def holding(serving: Echoing) -> None:
    """Has requests wait for their answers."""

    async def hold() -> None:
        serving.held = asyncio.Event()

    serving.run(hold())


def release(serving: Echoing) -> None:
    async def go() -> None:
        assert serving.held is not None
        serving.held.set()

    serving.run(go())


def beside(serving: Echoing, send: Callable[[], Any], then: Callable[[], None]) -> Any:
    """Calls `then` while a request is in its handler; the request's answer."""
    holding(serving)
    answers: list[Any] = []
    thread = threading.Thread(target=lambda: answers.append(send()))
    thread.start()
    wait_for(serving.received.is_set)
    then()
    release(serving)
    thread.join()
    return answers[0]


@pytest.mark.parametrize("limit", [{"max_held_bytes": 1000}, {"max_requests": 1}])
def test_grpc_refuses_what_is_too_much_with_retry_info(limit: dict[str, int]) -> None:
    with Echoing(grpc=limit) as serving:

        def too_much() -> None:
            error = refused(serving, HALF)
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert next(iter(limit)) in error.details()
            info = RetryInfo.FromString(dict(error.trailing_metadata())["google.rpc.retryinfo-bin"])
            assert info.retry_delay.seconds == 1

        assert beside(serving, lambda: serving.call(HALF), too_much) == HALF
        serving.held = None
        # Nothing is held any more.
        assert serving.call(HALF) == HALF
        # One request alone may be larger than the limit of all: max_message_size limits it.
        assert serving.call(HALF * 2) == HALF * 2
        assert serving.grpc._holding.bytes == 0
        assert serving.refusals["overloaded"] == 1


@pytest.mark.parametrize("limit", [{"max_held_bytes": 1000}, {"max_requests": 1}])
def test_http_refuses_what_is_too_much_with_retry_after(limit: dict[str, int]) -> None:
    with Echoing(http=limit) as serving:

        def too_much() -> None:
            status, body, headers = serving.post(HALF)
            assert status == 503
            assert next(iter(limit)).encode() in body
            assert (headers["retry-after"], headers["connection"]) == ("1", "close")

        assert beside(serving, lambda: serving.post(HALF), too_much)[:2] == (200, HALF)
        serving.held = None
        assert serving.post(HALF)[0] == 200
        assert serving.http._holding.bytes == 0
        assert serving.refusals["overloaded"] == 1


def slow_post(serving: Echoing) -> socket.socket:
    """A connection with the first 600 bytes of a body of 700."""
    slow = socket.create_connection(("127.0.0.1", serving.http.port), 60)
    held = serving.http._holding.bytes
    slow.sendall(b"POST /echo HTTP/1.1\r\nHost: h\r\nContent-Length: 700\r\n\r\n" + HALF)
    wait_for(lambda: serving.http._holding.bytes == held + len(HALF))
    return slow


def test_http_counts_bodies_that_still_arrive() -> None:
    with Echoing(http={"max_held_bytes": 1000}) as serving:
        serving.http._holding.slow_after = HOUR
        with slow_post(serving) as slow:
            assert serving.post(HALF)[0] == 503
            slow.sendall(b"x" * 100)
            assert slow.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        assert serving.post(HALF)[0] == 200


def test_slow_bodies_make_room_for_others_the_oldest_first() -> None:
    with Echoing(http={"max_held_bytes": 1500}) as serving:
        serving.http._holding.slow_after = 0.0
        with slow_post(serving) as oldest, slow_post(serving) as younger:
            assert serving.post(HALF)[0] == 200
            answer = oldest.recv(1000)
            assert answer.startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            assert b"Retry-After: 1\r\n" in answer
            younger.sendall(b"x" * 100)
            assert younger.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")
        assert serving.http._holding.bytes == 0
        assert serving.refusals["overloaded"] == 1


def test_a_slow_body_that_grows_does_not_end_younger_ones() -> None:
    with Echoing(http={"max_held_bytes": 1250}) as serving:
        serving.http._holding.slow_after = 0.0
        with slow_post(serving) as oldest, slow_post(serving) as younger:
            oldest.sendall(b"x" * 99)
            assert oldest.recv(100).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            younger.sendall(b"x" * 100)
            assert younger.recv(100).startswith(b"HTTP/1.1 200 OK\r\n")


def silent(never: threading.Event) -> Iterator[bytes]:
    """A request whose message does not arrive."""
    never.wait()
    yield b""


def test_slow_bodies_end_while_the_process_is_too_large(monkeypatch: pytest.MonkeyPatch) -> None:
    never = threading.Event()
    sizes = dict.fromkeys(("resident", "trimmed"), 0)
    monkeypatch.setattr("mmapqueue.pipeline.gather.holding.resident", lambda: sizes["resident"])
    monkeypatch.setattr("mmapqueue.pipeline.gather.holding.trimmed", lambda: sizes["trimmed"])
    with Echoing() as serving, grpc.insecure_channel(serving.grpc_address) as channel:
        serving.grpc._holding.slow_after = serving.http._holding.slow_after = 0.0
        waiting = channel.stream_unary(ECHO).future(silent(never), timeout=60)
        with slow_post(serving) as slow:
            # What the C library keeps is given back before anybody is ended.
            sizes["resident"] = 1 << 40
            assert serving.call() == b"x"
            assert not waiting.done()
            sizes["trimmed"] = 1 << 40
            assert slow.recv(100).startswith(b"HTTP/1.1 503 Service Unavailable\r\n")
            error = waiting.exception(60)
            assert error.code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            assert "google.rpc.retryinfo-bin" in dict(error.trailing_metadata())
        never.set()
        assert serving.call(HALF) == HALF
        assert serving.post(HALF)[0] == 200


@pytest.mark.parametrize("path", [ECHO])
def test_a_grpc_message_that_does_not_arrive_is_refused(path: str) -> None:
    never = threading.Event()
    with Echoing(grpc={"request_timeout": "200ms"}) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            with pytest.raises(grpc.RpcError) as caught:
                channel.stream_unary(path)(silent(never), timeout=60)
            never.set()
            error: Any = caught.value
            assert error.code() == grpc.StatusCode.DEADLINE_EXCEEDED
            assert "request_timeout = 0.2 s" in error.details()
            with pytest.raises(grpc.RpcError) as caught:
                channel.stream_unary(path)(iter(()), timeout=60)
            error = caught.value
            assert (error.code(), error.details()) == (
                grpc.StatusCode.INVALID_ARGUMENT,
                "the request has no message",
            )
        assert serving.refusals["timeout"] == 1
        assert serving.call() == b"x"


def test_a_stream_may_take_its_time_and_holds_its_last_message() -> None:
    sent = threading.Event()

    def slowly() -> Iterator[bytes]:
        yield HALF
        sent.wait()
        yield b"y"

    with Echoing(grpc={"request_timeout": "100ms", "max_held_bytes": 1000}) as serving:
        with grpc.insecure_channel(serving.grpc_address) as channel:
            answer = channel.stream_unary(COUNT).future(slowly(), timeout=60)
            wait_for(lambda: serving.grpc._holding.bytes == len(HALF))
            assert refused(serving, HALF).code() == grpc.StatusCode.RESOURCE_EXHAUSTED
            sent.set()
            assert answer.result() == b"2"
        assert serving.grpc._holding.bytes == 0


def test_pipes_have_equal_parts() -> None:
    held = Holding(4, 1000)
    with held.request("a", 2) as first, held.request("a", 2) as second:
        with pytest.raises(Overloaded, match="pipe a has 2 requests in progress"):
            held.request("a", 2)
        first.resize(300)
        first.resize(500)
        with pytest.raises(Overloaded, match="requests of pipe a hold 500 bytes"):
            second.resize(1)
        with held.request("b", 2) as other:
            other.resize(500)
            assert held.bytes == 1000
        first.resize(100)
        second.resize(400)
    assert held.bytes == 0
