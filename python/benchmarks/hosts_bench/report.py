"""The tables of a run, as docs/scale.md has them.

python -m hosts_bench.report FILE [--keep]

With --keep the file is copied to the kept raw results, and the tables of docs/scale.md are replaced.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from bench_report.publish import dump
from bench_report.words import NOTHING, number, size, table

_ROOT = Path(__file__).resolve().parents[3]
KEPT = _ROOT / "docs" / "benchmarks" / "raw" / "hosts.json"
PAGE = _ROOT / "docs" / "scale.md"
#: What the page has the tables between.
_BEGIN, _END = "<!-- make bench-hosts -->", "<!-- end -->"

#: Requests to the name node that are not a way's: those of data nodes, and of the benchmark itself.
_OTHERS = (
    *("SendHeartbeat", "BlockReceivedAndDeleted", "BlockReport", "RegisterDatanode", "VersionRequest"),
    "(external)",
)


def tables(run: Mapping[str, Any]) -> str:
    """Latency, processor time and memory of a host, files and requests, by subject."""
    rows = run["results"]
    head = [
        "",
        "p50 ms",
        "p99 ms",
        "CPU",
        "memory",
        "CPU of the writer",
        "memory of the writer",
        "files/min",
        "bytes a file",
        "requests/s",
    ]
    parts = [table(head, [_row(each) for each in rows], left=1), _load(run)]
    if run["throughput"]:
        rates = [
            [
                str(each["hosts"]),
                size(each["bytes"]),
                number(each["ship_mb_per_second"]),
                number(each["read_mb_per_second"]),
            ]
            for each in run["throughput"]
        ]
        parts.append(table(["hosts", "queued", "shipped MB/s", "read MB/s"], rates, left=1))
    return "\n\n".join(parts)


def _row(result: Mapping[str, Any]) -> list[str]:
    minutes = result["seconds"] / 60
    hosts = len(result["latency_ms"])
    requests = sum(count for name, count in result["requests"].items() if name not in _OTHERS)
    return [
        result["subject"],
        number(_middle([each["p50"] for each in result["latency_ms"]])),
        number(max(each["p99"] for each in result["latency_ms"])),
        *_taken(result, "job"),
        *_taken(result, "writer"),
        number(result["files"] / minutes / hosts),
        size(result["file_bytes"] / max(1, result["files"])),
        number(requests / result["seconds"] / hosts),
    ]


def _taken(result: Mapping[str, Any], of: str) -> list[str]:
    """Processor time, in percent of a core, and memory (PSS) of the middle host."""
    if not result[f"{of}_cpu_percent"]:
        return [NOTHING, NOTHING]
    return [
        f"{number(_middle(result[f'{of}_cpu_percent']))} %",
        size(_middle(result[f"{of}_pss_mib"]) * 2**20),
    ]


def _middle(values: Sequence[float]) -> float:
    return statistics.median(values)


def _load(run: Mapping[str, Any]) -> str:
    machine = run["machine"]
    return (
        f"{run['hosts']} hosts, each {number(run['rate'])} records/s of {run['bytes']} B; {machine['cpu']}, "
        f"{machine['cores']} cores for all hosts, HDFS included; {run['date']}, load {run['load'][0]} at the "
        f"beginning, {run['load'][1]} at the end. Files, bytes and requests are those of one host; p50, CPU and memory "
        "of the middle host, p99 of the host with the highest one." + (f" {run['note']}" if "note" in run else "")
    )


def filled(page: str, run: Mapping[str, Any]) -> str:
    """Returns the page with the tables of this run."""
    return re.sub(f"(?<={_BEGIN}\n).*?(?={_END})", lambda _: f"\n{tables(run)}\n\n", page, count=1, flags=re.DOTALL)


def main() -> None:
    """Prints or keeps."""
    parser = argparse.ArgumentParser(prog="hosts_bench.report", description=(__doc__ or "").splitlines()[0])
    parser.add_argument("file", type=Path, nargs="?", default=_ROOT / "build" / "bench" / "hosts" / "hosts.json")
    parser.add_argument("--keep", action="store_true")
    options = parser.parse_args()
    run = json.loads(options.file.read_text(encoding="utf-8"))
    print(tables(run))
    if options.keep:
        KEPT.write_text(dump(run), encoding="utf-8")
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), run), encoding="utf-8")


if __name__ == "__main__":
    main()
