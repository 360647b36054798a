"""Rehearses receivers: checks that they fit their servers, before a queue is created or a socket opened."""

import asyncio
import logging
from typing import TYPE_CHECKING, Any

from mmapqueue.pipeline.config import Pipe, Pipeline
from mmapqueue.pipeline.gather import agent

if TYPE_CHECKING:
    from mmapqueue.pipeline.plugins import Inbox, Receiver


def rehearse(pipeline: Pipeline) -> None:
    """Registers the receivers that have a server with servers that are not started.

    Receivers without a `server` open sockets of their own, and are left out.

    Raises:
        ValueError: Two receivers take the same method or path, or one does not speak the server's protocol.
    """
    asyncio.run(_rehearse(pipeline))


async def _rehearse(pipeline: Pipeline) -> None:
    servers: dict[str, Any] = {each.name: agent.server_of(each, shared=False) for each in pipeline.servers}
    tables: dict[str, Any] = {name: each.table for name, each in servers.items()}
    for pipe in pipeline.pipes:
        for receiver in pipe.receivers:
            if getattr(receiver, "server", None) in servers:
                await _register(receiver, pipe, servers, tables)


async def _register(receiver: "Receiver", pipe: Pipe, servers: dict[str, Any], tables: dict[str, Any]) -> None:
    try:
        await receiver.start(_Host(pipe, servers, tables))
        await receiver.stop()
    except ValueError as error:
        text = str(error)
        raise ValueError(text if pipe.name in text else f"pipe {pipe.name}: {text}") from None


class _NoInbox:
    """An inbox that never gets a request."""

    def __init__(self, max_event_size: int) -> None:
        self.max_event_size = max_event_size


class _Host(agent.ServerLookup):
    def __init__(self, pipe: Pipe, servers: dict[str, Any], tables: dict[str, Any]) -> None:
        self.pipe = pipe.name
        self.shared = False
        self.log = logging.getLogger("mmapqueue.pipeline").getChild(pipe.name)
        inbox: Any = _NoInbox(pipe.queue.max_event_size)
        self.inbox: Inbox = inbox
        self._servers = servers
        self._tables = tables

    def count(self, status: str, number: int) -> None:
        pass
