"""The tables of the Python API list every public name, with the signatures and summaries of the code."""

from __future__ import annotations

import runpy
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[1] / "scripts" / "api_tables.py"
TABLES: dict[str, Any] = runpy.run_path(str(SCRIPT))
PAGES: tuple[Path, ...] = TABLES["PAGES"]
REMEDY = "run: python scripts/api_tables.py"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_tables_are_those_of_the_code(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert text == TABLES["filled"](text, page), REMEDY


def test_each_public_name_is_in_one_table() -> None:
    text = "".join(page.read_text(encoding="utf-8") for page in PAGES)
    assert TABLES["missing"](text) == [], "name it in a comment `<!-- api: … -->` of a page"
    listed = [name.removesuffix("()") for names in TABLES["blocks"](text) for name in names]
    assert len(listed) > 100
    assert [name for name in set(listed) if listed.count(name) > 1] == []


def test_a_name_without_a_row_is_found() -> None:
    text = "<!-- api: Queue Queue.push -->\n<!-- end: api -->"
    assert {"Queue.pop", "Message.ack", "Full"} <= set(TABLES["missing"](text))
    assert "Queue.push" not in TABLES["missing"](text)


def test_the_site_has_a_description_for_each_row() -> None:
    site = TABLES["for_site"]("<!-- api: Queue() Queue.push Queue.config read Full -->\n<!-- end: api -->")
    for directive in ("class:: mmapqueue.Queue", "method:: mmapqueue.Queue.push", "property:: mmapqueue.Queue.config"):
        assert f".. auto{directive}\n" in site
    assert ".. autofunction:: mmapqueue.read\n" in site
    assert ".. autoexception:: mmapqueue.Full\n" in site
    assert "{py:obj}`push(data, *, block=True, timeout=None, sync=False, shipped=False) <mmapqueue.Queue.push>`" in site
