"""Runs make targets side by side, keeps their outputs apart, and lists the failed and the skipped tests in the end.

    python3 scripts/side_by_side.py build/tests test-java test-python

The output of the last target appears at once, that of each other one when all have ended. Each target gets
REPORTS=<directory>/<target> and writes its JUnit XML there. The exit status is 1 if any target fails, else 0.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path


@dataclass
class Target:
    """A make target that runs. `log` is None if its output appears at once."""

    name: str
    reports: Path
    log: Path | None
    process: subprocess.Popen[bytes]
    seconds: float = 0.0

    def test_cases(self) -> Iterator[ElementTree.Element]:
        """All test cases that the reports have. Of a target that was killed there may be none."""
        for report in sorted(self.reports.glob("*.xml")):
            try:
                yield from ElementTree.parse(report).iter("testcase")
            except ElementTree.ParseError as error:
                print(f"{report}: {error}")


def start(name: str, directory: Path, *, live: bool) -> Target:
    """Starts make for one target."""
    reports = directory / name
    reports.mkdir()
    log = None if live else directory / f"{name}.log"
    command = [os.environ.get("MAKE", "make"), "--no-print-directory", name, f"REPORTS={reports}"]
    if log is None:
        return Target(name, reports, log, subprocess.Popen(command))
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)
    return Target(name, reports, log, process)


def wait(targets: list[Target]) -> None:
    """Returns when all have ended. Ctrl-C reaches them by itself, as they are in the same process group."""
    begin = time.monotonic()
    running = list(targets)
    while running:
        try:
            time.sleep(0.1)
        except KeyboardInterrupt:
            continue
        for target in [each for each in running if each.process.poll() is not None]:
            target.seconds = time.monotonic() - begin
            running.remove(target)


def name_of(case: ElementTree.Element) -> str:
    """A test as pytest and JUnit name it, without its worker group."""
    return f"{case.get('classname', '')} {case.get('name', '')}".strip()


def reason_of(skipped: ElementTree.Element) -> str:
    """Why a test was skipped or aborted: what pytest and JUnit note, without class names and stack traces."""
    text = skipped.get("message") or skipped.text or ""
    first = text.strip().partition("\n")[0]
    return re.sub(r"^([\w.$]+: )?(Assumption failed:\s*)?", "", first) or "no reason given"


def print_skipped(cases: list[ElementTree.Element]) -> None:
    """A line for each reason, with the number of tests and where they are."""
    places: dict[str, list[str]] = {}
    for case in cases:
        skipped = case.find("skipped")
        if skipped is not None:
            places.setdefault(reason_of(skipped), []).append(case.get("classname") or case.get("name") or "")
    for reason, names in sorted(places.items(), key=lambda each: -len(each[1])):
        distinct = sorted(set(names))
        more = f" and {len(distinct) - 2} others" if len(distinct) > 2 else ""
        print(f"  SKIPPED {len(names)}: {reason} ({', '.join(distinct[:2])}{more})")


def main(directory: Path, names: list[str]) -> int:
    """Runs the targets; returns the exit status."""
    shutil.rmtree(directory, ignore_errors=True)
    directory.mkdir(parents=True)
    targets = [start(name, directory, live=name == names[-1]) for name in names]
    wait(targets)
    for target in targets:
        if target.log is not None:
            print(f"\n==== {target.name}", flush=True)
            sys.stdout.buffer.write(target.log.read_bytes())
    print()
    for target in targets:
        cases = list(target.test_cases())
        failed = [case for case in cases if case.find("failure") is not None or case.find("error") is not None]
        status = target.process.returncode
        verdict = "ok" if status == 0 else f"FAILED with status {status}"
        skipped = sum(case.find("skipped") is not None for case in cases)
        counts = f"{len(cases)} tests, {len(failed)} failed, {skipped} skipped"
        print(f"{target.name}: {counts}, {target.seconds:.0f} s: {verdict}")
        for case in failed:
            print(f"  FAILED {name_of(case)}")
        print_skipped(cases)
    return int(any(target.process.returncode != 0 for target in targets))


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1]), sys.argv[2:]))
