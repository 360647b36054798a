"""The tutorial says what happens."""

import doctest
import re
from pathlib import Path

import pytest

TUTORIAL = Path(__file__).parents[1] / "docs" / "tutorial.md"


def test_tutorial(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("pyspark")
    monkeypatch.chdir(tmp_path)
    # A fence would be taken for the last line of the output before it.
    text = re.sub(r"^```.*$", "", TUTORIAL.read_text(encoding="utf-8"), flags=re.MULTILINE)
    test = doctest.DocTestParser().get_doctest(text, {}, TUTORIAL.name, str(TUTORIAL), 0)
    try:
        found = doctest.DocTestRunner().run(test, clear_globs=False)
    finally:
        for value in list(test.globs.values()):
            if hasattr(value, "close") and hasattr(value, "push"):
                value.close()
        if "spark" in test.globs:
            test.globs["spark"].stop()
    assert found.failed == 0
    assert found.attempted > 40


def test_a_directory_has_one_capacity_in_all_documents() -> None:
    root = TUTORIAL.parents[1]
    texts = [
        root / "README.md",
        root / "python" / "README.md",
        *root.glob("docs/**/*.md"),
        *root.glob("python/src/**/*.py"),
    ]
    found: dict[str, dict[str, str]] = {}
    for text in texts:
        for opened in re.finditer(r'Queue\(\w+, "([^"]+)", capacity="(\w+)"', text.read_text(encoding="utf-8")):
            found.setdefault(opened[1], {})[opened[2]] = text.name
    assert {"events", "tutorial"} <= set(found)
    assert {directory: places for directory, places in found.items() if len(places) > 1} == {}
