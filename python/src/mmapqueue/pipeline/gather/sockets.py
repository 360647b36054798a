"""Sockets: addresses, TLS, and the connections of a port."""

import asyncio
import ctypes
import errno
import os
import socket
import ssl
import struct
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

from mmapqueue.pipeline.config import Tls, tls_context

#: States in /proc/net/tcp.
_ESTABLISHED, _SYN_RECEIVED, _LISTENING = "01", "03", "0A"
_BACKLOG = 1024
#: A filter of packets: drops those of TCP that ask for a connection, passes all others.
_NO_SYN = b"".join(
    struct.pack("HBBI", *instruction)
    for instruction in (
        (0x30, 0, 0, 13),  # Load the byte with the flags.
        (0x45, 0, 1, 0x02),  # If it has SYN:
        (0x06, 0, 0, 0),  # drop,
        (0x06, 0, 0, 0xFFFFFFFF),  # else pass.
    )
)
_SO_ATTACH_FILTER = 26
#: In the struct tcp_info: the connections that wait to be accepted, of a listening socket.
_WAITING = slice(24, 28)
#: Seconds for which connections that wait are accepted before their socket is closed.
_ACCEPT_WITHIN = 0.2
#: Seconds that the handshake of TLS may take, for sockets without a time of their own.
HANDSHAKE_WITHIN = 20.0
#: OpenSSL's reasons for a handshake whose first bytes are not TLS.
_PLAIN_TEXT = {"WRONG_VERSION_NUMBER", "HTTP_REQUEST", "RECORD_LAYER_FAILURE"}
_POLL = 0.002


def bind_address(address: str) -> tuple[str, int]:
    """Splits `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; the last means all addresses.

    Example:
        >>> bind_address("[::1]:4317")
        ('::1', 4317)
    """
    host, _, port = address.rpartition(":")
    return host.strip("[]") or "::", int(port)


def peer_name(address: Any) -> str:
    """A socket's address as text: `192.0.2.1:50312` or `[2001:db8::1]:50312`; empty for none."""
    if not address:
        return ""
    host, port = address[:2]
    # An IPv4 client of a dual-stack socket.
    host = host.removeprefix("::ffff:")
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def server_context(tls: Tls, where: str, failed: Callable[[ssl.SSLError], None]) -> ssl.SSLContext:
    """The TLS settings of a listening socket.

    Args:
        tls: Certificates.
        where: What the error begins with, such as "server http: tls".
        failed: Called for each handshake that fails.

    Raises:
        ConfigError: A file cannot be read, or is no certificate or key.
    """
    context = tls_context(tls, where)

    class Connection(ssl.SSLObject):
        """Event loops close a connection whose handshake fails without a word."""

        def do_handshake(self) -> None:
            try:
                super().do_handshake()
            except (ssl.SSLWantReadError, ssl.SSLWantWriteError):
                raise
            except ssl.SSLError as error:
                failed(error)
                raise

    context.sslobject_class = Connection
    return context


def handshake_words(error: ssl.SSLError) -> str:
    """A line about a handshake that failed."""
    plain = "the client sends plain text to a port of TLS: " if error.reason in _PLAIN_TEXT else ""
    return f"TLS handshake failed: {plain}{error}"


def listen(host: str, port: int, *, shared: bool) -> list[socket.socket]:
    """Sockets that listen on an address; on all addresses one for IPv4 and one for IPv6.

    Args:
        host: As `bind_address` returns it.
        port: The port; 0 takes a free one.
        shared: Whether other processes listen on the same port (SO_REUSEPORT).

    Raises:
        OSError: The address cannot be bound.
    """
    found = socket.getaddrinfo(None if host == "::" else host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE)
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in dict.fromkeys(found):
            try:
                each = socket.socket(family, kind, protocol)
            except OSError as error:
                if error.errno == errno.EAFNOSUPPORT and len(found) > 1:
                    continue
                raise
            sockets.append(each)
            each.setblocking(False)  # noqa: FBT003
            each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if shared:
                each.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
            if family == socket.AF_INET6:
                each.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            # A free port that was chosen for one family serves the other one, too.
            chosen = sockets[0].getsockname()[1] if len(sockets) > 1 else address[1]
            each.bind((address[0], chosen, *address[2:]))
            each.listen(_BACKLOG)
    except BaseException:
        for each in sockets:
            each.close()
        raise
    return sockets


def listening(port: int) -> set[str]:
    """The inodes of the sockets that listen on a TCP port."""
    return set(_rows(port, _LISTENING))


@contextmanager
def duplicates(inodes: Collection[str]) -> Iterator[list[socket.socket]]:
    """Duplicates of sockets of this process, by their inodes."""
    with ExitStack() as stack:
        numbers = [number for number, inode in _own_sockets() if inode in inodes]
        yield [stack.enter_context(socket.socket(fileno=os.dup(number))) for number in numbers]


async def refuse_connections(sockets: Sequence[socket.socket]) -> None:
    """Has listening sockets take no further connections, and waits until those that wait are accepted.

    The close of a listening socket resets the connections that wait in it, whose clients may have sent requests. After
    this call there are none, unless that took longer than 0.2 s. New clients get an answer from what listens on the
    port next, or the error that nothing does. Another part of the program accepts meanwhile.
    """
    instructions = ctypes.create_string_buffer(_NO_SYN, len(_NO_SYN))
    program = struct.pack("HL", len(_NO_SYN) // 8, ctypes.addressof(instructions))
    for each in sockets:
        with suppress(PermissionError):
            each.setsockopt(socket.SOL_SOCKET, _SO_ATTACH_FILTER, program)
    loop = asyncio.get_running_loop()
    deadline = loop.time() + _ACCEPT_WITHIN
    while loop.time() < deadline and any(map(_has_waiting, sockets)):
        await asyncio.sleep(_POLL)
    # The loop makes connections of the sockets that it has accepted.
    await asyncio.sleep(_POLL)


def _has_waiting(listener: socket.socket) -> bool:
    info = listener.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, _WAITING.stop)
    return any(info[_WAITING]) or any(True for _ in _rows(listener.getsockname()[1], _SYN_RECEIVED))


def established(port: int, *, own: bool) -> int:
    """Counts the established TCP connections of a local port, by /proc.

    Args:
        port: The port that is listened on.
        own: Whether to count this process's sockets alone, as other processes may listen on the same port.
    """
    inodes = list(_rows(port, _ESTABLISHED))
    return len({inode for _, inode in _own_sockets()}.intersection(inodes)) if own else len(inodes)


def _rows(port: int, wanted: str) -> Iterator[str]:
    """The inode of each TCP socket of a local port in a state."""
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/self/net", table).read_text().splitlines()[1:]
        except FileNotFoundError:  # The system has no IPv6.
            continue
        for line in lines:
            _, local, _, state, *rest = line.split()
            if state == wanted and int(local.rpartition(":")[2], 16) == port:
                yield rest[5]


def _own_sockets() -> Iterator[tuple[int, str]]:
    """The descriptor and the inode of each socket of this process."""
    for entry in os.scandir("/proc/self/fd"):
        try:
            target = os.readlink(entry.path)  # noqa: PTH115 (a path would be resolved)
        except FileNotFoundError:  # Closed since, or the descriptor of the directory itself.
            continue
        if target.startswith("socket:["):
            yield int(entry.name), target[8:-1]
