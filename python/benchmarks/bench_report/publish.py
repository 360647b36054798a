"""Copies the raw results of a run to the directory of kept results: small, and without paths.

The kept results are of one run: those of parts that it has not measured are removed.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from . import machine

#: The files of results below the directory of a run.
FILES = (
    "latency/latency.json",
    "pipeline/pipeline.json",
    "python/python.json",
    "real-time/real-time.json",
    "scale/scale*.json",
    "spark/spark.json",
)
JMH = "results"
_COUNTERS = ("records", "allocated", "gc.alloc.rate.norm")
_DIGITS = 5


def publish(run: Path, raw: Path) -> list[str]:
    """Copies a run from `run` to `raw` and returns a line for each file written or removed.

    Raises SystemExit when `run` has no results at all.
    """
    found = dict(read(run))
    if not found:
        raise SystemExit(f"{run}: no results of benchmarks; expected {JMH}/*.json or one of {', '.join(FILES)}")
    notes = run / machine.NAME
    found[machine.NAME] = _load(notes) if notes.exists() else {"machine": machine.facts(run), "parts": {}}
    done = []
    for pattern in ("jmh/*.json", *(Path(each).name for each in FILES)):  # Others keep figures here, too.
        for path in sorted(raw.glob(pattern)):
            name = path.relative_to(raw).as_posix()
            if name not in found:
                path.unlink()
                done.append(f"{name}: removed, not part of this run")
    for name, content in sorted(found.items()):
        text = dump(content)
        (raw / name).parent.mkdir(parents=True, exist_ok=True)
        (raw / name).write_text(text, encoding="utf-8")
        done.append(f"{name}: {len(text.encode()):,} bytes")
    return done


def files(part: str, run: Path) -> list[Path]:
    """Returns the files of results of one part of a run."""
    patterns = [f"{JMH}/*.json"] if part == "jmh" else [pattern for pattern in FILES if pattern.startswith(part)]
    return [path for pattern in patterns for path in sorted(run.glob(pattern))]


def read(run: Path) -> Iterator[tuple[str, Any]]:
    """Yields the results of a run: the name of the kept file, and its content."""
    for path in sorted((run / JMH).glob("*.json")):
        yield f"jmh/{path.name}", [compact(row) for row in _load(path)]
    for pattern in FILES:
        for path in sorted(run.glob(pattern)):
            yield path.name, _load(path)


def _load(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except ValueError as error:
        raise SystemExit(f"{path}: not JSON: {error}") from None


def compact(row: dict[str, Any]) -> dict[str, Any]:
    """Returns the benchmark, the parameters and the iterations of one of JMH's results, without its statistics."""
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
    """Returns JSON with a line for each result, for comparisons by diff."""
    if isinstance(content, list):
        return "[\n" + ",\n".join(_line(row) for row in content) + "\n]\n"
    members = []
    for name, value in content.items():
        rows = isinstance(value, list) and value and isinstance(value[0], dict)
        members.append(f"{_line(name)}: {dump(value).strip() if rows else _line(value)}")
    return "{\n" + ",\n".join(members) + "\n}\n"


def _line(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
