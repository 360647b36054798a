"""Copies the raw results of a run to where they are kept: small, and without what tells of places.

The kept results are those of one run: what it has not measured is removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import machine

#: Where the parts of a run leave their results below its directory.
PLACES = (
    "latency/latency.json",
    "pipeline/pipeline.json",
    "python/python.json",
    "scale/scale*.json",
    "spark/spark.json",
)
JMH = "results"
_COUNTERS = ("records", "allocated", "gc.alloc.rate.norm")
_DIGITS = 5


def publish(run: Path, raw: Path) -> list[str]:
    """Copies a run from `run` to `raw` and returns what was done, a line for each file.

    Raises SystemExit when `run` has no results at all.
    """
    found = dict(_read(run))
    if not found:
        raise SystemExit(f"{run}: no results of benchmarks; expected {JMH}/*.json or one of {', '.join(PLACES)}")
    notes = run / machine.NAME
    # A run from before the notes were taken still says what it ran on; the load is not known any more.
    found[machine.NAME] = _load(notes) if notes.exists() else {"machine": machine.facts(run), "parts": {}}
    done = []
    for path in sorted(raw.rglob("*.json")):
        name = path.relative_to(raw).as_posix()
        if name not in found:
            path.unlink()
            done.append(f"{name}: removed, as it was not part of this run")
    for name, content in sorted(found.items()):
        text = dump(content)
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_text(text, encoding="utf-8")
        done.append(f"{name}: {len(text.encode()):,} bytes")
    return done


def _read(run: Path) -> Iterator[tuple[str, Any]]:
    for path in sorted((run / JMH).glob("*.json")):
        yield f"jmh/{path.name}", [compact(row) for row in _load(path)]
    for place in PLACES:
        for path in sorted(run.glob(place)):
            content = _load(path)
            if isinstance(content, dict):
                content.pop("machine", None)  # told by the notes of the whole run, in one form
            yield path.name, content


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: not JSON: {error}") from None


def compact(row: dict[str, Any]) -> dict[str, Any]:
    """Returns what counts of one of JMH's results: which benchmark with which parameters, and each iteration."""
    counters = {name: metric for name, metric in row["secondaryMetrics"].items() if name.lstrip("·") in _COUNTERS}
    return {
        "benchmark": row["benchmark"],
        "mode": row["mode"],
        "threads": row["threads"],
        "forks": row["forks"],
        "params": row.get("params", {}),
        "primaryMetric": {"scoreUnit": row["primaryMetric"]["scoreUnit"], **_values(row["primaryMetric"])},
        "secondaryMetrics": {name: _values(metric) for name, metric in counters.items()},
    }


def _values(metric: dict[str, Any]) -> dict[str, Any]:
    return {"rawData": [[_rounded(value) for value in fork] for fork in metric["rawData"]]}


def _rounded(value: float) -> float | int:
    rounded = float(f"{value:.{_DIGITS}g}")
    return int(rounded) if rounded.is_integer() else rounded


def dump(content: Any) -> str:
    """Returns JSON with a line for each result, so that two runs can be compared line by line."""
    if isinstance(content, list):
        return "[\n" + ",\n".join(_line(row) for row in content) + "\n]\n"
    members = []
    for name, value in content.items():
        rows = isinstance(value, list) and value and isinstance(value[0], dict)
        members.append(f"{_line(name)}: {dump(value).strip() if rows else _line(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
