"""The supervisor of child processes: what it survives, and what ends it."""

import asyncio
import errno
import os
import signal
import sys
from typing import Any

import pytest

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
    assert [record.getMessage() for record in caplog.records] == [
        "gather 1 has ended by signal 9; it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 11] Resource temporarily unavailable); it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 12] Cannot allocate memory); it starts again in 0.0 s",
        "gather 1 cannot be started ([Errno 24] Too many open files); it starts again in 0.1 s",
    ]


def test_a_program_that_cannot_be_started_at_first_ends_all(caplog: pytest.LogCaptureFixture) -> None:
    assert asyncio.run(Supervisor([[Child("gather 0", ["/no/such/program"])]], print).run()) == 1
    assert "gather 0 cannot be kept running" in caplog.text
