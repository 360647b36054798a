"""What a query has committed to its directory of Parquet files, read without Spark."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import PurePosixPath
from typing import NamedTuple

import pyarrow.parquet as pq

from cluster.hdfs import Hdfs
from cluster.records import parse


class Row(NamedTuple):
    """A record in the sink."""

    partition: int
    offset: int
    host: str
    number: int


class Sink:
    """The directory. Files are read once."""

    def __init__(self, hdfs: Hdfs, directory: str) -> None:
        self._hdfs = hdfs
        self._directory = directory
        self._batches: set[str] = set()
        #: By name, in the order of commits; a file's rows in its own order.
        self.files: dict[str, list[Row]] = {}

    def refresh(self) -> None:
        """Reads what was committed since.

        Raises:
            ValueError: A record is not as it was pushed.
        """
        log = [entry.path for entry in self._hdfs.list(f"{self._directory}/_spark_metadata")]
        batches = [path for path in log if PurePosixPath(path).name.partition(".")[0].isdigit()]
        # A compacted one holds all before it, which may be gone by now.
        for path in sorted(batches, key=lambda path: int(PurePosixPath(path).name.partition(".")[0])):
            if path not in self._batches:
                for line in self._hdfs.read(path).decode().splitlines()[1:]:
                    name = PurePosixPath(json.loads(line)["path"]).name
                    if name not in self.files:
                        self.files[name] = self._rows(f"{self._directory}/{name}")
                self._batches.add(path)

    def _rows(self, path: str) -> list[Row]:
        table = pq.read_table(io.BytesIO(self._hdfs.read(path)), columns=["partition", "offset", "value"])
        columns = (table[name].to_pylist() for name in ("partition", "offset", "value"))
        return [Row(partition, offset, *parse(value)[:2]) for partition, offset, value in zip(*columns, strict=True)]

    def counts(self) -> dict[str, int]:
        """Rows of each host."""
        found: dict[str, int] = {}
        for rows in self.files.values():
            for row in rows:
                found[row.host] = found.get(row.host, 0) + 1
        return found

    def faults(self, least: Mapping[str, int], most: Mapping[str, int]) -> list[str]:
        """What is wrong: a record that is missing, comes twice, out of order, or with another offset than in its queue.

        Args:
            least: How many records of each host must be there, from the first one on.
            most: How many of each host were pushed at most.
        """
        found = []
        partitions: dict[str, set[int]] = {}
        seen: dict[str, set[int]] = {host: set() for host in most}
        for name, rows in self.files.items():
            last: dict[int, int] = {}
            for row in rows:
                partitions.setdefault(row.host, set()).add(row.partition)
                if row.offset != row.number:
                    found.append(f"{name}: {row} has another offset than in its queue")
                if row.offset <= last.get(row.partition, -1):
                    found.append(f"{name}: {row} comes after offset {last[row.partition]}")
                last[row.partition] = row.offset
                if row.number in seen.setdefault(row.host, set()):
                    found.append(f"{name}: {row} comes twice")
                seen[row.host].add(row.number)
        for host, numbers in seen.items():
            first_missing = next(number for number in range(len(numbers) + 1) if number not in numbers)
            if first_missing < len(numbers):
                found.append(f"{host}: record {first_missing} is missing, {max(numbers)} exists")
            if first_missing < least.get(host, 0):
                found.append(f"{host}: {first_missing} records of at least {least[host]}")
            if len(numbers) > most.get(host, 0):
                found.append(f"{host}: {len(numbers)} records, of which at most {most.get(host, 0)} were pushed")
        if sorted(len(each) for each in partitions.values()) != [1] * len(set().union(*partitions.values())):
            found.append(f"partitions and hosts are not one to one: {partitions}")
        return found
