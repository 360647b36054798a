"""Servers that answer OTLP logs at once and store nothing: bare.py KIND PORT [--ids FILE].

They are the most that grpcio and aiohttp give to any receiver in Python. With --ids, the ids of all logs are written to
a file, so that what reaches a destination can be counted.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import re
from collections.abc import Callable
from concurrent import futures
from pathlib import Path

EXPORT = "/opentelemetry.proto.collector.logs.v1.LogsService/Export"
#: Ids as the load generator writes them: request, and number of the log in the request.
LOG_ID = re.compile(rb"id=([0-9a-f]{12})-([0-9a-f]{4})")
_MAX_MESSAGE = 16 << 20
_OPTIONS = [("grpc.max_receive_message_length", _MAX_MESSAGE)]
_THREADS = 8
Take = Callable[[bytes], None]


def _nothing(_request: bytes) -> None:
    return


async def _grpc_aio(port: int, take: Take) -> None:
    import grpc

    async def export(request: bytes, _context: object) -> bytes:
        take(request)
        return b""

    handler = grpc.unary_unary_rpc_method_handler(export)
    server = grpc.aio.server(options=_OPTIONS)
    server.add_generic_rpc_handlers([_OneMethod(handler)])
    server.add_insecure_port(f"127.0.0.1:{port}")
    await server.start()
    await server.wait_for_termination()


def _grpc_threads(port: int, take: Take) -> None:
    import grpc

    def export(request: bytes, _context: object) -> bytes:
        take(request)
        return b""

    handler = grpc.unary_unary_rpc_method_handler(export)
    server = grpc.server(futures.ThreadPoolExecutor(_THREADS), options=_OPTIONS)
    server.add_generic_rpc_handlers([_OneMethod(handler)])
    server.add_insecure_port(f"127.0.0.1:{port}")
    server.start()
    server.wait_for_termination()


class _OneMethod:
    """Serves one method."""

    def __init__(self, handler: object) -> None:
        self._handler = handler

    def service(self, call: object) -> object:
        return self._handler if getattr(call, "method", None) == EXPORT else None


async def _aiohttp(port: int, take: Take) -> None:
    from aiohttp import web

    async def export(request: web.Request) -> web.Response:
        take(await request.read())
        return web.Response(content_type="application/x-protobuf")

    application = web.Application(client_max_size=_MAX_MESSAGE)
    application.router.add_post("/v1/logs", export)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", port).start()
    await asyncio.Event().wait()


def main() -> None:
    """Serves until a kill."""
    parser = argparse.ArgumentParser(prog="bare.py", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("kind", choices=["grpc-aio", "grpc-threads", "aiohttp"])
    parser.add_argument("port", type=int)
    parser.add_argument("--ids", type=Path, help="file for the ids of logs, one a line")
    options = parser.parse_args()
    with contextlib.ExitStack() as stack:
        take: Take = _nothing
        if options.ids:
            file = stack.enter_context(options.ids.open("wb", buffering=0))

            def take(request: bytes) -> None:
                file.write(b"".join(b"%s-%s\n" % found for found in LOG_ID.findall(request)))

        if options.kind == "grpc-threads":
            _grpc_threads(options.port, take)
        else:
            asyncio.run((_grpc_aio if options.kind == "grpc-aio" else _aiohttp)(options.port, take))


if __name__ == "__main__":
    main()
