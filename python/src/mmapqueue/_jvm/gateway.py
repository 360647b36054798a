"""py4j's gateway to a JVM that this process has started. Broken connections are errors, and not logged.

py4j's own client logs them with tracebacks, also on the root logger, which it configures if the program has not. It
repeats the command, although the JVM may have executed it. It also sends a command when a Java object is collected: in
any thread, at any moment, perhaps within another command, and where a signal handler that raises would break the
connection.
"""

from collections import deque
from contextlib import suppress
from typing import Any

from py4j.java_gateway import GatewayClient, GatewayConnection, JavaGateway
from py4j.protocol import MEMORY_COMMAND_NAME, MEMORY_DEL_SUBCOMMAND_NAME, Py4JNetworkError, is_fatal_error

from mmapqueue._jvm.signals import Shield


class _Connection(GatewayConnection):  # type: ignore[misc]
    def start(self) -> None:
        try:
            self.socket.connect((self.address, self.port))
        except OSError as error:
            self.socket.close()
            raise Py4JNetworkError(f"it has ended: {error}") from None
        self.stream = self.socket.makefile("rb")
        self.is_connected = True
        self._authenticate_connection()


class _Client(GatewayClient):  # type: ignore[misc]
    def __init__(self, *arguments: Any, **options: Any) -> None:
        # The Java objects that Python has collected, and the JVM still has: the next command releases them.
        self._collected: deque[str] = deque()
        super().__init__(*arguments, **options)

    def garbage_collect_object(self, target_id: str) -> None:
        self._collected.append(target_id)

    def _create_connection(self) -> _Connection:
        connection = _Connection(self.gateway_parameters, self.gateway_property)
        connection.start()
        return connection

    def send_command(self, command: str, retry: bool = True, binary: bool = False) -> str:  # noqa: ARG002
        with Shield():
            while self._collected:
                with suppress(IndexError):  # Another thread has released it.
                    self._send(f"{MEMORY_COMMAND_NAME}{MEMORY_DEL_SUBCOMMAND_NAME}{self._collected.popleft()}\ne\n")
            return self._send(command)

    def _send(self, command: str) -> str:
        connection = self._get_connection()
        try:
            answer: str = connection.send_command(command)
        except Py4JNetworkError:
            connection.close()
            raise
        if is_fatal_error(answer):
            connection.close()
        else:
            self.deque.append(connection)
        return answer


class Gateway(JavaGateway):  # type: ignore[misc]
    """A gateway with the clients of this module."""

    def _create_gateway_client(self) -> _Client:
        return _Client(gateway_parameters=self.gateway_parameters)
