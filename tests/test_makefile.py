"""`make` lists its targets for people."""

import re
import subprocess
from pathlib import Path

import conftest

ROOT = Path(__file__).parents[1]


def test_the_targets_are_listed_in_groups() -> None:
    shown = subprocess.run(["make"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    groups = dict(re.findall(r"^(\S.*)\n((?:  .+\n)+)", shown, re.MULTILINE))
    listed = {title: re.findall(r"^  ([a-z0-9-]+) +\S", lines, re.MULTILINE) for title, lines in groups.items()}
    assert next(iter(listed.items())) == ("Start here", ["build", "demo", "test"])
    texts = [(ROOT / file).read_text() for file in ("Makefile", "lint/lint.mk")]
    described = [target for text in texts for target in re.findall(r"^([a-z0-9-]+):.* ## ", text, re.MULTILINE)]
    assert [target for targets in listed.values() for target in targets] == described
    assert [line for line in shown.splitlines() if len(line) > 100] == []


def test_slow_files_exist() -> None:
    assert [file for file in conftest.SLOW_FILES if not file.is_file()] == []
