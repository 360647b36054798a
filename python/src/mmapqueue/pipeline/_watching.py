"""Samples of a running pipeline, from the telemetry of its processes: what each pipe and sender does, and why not."""

import functools
import http.client
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import datetime, timezone
from time import monotonic
from typing import Any, NamedTuple

from prometheus_client.parser import text_string_to_metric_families

from mmapqueue._tools.pages import address
from mmapqueue._values.errors import ConfigError
from mmapqueue.pipeline.config import DEAD_LETTER, Pipeline

#: The maximum wait for a page, in seconds.
_PATIENCE = 5.0
_RECEIVED = ("gatherer_receive_count", "gatherer_fetch_count")
_GIVEN_UP = {"dead_letter", "dropped", "rejected", "damaged", "undecodable"}
#: What was taken before: the outcome of an event or a row by its idempotency key.
_REPEATED = "repeated"
_NO_SENDER: tuple[str | None, ...] = (None,)
#: A process that runs without a fault.
OK = "ok"

#: The values of a metric by its labels.
_Values = Mapping[str, str]


class SenderRow(NamedTuple):
    """What a sender has done, and its pipe. Totals count from the start of the processes.

    Attributes:
        pipe: The name of the pipe.
        received: Events that the pipe's receivers and fetchers have stored.
        received_per_second: Their rate since the previous sample; None when gather has not answered both times.
        received_again: Events that were stored before, by their idempotency keys, and were answered without a push.
        refused: Events that were not stored: rejected, dropped, malformed, too large, failed.
        queued: Records of the queue that some consumer has not acked; None without gather.
        fill: The part of the queue's capacity that is in use, of its fullest partition; None without gather.
        sender: The name of the sender; None for a pipe without one.
        sent: Rows that were sent, those of repeated micro-batches again.
        sent_per_second: Their rate since the previous sample; None when process has not answered both times.
        sent_again: Rows of requests that the receiver had got before.
        dead_letters: Records and rows that the sender has stored in the dead-letter queue of the pipe; those that no
            sender gets, such as undecodable ones, are those of a sender `dead_letter`.
        given_up: Records and rows that were not sent: dead letters, dropped, refused by the receiver, damaged,
            undecodable.
        lag_records: Records of the slowest partition that no completed micro-batch has read; None without process.
        lag_bytes: Their bytes.
        lag_seconds: The age of the oldest of them.
        state: `ok`, or what keeps the pipe or the sender from going on: the last error.
    """

    pipe: str
    received: int
    received_per_second: float | None
    received_again: int
    refused: int
    queued: int | None
    fill: float | None
    sender: str | None
    sent: int
    sent_per_second: float | None
    sent_again: int
    dead_letters: int
    given_up: int
    lag_records: int | None
    lag_bytes: int | None
    lag_seconds: float | None
    state: str


class _Process:
    """A process of the pipeline, by its telemetry."""

    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self._url = f"http://{f'[{host}]' if ':' in host else host}:{port}"
        self.state = ""
        self.values: list[tuple[str, _Values, float]] = []

    def sample(self) -> None:
        """Asks for the metrics and the state."""
        try:
            _, metrics = self._get("/metrics")
            status, text = self._get("/ready")
            self.values = [
                (each.name, each.labels, each.value)
                for family in text_string_to_metric_families(metrics)
                for each in family.samples
            ]
        except OSError as error:
            reason = getattr(error, "reason", None) or error
            self.state, self.values = f"{self.name} does not answer at {self._url}: {reason}", []
        except (http.client.HTTPException, ValueError) as error:
            # It has ended within its answer, or another program answers.
            self.state, self.values = f"{self.name} does not answer with metrics at {self._url}: {error}", []
        else:
            self.state = OK if status == 200 else text.strip()

    def _get(self, page: str) -> tuple[int, str]:
        try:
            with urllib.request.urlopen(self._url + page, timeout=_PATIENCE) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read().decode()


class WatchedPipeline:
    """A pipeline whose processes may run on this machine. Not thread-safe.

    Example:
        >>> watched = WatchedPipeline("pipeline.yaml", load("pipeline.yaml"))
        >>> watched.sample()
        >>> for row in watched.rows():
        ...     print(row.pipe, row.sender, row.state)

    Attributes:
        file: The file of the configuration.
        seconds: The time between the last two samples, of which rates are; None before the second one.

    Args:
        file: The file of the configuration, for messages.
        pipeline: The configuration.

    Raises:
        ConfigError: The pipeline serves no telemetry, or at a port that only its processes know.
    """

    def __init__(self, file: str, pipeline: Pipeline) -> None:
        self.file = file
        self._pipeline = pipeline
        if pipeline.telemetry is None:
            wanted = 'an address, as in telemetry: {listen: "127.0.0.1:1234"}'
            raise ConfigError(f"{file}: telemetry is missing; expected {wanted}", "telemetry", "none", wanted)
        listen = pipeline.telemetry.listen
        count = pipeline.gather.processes
        host, port = address("telemetry.listen", listen, count)
        if not port:
            allowed = "1 to 65535, as a port of 0 is known to the processes alone"
            raise ConfigError(f"{file}: telemetry.listen: {listen} is invalid; allowed: {allowed}", "telemetry.listen",
                              listen, allowed)  # fmt: skip
        # A process that listens on every address answers on this one, too.
        place = functools.partial(_Process, host="127.0.0.1" if host in ("", "0.0.0.0", "::") else host)
        self._gather = [
            place(f"gather process {index}" if count > 1 else "gather", port=port - count + index)
            for index in range(count)
            if any(pipe.receivers or pipe.fetchers for pipe in pipeline.pipes)
        ]
        self._process = [place("process", port=port)] if any(pipe.senders for pipe in pipeline.pipes) else []
        self.seconds: float | None = None
        self._time: float | None = None
        self._before: Counter[tuple[str, str]] = Counter()
        #: What the processes counted whose answers are in these totals.
        self._answered: set[str] = set()
        self._rows: list[SenderRow] = []

    def sample(self) -> None:
        """Takes a sample. A process that does not answer within five seconds is part of the state."""
        for each in (*self._gather, *self._process):
            each.sample()
        now = monotonic()
        self.seconds, self._time = None if self._time is None else now - self._time, now
        totals = self._totals()
        processes = {"received": self._gather, "sent": self._process}
        answered = {what for what, asked in processes.items() if all(each.values for each in asked)}
        self._rows = list(self._sampled(totals, self._answered & answered))
        self._before, self._answered = totals, answered

    def rows(self) -> list[SenderRow]:
        """The last sample: a row for each sender, and one for each pipe without senders."""
        return self._rows

    def states(self) -> dict[str, str]:
        """The state of each process, by its name: `ok`, or what keeps it from going on, one reason a line."""
        return {each.name: each.state for each in (*self._gather, *self._process)}

    def servers(self) -> dict[str, int]:
        """Requests and connections that servers have refused, by `<server> <reason>`."""
        found: Counter[str] = Counter()
        for labels, value in self._samples(self._gather, "server_refused_count"):
            found[f"{labels['server']} {labels['reason']}"] += int(value)
        return dict(found)

    def as_object(self) -> dict[str, Any]:
        """The last sample for JSON."""
        return {
            "time": datetime.now(timezone.utc),
            "file": self.file,
            "processes": self.states(),
            "servers_refused": self.servers(),
            "senders": [row._asdict() for row in self._rows],
        }

    @staticmethod
    def _samples(processes: list[_Process], metric: str) -> Iterator[tuple[_Values, float]]:
        for process in processes:
            for name, labels, value in process.values:
                if name == metric:
                    yield labels, value

    def _totals(self) -> Counter[tuple[str, str]]:
        """What is counted: by pipe and what, or by `<pipe>.<sender>` and what."""
        totals: Counter[tuple[str, str]] = Counter()
        for metric in _RECEIVED:
            for labels, value in self._samples(self._gather, metric):
                status = labels["status"]
                # A fetch that gave nothing is an attempt. Requests without a record count as stored, too.
                if status not in ("fail", "no_records"):
                    what = "received" if status == "success" else "again" if status == _REPEATED else "refused"
                    totals[labels["pipe"], what] += int(value)
        for labels, value in self._samples(self._process, "sender_output_count"):
            status, query = labels["status"], f"{labels['pipe']}.{labels['type']}"
            if status == "success" or status in _GIVEN_UP:
                totals[query, "sent" if status == "success" else "given up"] += int(value)
            # The query of undecodable records stores each of them.
            if status == DEAD_LETTER or (status == "undecodable" and labels["type"] == DEAD_LETTER):
                totals[query, "dead letters"] += int(value)
            if status == _REPEATED:
                totals[query, "again"] += int(value)
        return totals

    def _sampled(self, totals: Counter[tuple[str, str]], measured: set[str]) -> Iterator[SenderRow]:
        def rate(name: str, what: str) -> float | None:
            if self.seconds is None or what not in measured:
                return None
            # What a process has not counted yet is no part of its answer. One that was restarted counts from 0.
            return max(0.0, (totals[name, what] - self._before[name, what]) / self.seconds)

        lags = {
            metric: {
                (labels["pipe"], labels["sender"]): value
                for labels, value in self._samples(self._process, f"sender_lag_{metric}")
            }
            for metric in ("records", "bytes", "seconds")
        }
        for pipe in self._pipeline.pipes:
            names = [each.name for each in pipe.senders]
            counted = [name.removeprefix(f"{pipe.name}.") for name, _ in totals if name.startswith(f"{pipe.name}.")]
            for name in [*dict.fromkeys([*names, *counted])] or _NO_SENDER:
                query, of = f"{pipe.name}.{name}", (pipe.name, name or "")
                records, size, age = (lags[metric].get(of) for metric in ("records", "bytes", "seconds"))
                yield SenderRow(
                    pipe.name,
                    totals.get((pipe.name, "received"), 0),
                    rate(pipe.name, "received"),
                    totals.get((pipe.name, "again"), 0),
                    totals.get((pipe.name, "refused"), 0),
                    self._queued(pipe.name),
                    self._fill(pipe.name),
                    name,
                    totals.get((query, "sent"), 0),
                    rate(query, "sent"),
                    totals.get((query, "again"), 0),
                    totals.get((query, "dead letters"), 0),
                    totals.get((query, "given up"), 0),
                    None if records is None else int(records),
                    None if size is None else int(size),
                    age,
                    self._state(pipe.name, query),
                )

    def _queued(self, pipe: str) -> int | None:
        """The records that the slowest consumer of each partition has not acked."""
        slowest: dict[str, float] = {}
        for labels, value in self._samples(self._gather, "mmapqueue_lag_records"):
            if labels.get("pipe") == pipe:
                partition = labels["partition"]
                slowest[partition] = max(value, slowest.get(partition, 0.0))
        return int(sum(slowest.values())) if slowest else None

    def _fill(self, pipe: str) -> float | None:
        fills = []
        for each in self._gather:
            used, capacity = (
                sum(value for labels, value in self._samples([each], metric) if labels["pipeline"] == pipe)
                for metric in ("pipeline_queue_partition_size", "pipeline_queue_total_capacity")
            )
            if capacity:
                fills.append(used / capacity)
        return max(fills, default=None)

    def _state(self, pipe: str, query: str) -> str:
        """The reasons that name the query or its pipe, or those of a process as a whole."""
        reasons = []
        for process in (*self._gather, *self._process):
            for line in process.state.splitlines():
                if line == OK:
                    continue
                about, colon, reason = line.partition(": ")
                if about == query or about == f"pipe {pipe}":
                    reasons.append(reason)
                elif about == "queries that are not running":
                    if query in reason.split(", "):
                        reasons.append("is not running")
                elif not (colon and (about in self._queries() or about.startswith("pipe "))):
                    reasons.append(line)
        return "; ".join(reasons) or OK

    def _queries(self) -> set[str]:
        return {f"{pipe.name}.{sender.name}" for pipe in self._pipeline.pipes for sender in pipe.senders}
