"""A connection whose answers an event loop receives: answers, failures, and its end."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from typing import Any, cast

import pytest

from mmapqueue._jvm.calls import Call
from mmapqueue._jvm.loop_connection import LoopConnection


class OneCall:
    """A method of a JVM that is the other end of a socket pair."""

    def __init__(self, own: socket.socket) -> None:
        self.socket = own
        self.close = own.close

    def connect(self) -> "OneCall":
        return self

    def command(self, *arguments: int) -> bytes:
        return f"call {arguments}\n".encode()

    def number(self, answer: str) -> int | None:
        return int(answer[2:]) if answer.startswith("yL") else None


def run(use: Callable[[LoopConnection, socket.socket], Awaitable[None]]) -> None:
    async def whole() -> None:
        own, other = socket.socketpair()
        with own, other:
            connection = LoopConnection(cast(Call, OneCall(own)))
            connection.listen(asyncio.get_running_loop())
            try:
                await use(connection, other)
            finally:
                connection.close()

    asyncio.run(whole())


def call(connection: LoopConnection, *arguments: int) -> "asyncio.Future[int | None]":
    answer: asyncio.Future[int | None] = asyncio.get_running_loop().create_future()
    connection.send(answer.set_result, *arguments)
    return answer


async def within(answer: Awaitable[Any]) -> Any:
    return await asyncio.wait_for(answer, 60)


def test_answers_come_also_in_pieces() -> None:
    async def use(connection: LoopConnection, other: socket.socket) -> None:
        first = call(connection, 1, 2)
        assert other.recv(100) == b"call (1, 2)\n"
        other.sendall(b"!yL")
        await asyncio.sleep(0)
        assert not first.done()
        other.sendall(b"7\n")
        assert await within(first) == 7
        second = call(connection, 3)
        other.sendall(b"!xo1\n")
        assert await within(second) is None
        assert not connection.is_broken

    run(use)


@pytest.mark.parametrize("pending", [True, False])
def test_the_end_of_the_other_side(pending: bool) -> None:
    async def use(connection: LoopConnection, other: socket.socket) -> None:
        answer = call(connection, 1) if pending else None
        other.close()
        if answer is not None:
            assert await within(answer) is None
        while not connection.is_broken:
            await asyncio.sleep(0)

    run(use)


def test_a_call_that_cannot_be_sent_is_the_last_one() -> None:
    async def use(connection: LoopConnection, other: socket.socket) -> None:
        del other
        connection._socket.shutdown(socket.SHUT_WR)
        answer = call(connection, 1)
        assert await within(answer) is None
        assert connection.is_broken

    run(use)
