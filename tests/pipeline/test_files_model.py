"""Files: appends, rotations, truncations, restarts and kills in any order, against a model."""

import os
import shutil
import tempfile
from pathlib import Path

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule, run_state_machine_as_test

from conftest import LONG
from pipeline.tailing import Killed, MemoryInbox, Steps, joined

NAMES = st.sampled_from(["a.log", "b.log"])


class Files(RuleBasedStateMachine):
    """Each line has a number of its own, so that a lost or repeated one shows.

    The paths name the rotated files, too: what is rotated away before it was seen must be found.
    """

    pattern = "*.log*"

    def __init__(self) -> None:
        super().__init__()
        self.directory = Path(tempfile.mkdtemp())
        self.inbox = MemoryInbox(max_event_size=400)
        self.steps = Steps(self.inbox, paths=[str(self.directory / self.pattern)])
        self.expected: list[bytes] = []
        self.unfinished: dict[Path, bytes] = {}
        self.number = 0
        self.rotations = 0

    def teardown(self) -> None:
        self.running()
        self.drain()
        self.steps.close()
        shutil.rmtree(self.directory)
        assert sorted(joined(self.inbox.records)) == sorted([*self.expected, *self.unfinished.values()])

    def drain(self) -> None:
        """Reads everything, unfinished lines included."""
        self.running()
        self.steps.look()
        self.steps.look_after(idle="0s")

    def running(self) -> None:
        if self.steps.follower is None:
            self.inbox.kill_before = self.inbox.kill_after = False
            self.steps.start()

    def finish(self, path: Path) -> None:
        rest = self.unfinished.pop(path, None)
        if rest is not None:
            self.expected.append(rest)

    def file(self, name: str) -> Path:
        """A file that exists."""
        path = self.directory / name
        path.touch()
        return path

    @rule(name=NAMES, sizes=st.lists(st.sampled_from([0, 5, 300, 2000]), max_size=40), ended=st.booleans())
    def append(self, name: str, sizes: list[int], ended: bool) -> None:
        path = self.file(name)
        with path.open("ab") as file:
            for i, size in enumerate(sizes):
                whole = ended or i < len(sizes) - 1
                self.number += 1
                content = self.unfinished.pop(path, b"") + b"%d-" % self.number
                written = b"%d-" % self.number + b"x" * size
                content += b"x" * size
                if whole:
                    self.expected.append(content)
                    written += b"\n"
                else:
                    self.unfinished[path] = content
                file.write(written)

    @rule(name=NAMES)
    def rotate(self, name: str) -> None:
        path = self.file(name)
        self.before_rotation()
        self.rotations += 1
        rotated = path.with_name(f"{path.name}.{self.rotations}")
        path.rename(rotated)
        if path in self.unfinished:
            self.unfinished[rotated] = self.unfinished.pop(path)
        path.touch()

    def before_rotation(self) -> None:
        """Rotated files are matched: nothing must have been seen."""

    @rule(name=NAMES, running=st.booleans())
    def truncate(self, name: str, running: bool) -> None:
        path = self.file(name)
        self.drain()
        if not running:
            self.steps.stop()
        os.truncate(path, 0)
        self.finish(path)

    @rule(name=NAMES, running=st.booleans())
    def remove(self, name: str, running: bool) -> None:
        """The inode may be that of the next file."""
        path = self.file(name)
        self.drain()
        if not running:
            self.steps.stop()
        path.unlink()
        self.finish(path)

    @rule()
    def look(self) -> None:
        self.running()
        self.steps.look()

    @rule()
    def idle(self) -> None:
        self.running()
        self.steps.look_after(idle="0s")

    @rule()
    def close_quiet_files(self) -> None:
        self.running()
        self.steps.look_after(close_after="0s")

    @precondition(lambda self: self.steps.follower is not None)
    @rule()
    def stop(self) -> None:
        self.steps.stop()

    @rule(after=st.booleans())
    def killed(self, after: bool) -> None:
        """Around a push, if there is one."""
        self.running()
        self.inbox.kill_before, self.inbox.kill_after = not after, after
        try:
            self.steps.look()
        except Killed:
            self.steps.stop()
        self.inbox.kill_before = self.inbox.kill_after = False

    @invariant()
    def one_generation_of_each_file(self) -> None:
        files = [each.split(".")[2] for each in self.inbox.sequences if "started" not in each]
        if self.steps.follower is not None:
            assert len(files) == len(set(files))


class UnmatchedFiles(Files):
    """The paths do not name rotated files: they are found by their inodes when something of them was stored."""

    pattern = "*.log"

    def before_rotation(self) -> None:
        self.drain()


@pytest.mark.long_form
@pytest.mark.parametrize("machine", [Files, UnmatchedFiles])
def test_every_line_once(machine: type[Files]) -> None:
    run_state_machine_as_test(
        machine,
        settings=settings(max_examples=200 if LONG else 30, stateful_step_count=30, print_blob=True),
    )
