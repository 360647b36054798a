"""YAML with the lines of its keys, and without surprises: no duplicate keys, no unknown tags, no endless aliases."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import yaml

from mmapqueue.pipeline.config._environment import substitute, substitute_satellite
from mmapqueue.pipeline.config._problems import Location, Problem

if TYPE_CHECKING:
    from collections.abc import Mapping

#: The maximum number of values of a file, with aliases counted each time: a small file must not expand to a large one.
_MAX_VALUES = 100_000
_MAX_BYTES = 4 << 20


@dataclass
class Document:
    """A configuration file as data.

    Attributes:
        data: Mappings, lists and scalars, with variables replaced.
        lines: The line of each key and list item, from 1.
        texts: The texts of values that a substitution has retyped.
        problems: The faults of the file.
        satellite: Whether it is a file of Apache SkyWalking Satellite.
    """

    data: Any = None
    lines: dict[Location, int] = field(default_factory=dict)
    texts: dict[Location, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)
    satellite: bool = False


def read(content: bytes, environment: Mapping[str, str]) -> Document:
    """Reads a file; reports faults in `Document.problems`, and raises nothing for them."""
    document = Document()
    if len(content) > _MAX_BYTES:
        document.problems.append(Problem((), f"the file has {len(content)} bytes; allowed: at most {_MAX_BYTES}"))
        return document
    try:
        loader = yaml.SafeLoader(content)
        try:
            node = loader.get_single_node()
            if node is None:
                document.problems.append(Problem((), "the file is empty"))
                return document
            document.satellite = _is_satellite(node)
            document.data = _Builder(loader, document, environment).build(node, ())
        finally:
            loader.dispose()
    except RecursionError:
        document.problems.append(Problem((), "values are nested too deeply"))
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        words = ", ".join(each for each in (error.context, error.problem) if each)
        document.problems.append(Problem((), f"not YAML: {words}", mark.line + 1 if mark else 1))
    except yaml.YAMLError as error:
        document.problems.append(Problem((), f"not YAML: {' '.join(str(error).split())}"))
    return document


def _is_satellite(node: yaml.Node) -> bool:
    if not isinstance(node, yaml.MappingNode):
        return False
    values = {key.value: value for key, value in node.value if isinstance(key, yaml.ScalarNode)}
    if "sharing" in values:
        return True
    pipes = values.get("pipes")
    if not (isinstance(pipes, yaml.SequenceNode) and pipes.value and isinstance(pipes.value[0], yaml.MappingNode)):
        return False
    return any(key.value in ("common_config", "gatherer") for key, _ in pipes.value[0].value)


class _Builder:
    def __init__(self, loader: yaml.SafeLoader, document: Document, environment: Mapping[str, str]) -> None:
        self._loader = loader
        self._document = document
        self._environment = environment
        self._substitute = substitute_satellite if document.satellite else substitute
        self._count = 0
        self._open: set[int] = set()
        self._flat: set[int] = set()

    def build(self, node: yaml.Node, at: Location) -> Any:
        self._document.lines.setdefault(at, node.start_mark.line + 1)
        self._count += 1
        if self._count > _MAX_VALUES:
            raise yaml.constructor.ConstructorError(
                None, None, f"aliases expand the file to more than {_MAX_VALUES} values", node.start_mark
            )
        if isinstance(node, yaml.ScalarNode):
            return self._scalar(node, at)
        if id(node) in self._open:
            raise yaml.constructor.ConstructorError(None, None, "an alias contains itself", node.start_mark)
        self._open.add(id(node))
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, at)
            return [self.build(each, (*at, index)) for index, each in enumerate(node.value)]
        finally:
            self._open.discard(id(node))

    def _mapping(self, node: yaml.MappingNode, at: Location) -> dict[str, Any]:
        if id(node) not in self._flat:
            self._flat.add(id(node))
            self._check_keys(node, at)
            self._loader.flatten_mapping(node)
        result: dict[str, Any] = {}
        for key, value in node.value:
            # Only the spelling counts: `on` and `8080` are valid names of Spark's options.
            here = (*at, key.value)
            self._document.lines[here] = key.start_mark.line + 1
            result[key.value] = self.build(value, here)
        return result

    def _check_keys(self, node: yaml.MappingNode, at: Location) -> None:
        first: dict[str, int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                raise yaml.constructor.ConstructorError(None, None, "a key must be text", key.start_mark)
            line = key.start_mark.line + 1
            if key.value in first:
                words = f"the key is repeated; first in line {first[key.value]}"
                self._document.problems.append(Problem((*at, key.value), words, line))
            else:
                first[key.value] = line

    def _scalar(self, node: yaml.ScalarNode, at: Location) -> Any:
        text = node.value
        if node.tag == "tag:yaml.org,2002:str":
            try:
                replaced = self._substitute(text, self._environment)
            except ValueError as error:
                self._document.problems.append(Problem(at, str(error), node.start_mark.line + 1))
                return text
            if replaced is None:
                return text
            if not isinstance(replaced.value, str):
                self._document.texts[at] = replaced.text
            return replaced.value
        try:
            value = self._loader.construct_object(node)
        except ValueError as error:  # A date that does not exist.
            raise yaml.constructor.ConstructorError(None, None, str(error), node.start_mark) from None
        if value is None or isinstance(value, bool | int | float):
            if value is not None:
                self._document.texts[at] = text
            return value
        # Dates and the like are texts here.
        return text
