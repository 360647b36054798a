"""What is installed, and that its two halves fit together."""

import re
import zipfile
from pathlib import Path
from types import ModuleType
from typing import Union, get_origin

import mmapqueue
from conftest import Open, Script
from mmapqueue._jvm import jars, names, standalone

ROOT = Path(__file__).parents[1]
BRIDGE = ROOT / "jvm" / "src" / "main" / "java" / "org" / "mmapqueue" / "bridge"


def test_the_version_is_the_one_of_the_project() -> None:
    assert f"version={mmapqueue.__version__}" in (ROOT / "gradle.properties").read_text().splitlines()


def test_the_package_says_that_it_is_typed() -> None:
    assert (Path(mmapqueue.__file__).parent / "py.typed").is_file()


def test_all_names_are_there_and_documented() -> None:
    assert mmapqueue.__all__ == sorted(mmapqueue.__all__)
    # Modules are there as soon as something has imported them.
    public = {name for name, it in vars(mmapqueue).items() if not (name.startswith("_") or isinstance(it, ModuleType))}
    assert public == set(mmapqueue.__all__) - {"__version__"}
    for name in public:
        thing = getattr(mmapqueue, name)
        assert thing.__doc__ or get_origin(thing) is Union, name  # a type alias has a docstring in its module
        members = vars(thing).items() if isinstance(thing, type) else ()
        for member, value in members:
            assert member.startswith("_") or not callable(value) or value.__doc__, f"{name}.{member}"


def test_import_needs_no_pyspark_and_starts_nothing(script: Script) -> None:
    script.run(
        """
        import sys, threading
        sys.modules["pyspark"] = None  # as if it were not installed
        import mmapqueue
        assert threading.active_count() == 1
        assert "asyncio" not in sys.modules  # slow to import
        mmapqueue.Queue(sys.argv[1]).close()
        """,
        script.directory / "queue",
    )


def test_the_library_is_imported_with_the_first_name_that_is_used(script: Script) -> None:
    script.run(
        """
        import sys
        import mmapqueue
        assert "mmapqueue._queue.queue" not in sys.modules
        assert not hasattr(mmapqueue, "nothing") and not hasattr(mmapqueue, "_nothing")
        assert mmapqueue.Queue.__module__ == mmapqueue.Empty.__module__ == "mmapqueue"
        """
    )
    script.run(
        """
        import mmapqueue
        names = dir(mmapqueue)
        assert set(mmapqueue.__all__) <= set(names), names
        """
    )
    script.run(
        """
        from mmapqueue import *
        import mmapqueue
        assert open is mmapqueue.open and issubclass(Empty, MmapQueueError)
        """
    )


def test_the_jar_has_all_that_it_must() -> None:
    with zipfile.ZipFile(mmapqueue.jar_path()) as jar:
        assert jar.read("org/mmapqueue/version.properties").decode().strip() == f"version={mmapqueue.__version__}"
        assert {"org/mmapqueue/bridge/Bridge.class", "org/mmapqueue/MmapQueue.class"} <= set(jar.namelist())
    assert [jar.name.rsplit("-", 1)[0] for jar in jars.standalone_class_path()] == [
        "mmapqueue", "slf4j-api", "slf4j-jdk14",
    ]  # fmt: skip


def constants(file: str) -> dict[str, str]:
    """The int constants of a Java source, by name."""
    return dict(re.findall(r"static final int (\w+) = ([^;]+);", (BRIDGE / file).read_text()))


def test_both_languages_have_the_same_numbers() -> None:
    status = constants("Status.java")
    assert {name: int(value) for name, value in status.items()} == {
        "FULL": names.FULL, "EMPTY": names.EMPTY, "CLOSED": names.CLOSED, "DONE": names.DONE,
    }  # fmt: skip
    layout = constants("SharedBufferLayout.java")
    assert int(layout["PAYLOAD"]) == names.PAYLOAD
    assert int(layout["MISSING_TIMESTAMPS"]) == names.MISSING_TIMESTAMPS
    assert int(layout["MIXED_ATTEMPTS"]) == names.MIXED_ATTEMPTS
    positions = [int(layout[name]) for name in ("OFFSET", "TIMESTAMP", "COUNT", "FLAGS", "BYTES", "ATTEMPTS")]
    assert positions == [0, 8, 16, 20, 24, 28]
    assert names.HEADER.format == "=qqiiii"


def test_both_languages_have_the_same_methods(open_queue: Open) -> None:
    open_queue()
    package = standalone.jvm().org.mmapqueue.bridge
    kinds = {"int": "i", "long": "L", "class java.lang.String": "s", "class [B": "b"}
    for java, calls in (
        (package.Bridge, names.BRIDGE_CALLS),
        (package.QueueHandle, names.HANDLE_CALLS),
        (package.SharedBuffer, names.SHARED_BUFFER_CALLS),
    ):
        found = {
            method.getName(): "".join(kinds[kind.toString()] for kind in method.getParameterTypes())
            for method in java._java_lang_class.getMethods()
            if method.getDeclaringClass().getPackageName() == "org.mmapqueue.bridge"
        }
        assert found == calls


def test_an_interpreter_without_the_gil_is_refused(script: Script) -> None:
    # A free-threaded Python has this function, and one with a GIL from 3.13 on.
    said = script.run("""
        import sys

        sys._is_gil_enabled = lambda: False
        try:
            import mmapqueue
        except ImportError as error:
            print(error)
    """)
    assert said == ("mmapqueue needs the global interpreter lock (GIL): start Python with -X gil=1 or PYTHON_GIL=1\n")
