"""The text format of Prometheus."""

import re
from collections.abc import Iterable

#: The media type of this version of the format.
MEDIA_TYPE = "text/plain; version=0.0.4; charset=utf-8"

#: The start of a metric's samples: name and help; the next line has the type.
_HEAD = re.compile(r"^(?=# HELP )", re.MULTILINE)


def merged(texts: Iterable[str]) -> str:
    """Merges several texts into one: each metric once, with all samples.

    Args:
        texts: Texts in which every metric has its help, then its type, then its samples.
    """
    found: dict[str, list[str]] = {}
    for text in texts:
        for block in filter(None, _HEAD.split(text)):
            help_line, type_line, samples = block.split("\n", 2)
            found.setdefault(f"{help_line}\n{type_line}\n", []).append(samples)
    return "".join(head + "".join(samples) for head, samples in found.items())


def quoted(value: str) -> str:
    """A label's value in quotation marks."""
    escaped = value.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
    return f'"{escaped}"'
