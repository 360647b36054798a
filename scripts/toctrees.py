"""Tables of contents of the documentation, which pages write as comments: GitHub shows them as nothing.

A page of links lists them in a table, and has an empty comment. Others name their pages:

    <!-- toctree -->

    <!-- toctree
    :caption: Start

    installation
    quickstart
    -->
"""

import re

_COMMENT = re.compile(r"^<!-- toctree(.*?)-->$", re.DOTALL | re.MULTILINE)
_LINK = re.compile(r"^\|.*?\]\(([\w-]+(?:/index)?)\.md(?:#[\w-]*)?\)", re.MULTILINE)


def entries(text: str) -> list[str]:
    """The pages that the tables of contents of a page have, relative to it and without their suffix."""
    return [
        line
        for body in _COMMENT.findall(text)
        for line in (body.split("\n") if body.strip() else dict.fromkeys(_LINK.findall(text)))
        if line.strip() and not line.startswith(":")
    ]


def for_site(text: str) -> str:
    """The page for Sphinx, with hidden tables of contents."""

    def tree(comment: re.Match[str]) -> str:
        body = comment[1].strip() or "\n" + "\n".join(dict.fromkeys(_LINK.findall(text)))
        return f"```{{toctree}}\n:hidden:\n{body}\n```"

    return _COMMENT.sub(tree, text)
