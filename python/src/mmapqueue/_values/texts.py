"""Texts in logs, in reports and on terminals."""

_UNITS = "KMGTPE"


def printable(text: str) -> str:
    r"""A string on one line: characters that are not printable are escaped, as `\n`, `\x1b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)


def size_text(size: int) -> str:
    """Bytes in three or four characters and a unit of 1024, such as 1.5M."""
    if size < 1024:
        return f"{size}B"
    number, power = size / 1024, 0
    while number >= 999.5:
        number, power = number / 1024, power + 1
    return f"{number:.1f}{_UNITS[power]}" if number < 9.95 else f"{number:.0f}{_UNITS[power]}"
