"""The supervisor of child processes: what it survives, and what ends it."""

import asyncio
import errno
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from mmapqueue.pipeline.config import load
from mmapqueue.pipeline.gather import supervisor
from mmapqueue.pipeline.gather.supervisor import Child, Supervisor

#: Is ready, and is killed then.
KILLED = [sys.executable, "-c", "import os; print('ready:', flush=True); os.kill(os.getpid(), 9)"]


@pytest.mark.parametrize("announces", [True, False])
def test_a_fork_that_fails_at_a_restart_is_repeated(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture, announces: bool
) -> None:
    monkeypatch.setattr(supervisor, "_FIRST_BACK_OFF", 0.01)
    start = asyncio.create_subprocess_exec
    failures = [errno.EAGAIN, errno.ENOMEM, errno.EMFILE]
    starts = 0

    async def failing(*command: str, **options: Any) -> Any:
        nonlocal starts
        starts += 1
        if starts > 1 and failures:
            number = failures.pop(0)
            raise OSError(number, os.strerror(number))
        process = await start(*command, **options)
        if starts > 1:
            os.kill(os.getpid(), signal.SIGTERM)
        return process

    monkeypatch.setattr(asyncio, "create_subprocess_exec", failing)
    ready: list[str] = []
    child = Child("gather 1", KILLED, announces=announces)
    assert asyncio.run(Supervisor([[child]], ready.append).run()) == 0
    assert starts == 5
    assert ready == (["ready:"] if announces else [])
    # asyncio warns when its transport, which is closed, has waited for the child before its watcher.
    assert [record.getMessage() for record in caplog.records if record.name != "asyncio"] == [
        "gather 1 has ended by signal 9; it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 11] Resource temporarily unavailable); it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 12] Cannot allocate memory); it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 24] Too many open files); it starts again in 0.1 s",
    ]


def test_a_program_that_cannot_be_started_at_first_ends_all(caplog: pytest.LogCaptureFixture) -> None:
    assert asyncio.run(Supervisor([[Child("gather 0", ["/no/such/program"])]], print).run()) == 1
    assert "gather 0 cannot be kept running" in caplog.text


#: Prints a line as long as a plugin may print, and is ready then.
TALKATIVE = """
import signal
print("x" * (1 << 20))
print("ready:", flush=True)
signal.pause()
"""


def test_a_very_long_line_of_a_child_ends_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def stop(_: str) -> None:
        os.kill(os.getpid(), signal.SIGTERM)

    child = Child("gather 0", [sys.executable, "-c", TALKATIVE])
    assert asyncio.run(Supervisor([[child]], stop).run()) == 0
    assert child.ready
    assert "cannot be kept running" not in caplog.text


#: Is ready long before it has a handler of SIGHUP, and ends when it got one, with a line.
RELOADED = """
import os, signal, sys
from mmapqueue.pipeline._signals import release_hangups
print("ready:", flush=True)
while signal.SIGHUP not in signal.sigpending():
    pass
def reload(*_):
    print("reloaded", flush=True)
    os.kill(os.getppid(), signal.SIGTERM)
signal.signal(signal.SIGHUP, reload)
release_hangups()
"""


def test_a_reload_waits_for_a_child_that_has_no_handler_yet(capfd: pytest.CaptureFixture[str]) -> None:
    def reload(_: str) -> None:
        os.kill(os.getpid(), signal.SIGHUP)

    child = Child("gather 0", [sys.executable, "-c", RELOADED])
    assert asyncio.run(Supervisor([[child]], reload).run()) == 0
    assert capfd.readouterr().out == "reloaded\n"
    assert signal.SIGHUP not in signal.pthread_sigmask(signal.SIG_BLOCK, ())


#: Runs until SIGTERM. With `--successor` it is prepared first, and goes on when it may. Notes what it does in a file.
TAKES_OVER = """
import os, signal, sys
from mmapqueue.pipeline.gather.successor import await_turn
def note(what):
    with open(sys.argv[1], "a") as file:
        file.write(f"{what} {os.getpid()}\\n")
def end(*_):
    note("ended")
    sys.exit(0)
if "--successor" in sys.argv:
    note("preparing")
    {preparation}
    await_turn(int(sys.argv[-1]))
signal.signal(signal.SIGTERM, end)
note("runs")
print("ready:", flush=True)
signal.pause()
"""


def taking_over(notes: Path, preparation: str = "pass") -> Child:
    program = TAKES_OVER.replace("{preparation}", preparation)
    return Child("gather 0", [sys.executable, "-c", program, str(notes)], takes_over=True)


def supervised(child: Child, work: Callable[[Supervisor], Awaitable[None]]) -> int:
    """Runs a supervisor of one child, and when that is ready, work that stops it at last."""

    async def run() -> int:
        ready = asyncio.Event()
        supervisor = Supervisor([[child]], lambda _: ready.set())
        running = asyncio.create_task(supervisor.run())
        await ready.wait()
        await work(supervisor)
        return await running

    return asyncio.run(run())


def stop() -> None:
    os.kill(os.getpid(), signal.SIGTERM)


def gone(pid: str) -> bool:
    return not Path(f"/proc/{pid}").exists()


def test_a_restart_prepares_a_successor_before_the_stop(tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def restart(supervisor: Supervisor) -> None:
        await supervisor.restart()
        await supervisor.restart()
        stop()

    assert supervised(taking_over(notes), restart) == 0
    said = [line.split() for line in notes.read_text().splitlines()]
    first, second, third = (pid for what, pid in said if what == "runs")
    turn = [("preparing", second), ("ended", first), ("runs", second)]
    next_turn = [("preparing", third), ("ended", second), ("runs", third)]
    assert [tuple(each) for each in said] == [("runs", first), *turn, *next_turn, ("ended", third)]


def test_a_successor_that_fails_changes_nothing(tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def restart(supervisor: Supervisor) -> None:
        with pytest.raises(RuntimeError, match="a successor has ended with status 3 before it was prepared"):
            await supervisor.restart()
        stop()

    assert supervised(taking_over(notes, "sys.exit(3)"), restart) == 0
    (runs, first), _, (ended, last) = (line.split() for line in notes.read_text().splitlines())
    assert (runs, ended, last) == ("runs", "ended", first)


def test_a_stop_ends_a_successor_that_is_not_prepared(tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def stop_in_between(supervisor: Supervisor) -> None:
        restarting = asyncio.create_task(supervisor.restart())
        while "preparing" not in notes.read_text():
            await asyncio.sleep(0.01)
        stop()
        with pytest.raises(RuntimeError, match="gather 0 was not restarted: all are ending"):
            await restarting

    assert supervised(taking_over(notes, "signal.pause()"), stop_in_between) == 0
    pids = dict(line.split() for line in notes.read_text().splitlines())
    assert gone(pids["preparing"])


def test_a_successor_that_is_killed_in_its_turn_is_replaced(tmp_path: Path) -> None:
    notes = tmp_path / "notes"

    async def restart(supervisor: Supervisor) -> None:
        await supervisor.restart()
        stop()

    # It says that it is prepared, and is gone before the predecessor is.
    dies = "import socket; socket.socket(fileno=int(sys.argv[-1])).sendall(b'p'); os._exit(9)"
    assert supervised(taking_over(notes, dies), restart) == 0
    said = [line.split()[0] for line in notes.read_text().splitlines()]
    assert said == ["runs", "preparing", "ended", "runs", "ended"]


CONFIG = """\
name: shop
gather: {processes: 2}
servers: [{name: grpc, type: grpc, listen: "127.0.0.1:0"}]
pipes:
  - name: logs
    queue: {dir: q, capacity: 32m, segment_size: 8m}
    receivers: [{type: otlp, server: grpc}]
"""


def test_run_supervises_each_gathering_process(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A supervisor below it would be no successor of another one, so that no restart would succeed."""
    file = tmp_path / "shop.yaml"
    file.write_text(CONFIG)
    said: list[str] = []
    groups: list[list[Child]] = []

    class Recorded:
        def __init__(self, given: list[list[Child]], ready: Callable[[str], None], *_: Any, **__: Any) -> None:
            groups.extend(given)
            self._ready = ready

        async def run(self) -> int:
            for child in groups[0]:
                child.ready = True
                self._ready("ready:")
            return 7

    monkeypatch.setattr(supervisor, "Supervisor", Recorded)
    monkeypatch.setattr(supervisor, "_say", said.append)
    assert supervisor.run_both(load(str(file)), str(file), log_level="info", watch=False) == 7
    assert [[each.name for each in group] for group in groups] == [["gather 0", "gather 1"], ["process"]]
    assert [each.roles for each in groups[0]] == [("gather-0",), ("gather-1",)]
    assert all(each.takes_over and "--partition" in each.command for each in groups[0])
    (line,) = said
    assert line.startswith("ready: grpc 127.0.0.1:")


def test_a_restart_does_not_change_the_number_of_processes(tmp_path: Path) -> None:
    file = tmp_path / "shop.yaml"
    file.write_text(CONFIG)
    notes = tmp_path / "notes"
    child = taking_over(notes)
    pipeline = load(str(file))
    file.write_text(CONFIG.replace("processes: 2", "processes: 3"))

    async def ask() -> None:
        running = Supervisor([[child]], print, str(file), pipeline)
        with pytest.raises(ValueError, match=r"gather\.processes has changed from 2 to 3; stop the collector"):
            await asyncio.to_thread(running._restart_checked, str(file), asyncio.get_running_loop())

    asyncio.run(ask())
    assert child.restarted is None
