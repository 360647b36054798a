"""`make test` runs its targets side by side: their outputs stay apart, and the failed tests of all are listed last."""

import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "side_by_side.py"

#: The first target ends only when the second one has begun.
MAKEFILE = """
first: ; @until [ -e begun ]; do sleep 0.05; done; echo out of first; cp first.xml $(REPORTS)/; exit {status}
second: ; @touch begun; echo out of second; cp second.xml $(REPORTS)/
"""
SECOND = '<testsuites><testsuite><testcase classname="tests.test_b" name="test_c[1]"/></testsuite></testsuites>'


@pytest.mark.parametrize("outcome", ["passes", "fails", "fails without a failed test"])
def test_targets_run_side_by_side(tmp_path: Path, outcome: str) -> None:
    (tmp_path / "Makefile").write_text(MAKEFILE.format(status=0 if outcome == "passes" else 3))
    failure = "<failure/>" if outcome == "fails" else ""
    cases = f'<testcase classname="A" name="b()">{failure}</testcase><testcase classname="A" name="d()"/>'
    (tmp_path / "first.xml").write_text(f"<testsuite>{cases}</testsuite>")
    (tmp_path / "second.xml").write_text(SECOND)
    command = [sys.executable, SCRIPT, "out", "first", "second"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    lines = [line for line in run.stdout.splitlines() if line]
    assert run.returncode == (outcome != "passes")
    assert lines.index("out of second") < lines.index("==== first") < lines.index("out of first")
    assert (tmp_path / "out" / "first.log").read_text().startswith("out of first\n")
    (first,) = (line for line in lines if line.startswith("first: "))
    assert first.startswith(f"first: 2 tests, {int(outcome == 'fails')} failed, ")
    assert first.endswith(": ok" if outcome == "passes" else ": FAILED with status 2")
    assert lines[-1].startswith("second: 1 tests, 0 failed, ")
    assert [line for line in lines if line.startswith("  FAILED")] == ["  FAILED A b()"] * (outcome == "fails")
