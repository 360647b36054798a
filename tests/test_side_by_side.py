"""`make test` runs its targets side by side: their outputs stay apart, and failed and skipped tests are listed last."""

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
    command = [sys.executable, str(SCRIPT), "out", "first", "second"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    lines = [line for line in run.stdout.splitlines() if line]
    assert run.returncode == (outcome != "passes")
    assert lines.index("out of second") < lines.index("==== first") < lines.index("out of first")
    assert (tmp_path / "out" / "first.log").read_text().startswith("out of first\n")
    (first,) = (line for line in lines if line.startswith("first: "))
    assert first.startswith(f"first: 2 tests, {int(outcome == 'fails')} failed, 0 skipped, ")
    assert first.endswith(": ok" if outcome == "passes" else ": FAILED with status 2")
    assert lines[-1].startswith("second: 1 tests, 0 failed, 0 skipped, ")
    assert [line for line in lines if line.startswith("  FAILED")] == ["  FAILED A b()"] * (outcome == "fails")


#: As JUnit's console and pytest write them.
ABORTED = """<testcase classname="org.A" name="a()"><skipped><![CDATA[org.opentest4j.TestAbortedException: \
Assumption failed: version 1 cannot seek
\tat org.junit.jupiter.api.Assumptions.throwAssumptionFailed(Assumptions.java:321)
]]></skipped></testcase>"""
DISABLED = '<testcase classname="org.B" name="b()"><skipped>never</skipped></testcase>'
SILENT = (
    '<testcase classname="org.A" name="c()">'
    "<skipped>org.opentest4j.TestAbortedException: Assumption failed: </skipped></testcase>"
)
PYTEST = (
    '<testcase classname="tests.{module}" name="test_d"><skipped type="pytest.skip" '
    "message=\"could not import 'pandas': make test-frames\">/tests/test_d.py:1: could</skipped></testcase>"
)


def test_skipped_and_aborted_tests_are_counted_by_reason_on_one_line_each(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text("first second: ; @cp $@.xml $(REPORTS)/\n")
    (tmp_path / "first.xml").write_text(f"<testsuite>{ABORTED}{DISABLED}{ABORTED}{SILENT}</testsuite>")
    cases = "".join(PYTEST.format(module=f"test_{module}") for module in "dcbac")
    (tmp_path / "second.xml").write_text(f"<testsuite>{cases}</testsuite>")
    command = [sys.executable, str(SCRIPT), "out", "first", "second"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 0, run.stdout
    said = run.stdout[run.stdout.index("first: ") :].splitlines()
    assert said[0].startswith("first: 4 tests, 0 failed, 4 skipped, ")
    assert said[1:4] == [
        "  SKIPPED 2: version 1 cannot seek (org.A)",
        "  SKIPPED 1: never (org.B)",
        "  SKIPPED 1: no reason given (org.A)",
    ]
    assert said[4].startswith("second: 5 tests, 0 failed, 5 skipped, ")
    assert said[5:] == [
        "  SKIPPED 5: could not import 'pandas': make test-frames (tests.test_a, tests.test_b and 2 others)"
    ]
