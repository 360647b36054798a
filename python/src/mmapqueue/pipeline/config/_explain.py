"""Errors of pydantic in the words of a configuration: what, value, what is allowed."""

from __future__ import annotations

import types
from datetime import timedelta
from difflib import get_close_matches
from typing import TYPE_CHECKING, Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel
from pydantic.fields import FieldInfo

from mmapqueue.pipeline.config._problems import Location, Problem, is_secret, shown

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from pydantic import ValidationError
    from pydantic_core import ErrorDetails

_WANTED = {
    "string": "a string; put it in quotes",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "path": "a path",
    "dict": "a mapping",
    "model": "a mapping",
    "mapping": "a mapping",
    "list": "a list",
    "tuple": "a list",
    "set": "a list",
    "frozen": "a list",
    "url": "a URL",
}
#: The configuration's own patterns, as their keys' documentation has them.
_PATTERNS = {
    "^[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}$": "a name of 1 to 100 letters, digits, _ . or -, not beginning with . or -",
}


def _length(kind: str, context: Mapping[str, object], limit: str) -> str:
    count, unit = context.get(limit), "character" if kind.startswith("string") else "element"
    return f"{count} {unit}" if count == 1 else f"{count} {unit}s"


def close_to(word: str, known: list[str] | tuple[str, ...]) -> str:
    """A hint for a word that is not known; empty when nothing is close."""
    close = get_close_matches(word, known, 1)
    return f" (did you mean {close[0]}?)" if close else ""


def explain(error: ValidationError, model: type[BaseModel], data: Any, at: Location = ()) -> list[Problem]:
    """The problems that a validation has found, one for each place.

    Args:
        error: What pydantic raised.
        model: What the data was validated as.
        data: The data.
        at: Where in the file it is.
    """
    found: dict[Location, list[str]] = {}
    for each in error.errors(include_url=False):
        if each["type"] == "too_short" and len(each["input"]) >= each["ctx"]["min_length"]:
            continue  # The errors of its items say why.
        here = _location(each["loc"], data, missing=each["type"] == "missing")
        inside: Location = tuple(each.get("ctx", {}).get("at", ()))
        words = _words(each, model, here, (*at, *here))
        of_key = found.setdefault((*at, *here, *inside), [])
        if words not in of_key:
            of_key.append(words)
    return [Problem(key, _joined(words)) for key, words in found.items()]


def wants_text(error: ValidationError, data: Any) -> Iterator[Location]:
    """Where a string is wanted, and something else was given."""
    for each in error.errors(include_url=False, include_context=False):
        if each["type"] in ("string_type", "path_type", "literal_error"):
            yield _location(each["loc"], data, missing=False)


def _joined(words: list[str]) -> str:
    # One for each member of a union.
    return " or ".join([words[0], *(each.split("allowed: ")[-1] for each in words[1:])])


def _location(loc: tuple[str | int, ...], data: Any, *, missing: bool) -> Location:
    """The part of pydantic's location that is in the data: it also names members of unions."""
    here: list[str | int] = []
    for index, each in enumerate(loc):
        last = index == len(loc) - 1
        if (isinstance(data, dict) and each in data) or (
            isinstance(data, list | tuple) and isinstance(each, int) and each < len(data)
        ):
            data = data[each]  # type: ignore[index]
            here.append(each)
        elif isinstance(data, dict) and last and missing:
            here.append(each)
    return tuple(here)


def _words(error: ErrorDetails, model: type[BaseModel], here: Location, at: Location) -> str:
    kind: str = error["type"]
    context = error.get("ctx", {})
    value = shown(at, error["input"])
    if kind == "missing":
        return "is missing"
    if kind == "extra_forbidden":
        known = sorted(_keys(_parent(model, here[:-1])))
        return f"unknown key{close_to(str(here[-1]), known)}; docs/reference/pipeline lists the keys"
    if kind == "value_error":
        reason = "it is not allowed" if is_secret(at) else str(context.get("error", error["msg"]))
        if isinstance(error["input"], dict | BaseModel):
            return reason
        return f"{value} is invalid{'; ' if reason.startswith('allowed: ') else ': '}{reason}"
    if kind in ("literal_error", "enum"):
        return f"{value} is invalid; allowed: {_choices(model, here) or context.get('expected', '')}"
    if kind in ("greater_than_equal", "greater_than", "less_than_equal", "less_than", "finite_number"):
        return f"{value} is invalid; allowed: {_range(_field(model, here)) or error['msg']}"
    if kind == "string_pattern_mismatch":
        pattern = str(context.get("pattern", ""))
        return f"{value} is invalid; allowed: {_PATTERNS.get(pattern, f'what matches {pattern}')}"
    if kind in ("too_short", "string_too_short"):
        return f"{value} is invalid; allowed: at least {_length(kind, context, 'min_length')}"
    if kind in ("too_long", "string_too_long"):
        return f"{value} is invalid; allowed: at most {_length(kind, context, 'max_length')}"
    if kind.startswith(("union_tag", "is_instance")) or "at" in context:
        return str(error["msg"])
    wanted = _WANTED.get(kind.partition("_")[0])
    if wanted is None:
        reason = "it is not allowed" if is_secret(at) else error["msg"]
        return f"{value} is invalid: {reason}"
    limits = _range(_field(model, here))
    return f"{value} is invalid; allowed: {wanted}{f', {limits}' if limits else ''}"


# ---- looking into models


def _members(annotation: Any) -> Iterator[Any]:
    """The types that an annotation allows."""
    origin = get_origin(annotation)
    if origin is Annotated:
        yield from _members(get_args(annotation)[0])
    elif origin in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _members(each)
    else:
        yield annotation


def _parent(model: type[BaseModel], path: Location) -> list[type[BaseModel]]:
    """The models that may be at a path."""
    annotations: list[Any] = [model]
    for step in path:
        annotations = [deeper for each in annotations for deeper in _step(each, step)]
    return [each for annotation in annotations for each in _members(annotation) if _is_model(each)]


def _step(annotation: Any, step: str | int) -> Iterator[Any]:
    for member in _members(annotation):
        arguments = [each for each in get_args(member) if each is not Ellipsis]
        if isinstance(step, str) and _is_model(member):
            if step in member.model_fields:
                yield member.model_fields[step].annotation
        elif isinstance(step, int) and arguments:
            yield arguments[min(step, len(arguments) - 1)]
        elif isinstance(step, str) and len(arguments) == 2:
            yield arguments[1]


def _is_model(annotation: Any) -> bool:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _keys(models: list[type[BaseModel]]) -> set[str]:
    return {field.alias or name for model in models for name, field in model.model_fields.items()}


def _field(model: type[BaseModel], path: Location) -> FieldInfo | None:
    if not path or not isinstance(path[-1], str):
        return None
    for parent in _parent(model, path[:-1]):
        if path[-1] in parent.model_fields:
            return parent.model_fields[path[-1]]
    return None


def _choices(model: type[BaseModel], path: Location) -> str:
    field = _field(model, path)
    if field is None:
        return ""
    found = [
        str(value)
        for member in _members(field.annotation)
        if get_origin(member) is Literal
        for value in get_args(member)
    ]
    return ", ".join(found)


def _range(field: FieldInfo | None) -> str:
    """The range of a number, as text."""
    if field is None:
        return ""
    limits: dict[str, Any] = {}
    for each in _metadata(field):
        for key in ("ge", "gt", "le", "lt"):
            value = getattr(each, key, None)
            if value is not None:
                limits[key] = value.total_seconds() if isinstance(value, timedelta) else value
    if "gt" in limits and "ge" in limits and limits["gt"] >= limits["ge"]:
        # The range of the type, which contains that of the field.
        del limits["ge"]
    least = limits.get("ge", limits.get("gt"))
    most = limits.get("le", limits.get("lt"))
    unit = " s" if any(isinstance(getattr(each, "ge", None), timedelta) for each in _metadata(field)) else ""
    if least is not None and most is not None and not {"gt", "lt"} & limits.keys():
        return f"{least:g}{unit} to {most}{unit}" if isinstance(least, float) else f"{least} to {most}{unit}"
    words = []
    if least is not None:
        number = f"{least:g}" if isinstance(least, float) else least
        words.append(f"{'at least' if 'ge' in limits else 'more than'} {number}{unit}")
    if most is not None:
        words.append(f"{'at most' if 'le' in limits else 'less than'} {most}{unit}")
    return " and ".join(words)


def _metadata(field: FieldInfo) -> Iterator[Any]:
    yield from field.metadata
    yield from _nested(field.annotation)


def _nested(annotation: Any) -> Iterator[Any]:
    if get_origin(annotation) is Annotated:
        for each in get_args(annotation)[1:]:
            yield from each.metadata if isinstance(each, FieldInfo) else (each,)
        yield from _nested(get_args(annotation)[0])
    elif get_origin(annotation) in (Union, types.UnionType):
        for each in get_args(annotation):
            yield from _nested(each)
