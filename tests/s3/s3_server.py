"""Serves S3 on loopback until its standard input ends: moto, with two things that it lacks.

    python s3_server.py

It prints its port. Changes are made one after the other: a condition and the change that it allows are one step, as S3
promises. In buckets with names that begin with `unconditional` conditions are ignored, as other stores may do.

`/-/counts` returns the requests of S3's clients by operation since the last `DELETE /-/counts`; a `PUT /-/away` has all
requests of clients fail with 503 until `DELETE /-/away`.
"""

from __future__ import annotations

import io
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from typing import Any
from urllib.parse import parse_qs

from moto.moto_server.werkzeug_app import DomainDispatcherApplication, MotoRequestHandler, create_backend_app
from werkzeug.serving import make_server

Environment = dict[str, Any]
Start = Callable[..., Any]

#: Begins the User-Agent of the tests' own requests, which do not count.
_TESTS = "Python-urllib"
_UNCONDITIONAL = "/unconditional"


class Server:
    """The WSGI application."""

    def __init__(self) -> None:
        self._moto = DomainDispatcherApplication(create_backend_app)
        self._changing = threading.Lock()
        self._counting = threading.Lock()
        self._counts: Counter[str] = Counter()
        self._is_away = False

    def __call__(self, environment: Environment, start: Start) -> Iterable[bytes]:
        path = environment["PATH_INFO"]
        if path.startswith("/-/"):
            return self._control(environment["REQUEST_METHOD"], path, start)
        # Read before the lock: a client may stop amid its request.
        content = _content(environment)
        environment["wsgi.input"] = io.BytesIO(content)
        if not environment.get("HTTP_USER_AGENT", "").startswith(_TESTS):
            with self._counting:
                self._counts[_operation(environment)] += 1
                self._counts["bytes sent"] += len(content)
                is_away = self._is_away
            if is_away:
                start("503 Service Unavailable", [("Content-Length", "0")])
                return []
        if path.startswith(_UNCONDITIONAL):
            environment.pop("HTTP_IF_NONE_MATCH", None)
        if environment["REQUEST_METHOD"] in ("GET", "HEAD"):
            return self._moto(environment, start)  # type: ignore[no-any-return]
        with self._changing:
            return list(self._moto(environment, start))

    def _control(self, method: str, path: str, start: Start) -> Iterable[bytes]:
        with self._counting:
            found = dict(self._counts)
            if path == "/-/away":
                self._is_away = method == "PUT"
            elif method == "DELETE":
                self._counts.clear()
        answer = json.dumps(found).encode()
        start("200 OK", [("Content-Type", "application/json"), ("Content-Length", str(len(answer)))])
        return [answer]


def _content(environment: Environment) -> bytes:
    length = environment.get("CONTENT_LENGTH")
    if length:
        return environment["wsgi.input"].read(int(length))  # type: ignore[no-any-return]
    return environment["wsgi.input"].read() if environment.get("wsgi.input_terminated") else b""


def _operation(environment: Environment) -> str:
    """The name of a request in S3's interface, of those that S3A makes."""
    method = environment["REQUEST_METHOD"]
    query = parse_qs(environment.get("QUERY_STRING", ""), keep_blank_values=True)
    is_object = environment["PATH_INFO"].strip("/").count("/") > 0
    upload = "uploadId" in query
    names = {
        "PUT": "UploadPart" if upload else "CopyObject" if "HTTP_X_AMZ_COPY_SOURCE" in environment else "PutObject",
        "POST": "CompleteMultipartUpload"
        if upload
        else "DeleteObjects"
        if "delete" in query
        else "CreateMultipartUpload",
        "DELETE": "AbortMultipartUpload" if upload else "DeleteObject",
        "GET": "GetObject" if is_object else "ListMultipartUploads" if "uploads" in query else "ListObjectsV2",
        "HEAD": "HeadObject" if is_object else "HeadBucket",
    }
    return names[method]


class Handler(MotoRequestHandler):  # type: ignore[misc]
    """Keeps connections, and logs nothing."""

    protocol_version = "HTTP/1.1"

    def log(self, *_: Any) -> None:
        pass


def main() -> None:
    server = make_server("127.0.0.1", 0, Server(), threaded=True, request_handler=Handler)
    print(server.port, flush=True)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdin.read()
    os._exit(0)


if __name__ == "__main__":
    main()
