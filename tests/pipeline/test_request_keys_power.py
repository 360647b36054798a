"""The memory of idempotency keys after losses of power: files and queue lose what was not synced, each on its own."""

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL
from mmapqueue.pipeline.gather.request_keys import PRODUCER, RequestKeys

from .test_inbox import records

#: What becomes of the push of a request.
STORED, FULL, KILLED_BEFORE, KILLED_AFTER = "stored", "full", "killed before", "killed after"
OUTCOMES = [STORED, FULL, STORED, STORED, KILLED_BEFORE, STORED, KILLED_AFTER, FULL, FULL, STORED, STORED]


class Killed(BaseException):
    """The process ends here."""


class Life:
    """Requests from the opening of a queue and its keys on, and all that a loss of power may leave of both.

    Attributes:
        answered: Keys of requests that were answered.
        queues: Copies of the queue: any of them may be left.
        files: The contents of the keys' files, by name: any of them may be left.
    """

    def __init__(
        self,
        directory: Path,
        names: list[bytes],
        outcomes: list[str],
        *,
        durable: bool,
        most: int,
        syncs: dict[int, int],
    ) -> None:
        self.answered: list[bytes] = []
        self.queues: list[Path] = []
        self._directory = directory
        self._durable = durable
        self._most = most
        #: The size of each file that is durable, by inode.
        self._syncs = syncs
        self._open()
        for name, outcome in zip(names, outcomes, strict=True):
            self._put(name, outcome)
        self.files = self._left()
        self._close()

    def _open(self) -> None:
        self._queue = mmapqueue.Queue(self._directory / "queue", **SMALL)
        self._keys = RequestKeys(self._directory / "keys", self._queue, most=self._most)

    def _close(self) -> None:
        self._keys.close()
        self._queue.close()

    def _put(self, name: bytes, outcome: str) -> None:
        def push(sequence: int) -> int | None:
            if outcome == FULL:
                raise mmapqueue.Full("full")
            if outcome == KILLED_BEFORE:
                raise Killed
            offset = self._queue.push_once(PRODUCER, sequence, [name], sync=self._durable)
            self._copy()
            if outcome == KILLED_AFTER:
                raise Killed
            return offset

        try:
            with self._keys.locked(durable=self._durable):
                if not self.queues:
                    self._copy()
                if not self._keys.has(name):
                    self._keys.store([name], push, durable=self._durable)
            self.answered.append(name)
        except mmapqueue.Full:
            pass
        except Killed:
            self._close()
            self._open()

    def _copy(self) -> None:
        if self._durable:
            # What was there before is durable now.
            self.queues.clear()
        at = self._directory / f"queue-{len(list(self._directory.glob('queue-*')))}"
        shutil.copytree(self._directory / "queue", at)
        self.queues.append(at)

    def _left(self) -> list[dict[str, bytes]]:
        found: list[dict[str, bytes]] = [{}]
        for file in sorted((self._directory / "keys").glob("[no]*")):
            whole = file.read_bytes()
            first = self._syncs.get(file.stat().st_ino, 0)
            cuts = [whole[:at] for at in range(first, len(whole) + 1, 3)] + [whole]
            cuts += [whole[:at] + bytes(len(whole) - at) for at in range(first, len(whole), 11)]
            found = [{**each, file.name: cut} for each in found for cut in cuts]
        return found


def after_a_loss(life: Life, directory: Path, chance: random.Random, syncs: dict[int, int]) -> Path:
    """A directory with one of all that may be left, which is durable."""
    shutil.copytree(chance.choice(life.queues), directory / "queue")
    (directory / "keys").mkdir()
    for name, content in chance.choice(life.files).items():
        file = directory / "keys" / name
        file.write_bytes(content)
        syncs[file.stat().st_ino] = len(content)
    return directory


def check(directory: Path, lives: list[Life], names: list[bytes], *, durable: bool, most: int) -> None:
    """No key is known whose request is not stored; with `durable` no answered one is lost, and the last are known."""
    with mmapqueue.Queue(directory / "queue", **SMALL) as queue:
        keys = RequestKeys(directory / "keys", queue, most=most)
        with keys.locked(durable=durable):
            known = [each for each in names if keys.has(each)]
        keys.close()
        stored = records(queue) if queue.end_offset() else []
    assert set(known) <= set(stored), (known, stored)
    if durable:
        assert {each for life in lives for each in life.answered} <= set(stored)
        assert set(stored[-most:]) <= set(known), (known, stored)


@pytest.fixture
def syncs(monkeypatch: pytest.MonkeyPatch) -> dict[int, int]:
    """The durable size of each file, by inode."""
    found: dict[int, int] = {}

    def noting(sync: Callable[[int], None]) -> Callable[[int], None]:
        def synced(file: int) -> None:
            sync(file)
            found[os.fstat(file).st_ino] = os.fstat(file).st_size

        return synced

    for name in ("fdatasync", "fsync"):
        monkeypatch.setattr(f"mmapqueue.pipeline.gather.request_keys.os.{name}", noting(getattr(os, name)))
    return found


@pytest.mark.parametrize("durable", [False, True])
@pytest.mark.parametrize("most", [3, 100])
def test_losses_of_power_leave_no_key_without_its_request(
    tmp_path: Path, syncs: dict[int, int], *, durable: bool, most: int
) -> None:
    chance = random.Random(most)
    options: dict[str, Any] = {"durable": durable, "most": most, "syncs": syncs}
    for run in range(40):
        directory = tmp_path / str(run)
        directory.mkdir()
        lives: list[Life] = []
        names: list[bytes] = []
        for life in range(3):
            outcomes = chance.sample(OUTCOMES, chance.randint(2, 7))
            new = [b"%d.%d" % (life, number) for number in range(len(outcomes))]
            names += new
            lives.append(Life(directory, new, outcomes, **options))
            left = directory.with_name(f"{run}-{life}")
            left.mkdir()
            check(after_a_loss(lives[-1], left, chance, syncs), lives, names, durable=durable, most=most)
            shutil.rmtree(directory)
            directory = left
        shutil.rmtree(directory)
