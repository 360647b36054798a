"""Which package of the library uses which: arrows run one way, also those of imports for annotations alone."""

import ast
from collections import defaultdict
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parents[1] / "python" / "src" / "mmapqueue"
MOST_FILES = 25

_LIBRARY = {"_values", "_jvm", "_queue", "_spark", "_tools"}
_EVENTS = {"pipeline._event", "pipeline._skywalking", "pipeline.event_pb2"}
_HALF = {
    "",
    "_values",
    "pipeline._channels",
    "pipeline._grpc",
    "pipeline._timeout",
    "pipeline.plugins",
    "pipeline.config",
    "pipeline._signals",
    "pipeline._partitions",
    "pipeline._control",
    *_EVENTS,
}

#: Each room and the rooms that it uses, which all stand above it here. A room is a package with all that is in it but
#: the rooms of their own, or a module; "" is what `import mmapqueue` gives.
USES: dict[str, set[str]] = {
    "_values": set(),
    "_jvm": {"_values"},
    "_queue": {"_jvm", "_values"},
    "_spark": {"_jvm", "_values"},
    "_tools": {"_jvm", "_values"},
    "": _LIBRARY,
    "compat": {"", "_values"},
    "testing": {"", "_values"},
    "pipeline.event_pb2": set(),
    "pipeline._event": {"pipeline.event_pb2"},
    "pipeline._skywalking": set(),
    "pipeline._timeout": set(),
    "pipeline.plugins": {"_values"},
    "pipeline._signals": set(),
    "pipeline._partitions": set(),
    "pipeline._control": set(),
    "pipeline.config": {"", "_values", "pipeline._partitions", "pipeline.plugins"},
    "pipeline._grpc": set(),
    "pipeline._channels": {"pipeline._grpc", "pipeline.config"},
    "pipeline.process": _HALF,
    "pipeline._metrics": {"", "_tools"},
    "pipeline._http": {"_values"},
    "pipeline._watching": {"_tools", "_values", "pipeline.config"},
    "pipeline._table": {"_values", "pipeline._watching"},
    "pipeline._page": {"_tools", "_values", "pipeline._table", "pipeline._watching", "pipeline.config"},
    "pipeline._gather_telemetry": {
        *("", "_tools"),
        *("pipeline._http", "pipeline._metrics", "pipeline._page", "pipeline.config"),
    },
    "pipeline._process_telemetry": {
        *("", "_tools"),
        *("pipeline._metrics", "pipeline._page", "pipeline.config", "pipeline.process"),
    },
    "pipeline.telemetry": {"pipeline._gather_telemetry", "pipeline._process_telemetry"},
    "pipeline.gather": {*_HALF, "_jvm", "_queue", "pipeline._http", "pipeline.telemetry"},
    "pipeline": {"pipeline.process", *_EVENTS},
    "pipeline._check": {"pipeline.plugins", "pipeline.config"},
    "pipeline._dead_letters": {
        *("", "_values", "pipeline._control", "pipeline._partitions", "pipeline.config", "pipeline.process"),
    },
    "pipeline._cli": {
        *_HALF,
        "pipeline.gather",
        "pipeline.process",
        "pipeline.telemetry",
        "pipeline._check",
        "pipeline._watching",
    },
    "_cli": {
        "",
        "_values",
        "_jvm",
        "_tools",
        *(f"pipeline.{each}" for each in ("_cli", "_dead_letters", "_table", "_watching")),
    },
    "__main__": {"_cli"},
}


def modules() -> Iterator[tuple[str, Path]]:
    for file in sorted(PACKAGE.rglob("*.py")):
        parts = file.relative_to(PACKAGE.parent).with_suffix("").parts
        yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), file


MODULES = dict(modules())


class Imports(ast.NodeVisitor):
    def __init__(self) -> None:
        self.found: set[str] = set()

    def visit_Import(self, node: ast.Import) -> None:
        self.found.update(alias.name for alias in node.names)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        assert node.level == 0, "an import names its module in full"
        assert node.module is not None
        for alias in node.names:
            inner = f"{node.module}.{alias.name}"
            self.found.add(inner if inner in MODULES else node.module)


def room(module: str) -> str:
    """The room of a module: the longest name that the module's name begins with."""
    inner = module.removeprefix("mmapqueue").removeprefix(".")
    return max((name for name in USES if not name or f"{inner}.".startswith(f"{name}.")), key=len)


def imported(module: str) -> set[str]:
    """The modules of this package that a module imports, anywhere in it."""
    imports = Imports()
    imports.visit(ast.parse(MODULES[module].read_text(encoding="utf-8")))
    return {target for target in imports.found if target.partition(".")[0] == "mmapqueue"}


def arrows() -> dict[tuple[str, str], list[str]]:
    """From which room to which other one imports lead, and which imports these are."""
    found = defaultdict(list)
    for module in MODULES:
        for target in sorted(imported(module)):
            if room(target) != room(module):
                found[room(module), room(target)].append(f"{module} imports {target}")
    return found


def test_a_room_uses_only_rooms_above_it_in_the_table() -> None:
    above: set[str] = set()
    for name, used in USES.items():
        assert used <= above, f"{name} uses {used - above}"
        above.add(name)


def test_no_import_leaves_the_table() -> None:
    found = arrows()
    assert found["", "_queue"], "the imports are read"
    assert [imports for (here, there), imports in found.items() if there not in USES[here]] == []


def test_no_module_imports_itself_through_others() -> None:
    # Raises CycleError, with the modules of the circle.
    graph = {module: imported(module) - {module} for module in MODULES}
    assert len(list(TopologicalSorter(graph).static_order())) >= len(MODULES)


def test_every_room_exists() -> None:
    assert set(USES) == {room(module) for module in MODULES}


@pytest.mark.parametrize("package", sorted({file.parent for file in MODULES.values()}), ids=str)
def test_a_package_is_small_and_says_what_it_is(package: Path) -> None:
    assert len(list(package.glob("*.py"))) <= MOST_FILES
    assert ast.get_docstring(ast.parse((package / "__init__.py").read_text(encoding="utf-8")))


def test_only_documented_modules_are_public() -> None:
    assert {file.name for file in PACKAGE.glob("*.py")} == {"__init__.py", "__main__.py", "_library.py", "testing.py"}
    packages = {file.parent.name for file in PACKAGE.glob("*/__init__.py")}
    assert {name for name in packages if name[0] != "_"} == {"compat", "pipeline"}


@pytest.mark.parametrize("package", [name for name in USES if name.startswith("_") and name != "__main__"])
def test_a_private_package_has_no_names_of_its_own(package: str) -> None:
    (docstring,) = ast.parse((PACKAGE / package / "__init__.py").read_text(encoding="utf-8")).body
    assert isinstance(docstring, ast.Expr)
