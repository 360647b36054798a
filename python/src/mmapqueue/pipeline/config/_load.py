"""Loading of configuration files."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pydantic import BaseModel, ValidationError, create_model

from mmapqueue.pipeline.config import _satellite
from mmapqueue.pipeline.config._explain import close_to, explain, wants_text
from mmapqueue.pipeline.config._model import Pipeline, sends_any
from mmapqueue.pipeline.config._places import places
from mmapqueue.pipeline.config._problems import ConfigFileError, Location, Problem, lines_of, shown
from mmapqueue.pipeline.config._tls import tls_faults, tls_in
from mmapqueue.pipeline.config._yaml import Document, read
from mmapqueue.pipeline.plugins import Fetcher, Filter, Plugin, Receiver, Sender, entries, find

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: dict[str, type[Plugin]] = {"receivers": Receiver, "fetchers": Fetcher, "filters": Filter, "senders": Sender}


@dataclass(frozen=True)
class Loaded:
    """A configuration with warnings about it.

    Attributes:
        pipeline: The configuration.
        warnings: One line each, `FILE:LINE: …`: features of a file of Apache SkyWalking Satellite that are missing
            here.
    """

    pipeline: Pipeline
    warnings: tuple[str, ...] = ()


def load(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> Pipeline:
    """Loads a configuration file, or a satellite_config.yaml of Apache SkyWalking Satellite.

    Relative directories are relative to the file. Nothing is opened, created or started.

    Args:
        path: The file, YAML.
        environment: What `${…}` refers to; default: the process's environment variables.

    Raises:
        ConfigFileError: One line for each thing that is wrong.

    Example:
        pipeline = load("shop.yaml")
        [pipe.name for pipe in pipeline.pipes]
    """
    return load_all(path, environment=environment).pipeline


def load_all(path: str | os.PathLike[str], *, environment: Mapping[str, str] | None = None) -> Loaded:
    """As `load`, with warnings."""
    file = os.fspath(path)
    if not file:  # Path("") is the working directory.
        raise ConfigFileError(["FILE = '' is invalid; allowed: the path of a configuration file"])
    try:
        content = Path(file).read_bytes()
    except OSError as error:
        raise ConfigFileError([f"{file}: {error.strerror or error}"]) from None
    document = read(content, os.environ if environment is None else environment)
    return _Loading(file, document).run()


@dataclass
class _Loading:
    file: str
    document: Document
    problems: list[Problem] = field(default_factory=list)

    def run(self) -> Loaded:
        document = self.document
        self.problems += document.problems
        if document.data is None and self.problems:
            self._raise()
        if not isinstance(document.data, dict):
            self.problems.append(Problem((), f"{shown((), document.data)} is invalid; allowed: a mapping with `pipes`"))
            self._raise()
        warnings: list[str] = []
        if document.satellite:
            self._raise()
            translated = _satellite.translate(document)
            warnings = lines_of(self.file, translated.warnings, {})
            self.problems += translated.problems
            self.document = document = translated.document
            self._raise()
        document.data.setdefault("name", re.sub(r"[^A-Za-z0-9_-]", "-", Path(self.file).stem).lstrip("-") or "pipeline")
        data = self._plugins(document.data)
        pipeline = self._validate(Pipeline, data, ())
        self._raise()
        assert pipeline is not None
        pipeline = _resolved(pipeline, Path(self.file).absolute().parent)
        self.problems += places(pipeline)
        self._check_use(pipeline)
        self._check_tls(pipeline)
        self._check_types(pipeline)
        self._raise()
        return Loaded(pipeline, tuple(warnings))

    def _raise(self) -> None:
        if self.problems:
            raise ConfigFileError(lines_of(self.file, self.problems, self.document.lines))

    def _plugins(self, data: dict[str, Any]) -> dict[str, Any]:
        """The data with instances of plugins in the place of their options."""
        pipes = data.get("pipes")
        if not isinstance(pipes, list):
            return data
        return {**data, "pipes": [self._pipe(pipe, ("pipes", number)) for number, pipe in enumerate(pipes)]}

    def _pipe(self, pipe: Any, at: Location) -> Any:
        if not isinstance(pipe, dict):
            return pipe
        pipe = dict(pipe)
        for key, kind in KINDS.items():
            given = pipe.get(key)
            if given is None:
                # `filters:` without a value is None.
                pipe.pop(key, None)
            elif isinstance(given, list):
                if kind is Sender:
                    given = self._named(given, (*at, key))
                pipe[key] = [self._plugin(kind, options, (*at, key, index)) for index, options in enumerate(given)]
        return pipe

    def _named(self, senders: list[Any], at: Location) -> list[Any]:
        """Gives names to senders: a sender without one gets its type as name, when no other sender has it."""
        types = [each.get("type") for each in senders if isinstance(each, dict) and "name" not in each]
        named = []
        for index, each in enumerate(senders):
            if isinstance(each, dict) and "name" not in each and isinstance(each.get("type"), str):
                if types.count(each["type"]) > 1:
                    words = f"is missing; it is needed because several senders have the type {each['type']}"
                    self.problems.append(Problem((*at, index, "name"), words))
                    each = {**each, "name": f"{each['type']}-{index}"}
                else:
                    each = {**each, "name": each["type"]}
            named.append(each)
        return named

    def _plugin(self, kind: type[Plugin], options: Any, at: Location) -> Plugin:
        name = options.get("name") if isinstance(options, dict) else None
        plugin = None
        if isinstance(options, dict):
            found = self._class(kind, options, at)
            plugin = self._validate(found, options, at) if found else None
        else:
            words = f"{shown(at, options)} is invalid; allowed: a mapping with `type`, such as {{type: …}}"
            self.problems.append(Problem(at, words))
        return plugin or _stand_in(kind, name if isinstance(name, str) else f"refused-{at[-1]}")

    def _class(self, kind: type[Plugin], options: dict[str, Any], at: Location) -> type[Plugin] | None:
        word = kind.__name__.lower()
        installed = tuple(entries(kind.group))
        name = options.get("type")
        if name is None:
            self.problems.append(Problem((*at, "type"), f"is missing; {word}s: {', '.join(installed)}"))
            return None
        if name not in installed:
            hint = close_to(str(name), installed)
            words = f"there is no {word} {shown((), name)}{hint}; installed: {', '.join(installed)}"
            self.problems.append(Problem((*at, "type"), words))
            return None
        try:
            found = find(kind, name)
        except ImportError as error:
            # Code of a plugin, which may raise any exception.
            words = f"the {word} {name!r} cannot be loaded: {error}"
        except Exception as error:
            words = f"the {word} {name!r} cannot be loaded: {type(error).__name__}: {error}"
        else:
            return found
        self.problems.append(Problem((*at, "type"), words))
        return None

    def _validate(self, model: type[Any], data: dict[str, Any], at: Location) -> Any:
        try:
            return model.model_validate(data)
        except ValidationError as error:
            # A number or boolean where a string is expected: use its spelling in the file.
            texts = {here: self.document.texts.get(at + here) for here in wants_text(error, data)}
            spelled = {here: text for here, text in texts.items() if text is not None}
            if spelled:
                for here in spelled:
                    del self.document.texts[at + here]
                return self._validate(model, _replaced(data, spelled), at)
            self.problems += explain(error, model, data, at)
            return None
        except Exception as error:
            self.problems.append(Problem(at, f"{type(error).__name__}: {error}"))
            return None

    def _check_tls(self, pipeline: Pipeline) -> None:
        """Raises for files that are no certificate or key. The half that needs one of a pipe may run elsewhere."""
        for at, tls in tls_in(pipeline):
            for fault in tls_faults(tls):
                if fault.readable or at[0] == "servers":
                    self.problems.append(Problem((*at, fault.key), fault.words))

    def _check_types(self, pipeline: Pipeline) -> None:
        """Raises for senders that can send nothing of what their pipe gets."""
        for number, pipe in enumerate(pipeline.pipes):
            made = [each.makes for each in (*pipe.receivers, *pipe.fetchers)]
            if not made or None in made or not all(each.keeps_types for each in pipe.filters):
                continue
            types = sorted({each for some in made for each in some or ()})
            for index, sender in enumerate(pipe.senders):
                if sends_any(sender, types):
                    continue
                words = (
                    f"a sender of type {sender.type} sends the content types {', '.join(sender.takes or ())}; the pipe "
                    f"receives {', '.join(types)}"
                )
                self.problems.append(Problem(("pipes", number, "senders", index), words))

    def _check_use(self, pipeline: Pipeline) -> None:
        """Raises for servers that nothing uses."""
        used = {
            value for pipe in pipeline.pipes for each in pipe.receivers for _, value in each if isinstance(value, str)
        }
        for index, server in enumerate(pipeline.servers):
            if server.name not in used:
                words = f"no receiver uses the server {server.name!r}"
                self.problems.append(Problem(("servers", index), words))


def _replaced(data: Any, texts: Mapping[Location, str], at: Location = ()) -> Any:
    """A copy of the data with other values at some locations."""
    if at in texts:
        return texts[at]
    if isinstance(data, dict):
        return {key: _replaced(value, texts, (*at, key)) for key, value in data.items()}
    if isinstance(data, list):
        return [_replaced(value, texts, (*at, index)) for index, value in enumerate(data)]
    return data


def _stand_in(kind: type[Plugin], name: str) -> Plugin:
    """A substitute for an invalid plugin, so that the rest of the file is checked."""
    model = create_model(f"Refused{kind.__name__}", __base__=kind)
    model.__abstractmethods__ = frozenset()
    if "name" in model.model_fields:
        return model.model_construct(type="refused", name=name)
    return model.model_construct(type="refused")


def _resolved(value: Any, base: Path) -> Any:
    """A copy in which relative paths are those of a directory."""
    if isinstance(value, Path):
        return base / os.path.expanduser(value)  # noqa: PTH111
    if isinstance(value, BaseModel):
        changed = {key: _resolved(each, base) for key, each in value}
        changed = {key: each for key, each in changed.items() if each is not getattr(value, key)}
        copy = value.model_copy(update=changed) if changed else value
        return copy.resolved(base) if isinstance(copy, Plugin) else copy
    if isinstance(value, tuple | list):
        resolved = [_resolved(each, base) for each in value]
        if all(new is old for new, old in zip(resolved, value, strict=True)):
            return value
        return type(value)(resolved)
    if isinstance(value, dict):
        changed = {key: _resolved(each, base) for key, each in value.items()}
        return changed if any(changed[key] is not value[key] for key in value) else value
    return value
