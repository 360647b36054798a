"""Measures gather beside other servers: `make bench-pipeline`, or `python -m pipeline_bench` in python/benchmarks."""

from __future__ import annotations

import argparse
import json
import random
import re
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pipeline_bench import article, kills, report, rounds
from pipeline_bench.subjects import Gather, Persistent, Subject, subjects
from pipeline_bench.tools import MissingError, Tools

PARTS = ("rates", "kills", "article")
_S = TypeVar("_S", bound=Subject)


def _numbers(text: str) -> list[int]:
    numbers = [int(word) for word in text.split(",")]
    if min(numbers) < 1:
        raise argparse.ArgumentTypeError(f"{text}: expected numbers from 1, with commas between them")
    return numbers


def _positive(text: str) -> float:
    number = float(text)
    if not 0 < number < float("inf"):
        raise argparse.ArgumentTypeError(f"{text}: expected a number above 0")
    return number


def _some(known: Sequence[str]) -> Callable[[str], list[str]]:
    def words(text: str) -> list[str]:
        found = text.split(",")
        for word in found:
            if word not in known:
                raise argparse.ArgumentTypeError(f"{word}: expected some of {', '.join(known)}")
        return found

    return words


def _regex(text: str) -> re.Pattern[str]:
    try:
        return re.compile(text)
    except re.error as error:
        raise argparse.ArgumentTypeError(f"{text}: no regular expression: {error}") from None


def parser() -> argparse.ArgumentParser:
    """The options."""
    found = argparse.ArgumentParser(prog="pipeline_bench", description=(__doc__ or "").splitlines()[0])
    found.add_argument("--rounds", type=lambda text: _numbers(text)[0], default=3, help="how often (%(default)s)")
    found.add_argument("--seconds", type=_positive, default=6.0, help="of each measurement in a round (%(default)s)")
    found.add_argument("--warm", type=_positive, default=3.0, help="seconds of load before it (%(default)s)")
    found.add_argument("--minutes", type=_positive, default=20.0, help="no round starts later (%(default)s)")
    found.add_argument("--only", type=_regex, default="", help="measurements that match, as --list prints them (all)")
    found.add_argument("--parts", type=_some(PARTS), default=list(PARTS), help=f"some of {','.join(PARTS)} (all)")
    found.add_argument("--loads", type=_some(rounds.LOADS), default=list(rounds.LOADS), help="generators (all)")
    found.add_argument("--batches", type=_numbers, default="100,1000", help="logs in a request (%(default)s)")
    found.add_argument("--kills", type=lambda text: _numbers(text)[0], default=3, help="of each subject (%(default)s)")
    found.add_argument("--seed", type=int, default=1, help="of the moments of the kills (%(default)s)")
    found.add_argument(
        "--connections", type=lambda text: _numbers(text)[0], default=1000, help="article: (%(default)s)"
    )
    found.add_argument("--rate", type=_positive, default=100_000.0, help="article: logs a second (%(default)s)")
    found.add_argument("--article-seconds", type=_positive, default=30.0, help="article: how long (%(default)s)")
    found.add_argument("--peers", type=Path, default=Path("build/peers"), help="where Go's programs are (%(default)s)")
    found.add_argument(
        "--directory",
        type=Path,
        default=Path("build/bench/pipeline"),
        help="for the servers' files, on a real disk (%(default)s)",
    )
    found.add_argument("--list", action="store_true", help="print the measurements and measure nothing")
    return found


def present(known: Sequence[Subject]) -> tuple[list[Subject], dict[str, str], dict[str, str]]:
    """Those that can be measured here, their versions, and why the others cannot."""
    found, versions, missing = [], {}, {}
    for subject in known:
        try:
            versions[subject.name] = subject.version()
            found.append(subject)
        except MissingError as error:
            missing[subject.name] = str(error)
    return found, versions, missing


def main(words: list[str] | None = None) -> None:
    """Measures and writes the results."""
    options = parser().parse_args(words)
    tools = Tools(options.peers)
    if options.list:
        known = subjects(tools)
        titles = [measurement.title for measurement in _chosen(known, options)] if "rates" in options.parts else []
        for part, some in (("kills", _persistent(known)), ("article", known)):
            titles += [f"{each.name}: {part}" for each in _wanted(some, part, options)]
        print("\n".join(titles))
        return
    end = time.monotonic() + options.minutes * 60
    # Servers have sessions of their own: they are ended by the `finally` of what has started them.
    signal.signal(signal.SIGTERM, lambda number, _frame: sys.exit(128 + number))
    try:
        tools.load()
    except MissingError as error:
        sys.exit(f"pipeline_bench: no load generator: {error}")
    known, versions, missing = present(subjects(tools))
    kinds = list(options.loads)
    if "telemetrygen" in kinds:
        try:
            tools.telemetrygen()
        except MissingError as error:
            missing["telemetrygen"] = str(error)
            kinds.remove("telemetrygen")
    for name, why in missing.items():
        _tell(f"{name}: not measured, {why}")
    options.loads = kinds
    options.directory.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="servers-", dir=options.directory) as scratch:
        found = _measured(known, options, tools, Path(scratch), end)
    found |= {
        "versions": versions,
        "keeps": {subject.name: subject.keeps for subject in known},
        "missing": missing,
    }
    file = options.directory / "pipeline.json"
    file.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    _tell(f"{found['rounds']} rounds: {file}")


def _chosen(known: Sequence[Subject], options: argparse.Namespace) -> list[rounds.Measurement]:
    every = rounds.measurements(known, options.loads, options.batches)
    return [measurement for measurement in every if options.only.search(measurement.title)]


def _persistent(known: Sequence[Subject]) -> list[Persistent]:
    return [each for each in known if isinstance(each, Persistent) and each.protocol == "grpc"]


def _wanted(known: Sequence[_S], part: str, options: argparse.Namespace) -> list[_S]:
    """The subjects that take part in kills, or in the article's load."""
    return [each for each in known if part in options.parts and options.only.search(f"{each.name}: {part}")]


def _measured(
    known: Sequence[Subject], options: argparse.Namespace, tools: Tools, scratch: Path, end: float
) -> dict[str, Any]:
    chosen = _chosen(known, options) if "rates" in options.parts else []
    setting = rounds.Setting(tools, scratch, options.warm, options.seconds)
    number = rounds.go(chosen, setting, options.rounds, end, _tell) if chosen else 0
    return {
        "rounds": number,
        "seconds": options.seconds,
        "warm_seconds": options.warm,
        "results": [report.measurement_result(measurement) for measurement in chosen],
        "kills": _kills(_wanted(_persistent(known), "kills", options), options, tools, scratch),
        "article": _article(_wanted(known, "article", options), options, tools, scratch),
    }


def _kills(
    known: Sequence[Persistent], options: argparse.Namespace, tools: Tools, scratch: Path
) -> list[dict[str, Any]]:
    found = []
    for batch in options.batches:
        left: dict[str, list[kills.Left]] = {subject.name: [] for subject in known}
        for number in range(options.kills):
            for subject in known:
                chance = random.Random(f"{options.seed} {batch} {number}")  # The same moment for all.
                left[subject.name].append(kills.kill(subject, tools, scratch, batch, chance))
                _tell(f"kill {number + 1}: {subject.name}, batch {batch}: {left[subject.name][-1]}")
        found += [report.kill_result(subject, batch, left[subject.name]) for subject in known]
    return found


def _article(
    known: Sequence[Subject], options: argparse.Namespace, tools: Tools, scratch: Path
) -> list[dict[str, Any]]:
    setting = article.Setting(tools, scratch, options.connections, options.rate, options.article_seconds)
    found = []
    for subject in known:
        for spark in [False, True] if isinstance(subject, Gather) else [False]:
            held = article.sustain(subject, setting, spark=spark)
            row = report.article_result(subject, options.connections, options.rate, held)
            row["subject"] += ", read by Spark" if spark else ""
            found.append(row)
            _tell(f"article: {row['subject']}: {row['logs_per_second']:,.0f} logs/s, lost {row['lost_requests']}")
    return found


def _tell(line: str) -> None:
    print(line, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
