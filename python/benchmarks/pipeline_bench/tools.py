"""The programs that Go builds: load generators and the collector. Each is built once, below build/peers."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

_HERE = Path(__file__).parent
_TELEMETRYGEN = "github.com/open-telemetry/opentelemetry-collector-contrib/cmd/telemetrygen@v0.161.0"
_BUILDER = "go.opentelemetry.io/collector/cmd/builder@v0.164.0"
#: The newest release with all modules on the proxy.
COLLECTOR_VERSION = "0.161.0"
_MANIFEST = f"""\
dist: {{name: otelcol, description: Collector of the pipeline benchmark, output_path: ./otelcol}}
receivers:
  - gomod: go.opentelemetry.io/collector/receiver/otlpreceiver v{COLLECTOR_VERSION}
exporters:
  - gomod: go.opentelemetry.io/collector/exporter/otlpexporter v{COLLECTOR_VERSION}
extensions:
  - gomod: github.com/open-telemetry/opentelemetry-collector-contrib/extension/storage/filestorage v{COLLECTOR_VERSION}
"""


class MissingError(Exception):
    """A program is missing; the message gives the reason."""


@dataclass(frozen=True)
class Tools:
    """Builds programs into a directory, once.

    Attributes:
        directory: The directory of the programs.
    """

    directory: Path

    def load(self) -> Path:
        """The load generator below load/. Each run builds it: Go skips the build if nothing has changed."""
        path = self.directory / "load"
        self._go(["build", "-o", str(path.resolve()), "."], _HERE / "load")
        return path

    def telemetrygen(self) -> Path:
        """The load generator of the OpenTelemetry project."""
        return self._installed("telemetrygen", _TELEMETRYGEN)

    def collector(self) -> Path:
        """The OpenTelemetry collector with OTLP on both sides and file_storage; the first build takes minutes."""
        binary = self.directory / "otelcol" / "otelcol"
        if not binary.exists():
            builder = self._installed("builder", _BUILDER)
            manifest = self.directory / "otelcol.yaml"
            manifest.write_text(_MANIFEST, encoding="utf-8")
            command = [str(builder.resolve()), "--skip-strict-versioning", "--config", manifest.name]
            _run(command, self.directory, None)
        return binary

    def _installed(self, name: str, package: str) -> Path:
        path = self.directory / name
        if not path.exists():
            self._go(["install", package], self.directory, {"GOBIN": str(self.directory.resolve())})
        return path

    def _go(self, words: list[str], directory: Path, variables: Mapping[str, str] | None = None) -> None:
        go = shutil.which("go")
        if not go:
            raise MissingError("Go is not on PATH")
        self.directory.mkdir(parents=True, exist_ok=True)
        _run([go, *words], directory, variables)


def _run(command: list[str], directory: Path, variables: Mapping[str, str] | None) -> None:
    done = subprocess.run(
        command, cwd=directory, env={**os.environ, **(variables or {})}, capture_output=True, text=True, check=False
    )
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no output").splitlines()[-1]
        raise MissingError(f"{Path(command[0]).name} {command[1]} failed: {last}")
