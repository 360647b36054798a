"""Runs the Python sessions of a Markdown page in the working directory: python page_sessions.py PAGE.

A process of its own for each page: Spark's JVM keeps the working directory that it was started in.
"""

from __future__ import annotations

import doctest
import re
import sys
from pathlib import Path


def text_of(page: Path) -> str:
    """The page with its sessions and without fences: a fence would end the output before it."""
    fence = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```$", re.DOTALL | re.MULTILINE)
    return fence.sub(lambda block: block[2] if block[1] == "pycon" else "", page.read_text(encoding="utf-8"))


def main(page: Path) -> int:
    """Returns the number of examples that failed."""
    test = doctest.DocTestParser().get_doctest(text_of(page), {}, page.name, str(page), 0)
    try:
        found = doctest.DocTestRunner().run(test, clear_globs=False)
    finally:
        for value in list(test.globs.values()):
            if not isinstance(value, type) and hasattr(value, "close") and hasattr(value, "push"):
                value.close()
        if "spark" in test.globs:
            test.globs["spark"].stop()
    print(f"{found.attempted} examples, {found.failed} failed")
    return found.failed


if __name__ == "__main__":
    sys.exit(min(main(Path(sys.argv[1])), 1))
