"""JSON Schema of configurations, for editors."""

from __future__ import annotations

import operator
from functools import reduce
from typing import Annotated, Any

from pydantic import Field, create_model

from mmapqueue.pipeline.config._load import KINDS
from mmapqueue.pipeline.config._model import Pipe, Pipeline
from mmapqueue.pipeline.plugins import entries, find

#: Any value may be a reference to an environment variable, or contain one.
_REFERENCE = {"type": "string", "pattern": r"\$\{[^}]*\}"}


def schema() -> dict[str, Any]:
    """The JSON Schema (draft 2020-12) of a configuration with the plugins that are installed.

    Raises:
        ImportError: A plugin needs a package that is not installed.
    """
    fields: dict[str, Any] = {key: (_plugins(key), ()) for key in KINDS}
    pipe = create_model("Pipe", __base__=Pipe, **fields)
    pipes: Any = (Annotated[tuple[pipe, ...], Field(min_length=1)], ...)  # type: ignore[valid-type]
    pipeline = create_model("Pipeline", __base__=Pipeline, pipes=pipes)
    made: dict[str, Any] = _loosened(pipeline.model_json_schema(by_alias=True))
    # The defaults of both depend on their location.
    made["required"].remove("name")
    for definition in made["$defs"].values():
        properties = definition.get("properties", {})
        if "batch" in properties and "name" in definition.get("required", ()):
            definition["required"].remove("name")
        if "type" in properties and "const" in properties["type"]:
            definition.setdefault("required", []).append("type")
    made["$schema"] = "https://json-schema.org/draft/2020-12/schema"
    made["title"] = "mmapqueue pipeline"
    return made


def _plugins(key: str) -> Any:
    """The type of a list of plugins: a union by their `type`."""
    kind = KINDS[key]
    classes = [find(kind, name) for name in entries(kind.group)]
    one: Any = reduce(operator.or_, classes) if classes else kind
    if len(classes) > 1:
        one = Annotated[one, Field(discriminator="type")]
    return tuple[one, ...]


def _loosened(part: Any) -> Any:
    """The schema, with `${…}` allowed in place of a number, a boolean or one of several words."""
    if isinstance(part, list):
        return [_loosened(each) for each in part]
    if not isinstance(part, dict):
        return part
    if part.get("type") in ("integer", "number", "boolean") or "enum" in part or "pattern" in part:
        said = {key: part[key] for key in ("title", "description", "default") if key in part}
        return {**said, "anyOf": [{key: each for key, each in part.items() if key not in said}, _REFERENCE]}
    return {key: _loosened(each) for key, each in part.items()}
