"""The table of `docs/explanation/reliability.md`: features beside events, each cell with the tests that cover it."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PAGE = ROOT / "docs" / "explanation" / "reliability.md"
EVENTS = 10


def _rows(heading: str) -> list[list[str]]:
    """The cells of the rows below a line that begins with this heading."""
    text = PAGE.read_text(encoding="utf-8")
    lines = text[text.index(f"\n{heading}") + 1 :].splitlines()[2:]
    end = next(number for number, line in enumerate(lines) if not line.startswith("|"))
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[:end]]


TESTS = {code: test.strip("`") for code, test in _rows("| code | test |")}
CELLS = _rows("| | close | kill |")


def test_each_cell_names_tests_or_says_that_it_has_none() -> None:
    for feature, *cells in CELLS:
        assert len(cells) == EVENTS, feature
        for cell in cells:
            assert cell == "–" or set(cell.split()) <= set(TESTS), f"{feature}: {cell!r}"


def test_each_named_test_exists_and_is_used() -> None:
    for code, test in TESTS.items():
        file = ROOT / test
        if test.startswith("org."):
            file = ROOT / "jvm" / "src" / "test" / "java" / f"{test.replace('.', '/')}.java"
        assert re.search(r"@Test|@ParameterizedTest|@Property|^def test|void \w+\(", file.read_text("utf-8"), re.M), (
            test
        )
        assert any(code in cell.split() for _, *cells in CELLS for cell in cells), code
