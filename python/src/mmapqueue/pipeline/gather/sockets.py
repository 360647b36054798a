"""Sockets: addresses to bind, and the connections that a port has."""

import os
from pathlib import Path

_ESTABLISHED = "01"


def bind_address(address: str) -> tuple[str, int]:
    """Splits `HOST:PORT`, `[IPV6]:PORT` or `:PORT`; the last means all addresses.

    Example:
        >>> bind_address("[::1]:4317")
        ('::1', 4317)
    """
    host, _, port = address.rpartition(":")
    return host.strip("[]") or "::", int(port)


def established(port: int, *, own: bool) -> int:
    """Counts the established TCP connections of a local port, by /proc.

    Args:
        port: The port that is listened on.
        own: Count this process's sockets alone: other processes listen on the same port.
    """
    inodes: list[str] = []
    for table in ("tcp", "tcp6"):
        try:
            lines = Path("/proc/self/net", table).read_text().splitlines()[1:]
        except FileNotFoundError:  # No IPv6.
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
        except FileNotFoundError:  # Closed since, or that of the directory itself.
            continue
        if target.startswith("socket:["):
            found.add(target[8:-1])
    return found
