"""The link check finds broken links of each kind, and accepts those that GitHub follows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[1] / "lint"))

# One of the tools of `make lint`, which the oldest libraries do not include.
pytest.importorskip("markdown_it")

import check_links


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    (tmp_path / "code.py").write_text("one\ntwo\n")
    (tmp_path / "docs" / "other.md").write_text(
        "# Title of `code`, and more\n\n## Again\n\n## Again\n\n<a id='by-hand'></a>\n\n```\n# no heading\n```\n"
    )
    return tmp_path


def problems(root: Path, text: str) -> list[str]:
    file = root / "docs" / "page.md"
    file.write_text(text)
    return list(check_links.problems([file], root))


@pytest.mark.parametrize(
    "target",
    [
        "other.md",
        "../code.py",
        "../docs",
        "other.md#title-of-code-and-more",
        "other.md#again-1",
        "other.md#by-hand",
        "#here",
        "../code.py#L2",
        "../code.py#L1-L2",
        "https://example.org/missing",
        "mailto:a@example.org",
    ],
)
def test_accepts(root: Path, target: str) -> None:
    assert problems(root, f"# Here\n\nA [link]({target}).\n") == []


@pytest.mark.parametrize(
    ("target", "wrong"),
    [
        ("missing.md", "the file does not exist"),
        ("../code.py/x", "the file does not exist"),
        ("other.md#again-2", "the file has no such heading"),
        ("other.md#no-heading", "the file has no such heading"),
        ("#there", "the file has no such heading"),
        ("../../outside", "the link leaves the repository"),
        ("../code.py#L3", "the anchor is not a line of the file: L1 to L2"),
    ],
)
def test_reports(root: Path, target: str, wrong: str) -> None:
    assert problems(root, f"# Here\n\nA line,\nand a [link]({target}).\n") == [f"docs/page.md:4: {target}: {wrong}"]


def test_reports_images_html_and_references(root: Path) -> None:
    text = '![plot](a.svg)\n\n<img src="b.svg">\n\n[text][name]\n\n[good][]\n\n[good]: other.md\n'
    assert [line.split(": ")[1] for line in problems(root, text)] == ["a.svg", "b.svg", "[name]"]


def test_ignores_code(root: Path) -> None:
    assert problems(root, "`[a](b.md)`\n\n```\n[a](b.md)\n```\n") == []
