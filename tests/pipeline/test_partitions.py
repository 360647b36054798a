"""Queues of one process and of several: which directories they are, and changes between them."""

from collections.abc import Iterable
from pathlib import Path

import pytest

import mmapqueue
from conftest import SMALL
from mmapqueue.pipeline._partitions import own_partition, partitions
from mmapqueue.pipeline.config import ConfigFileError
from pipeline.configuring import load_text, pipeline


def made(directories: Iterable[Path]) -> None:
    for each in directories:
        mmapqueue.Queue(each, **SMALL).close()


def test_several_processes_have_partitions(tmp_path: Path) -> None:
    assert [own_partition(tmp_path, number, 2) for number in range(2)] == [tmp_path / "p=0", tmp_path / "p=1"]
    made(tmp_path / f"p={number}" for number in (0, 2))
    assert partitions(tmp_path) == {0: tmp_path / "p=0", 2: tmp_path / "p=2"}


def test_one_process_has_the_directory_itself(tmp_path: Path) -> None:
    queue = tmp_path / "q"
    assert (own_partition(queue, 0, 1), partitions(queue)) == (queue, {})
    made([queue])
    assert (own_partition(queue, 0, 1), partitions(queue)) == (queue, {0: queue})


def test_one_process_goes_on_with_the_first_partition_of_several(tmp_path: Path) -> None:
    made(tmp_path / f"p={number}" for number in range(3))
    assert own_partition(tmp_path, 0, 1) == tmp_path / "p=0"
    assert sorted(partitions(tmp_path)) == [0, 1, 2], "senders read the rest of the others"


def test_several_processes_refuse_the_queue_of_one_until_it_is_the_first_partition(tmp_path: Path) -> None:
    queue, first = tmp_path / "q", tmp_path / "q" / "p=0"
    made([queue])
    load_text(tmp_path, pipeline())
    several = pipeline(top="gather: {processes: 2}")
    with pytest.raises(ConfigFileError) as raised:
        load_text(tmp_path, several)
    words = f"6: gather.processes: 2 is invalid; allowed: 1, as '{queue}' of pipe logs is the queue of one process"
    assert words in str(raised.value)
    assert str(raised.value).endswith(f"move it to '{first}'")
    queue.rename(tmp_path / "aside")
    queue.mkdir()
    (tmp_path / "aside").rename(first)
    load_text(tmp_path, several)
    assert own_partition(queue, 0, 2) == first
