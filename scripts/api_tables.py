"""Fills the tables of the Python API in docs/reference/ from signatures and docstrings.

A page has blocks of this form. The first comment names what the table lists, in this order; a name with `()` is shown
with its arguments. Run it after a change of the API:

    <!-- api: Queue() Queue.push Queue.pop -->
    | | |
    <!-- end: api -->

    python scripts/api_tables.py
"""

import enum
import inspect
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from types import FunctionType
from typing import Any

import mmapqueue
import mmapqueue.compat

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "docs/reference/python.md", ROOT / "docs/reference/asyncio.md")
#: Types that a page describes in prose.
PROSE = {"Duration", "Offsets", "Period", "Size", "__version__"}

_BLOCK = re.compile(r"(<!-- api: ([^>]*?) -->\n).*?(<!-- end: api -->)", re.DOTALL)


def blocks(text: str) -> list[list[str]]:
    """The names that each table of a page lists."""
    return [block[2].split() for block in _BLOCK.finditer(text)]


def filled(text: str, page: Path) -> str:
    """The page with its tables, which link to the sources."""
    return _replaced(text, lambda names: _table(names, lambda name, shown: _source_link(name, shown, page)))


def for_site(text: str) -> str:
    """The page for Sphinx: the tables link to the descriptions, which autodoc inserts after each of them."""
    return _replaced(text, lambda names: f"{_table(names, _reference)}\n{_directives(names)}")


def missing(text: str) -> list[str]:
    """The public names that no table of this text lists."""
    listed = {name.removesuffix("()") for names in blocks(text) for name in names}
    return [name for name in _public(listed) if name not in listed | PROSE]


def found(name: str) -> Any:
    """What a name, with or without `()`, stands for."""
    value: Any = mmapqueue
    for part in name.removesuffix("()").split("."):
        value = getattr(value, part)
    return value


def _replaced(text: str, content: Callable[[list[str]], str]) -> str:
    return _BLOCK.sub(lambda block: block[1] + content(block[2].split()) + block[3], text)


def _table(names: list[str], link: Callable[[str, str], str]) -> str:
    rows = [f"| {link(name.removesuffix('()'), _shown(name))} | {_summary(name)} |\n" for name in names]
    return "| | |\n|---|---|\n" + "".join(rows)


def _source_link(name: str, shown: str, page: Path) -> str:
    value = found(name)
    if isinstance(value, type):
        file = _class_file(value)
    else:
        code: Any = value.fget if isinstance(value, property) else value
        file = Path(inspect.getsourcefile(inspect.unwrap(code)) or "")
    return f"[`{shown}`]({Path(os.path.relpath(file, page.parent)).as_posix()})"


def _class_file(value: type) -> Path:
    """The file that defines a class: `__module__` of a public one is the public package."""
    name = value.__name__
    for module in [each for key, each in sys.modules.items() if key.startswith("mmapqueue.")]:
        file = Path(module.__file__ or "")
        if vars(module).get(name) is value and re.search(rf"^class {name}\b", file.read_text("utf-8"), re.MULTILINE):
            return file
    raise LookupError(f"no module of mmapqueue defines the class {name}")


def _reference(name: str, shown: str) -> str:
    return f"{{py:obj}}`{shown} <mmapqueue.{name}>`"


def _summary(name: str) -> str:
    return (inspect.getdoc(found(name)) or "").partition("\n")[0].replace("|", "\\|")


def _shown(name: str) -> str:
    value = found(name)
    last = name.removesuffix("()").rpartition(".")[2]
    if not isinstance(value, FunctionType) and not name.endswith("()"):
        return last
    signature = inspect.signature(value)
    plain = [
        each.replace(annotation=each.empty)
        for each in signature.parameters.values()
        if each.name not in {"self", "cls"}
    ]
    arguments = str(signature.replace(parameters=plain, return_annotation=signature.empty)).replace("'", '"')
    return last + arguments


def _directives(names: list[str]) -> str:
    """An entry of autodoc for each name. The members of a class that have rows are left to these rows."""
    lines = ["```{eval-rst}", ".. py:currentmodule:: mmapqueue", ""]
    for name in (each.removesuffix("()") for each in names):
        value = found(name)
        if isinstance(value, type):
            kind = "exception" if issubclass(value, BaseException) else "class"
            lines.append(f".. auto{kind}:: mmapqueue.{name}")
            members = [] if name in SPLIT else list(_members(value))
            lines += [f"   :members: {', '.join(members)}"] if members else ["   :no-members:"]
        elif isinstance(value, property):
            lines.append(f".. autoproperty:: mmapqueue.{name}")
        else:
            lines.append(f".. auto{'method' if '.' in name.removeprefix('compat.') else 'function'}:: mmapqueue.{name}")
        lines.append("")
    return "\n".join([*lines, "```", ""])


#: Classes whose members have rows of their own.
SPLIT = {"Queue", "Consumer", "BatchingProducer", "PushHandle", "Message", "compat.Queue", "compat.FifoDiskQueue"}


def _members(owner: type) -> Iterator[str]:
    """Public functions, properties, constants of an enum; not the fields of a named tuple, which its text describes."""
    for name, value in inspect.getmembers(owner):
        defined = getattr(value.fget if isinstance(value, property) else value, "__module__", "")
        if name.startswith("_") or not (isinstance(value, property | FunctionType | enum.Enum)):
            continue
        if isinstance(value, enum.Enum) or str(defined).startswith("mmapqueue"):
            yield name


def _public(listed: set[str]) -> Iterator[str]:
    modules = {
        "": mmapqueue.__all__,
        "compat.": [n for n in mmapqueue.compat.__all__ if n in ("Queue", "FifoDiskQueue")],
    }
    for prefix, names in modules.items():
        for name in names:
            yield prefix + name
            if prefix + name in SPLIT:
                members = (each for each in _members(found(prefix + name)))
                # A consumer has the queue's methods, which have one row.
                yield from (
                    f"{prefix}{name}.{each}" for each in members if name != "Consumer" or f"Queue.{each}" not in listed
                )


if __name__ == "__main__":
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), page), encoding="utf-8")
    print(*missing("".join(page.read_text(encoding="utf-8") for page in PAGES)), sep="\n")
