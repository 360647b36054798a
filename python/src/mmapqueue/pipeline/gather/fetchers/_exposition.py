r"""Checks answers of Prometheus targets: each line follows the grammar of its format, and there is a sample.

The checks are those that a decoder needs, line by line. What relates lines to each other is left to whoever reads the
samples, as Prometheus does: a family may come again, and a sample may lack its family.
"""

import re

#: No two parts that repeat the same characters stand side by side: a match takes linear time.
_SPACE = r"[ \t]"
_NAME = r"[a-zA-Z_:][a-zA-Z0-9_:]*"
_NUMBER = r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?|(?i:inf(?:inity)?|nan))"
#: A value, and perhaps a time: ms of the text format, seconds of OpenMetrics.
_VALUE = rf"{_NUMBER}(?:{_SPACE}+{_NUMBER})?"
_LABEL = rf'[a-zA-Z_][a-zA-Z0-9_]*{_SPACE}*={_SPACE}*"(?:[^"\\]|\\.)*"{_SPACE}*'
_LABELS = rf"\{{{_SPACE}*(?:{_LABEL}(?:,{_SPACE}*{_LABEL})*(?:,{_SPACE}*)?)?\}}"
_SAMPLE = rf"{_NAME}(?:{_SPACE}*{_LABELS}{_SPACE}*|{_SPACE}+){_VALUE}"
_TEXT = re.compile(rf"{_SPACE}*{_SAMPLE}{_SPACE}*\r?")
_OPENMETRICS = re.compile(rf"{_SAMPLE}(?:{_SPACE}+#{_SPACE}+{_LABELS}{_SPACE}+{_VALUE})?")
#: Lines without a sample: comments and blank lines; OpenMetrics has only HELP, TYPE and UNIT.
_COMMENT = re.compile(rf"{_SPACE}*(?:#.*)?\r?", re.DOTALL)
_METADATA = re.compile(rf"# (?:HELP|TYPE|UNIT) {_NAME}(?: .*)?", re.DOTALL)
_EOF = "# EOF"
_MOST_QUOTED = 80


def check(body: bytes, *, openmetrics: bool) -> None:
    r"""Checks an answer.

    Args:
        body: The answer.
        openmetrics: Whether it is OpenMetrics; otherwise it is Prometheus' text format.

    Raises:
        ValueError: It is empty, cut off, or has no samples, or a line is not in the format.

    Example:
        >>> check(b"# TYPE up gauge\nup 1\n", openmetrics=False)
        >>> check(b"", openmetrics=False)
        Traceback (most recent call last):
        ValueError: it has no samples
    """
    lines = body.decode().split("\n")
    if lines[-1] == "":
        lines.pop()
    if openmetrics and (not lines or lines.pop() != _EOF):
        raise ValueError(f"it is truncated: its last line is not {_EOF}")
    sample, other = (_OPENMETRICS, _METADATA) if openmetrics else (_TEXT, _COMMENT)
    samples = 0
    for number, line in enumerate(lines, 1):
        if sample.fullmatch(line) is not None:
            samples += 1
        elif other.fullmatch(line) is None:
            raise ValueError(f"line {number} is not a sample: {line[:_MOST_QUOTED]!r}")
    if not samples:
        raise ValueError("it has no samples")
