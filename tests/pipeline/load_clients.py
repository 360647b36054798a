"""Clients of gather that send one request after the other, and note how each one ended."""

import http.client
import threading
from collections import Counter
from collections.abc import Callable
from typing import Any

import grpc

from .gathering import EXPORT, SECONDS, request

#: Outcomes of a request that a stopping server may cause: the client knows that its events are stored, or that they
#: were never sent.
ANSWERED, REFUSED = "answered", "refused"
#: The names of the clients.
CLIENTS = {"http keep-alive", "http connecting", "http in halves", "http chunked", "grpc", "grpc in parallel"}


class Clients:
    """Threads with requests, each of which has a number as its log.

    Attributes:
        outcomes: The number of requests by client and outcome. Any other outcome than "answered" and "refused" is a
            broken request, with the error as text.
        answered: The numbers of the requests that were answered.
        sent: All numbers that may be stored.
    """

    def __init__(self, grpc_address: str, http_address: str, number: int = 2) -> None:
        self.outcomes: Counter[tuple[str, str]] = Counter()
        self.answered: set[int] = set()
        self._lock = threading.Lock()
        self._last = 0
        self._stopped = threading.Event()
        self._grpc, self._http = grpc_address, http_address
        kinds = (self._keep_alive, self._connecting, self._halves, self._chunked, self._unary, self._parallel)
        self._threads = [threading.Thread(target=each, args=(n,)) for each in kinds for n in range(number)]

    def __enter__(self) -> "Clients":
        for each in self._threads:
            each.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        self._stopped.set()
        for each in self._threads:
            each.join()

    @property
    def broken(self) -> dict[tuple[str, str], int]:
        with self._lock:
            return {key: n for key, n in self.outcomes.items() if key[1] not in (ANSWERED, REFUSED)}

    def number(self, outcome: str) -> dict[str, int]:
        """The number of requests with an outcome, by client."""
        with self._lock:
            return {client: n for (client, found), n in self.outcomes.items() if found == outcome}

    # ---- the clients

    def _requests(self, client: str, send: Callable[[bytes], str]) -> None:
        while not self._stopped.is_set():
            with self._lock:
                self._last += 1
                number = self._last
            outcome = send(request(str(number)))
            with self._lock:
                self.outcomes[client, outcome] += 1
                if outcome == ANSWERED:
                    self.answered.add(number)
            if outcome == REFUSED:
                self._stopped.wait(0.01)

    def _keep_alive(self, _: int) -> None:
        """Requests of one connection, until the server ends it by an answer."""
        connection: http.client.HTTPConnection | None = None

        def send(body: bytes) -> str:
            nonlocal connection
            if connection is None:
                connection = self._connection()
                if connection is None:
                    return REFUSED
            outcome, closes = _post(connection, body)
            if closes:
                connection.close()
                connection = None
            return outcome

        self._requests("http keep-alive", send)
        if connection is not None:
            connection.close()

    def _connecting(self, _: int) -> None:
        """A connection for each request."""

        def send(body: bytes) -> str:
            connection = self._connection()
            if connection is None:
                return REFUSED
            outcome, _closes = _post(connection, body)
            connection.close()
            return outcome

        self._requests("http connecting", send)

    def _halves(self, _: int) -> None:
        """Bodies that arrive in two parts."""

        def send(body: bytes) -> str:
            connection = self._connection()
            if connection is None:
                return REFUSED

            def parts() -> Any:
                yield body[: len(body) // 2]
                self._stopped.wait(0.02)
                yield body[len(body) // 2 :]

            outcome, _closes = _post(connection, parts(), {"Content-Length": str(len(body))})
            connection.close()
            return outcome

        self._requests("http in halves", send)

    def _chunked(self, _: int) -> None:
        """Chunked bodies."""

        def send(body: bytes) -> str:
            connection = self._connection()
            if connection is None:
                return REFUSED
            outcome, _closes = _post(connection, iter([body[:5], body[5:]]))
            connection.close()
            return outcome

        self._requests("http chunked", send)

    def _connection(self) -> "http.client.HTTPConnection | None":
        connection = http.client.HTTPConnection(self._http, timeout=SECONDS)
        try:
            connection.connect()
        except ConnectionRefusedError:
            return None
        return connection

    def _unary(self, number: int) -> None:
        """One request of a gRPC channel at a time."""
        with self._channel(f"unary-{number}") as channel:
            call = channel.unary_unary(EXPORT)

            def send(body: bytes) -> str:
                return _outcome(lambda: call(body, timeout=SECONDS))

            self._requests("grpc", send)

    def _parallel(self, number: int) -> None:
        """Four requests of a gRPC channel at a time."""
        with self._channel(f"parallel-{number}") as channel:
            call = channel.unary_unary(EXPORT)

            def send(body: bytes) -> str:
                return _outcome(lambda: call(body, timeout=SECONDS))

            threads = [threading.Thread(target=self._requests, args=("grpc in parallel", send)) for _ in range(4)]
            for each in threads:
                each.start()
            for each in threads:
                each.join()

    def _channel(self, agent: str) -> Any:
        # Channels of equal options share a connection.
        options = [
            ("grpc.primary_user_agent", agent),
            ("grpc.initial_reconnect_backoff_ms", 100),
            ("grpc.max_reconnect_backoff_ms", 100),
        ]
        return grpc.insecure_channel(self._grpc, options=options)


def _post(connection: http.client.HTTPConnection, body: Any, headers: dict[str, str] | None = None) -> tuple[str, bool]:
    """The outcome, and whether the connection ends."""
    try:
        headers = {"Content-Type": "application/x-protobuf", **(headers or {})}
        connection.request("POST", "/v1/logs", body, headers, encode_chunked="Content-Length" not in headers)
        answer = connection.getresponse()
        answer.read()
    except (OSError, http.client.HTTPException) as error:
        return f"{type(error).__name__}: {error}", True
    outcome = ANSWERED if answer.status == 200 else f"status {answer.status}"
    return outcome, answer.getheader("Connection", "") == "close"


def _outcome(call: Callable[[], Any]) -> str:
    try:
        call()
    except grpc.RpcError as error:
        if error.code() == grpc.StatusCode.UNAVAILABLE and "failed to connect" in str(error.details()):
            return REFUSED
        return f"{error.code()}: {error.details()}"
    return ANSWERED
