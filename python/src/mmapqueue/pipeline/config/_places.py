"""Checks the places that a pipeline uses: each directory and each listening address has one owner."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from mmapqueue.pipeline._partitions import is_queue
from mmapqueue.pipeline.config._model import Pipe, Pipeline
from mmapqueue.pipeline.config._problems import Location, Problem

_IPV4, _IPV6 = "0.0.0.0", "::"


def places(pipeline: Pipeline) -> Iterator[Problem]:
    """Two owners of one directory or address, directories in queues, and files in the place of directories."""
    yield from _directories(pipeline)
    yield from _addresses(pipeline)


# ---- directories


def _directories(pipeline: Pipeline) -> Iterator[Problem]:
    queues: dict[Path, str] = {}
    checkpoints: dict[Path, str] = {}
    for number, pipe in enumerate(pipeline.pipes):
        at: Location = ("pipes", number)
        for directory, key in _queues(pipe):
            path = _absolute(directory)
            problem = next(_is_file(path, (*at, *key)), None) or _overlapping(path, queues, (*at, *key))
            queues[path] = f"pipe {pipe.name}"
            if problem is not None:
                # The default dead-letter queue, beside the queue, would be reported for the same reason.
                yield problem
                break
        for index, sender in enumerate(pipe.senders):
            path = _absolute(pipe.checkpoint(sender.name))
            yield from _is_file(path, (*at, "checkpoints"))
            if path in checkpoints:
                words = (
                    f"the checkpoint {str(path)!r} is also that of {checkpoints[path]}; set other `checkpoints` in one "
                    "of the pipes"
                )
                yield Problem((*at, "senders", index), words)
            checkpoints[path] = f"pipe {pipe.name}"
    yield from _targets(pipeline)
    yield from _queues_of_one_process(pipeline)


def _overlapping(path: Path, queues: Mapping[Path, str], at: Location) -> Problem | None:
    for other, owner in queues.items():
        if path == other or path in other.parents or other in path.parents:
            words = (
                f"{str(path)!r} is invalid; allowed: a directory that is not {str(other)!r} of {owner}, nor above or "
                "below it"
            )
            return Problem(at, words)
    return None


def _queues(pipe: Pipe) -> Iterator[tuple[Path, Location]]:
    yield pipe.queue.dir, ("queue", "dir")
    if pipe.dead_letters is not None:
        yield pipe.dead_letters.dir, ("dead_letter", "dir") if pipe.dead_letter is not None else ("dead_letter",)


def _queues_of_one_process(pipeline: Pipeline) -> Iterator[Problem]:
    """Queues beside which several processes would make partitions: senders would not read these."""
    count = pipeline.gather.processes
    for pipe in pipeline.pipes:
        if count > 1 and (pipe.receivers or pipe.fetchers) and is_queue(pipe.queue.dir):
            words = (
                f"{count} is invalid; allowed: 1, as {str(pipe.queue.dir)!r} of pipe {pipe.name} is the queue of one "
                "process; to have more, stop gather and process, and make it the first partition: move it to "
                f"{str(pipe.queue.dir / 'p=0')!r}"
            )
            yield Problem(("gather", "processes"), words)


def _targets(pipeline: Pipeline) -> Iterator[Problem]:
    """Senders that would write where the pipeline reads, keeps its own state, or another sender writes."""
    owners: dict[Path, str] = {}
    for number, pipe in enumerate(pipeline.pipes):
        for index, sender in enumerate(pipe.senders):
            target = sender.target
            if target is None:
                continue
            at: Location = ("pipes", number, "senders", index, "options", "path")
            path = _absolute(target)
            yield from _is_file(path, at)
            for other, what in _kept(pipeline, pipe, is_queue=sender.writes_queue):
                if path == other or path in other.parents or other in path.parents:
                    words = (
                        f"{str(path)!r} is invalid; allowed: a directory that is not {str(other)!r}, {what}, nor above "
                        "or below it"
                    )
                    yield Problem(at, words)
            if sender.sole_writer:
                if path in owners:
                    words = f"{str(path)!r} is invalid; allowed: a directory other than that of {owners[path]}"
                    yield Problem(at, words)
                owners[path] = f"the sender {sender.name} of pipe {pipe.name}"


def _kept(pipeline: Pipeline, own: Pipe, *, is_queue: bool) -> Iterator[tuple[Path, str]]:
    for pipe in pipeline.pipes:
        # A pipe that gathers nothing may process what a sender of another pipe writes into its queue.
        if pipe is own or not is_queue or pipe.receivers or pipe.fetchers:
            yield _absolute(pipe.queue.dir), f"the queue of pipe {pipe.name}"
        yield _absolute(pipe.keys_directory), f"the idempotency keys of pipe {pipe.name}"
        if pipe.dead_letters is not None:
            yield _absolute(pipe.dead_letters.dir), f"the dead-letter queue of pipe {pipe.name}"
        for sender in pipe.senders:
            yield _absolute(pipe.checkpoint(sender.name)), f"a checkpoint of pipe {pipe.name}"


def _is_file(path: Path, at: Location) -> Iterator[Problem]:
    for each in (path, *path.parents):
        if os.path.lexists(each) and not each.is_dir():
            words = f"{str(each)!r} is a file" if each.exists() else f"{str(each)!r} is a dangling link"
            yield Problem(at, f"{str(path)!r} is invalid; allowed: a directory, and {words}")
            return


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))  # noqa: PTH100 (links are kept)


# ---- addresses


class _Listener(NamedTuple):
    transport: str
    address: str
    host: str
    port: int
    at: Location
    what: str


def _addresses(pipeline: Pipeline) -> Iterator[Problem]:
    seen: list[_Listener] = []
    for each in _listeners(pipeline):
        for other in seen:
            if (each.transport, each.port) == (other.transport, other.port) and _overlap(each.host, other.host):
                words = f"{each.address} is invalid; allowed: an address other than {other.address} of {other.what}"
                yield Problem(each.at, words)
                break
        seen.append(each)


def _listeners(pipeline: Pipeline) -> Iterator[_Listener]:
    for index, server in enumerate(pipeline.servers):
        yield from _listener("tcp", server.listen, ("servers", index, "listen"), f"the server {server.name}")
    for number, pipe in enumerate(pipeline.pipes):
        for index, receiver in enumerate(pipe.receivers):
            at: Location = ("pipes", number, "receivers", index, "listen")
            for transport, address in receiver.listens:
                yield from _listener(transport, address, at, f"the receiver {receiver.type} of pipe {pipe.name}")
    if pipeline.telemetry is not None:
        host, _, port = pipeline.telemetry.listen.rpartition(":")
        # A port for each process of gather, and one for process.
        for process in range(pipeline.gather.processes + 1 if int(port) else 0):
            address = f"{host}:{int(port) + process}"
            yield from _listener("tcp", address, ("telemetry", "listen"), "telemetry")


def _listener(transport: str, address: str, at: Location, what: str) -> Iterator[_Listener]:
    host, _, port = address.rpartition(":")
    if int(port):
        yield _Listener(transport, address, host.strip("[]") or _IPV6, int(port), at, what)


def _overlap(one: str, other: str) -> bool:
    hosts = {"127.0.0.1" if each == "localhost" else each for each in (one, other)}
    if len(hosts) == 1 or _IPV6 in hosts:
        return True
    return _IPV4 in hosts and not any(":" in each for each in hosts)
