"""Describes what a pipeline would run, and what would hurt, as text."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path
from typing import Any

from pydantic import BaseModel

from mmapqueue.pipeline.config import Pipe, Pipeline, Server, tls_faults, tls_in
from mmapqueue.pipeline.config._model import sends_any
from mmapqueue.pipeline.config._problems import dotted, is_secret, shown, without_user
from mmapqueue.pipeline.plugins import Plugin, Sender

_ACK = {
    "pushed": "after the push; accepted events survive kill -9",
    "synced": "after an fsync; accepted events survive a loss of power",
}
_ON_FULL = {
    "reject": "clients get an error that says when to retry",
    "block": "clients wait",
    "drop": "events are dropped and counted; clients get no error",
    "overflow": "the queue goes on in its archive; while that is away, clients get an error that says when to retry",
}


def described(pipeline: Pipeline) -> str:
    """Describes what would run: servers, pipes, queues, senders, and the guarantees for clients. Without secrets."""
    return "\n".join(_lines(pipeline))


def risks(pipeline: Pipeline) -> Iterator[str]:
    """What is valid, and will hurt: queues that only fill, events that cannot be sent, TLS without its files."""
    full = {"reject": "clients are refused", "block": "clients wait", "drop": "events are dropped"}
    for pipe in pipeline.pipes:
        if (pipe.receivers or pipe.fetchers) and not pipe.senders and pipe.on_full in full:
            yield (
                f"pipe {pipe.name} has no senders: unless another program reads and acks its queue, it fills up; then "
                f"{full[pipe.on_full]} (on_full: {pipe.on_full})"
            )
        yield from _unsent(pipe)
    # What else is wrong with files of TLS is no risk, but invalid.
    for at, tls in tls_in(pipeline):
        yield from (f"{dotted((*at, fault.key))}: {fault.words}" for fault in tls_faults(tls))


def _unsent(pipe: Pipe) -> Iterator[str]:
    if pipe.filters:  # they may remove what a sender does not send
        return
    for source in (*pipe.receivers, *pipe.fetchers):
        for sender in pipe.senders:
            if source.makes is not None and not sends_any(sender, source.makes):
                yield (
                    f"pipe {pipe.name}: sender {sender.name} cannot send what {source.type} receives "
                    f"({', '.join(source.makes)}): it becomes dead letters. Remove it with a filter where, or give "
                    "it a pipe of its own"
                )


def _lines(pipeline: Pipeline) -> Iterator[str]:
    count = pipeline.gather.processes
    yield f"{pipeline.name}: valid; pipes: {len(pipeline.pipes)}, gather processes: {count}"
    if pipeline.telemetry is not None:
        yield f"  telemetry    {pipeline.telemetry.listen}"
    for server in pipeline.servers:
        yield f"  server       {_server(server)}"
    for pipe in pipeline.pipes:
        yield f"  pipe {pipe.name}"
        for name, text in _pipe(pipe, count):
            yield f"    {name:12} {text}"


def _server(server: Server) -> str:
    words = [
        f"{server.name}: {server.type} {server.listen}",
        f"at most {server.max_connections} connections",
        f"messages up to {_size(server.max_message_size)}",
    ]
    if server.tls is not None:
        words.append("TLS with client certificates" if server.tls.client_ca else "TLS")
    if server.bearer_token is not None:
        words.append("bearer token")
    if server.cors is not None:
        words.append(f"pages of {', '.join(server.cors.origins)}")
    return ", ".join(words)


def _pipe(pipe: Pipe, processes: int) -> Iterator[tuple[str, str]]:
    for each in (*pipe.receivers, *pipe.fetchers):
        yield ("receiver" if each in pipe.receivers else "fetcher"), _plugin(each)
    partitions = f", {processes} partitions of this size" if processes > 1 else ""
    yield "queue", f"{pipe.queue.dir}, {_capacity(pipe)}, events up to {_size(pipe.queue.max_event_size)}{partitions}"
    if pipe.receivers:
        yield "ack", f"{pipe.ack}: clients are answered {_ACK[pipe.ack]}"
        yield "on_full", f"{pipe.on_full}: {_ON_FULL[pipe.on_full]}"
    for filter_ in pipe.filters:
        yield "filter", _plugin(filter_)
    if pipe.senders:
        yield "dead letters", _dead_letters(pipe)
    for sender in pipe.senders:
        yield "sender", f"{sender.name}: {_plugin(sender)}"
        yield "", f"checkpoint {pipe.checkpoint(sender.name)}; {_batches(sender)}"


def _dead_letters(pipe: Pipe) -> str:
    kinds = ["undecodable records"] if pipe.on_undecodable == "dead_letter" else []
    if any(sender.dead_letters for sender in pipe.senders):
        kinds.append("rows that receivers refuse")
    dropped = "" if pipe.on_undecodable == "dead_letter" else "undecodable records are dropped and counted"
    settings = pipe.dead_letters
    if settings is None:
        return f"none: {dropped}"
    if pipe.dead_letter is not None:
        limit = "; when it is full, they wait in the queue"
    else:
        limit = f"; it keeps the newest {_size(settings.max_consumer_lag or 0)}"
    return f"{settings.dir}: {' and '.join(kinds)}{limit}{f'; {dropped}' if dropped else ''}"


def _capacity(pipe: Pipe) -> str:
    return f"{_size(pipe.queue.total)} in segments of {_size(pipe.queue.segment_size)}"


def _plugin(plugin: Plugin) -> str:
    left_out = {"type", "name", "batch"} if isinstance(plugin, Sender) else {"type"}
    options = [
        f"{key}: {_value((key,), getattr(plugin, key))}"
        for key in type(plugin).model_fields
        if key in plugin.model_fields_set - left_out
    ]
    return f"{plugin.type} ({', '.join(options)})" if options else plugin.type


def _value(at: tuple[str, ...], value: Any) -> str:
    if is_secret(at):
        return "(hidden)"
    if isinstance(value, BaseModel):
        return _value(at, {key: each for key, each in value if key in value.model_fields_set})
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_value((*at, str(key)), each)}" for key, each in value.items()) + "}"
    if isinstance(value, tuple | list):
        return "[" + ", ".join(_value(at, each) for each in value) + "]"
    if isinstance(value, timedelta):
        return _time(value)
    if isinstance(value, str | Path):
        text = without_user(str(value))
        # As JSON, when it would not stay on its line.
        return text if text.isprintable() else json.dumps(text, ensure_ascii=False)
    return shown((), value)


def _batches(sender: Sender) -> str:
    batch = sender.bounded
    words = [f"a micro-batch every {_time(batch.interval)}"]
    if batch.max_records is not None:
        words.append(f"of at most {batch.max_records} records")
    if batch.max_bytes is not None:
        words.append(f"of at most {_size(batch.max_bytes)}")
    if batch.min_records > 1:
        words.append(f"when {batch.min_records} records wait, or after {_time(batch.longest_wait)}")
    return ", ".join(words)


def _time(value: timedelta) -> str:
    seconds = value.total_seconds()
    return f"{seconds:g} s" if seconds >= 1 or not seconds else f"{seconds * 1000:g} ms"


def _size(value: int) -> str:
    for unit, factor in (("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)):
        if value >= factor:
            return f"{value / factor:.4g} {unit}"
    return f"{value} bytes"
