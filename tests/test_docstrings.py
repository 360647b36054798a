"""Docstrings of public names: they have examples, the examples run, and annotations can be resolved."""

from __future__ import annotations

import asyncio
import doctest
import inspect
import typing
from collections.abc import Iterator
from datetime import datetime, timezone
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import pytest

import mmapqueue

#: Their examples need Spark, or files of their own: the pages of docs/ have them, and run.
ELSEWHERE = {
    "configure": "quickstart.md",
    "read": "quickstart.md",
    "write": "quickstart.md",
    "read_stream": "howto/parquet.md",
    "write_stream": "reference/spark.md",
    "process_stream": "howto/spark-work.md",
    "real_time": "reference/spark.md",
    "real_time_sink": "reference/spark.md",
    "jar_path": "deployment/spark-submit.md",
    "verify": "reference/tools.md",
    "repair": "reference/tools.md",
}
#: Classes that only this package makes or raises, and those that have only their fields.
PLAIN = {"Origin", "EffectiveConfiguration", "Consumer", "DamagedRange.records"}


def public() -> Iterator[tuple[str, Any]]:
    """Functions, classes, and the public methods and properties of classes, by the name that users write."""
    for name in mmapqueue.__all__:
        found = getattr(mmapqueue, name)
        if isinstance(found, FunctionType):
            yield name, found
        elif isinstance(found, type):
            yield name, found
            for part, method in inspect.getmembers(found):
                if not part.startswith("_") and isinstance(method, FunctionType | property):
                    yield f"{name}.{part}", method


PUBLIC = dict(public())
REPORTS = ("VerifyReport", "RepairReport", "CopyReport", "Finding", "ConsumerState", "FindingKind")
OWN = {
    name: found
    for name, found in PUBLIC.items()
    if name.partition(".")[0] not in (*ELSEWHERE, *REPORTS, "Serializer")
    and not (isinstance(found, type) and issubclass(found, BaseException))
}
#: Methods of a queue are documented once: those of a consumer are the same.
EXAMPLES = {
    name: found
    for name, found in OWN.items()
    if "." not in name or not name.startswith("Consumer.") or f"Queue.{name.partition('.')[2]}" not in OWN
}


def _has_example(name: str, found: Any) -> bool:
    # A named tuple gives its fields as descriptors of another type; the others are documented by their class.
    return ">>>" in (found.__doc__ or "") or name in PLAIN


def test_every_public_name_has_a_docstring_with_an_example() -> None:
    assert len(EXAMPLES) > 50
    without = [name for name, found in EXAMPLES.items() if not _has_example(name, found)]
    assert without == []


@pytest.mark.parametrize("name", ELSEWHERE)
def test_names_whose_examples_are_elsewhere_are_there(name: str) -> None:
    page = (Path(__file__).parents[1] / "docs" / ELSEWHERE[name]).read_text(encoding="utf-8")
    assert f"mmapqueue.{name}" in page or f"mmapqueue {name.partition('_')[0]}" in page


@pytest.mark.parametrize("name", [name for name, found in EXAMPLES.items() if ">>>" in (found.__doc__ or "")])
def test_examples_run(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    mmapqueue.Queue("closed", segment_size="128k").close()
    with mmapqueue.Queue("queue", format_version=2) as queue:
        text = inspect.getdoc(EXAMPLES[name]) or ""
        names = {
            **vars(mmapqueue),
            "mmapqueue": mmapqueue,
            "queue": queue,
            "asyncio": asyncio,
            "datetime": datetime,
            "timezone": timezone,
        }
        if "pyarrow" in text:
            names["pyarrow"] = pytest.importorskip("pyarrow")
        examples = doctest.DocTestParser().get_doctest(text, names, name, None, None)
        output: list[str] = []
        failed, ran = doctest.DocTestRunner(verbose=False).run(examples, out=output.append)
        assert (failed, ran > 0) == (0, True), "".join(output)


def test_annotations_can_be_resolved() -> None:
    for name, found in PUBLIC.items():
        function = found.fget if isinstance(found, property) else found
        hints = typing.get_type_hints(function)
        assert isinstance(function, type | ModuleType) or "return" in hints, name


@pytest.mark.parametrize("name", [name for name, found in OWN.items() if isinstance(found, FunctionType)])
def test_arguments_are_documented(name: str) -> None:
    """Each argument has a line; those of calls under asyncio may be said to be those of another one."""
    text = OWN[name].__doc__ or ""
    parameters = [each for each in inspect.signature(OWN[name]).parameters.values() if each.name != "self"]
    if "with its arguments" in text or "Arguments and errors are those of" in text or name.startswith("Message._"):
        return
    for parameter in parameters:
        assert f"    {'**' if parameter.kind is parameter.VAR_KEYWORD else ''}{parameter.name}: " in text, parameter
