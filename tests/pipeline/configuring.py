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


ADDRESS = "an address is HOST:PORT with a port of 0 to 65535, as 127.0.0.1:4317 or [::1]:4317; :4317 is all addresses"
DURATION = "a duration needs its unit: ms, s, m, h or d, as in 500ms or 2s"
SPELLED_DURATION = "a duration is a number with the unit ms, s, m, h or d, such as 500ms or 2s"
SIZE = "a size is a number of bytes, or a number with the unit k, m or g, such as 64k or 4m"
NAME = "a name of 1 to 100 letters, digits, _ . or -, not beginning with . or -"
REFERENCES = "allowed: ${NAME:default}, ${NAME}, ${env:NAME:-default} or ${env:NAME}; $$ for one $"
RECEIVERS = "http, mmapqueue, otlp, skywalking, syslog"
LISTED = "docs/reference/pipeline lists the keys"


def load_text(tmp_path: Path, text: str, **environment: str) -> Any:
    file = tmp_path / "my shop.yaml"
    file.write_text(text)
    return load(file, environment=environment)
