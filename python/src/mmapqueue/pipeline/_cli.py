"""Implements the commands gather, process, run, reload, restart and check."""

from __future__ import annotations

import contextlib
import functools
import json
import logging
import sys
from typing import TYPE_CHECKING

from mmapqueue._values.errors import ConfigError, MmapQueueError
from mmapqueue.pipeline import _control, _signals
from mmapqueue.pipeline._check import described, risks
from mmapqueue.pipeline.config import ConfigFileError, files_of, load_all
from mmapqueue.pipeline.gather import main, supervisor
from mmapqueue.pipeline.gather.rehearsal import rehearse

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from mmapqueue.pipeline._watching import WatchedPipeline
    from mmapqueue.pipeline.config import Loaded, Pipeline

OK = 0
FAILED = 1
USAGE = 2


@_signals.hangups_held()
def gather(
    file: str,
    log_level: str,
    *,
    partition: int | None,
    listen: Sequence[str],
    parent: int | None,
    successor: int | None,
    watch: bool,
) -> int:
    """Runs the gathering half until a signal; returns the exit status."""
    loaded = _loaded(file, log_level)
    if isinstance(loaded, int):
        return loaded
    if not any(pipe.receivers or pipe.fetchers for pipe in loaded.pipeline.pipes):
        return _refused(f"{file}: no pipe has receivers or fetchers; there is nothing to gather")
    main.start_ahead(loaded.pipeline, partition=partition)
    wrong = _rehearsed(loaded, file)
    if wrong:
        return wrong
    _warn(loaded)
    return _guarded(
        lambda: main.run(
            loaded.pipeline,
            file=file,
            partition=partition,
            listen=dict(each.split("=", 1) for each in listen),
            parent=parent,
            successor=successor,
            log_level=log_level,
            watch=watch,
        )
    )


@_signals.hangups_held()
def process(file: str, log_level: str, *, once: bool, parent: int | None, watch: bool) -> int:
    """Runs the filters and senders until a signal; returns the exit status."""
    with contextlib.ExitStack() as starting:
        # Spark's JVM ignores SIGHUP. Before the file is read: a SIGHUP that comes later asks for another look at it.
        starting.enter_context(_signals.children_ignore_hangups())
        loaded = _loaded(file, log_level)
        if isinstance(loaded, int):
            return loaded
        if not any(pipe.senders for pipe in loaded.pipeline.pipes):
            return _refused(f"{file}: no pipe has senders; there is nothing to process")
        _warn(loaded)
        if parent is not None:
            supervisor.end_with(parent)
        return _guarded(lambda: _run_process(loaded.pipeline, file, once=once, watch=watch, started=starting.close))


def _run_process(pipeline: Pipeline, file: str, *, once: bool, watch: bool, started: Callable[[], None]) -> int:
    from mmapqueue.pipeline.process import runner

    run = functools.partial(
        runner.main,
        pipeline,
        once=once,
        file=file,
        load=functools.partial(main.checked, file),
        watched=functools.partial(files_of, file) if watch else None,
        started=started,
    )
    if pipeline.telemetry is None:
        return run()
    from mmapqueue.pipeline.telemetry import ProcessTelemetry

    with ProcessTelemetry(pipeline) as telemetry:
        return run(telemetry=telemetry)


def reload(file: str) -> int:
    """Has the processes of a configuration file reload it, all or none; prints the outcomes, returns the status."""
    loaded = _loaded(file, "warning")
    if isinstance(loaded, int):
        return loaded
    roles = ["gather", *(f"gather-{partition}" for partition in range(loaded.pipeline.gather.processes)), "process"]
    try:
        done = _control.reload_together(roles, file)
    except OSError as error:
        print(f"mmapqueue: {error}; nothing has changed", file=sys.stderr)
        return FAILED
    if not done.running:
        print(f"mmapqueue: no process runs {file} on this machine", file=sys.stderr)
        return FAILED
    for role, pid in done.changed.items():
        print(f"{role} (process {pid}): reloaded", flush=True)
    for line in done.said():
        print(line, file=sys.stderr)
    return FAILED if done.failed or done.lost else OK


def restart(file: str) -> int:
    """Has a supervisor restart its processes one after the other; returns the exit status."""
    loaded = _checked(file)
    if isinstance(loaded, int):
        return loaded
    try:
        outcome = _control.ask("supervisor", file)
    except OSError as error:
        print(f"mmapqueue: {error}", file=sys.stderr)
        return FAILED
    if outcome is None:
        print(
            f"mmapqueue: no process runs {file} as `mmapqueue run`, or with gather.processes above 1, on this machine",
            file=sys.stderr,
        )
        return FAILED
    for line in outcome.errors:
        print(line, file=sys.stderr)
    if not outcome.errors:
        print(f"process {outcome.pid}: all children restarted")
    return FAILED if outcome.errors else OK


@_signals.hangups_held()
def run(file: str, log_level: str, *, watch: bool) -> int:
    """Runs both halves as processes until a signal; returns the exit status."""
    loaded = _loaded(file, log_level)
    if isinstance(loaded, int):
        return loaded
    for what, used in {
        "receivers or fetchers": any(pipe.receivers or pipe.fetchers for pipe in loaded.pipeline.pipes),
        "senders": any(pipe.senders for pipe in loaded.pipeline.pipes),
    }.items():
        if not used:
            return _refused(f"{file}: no pipe has {what}; use `mmapqueue gather` or `mmapqueue process` alone")
    wrong = _rehearsed(loaded, file)
    if wrong:
        return wrong
    return _guarded(lambda: supervisor.run_both(loaded.pipeline, file, log_level=log_level, watch=watch))


def print_schema() -> int:
    """Prints the JSON Schema of configurations; returns the exit status."""
    from mmapqueue.pipeline.config._schema import schema

    print(json.dumps(schema(), indent=2))
    return OK


def check(file: str) -> int:
    """Validates a configuration, and prints what would run; returns the exit status."""
    loaded = _checked(file)
    if isinstance(loaded, int):
        return loaded
    for line in (*loaded.warnings, *(f"{file}: {each}" for each in risks(loaded.pipeline))):
        print(f"warning: {line}", file=sys.stderr)
    print(described(loaded.pipeline))
    return OK


def watched(file: str) -> WatchedPipeline:
    """The pipeline of a configuration, to be watched while it runs.

    Raises:
        ConfigError: The configuration is invalid, or has no telemetry.
    """
    from mmapqueue.pipeline._watching import WatchedPipeline

    try:
        return WatchedPipeline(file, load_all(file).pipeline)
    except ConfigFileError as error:
        raise ConfigError(str(error), "FILE", file, "a valid configuration: mmapqueue check") from None


def _loaded(file: str, log_level: str) -> Loaded | int:
    """The configuration; the exit status if it is invalid."""
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(asctime)s %(levelname)s %(name)s: %(message)s")
    # Libraries keep their log levels: at debug, py4j would log the token that authenticates with the JVM.
    logging.getLogger("mmapqueue").setLevel(log_level.upper())
    for library in ("py4j", "watchfiles"):
        logging.getLogger(library).setLevel(logging.WARNING)
    try:
        return load_all(file)
    except ConfigFileError as error:
        return _refused(str(error))


def _checked(file: str) -> Loaded | int:
    """The configuration, with receivers that fit their servers; else the exit status."""
    loaded = _loaded(file, "warning")
    return loaded if isinstance(loaded, int) else _rehearsed(loaded, file) or loaded


def _rehearsed(loaded: Loaded, file: str) -> int:
    """The exit status when receivers do not fit their servers, else 0."""
    try:
        rehearse(loaded.pipeline)
    except ValueError as error:
        return _refused(f"{file}: {error}")
    return OK


def _warn(loaded: Loaded) -> None:
    for line in loaded.warnings:
        logging.getLogger("mmapqueue.pipeline").warning("%s", line)


def _guarded(run: Callable[[], int]) -> int:
    """Runs; prints a failure in one line. The exit status is 2 for invalid values, 1 for other failures."""
    try:
        return run()
    except ConfigError as error:
        return _refused(f"mmapqueue: {error}")
    except (MmapQueueError, OSError) as error:
        print(f"mmapqueue: {error}", file=sys.stderr)
        return FAILED


def _refused(lines: str) -> int:
    print(lines, file=sys.stderr)
    return USAGE
