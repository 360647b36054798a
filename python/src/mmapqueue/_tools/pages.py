"""Pages over HTTP: an answer, the address to listen on, and a server in a thread."""

from __future__ import annotations

import logging
import os
import sys
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from socket import AF_INET, AF_INET6
from typing import Any, NamedTuple

from mmapqueue._values.errors import ConfigError
from mmapqueue._values.version import PRODUCT

#: The media type of pages for people.
TEXT = "text/plain; charset=utf-8"
_LAST_PORT = 65_535
_ADDRESSES = 'HOST:PORT, such as "127.0.0.1:9465" or "[::1]:9465"'
_PORTS = f"ports up to {_LAST_PORT}"


class Page(NamedTuple):
    """An HTTP answer.

    Attributes:
        status: HTTP status.
        content_type: Its media type.
        body: The body.
    """

    status: int
    content_type: str
    body: bytes


#: Answers GET requests: called with a path without its query, and the header Accept.
Answer = Callable[[str, str], Page]


def address(key: str, listen: str, shift: int = 0) -> tuple[str, int]:
    """Parses "HOST:PORT" to host and port; the host is empty for every address of this machine.

    Args:
        key: The name of the argument, for the error.
        listen: The text; an IPv6 address is in brackets.
        shift: Added to the port, unless the port is 0, which means any free port.

    Raises:
        ConfigError: `listen` has another form, or its port is above 65535.
    """
    host, colon, port = listen.rpartition(":")
    if not colon or not port.isdecimal() or (":" in host and not host.startswith("[")):
        raise ConfigError(f"{key} = {listen!r} is invalid; allowed: {_ADDRESSES}", key, listen, _ADDRESSES)
    number = int(port) + shift if int(port) else 0
    if number > _LAST_PORT:
        process = f": process {shift} would listen on port {number}" if shift else " is invalid"
        raise ConfigError(f"{key} = {listen!r}{process}; allowed: {_PORTS}", key, listen, _PORTS)
    return host.strip("[]"), number


def cannot_listen(host: str, port: int, error: OSError, key: str = "") -> OSError:
    """The error of an address that cannot be listened on.

    Args:
        host: The address; empty for every one.
        port: The port.
        error: The system's error.
        key: The key of the address in a configuration, which the message names.
    """
    reason = os.strerror(error.errno) if error.errno and error.errno > 0 else error.strerror or str(error)
    return OSError(error.errno, f"{key}{': ' if key else ''}cannot listen on {host or '*'}:{port}: {reason}")


def serve(name: str, host: str, port: int, answer: Answer, key: str = "") -> ThreadingHTTPServer:
    """Serves pages in threads of its own, until `shutdown` and `server_close` of the server are called.

    Args:
        name: The name of the thread, and of the logger `mmapqueue.<name>` that requests go to.
        host: The address; empty for every one.
        port: The port; 0 for any free one, which the server's `server_address` then has.
        answer: Called in any thread.
        key: The key of the address in a configuration, for the error.

    Raises:
        OSError: The address is in use, or not this machine's.
    """
    log = logging.getLogger(f"mmapqueue.{name}")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 60

        def version_string(self) -> str:
            return PRODUCT

        def do_GET(self) -> None:
            page = answer(self.path.partition("?")[0], self.headers.get("Accept", ""))
            self.send_response(page.status)
            self.send_header("Content-Type", page.content_type)
            self.send_header("Content-Length", str(len(page.body)))
            self.end_headers()
            self.wfile.write(page.body)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            log.debug(format, *args)

    class Server(ThreadingHTTPServer):
        address_family = AF_INET6 if ":" in host else AF_INET
        daemon_threads = True

        def handle_error(self, request: Any, client_address: Any) -> None:
            error = sys.exc_info()[1]
            if isinstance(error, OSError):
                log.debug("%s has broken off: %s", client_address, error)
            else:
                super().handle_error(request, client_address)

    try:
        server = Server((host, port), Handler)
    except OSError as error:
        raise cannot_listen(host, port, error, key) from None
    threading.Thread(target=server.serve_forever, name=name, daemon=True).start()
    return server
