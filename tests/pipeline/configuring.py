"""Configuration files for tests."""

from pathlib import Path
from typing import Any

from mmapqueue.pipeline.config import load

SERVER = "{name: grpc, type: grpc, listen: '127.0.0.1:0'}"
HTTP = "{name: http, type: http, listen: '127.0.0.1:0'}"
OTLP = "{type: otlp, server: grpc}"
SPARK = "{type: spark, format: noop}"


def pipeline(
    *,
    servers: str = SERVER,
    queue: str = "{dir: q}",
    receivers: str = OTLP,
    pipe: str = "",
    top: str = "",
) -> str:
    """A file of one pipe: servers in line 1, queue in 4, receivers in 5, more of the pipe from 6 on."""
    lines = [f"servers: [{servers}]", "pipes:", "- name: logs", f"  queue: {queue}", f"  receivers: [{receivers}]"]
    lines += [f"  {line}" for line in pipe.splitlines()]
    return "\n".join([*lines, *top.splitlines()]) + "\n"


ADDRESS = (
    "an address is HOST:PORT with a port of 0 to 65535, such as 127.0.0.1:4317 or [::1]:4317; :4317 means all addresses"
)
REMOTE = "the address of a server is HOST:PORT with a port of 1 to 65535, such as oap:11800 or [2001:db8::1]:4317"
URL = (
    "a URL begins with http:// or https://, and has a host and, if any, a port of 1 to 65535, such as "
    "https://shop.example:8443/logs"
)
DURATION = 'a time with its unit, such as "500ms", "30s", "5min", "2h" or "7d"'
SIZE = "a number of bytes from 0 on, or one with k, m, g or t, such as 512m"
NAME = "a name of 1 to 100 letters, digits, _ . or -, not beginning with . or -"
REFERENCES = "allowed: ${NAME:default}, ${NAME}, ${env:NAME:-default} or ${env:NAME}; $$ for one $"
RECEIVERS = "fluent, http, mmapqueue, otlp, remote_write, skywalking, statsd, syslog"
LISTED = "docs/reference/pipeline lists the keys"


def load_text(tmp_path: Path, text: str, **environment: str) -> Any:
    file = tmp_path / "my shop.yaml"
    file.write_text(text)
    return load(file, environment=environment)
