"""Text that others have written, in logs and on terminals."""


def printable(text: str) -> str:
    r"""A string on one line: characters that are not printable are escaped, as `\n`, `\x1b`."""
    if text.isprintable():
        return text
    return "".join(each if each.isprintable() else each.encode("unicode_escape").decode() for each in text)
