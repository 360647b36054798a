"""Sockets: addresses, TLS, and the connections of a port."""

import os
import ssl
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mmapqueue.pipeline.config import Tls

_ESTABLISHED = "01"


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


def server_context(tls: Tls, failed: Callable[[ssl.SSLError], None]) -> ssl.SSLContext:
    """The TLS settings of a listening socket.

    Args:
        tls: Certificates.
        failed: Called for each handshake that fails.

    Raises:
        OSError: A file cannot be read.
        ValueError: A file holds no certificate or key.
    """
    try:
        context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=tls.client_ca)
        context.load_cert_chain(tls.certificate, tls.key)
    except ssl.SSLError as error:
        raise ValueError(f"tls: {tls.certificate}, {tls.key} or client_ca is not a PEM file: {error}") from error
    if tls.client_ca is not None:
        context.verify_mode = ssl.CERT_REQUIRED

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


def established(port: int, *, own: bool) -> int:
    """Counts the established TCP connections of a local port, by /proc.

    Args:
        port: The port that is listened on.
        own: Whether to count this process's sockets alone, as other processes may listen on the same port.
    """
    inodes: list[str] = []
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/self/net", table).read_text().splitlines()[1:]
        except FileNotFoundError:  # The system has no IPv6.
            continue
        for line in lines:
            _, local, _, state, *rest = line.split()
            if state == _ESTABLISHED and int(local.rpartition(":")[2], 16) == port:
                inodes.append(rest[5])
    return len(_own_sockets().intersection(inodes)) if own else len(inodes)


def _own_sockets() -> set[str]:
    found = set()
    for entry in os.scandir("/proc/self/fd"):
        try:
            target = os.readlink(entry.path)  # noqa: PTH115 (a path would be resolved)
        except FileNotFoundError:  # Closed since, or the descriptor of the directory itself.
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found
