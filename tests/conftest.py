"""What the tests share: configurations that every behaviour must hold under, and ways to run a process of its own."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import textwrap
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from pathlib import Path
from typing import Any, Protocol, TypedDict, overload

import pytest

import mmapqueue
import spark_archive
from command_line import CommandLine
from mmapqueue._jvm import standalone
from mmapqueue._queue.deadline import Deadline


class Ring(TypedDict, total=False):
    """The keys of a ring, for `mmapqueue.Queue` and for the options of Spark's readers and writers."""

    segment_size: str
    queue_capacity_segments: int
    max_in_mem_segments: int
    max_event_size: int


#: A segment is a page here: records span segments, and the ring goes round all the time.
SMALL = Ring(segment_size="4k", queue_capacity_segments=16, max_in_mem_segments=6, max_event_size=8000)

#: Whether tests with random inputs, kills or many rounds run their long form: `make test-long`.
LONG = os.environ.get("MMAPQUEUE_TESTS") == "long"

if not LONG:  # Compiling with C1 alone takes less time than C2 would save.
    standalone._OPTIONS.append("-XX:TieredStopAtLevel=1")
os.environ.setdefault("SPARK_SUBMIT_OPTS", spark_archive.options())
# The Python on PATH may be another one than that of the driver.
os.environ.setdefault("PYSPARK_PYTHON", sys.executable)


CONFIGURATIONS: dict[str, dict[str, Any]] = {
    "default": {},
    "small": {**SMALL},
    "small, no timestamps": {**SMALL, "timestamps": False},
}


class Open(Protocol):
    """Opens a queue, also with wrong options."""

    @overload
    def __call__(
        self, path: str | Path = ..., /, *, serializer: None = ..., **options: Any
    ) -> mmapqueue.Queue[bytes]: ...

    @overload
    def __call__(self, path: str | Path = ..., /, *, serializer: object, **options: Any) -> mmapqueue.Queue[Any]: ...


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Gives each file to one worker, and files that share a Spark session to the same one."""
    from xdist.scheduler import LoadScopeScheduling

    class Scheduling(LoadScopeScheduling):  # type: ignore[misc]
        def _split_scope(self, nodeid: str) -> str:
            return _scope(config.rootpath / nodeid.partition("::")[0])

    return Scheduling(config, log)


#: Files with the marker `slow`: most of their tests start a process with a JVM, a stream or kills of their own.
#: All others take five minutes on two cores, beside JUnit.
SLOW = {
    "cli": "consumer exchange exporter frame installation push queues reading ship state top",
    "jvm": "class_archive interpreter_exit lock_timeout memory module standalone",
    "pipeline": "cli dead_letters drain events example_job files_model five_losses process_reload refused reload "
    "runner shipping_pipe",
    "queues": "interrupts model producer_kills producer_processes worker_interrupts",
    "spark": "archive_batch archive_refusals archive_same_rows archive_same_streams archive_stream damage "
    "default_consumer metadata order pipeline_telemetry procedures push_down real_time_operators "
    "real_time_faults real_time_sink real_time_state session_catalog "
    "sink_stream stream_consumers stream_real_time stream_temporary testing truncate",
    "typing": "typing",
}
SLOW_FILES = {
    Path(__file__).parent / directory / f"test_{name}.py" for directory, names in SLOW.items() for name in names.split()
}


# First: pytest selects by markers in the same hook.
@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks slow files; moves tests that share a Spark session to the front, large groups first: not to begin late."""
    for item in items:
        if item.path in SLOW_FILES:
            item.add_marker(pytest.mark.slow)
    sizes = Counter(_scope(item.path) for item in items)
    items.sort(key=lambda item: (_scope(item.path) == str(item.path), -sizes[_scope(item.path)]))


@cache
def _scope(file: Path) -> str:
    if not re.search(r"\bspark: (SparkSession|Any)\b", file.read_text()):
        return str(file)
    # A directory's files are two groups, in the order of their names: one worker would run all of them longer than the
    # others run the rest.
    return str(file.parent / ("a-o" if file.name < "test_p" else "p-z"))


@pytest.fixture
def open_queue(tmp_path: Path) -> Iterator[Open]:
    """Opens queues without Spark, in one directory if not told otherwise; they are closed in the end."""
    opened: list[mmapqueue.Queue[Any]] = []

    def open_one(path: str | Path = tmp_path / "queue", /, **options: Any) -> mmapqueue.Queue[Any]:
        queue = mmapqueue.Queue(path, **options)
        opened.append(queue)
        return queue

    yield open_one
    for queue in opened:
        queue.close()


@pytest.fixture(params=list(CONFIGURATIONS.values()), ids=list(CONFIGURATIONS))
def any_queue(request: pytest.FixtureRequest, open_queue: Open) -> mmapqueue.Queue:
    """A queue, once for each configuration."""
    return open_queue(**request.param)


@pytest.fixture
def small_queue(open_queue: Open) -> mmapqueue.Queue:
    """A queue that is soon full."""
    return open_queue(**SMALL)


@pytest.fixture
def records() -> list[bytes]:
    """What `closed` holds."""
    return [b"%04d" % number * 40 for number in range(100)]


@pytest.fixture
def closed(open_queue: Open, records: list[bytes], tmp_path: Path) -> Path:
    """The directory of a queue that no process has open."""
    with open_queue(tmp_path / "queue", **SMALL) as queue:
        queue.push_many(records)
        queue.create_consumer("other")
        queue.ack_up_to(queue.pop_many(10)[-1])
    return tmp_path / "queue"


#: What each script begins with. A shell that runs the tests in the background ignores Ctrl-C, and so would the code.
#: It is not set between fork and exec: a test that has gRPC cannot fork safely.
_PRELUDE = """\
import signal; signal.signal(signal.SIGINT, signal.default_int_handler)

def when_waiting(call, threads=1):
    # Calls a function once, when this number of threads have each waited for a whole slice in the JVM.
    from collections import Counter
    from threading import Lock, get_ident
    from mmapqueue._queue.deadline import Deadline
    begun, first, call_millis = Counter(), Lock(), Deadline.call_millis
    def counted(deadline):
        millis = call_millis(deadline)
        begun[get_ident()] += millis > 0
        if sum(slices > 1 for slices in begun.copy().values()) >= threads and first.acquire(blocking=False):
            call()
        return millis
    Deadline.call_millis = counted

"""


class Script:
    """Runs Python code in a process of its own."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self._running: list[subprocess.Popen[str]] = []

    def start(self, code: str, *arguments: object, **environment: str) -> "subprocess.Popen[str]":
        file = self.directory / f"script{len(self._running)}.py"
        file.write_text(_PRELUDE + textwrap.dedent(code))
        process = subprocess.Popen(
            [sys.executable, str(file), *map(str, arguments)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, **environment},
        )
        self._running.append(process)
        return process

    def run(self, code: str, *arguments: object, **environment: str) -> str:
        """What the code prints; it must end well and write nothing to its standard error."""
        out, err = self.start(code, *arguments, **environment).communicate(timeout=120)
        assert (self._running[-1].returncode, err) == (0, ""), out
        return out

    def end(self) -> None:
        for process in self._running:
            process.kill()
            process.communicate()


@pytest.fixture
def script(tmp_path: Path) -> Iterator[Script]:
    scripts = Script(tmp_path)
    yield scripts
    scripts.end()


@pytest.fixture
def command_line(tmp_path_factory: pytest.TempPathFactory) -> Iterator[CommandLine]:
    """Runs commands; the archive of classes is made once for all tests of a run."""
    found = CommandLine(tmp_path_factory.getbasetemp().parent / "cache")
    yield found
    found.end()


@pytest.fixture
def in_thread() -> Iterator[Callable[[Callable[[], Any]], "Future[Any]"]]:
    """Runs functions in threads; all of them must have ended in the end."""
    with ThreadPoolExecutor(32) as executor:
        yield executor.submit


class Waits:
    """The calls of other threads that wait in the JVM, for records or for room."""

    def __init__(self) -> None:
        self._slices: Counter[int] = Counter()

    def begin_slice(self) -> None:
        self._slices[threading.get_ident()] += 1

    def until(self, threads: int, slices: int = 2) -> None:
        """Until this number of threads wait: a thread that begins a second slice has waited for a whole one."""
        main = threading.main_thread().ident
        assert eventually(
            lambda: sum(begun >= slices for each, begun in self._slices.copy().items() if each != main) >= threads
        )


@pytest.fixture
def waits(monkeypatch: pytest.MonkeyPatch) -> Waits:
    """Says which threads wait in the JVM; it sees the calls that begin after this fixture."""
    found = Waits()
    call_millis = Deadline.call_millis

    def counted(deadline: Deadline) -> int:
        millis = call_millis(deadline)
        if millis > 0:
            found.begin_slice()
        return millis

    monkeypatch.setattr(Deadline, "call_millis", counted)
    return found


def thread_states(pid: int) -> set[str]:
    """States of a process's threads, as /proc gives them: R, S, D, T (stopped), Z. Empty when there is no process."""
    states = set()
    with contextlib.suppress(OSError):
        for thread in Path(f"/proc/{pid}/task").iterdir():
            with contextlib.suppress(OSError):
                states.add((thread / "stat").read_text().rsplit(")", 1)[1].split()[0])
    return states


def is_running(pid: int) -> bool:
    """Whether a process exists and is not dead: its threads may outlive the first one for a moment."""
    return bool(thread_states(pid) - {"Z", "X"})


def has_ended(pid: int) -> bool:
    """Whether a process is dead, or does not exist."""
    return not is_running(pid)


def children(pid: int) -> list[int]:
    """The processes that a process has started and that are running."""
    found = []
    for entry in Path("/proc").iterdir():
        # The process may end before its file is found.
        with contextlib.suppress(OSError):
            if entry.name.isdigit():
                stat = Path(entry, "stat").read_text(errors="replace")
                if int(stat.rpartition(")")[2].split()[1]) == pid:
                    found.append(int(entry.name))
    return [child for child in found if is_running(child)]


def kill_with_children(process: "subprocess.Popen[str]") -> None:
    """Kills a process and the JVM that it has started, and returns when the system has taken both down."""
    started = children(process.pid)
    assert started
    for pid in (*started, process.pid):  # The JVM first: it would close its queues when the process ends.
        os.kill(pid, signal.SIGKILL)
    process.communicate()
    for pid in started:
        assert eventually(partial(has_ended, pid), 60)


def interrupt_twice(process: "subprocess.Popen[str]", ready: str) -> None:
    """Sends Ctrl-C to a program when it says that it is ready, and again when it says that it waits, to its end."""
    assert process.stdout is not None
    assert process.stdout.readline() == f"{ready}\n"
    os.kill(process.pid, signal.SIGINT)
    assert process.stdout.readline() == "interrupted\n"
    assert process.stdout.readline() == "idle\n"
    os.kill(process.pid, signal.SIGINT)
    out, err = process.communicate(timeout=120)
    assert (process.returncode, err, out) == (0, "", "interrupted\n")


def eventually(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether something comes true in time."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def fill(queue: mmapqueue.Queue, record: bytes = b"x" * 500) -> int:
    """Pushes until the queue is full; how many records it took."""
    count = 0
    try:
        while True:
            queue.push(record, block=False)
            count += 1
    except mmapqueue.Full:
        return count


def data(messages: Any) -> list[bytes]:
    return [message.data for message in messages]


def flip(file: Path, at: int) -> None:
    """Changes one bit of a file."""
    content = bytearray(file.read_bytes())
    content[at] ^= 0x10
    file.write_bytes(content)
