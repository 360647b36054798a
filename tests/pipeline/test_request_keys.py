"""The memory of idempotency keys: what a repeated request finds after kills, damage, full disks and other processes."""

import asyncio
import os
import random
from collections import Counter
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from conftest import SMALL, Open
from mmapqueue.pipeline.gather.inbox import Full, QueueInbox
from mmapqueue.pipeline.gather.request_keys import PRODUCER, RequestKeys

from .test_inbox import records
from .test_inbox import run as run_inbox


class Killed(BaseException):
    """The process ends here."""


def put(keys: RequestKeys, queue: mmapqueue.Queue, *names: bytes, durable: bool = False) -> list[bool]:
    """Stores those of some requests that are new, as the inbox does. Returns which of them were there."""
    with keys.locked(durable=durable):
        known = [keys.has(each) for each in names]
        new = [each for each, there in zip(names, known, strict=True) if not there]
        if new:
            keys.store(
                new, lambda sequence: queue.push_once(PRODUCER, sequence, new, timeout=0, sync=durable), durable=durable
            )
    return known


def killed(keys: RequestKeys, names: list[bytes], push: Callable[[int], Any]) -> None:
    """The process is killed in or after the push."""

    def end(sequence: int) -> None:
        push(sequence)
        raise Killed

    with pytest.raises(Killed), keys.locked(durable=False):
        keys.store(names, end, durable=False)
    keys.close()


@pytest.mark.parametrize("durable", [False, True])
def test_a_stored_request_is_known_to_every_later_process(tmp_path: Path, open_queue: Open, *, durable: bool) -> None:
    queue = open_queue()
    for _ in range(3):
        keys = RequestKeys(tmp_path / "keys", queue)
        put(keys, queue, b"a", b"b", durable=durable)
        assert put(keys, queue, b"b", b"c", b"a", durable=durable)[::2] == [True, True]
        keys.close()
    assert records(queue) == [b"a", b"b", b"c"]


@pytest.mark.parametrize("stored", [False, True])
def test_a_kill_between_the_two_files_leaves_neither_a_loss_nor_a_repetition(
    tmp_path: Path, open_queue: Open, *, stored: bool
) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)
    put(keys, queue, b"before")
    killed(keys, [b"a"], lambda sequence: queue.push_once(PRODUCER, sequence, [b"a"]) if stored else None)
    again = RequestKeys(tmp_path / "keys", queue)
    assert put(again, queue, b"before", b"a") == [True, stored]
    assert put(again, queue, b"a", b"before") == [True, True]
    assert records(queue) == [b"before", b"a"]


def test_what_a_torn_write_leaves_is_cut_off(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)
    put(keys, queue, b"a")
    put(keys, queue, b"b")
    keys.close()
    file = tmp_path / "keys" / "new"
    whole = file.read_bytes()
    # The last mark alone: the queue knows what it would say.
    for length in range(len(whole) - 17, len(whole)):
        file.write_bytes(whole[:length])
        again = RequestKeys(tmp_path / "keys", queue)
        assert put(again, queue, b"a", b"b") == [True, True]
        again.close()
    # Any other end: what is before it counts, and nothing that was not stored.
    for length in range(len(whole)):
        file.write_bytes(whole[:length])
        again = RequestKeys(tmp_path / "keys", queue)
        with again.locked(durable=False):
            assert not again.has(b"c")
        again.close()
    file.write_bytes(whole + bytes(100))
    again = RequestKeys(tmp_path / "keys", queue)
    assert put(again, queue, b"a", b"b", b"c") == [True, True, False]
    again.close()
    assert put(RequestKeys(tmp_path / "keys", queue), queue, b"c") == [True]
    assert records(queue) == [b"a", b"b", b"c"]


def test_a_file_of_something_else_is_begun_anew(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    (tmp_path / "keys").mkdir()
    (tmp_path / "keys" / "new").write_bytes(b"something else, longer than an entry")
    for known in (False, True):
        assert put(RequestKeys(tmp_path / "keys", queue), queue, b"a") == [known]


def test_the_last_keys_are_remembered_and_no_more_than_twice_as_many(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    names = [b"%d" % number for number in range(95)]
    keys = RequestKeys(tmp_path / "keys", queue, most=10)
    for each in names:
        put(keys, queue, each)
    for memory in (keys, RequestKeys(tmp_path / "keys", queue, most=10)):
        with memory.locked(durable=False):
            known = [each for each in names if memory.has(each)]
        assert known == names[-len(known) :]
        assert 10 <= len(known) <= 20
    assert sum(each.stat().st_size for each in (tmp_path / "keys").iterdir()) < 20 * 60


def test_what_found_no_room_is_not_remembered(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue(**SMALL)
    keys = RequestKeys(tmp_path / "keys", queue)
    number = 0
    with pytest.raises(mmapqueue.Full):  # noqa: PT012
        while True:
            put(keys, queue, b"%d" % number * 500)
            number += 1
    for each in (keys, RequestKeys(tmp_path / "keys", queue)):
        with each.locked(durable=False):
            assert not each.has(b"%d" % number * 500)
            assert each.has(b"%d" % (number - 1) * 500)


def test_a_push_with_an_unknown_outcome_is_asked_for(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)

    def lost(stored: bool) -> Callable[[int], int]:
        def push(sequence: int) -> int:
            if stored:
                queue.push_once(PRODUCER, sequence, [b"stored"])
            raise mmapqueue.MmapQueueError("the connection to the JVM is lost")

        return push

    for name, stored in ((b"lost", False), (b"stored", True)):
        with pytest.raises(mmapqueue.MmapQueueError, match="connection"), keys.locked(durable=False):
            keys.store([name], lost(stored), durable=False)
        assert put(keys, queue, name) == [stored]
    assert records(queue) == [b"lost", b"stored"]


def test_a_sequence_that_the_queue_has_from_elsewhere_is_an_error(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)
    put(keys, queue, b"a")
    queue.push_once(PRODUCER, 7, [b"from elsewhere"])
    with pytest.raises(mmapqueue.MmapQueueError, match="sequence 1 of request-keys"):
        put(keys, queue, b"b")
    assert put(keys, queue, b"b") == [False]
    assert records(queue) == [b"a", b"from elsewhere", b"b"]


def test_a_full_disk_stores_nothing_and_damages_nothing(
    tmp_path: Path, open_queue: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)
    put(keys, queue, b"a")
    write = os.write
    for half in (lambda file, data: write(file, data[: len(data) // 2]), lambda *_: write(-1, b"")):
        monkeypatch.setattr("mmapqueue.pipeline.gather.request_keys.os.write", half)
        with pytest.raises(mmapqueue.MmapQueueError, match=str(tmp_path)):
            put(keys, queue, b"b")
        monkeypatch.undo()
        assert put(keys, queue, b"a") == [True]
    assert put(keys, queue, b"b") == [False]
    keys.close()
    assert put(RequestKeys(tmp_path / "keys", queue), queue, b"a", b"b") == [True, True]
    assert records(queue) == [b"a", b"b"]


def test_a_mark_that_cannot_be_written_is_made_up_for(
    tmp_path: Path, open_queue: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue)
    put(keys, queue, b"a")
    write = os.write

    def push(sequence: int) -> int | None:
        monkeypatch.setattr("mmapqueue.pipeline.gather.request_keys.os.write", lambda *_: write(-1, b""))
        return queue.push_once(PRODUCER, sequence, [b"b"])

    with keys.locked(durable=False):
        keys.store([b"b"], push, durable=False)
    monkeypatch.undo()
    assert put(keys, queue, b"b") == [True]


def test_processes_know_what_the_others_have_stored(tmp_path: Path, open_queue: Open) -> None:
    queues = [open_queue(tmp_path / f"p={number}") for number in range(3)]
    memories = [RequestKeys(tmp_path / "keys", queue, partition=number, most=8) for number, queue in enumerate(queues)]
    # Each one sees none, one or several new files since its last turn.
    chance = random.Random(1)
    last: list[bytes] = []
    for number in range(300):
        turn = chance.choice([0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 2])
        name = b"%d" % number
        assert put(memories[turn], queues[turn], name, *last) == [False, *(True for _ in last)]
        last = [*last, name][-7:]
    assert sum(len(records(each)) for each in queues) == 300


def test_a_request_of_a_process_that_ended_waits_until_that_one_runs_again(tmp_path: Path, open_queue: Open) -> None:
    queues = [open_queue(tmp_path / f"p={number}") for number in range(2)]
    first, second = (RequestKeys(tmp_path / "keys", queue, partition=number) for number, queue in enumerate(queues))
    killed(first, [b"stored"], lambda sequence: queues[0].push_once(PRODUCER, sequence, [b"stored"]))
    with pytest.raises(mmapqueue.MmapQueueError, match="gather process 0"):
        put(second, queues[1], b"stored")
    assert put(second, queues[1], b"other") == [False]
    again = RequestKeys(tmp_path / "keys", queues[0])
    again.settle(durable=False)
    assert put(second, queues[1], b"stored") == [True]
    killed(again, [b"lost"], lambda _: None)
    RequestKeys(tmp_path / "keys", queues[0]).settle(durable=True)
    assert put(second, queues[1], b"lost") == [False]
    assert [records(each) for each in queues] == [[b"stored"], [b"other", b"lost"]]


def test_an_older_queue_gets_again_what_it_does_not_have(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    keys = RequestKeys(tmp_path / "keys", queue, most=2)
    for name in (b"a", b"b", b"c"):
        put(keys, queue, name)
    keys.close()
    # As from a backup that was made after the first request.
    older = open_queue(tmp_path / "older")
    older.push_once(PRODUCER, 0, [b"a"])
    assert put(RequestKeys(tmp_path / "keys", older, most=2), older, b"a", b"b", b"c") == [True, False, False]
    assert records(older) == [b"a", b"b", b"c"]


def test_nothing_is_written_before_the_first_key(tmp_path: Path, open_queue: Open) -> None:
    RequestKeys(tmp_path / "keys", open_queue()).settle(durable=True)
    assert not (tmp_path / "keys").exists()


def test_random_requests_kills_and_turns_store_each_request_once(tmp_path: Path, open_queue: Open) -> None:
    chance = random.Random(7)
    queues = [open_queue(tmp_path / f"p={number}") for number in range(2)]
    answered: set[bytes] = set()
    unsure: set[bytes] = set()
    memories: list[RequestKeys | None] = [None, None]
    for step in range(600):
        turn = chance.randrange(2)
        queue = queues[turn]
        keys = memories[turn] = memories[turn] or RequestKeys(tmp_path / "keys", queue, partition=turn, most=50)
        recent = [b"%d" % (step - back) for back in range(min(step + 1, 30))]
        names = list(dict.fromkeys(chance.choices(recent, k=chance.randint(1, 4))))
        outcome = chance.random()

        def push(sequence: int, new: list[bytes], queue: Any, outcome: float) -> Any:
            if outcome < 0.1:
                raise Killed
            if outcome < 0.15:
                raise mmapqueue.Full("full")
            offset = queue.push_once(PRODUCER, sequence, new)
            if outcome < 0.25:
                raise Killed
            return offset

        try:
            with keys.locked(durable=False):
                new = [each for each in names if not keys.has(each)]
                if new:
                    keys.store(new, partial(push, new=new, queue=queue, outcome=outcome), durable=False)
            answered |= set(names)
        except Killed:
            unsure |= set(names)
            keys.close()
            memories[turn] = None
        except mmapqueue.Full:
            pass
        except mmapqueue.MmapQueueError:
            assert unsure & set(names)
    found = Counter(each for queue in queues for each in records(queue))
    assert set(found.values()) == {1}
    assert answered <= set(found) <= answered | unsure
    assert len(answered) > 300


# ---- the inbox


def run(directory: Path, queue: mmapqueue.Queue, use: Callable[[QueueInbox], Any], **options: Any) -> Counter[str]:
    """Runs an inbox with a memory of keys. Returns what it counted."""
    return run_inbox(queue, use, keys=RequestKeys(directory, queue), **options)


@pytest.mark.parametrize("synced", [False, True])
def test_requests_at_the_same_time_are_stored_once(tmp_path: Path, open_queue: Open, *, synced: bool) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        await asyncio.gather(
            *(
                inbox.put(b"%d.%d" % (number, part), b"second", key=b"%d" % number)
                for part in range(3)
                for number in range(9)
            ),
            *(inbox.put(b"without") for _ in range(5)),
        )

    assert run(tmp_path / "keys", queue, use, synced=synced) == {"success": 18 + 5, "repeated": 36}
    assert Counter(records(queue)) == {b"%d.0" % number: 1 for number in range(9)} | {b"second": 9, b"without": 5}
    stats = queue.stats()
    assert not synced or stats.durable_position == stats.end_position


@pytest.mark.parametrize(("on_full", "status"), [("reject", "rejected"), ("drop", "abandoned")])
def test_a_request_without_room_is_stored_when_it_comes_again(
    tmp_path: Path, open_queue: Open, on_full: str, status: str
) -> None:
    queue = open_queue(**SMALL)

    async def use(inbox: QueueInbox) -> None:
        large = [bytes([number]) * 7000 for number in range(20)]
        first = await asyncio.gather(*(inbox.put(each, key=each) for each in large), return_exceptions=True)
        assert (on_full == "reject") == any(isinstance(each, Full) for each in first)
        stored = len(records(queue))
        assert 0 < stored < 20
        queue.ack_up_to(queue.pop_many(stored)[-1])
        await inbox.put(b"small", key=large[-1])
        assert records(queue)[-1] == b"small"

    assert run(tmp_path / "keys", queue, use, on_full=on_full)[status]


def test_a_blocked_request_is_stored_once_when_there_is_room(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue(**SMALL)

    async def use(inbox: QueueInbox) -> None:
        large = [bytes([number]) * 7000 for number in range(20)]
        waiting = [asyncio.create_task(inbox.put(each, key=each)) for each in [*large, *large]]
        taken: list[bytes] = []
        while len(taken) < 20:
            messages = await asyncio.to_thread(queue.pop_many, 3, timeout=60)
            taken += [each.data for each in messages]
            queue.ack_up_to(messages[-1])
        await asyncio.gather(*waiting)
        assert sorted(taken) == large

    assert run(tmp_path / "keys", queue, use, on_full="block") == {"success": 20, "repeated": 20}


def test_a_client_that_has_gone_may_come_again(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        gone = [asyncio.create_task(inbox.put(b"%d" % number, key=b"%d" % number)) for number in range(20)]
        await asyncio.sleep(0)
        for each in gone:
            each.cancel()
        await asyncio.gather(*(inbox.put(b"%d" % number, key=b"%d" % number) for number in range(20)))

    counted = run(tmp_path / "keys", queue, use)
    assert counted["success"] == 20
    assert sorted(records(queue)) == sorted(b"%d" % number for number in range(20))


def test_one_request_that_fails_does_not_fail_the_others(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue(segment_size="64k", capacity="256k", max_event_size="110k")

    async def use(inbox: QueueInbox) -> None:
        outcomes = await asyncio.gather(
            inbox.put(b"a", key=b"a"),
            inbox.put(*[b"l" * 100_000] * 5, key=b"l"),
            inbox.put(b"b", key=b"b"),
            return_exceptions=True,
        )
        assert [type(each) for each in outcomes] == [type(None), mmapqueue.TooLarge, type(None)]

    assert run(tmp_path / "keys", queue, use) == {"success": 2, "failed": 5}
    assert records(queue) == [b"a", b"b"]


def test_keys_that_cannot_be_written_fail_only_requests_with_keys(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()
    (tmp_path / "keys").write_text("a file")

    async def use(inbox: QueueInbox) -> None:
        with pytest.raises(mmapqueue.MmapQueueError, match="idempotency keys in"):
            await inbox.put(b"a", key=b"a")
        assert inbox.failure is not None
        await inbox.put(b"b")

    assert run(tmp_path / "keys", queue, use) == {"failed": 1, "success": 1}


def test_without_a_memory_keys_have_no_effect(tmp_path: Path, open_queue: Open) -> None:
    queue = open_queue()

    async def use(inbox: QueueInbox) -> None:
        inbox.change(on_full="reject", synced=False, most_keys=0)
        await inbox.put(b"a", key=b"a")
        await inbox.put(b"a", key=b"a")

    assert run(tmp_path / "keys", queue, use) == {"success": 2}
    assert not (tmp_path / "keys").exists()
