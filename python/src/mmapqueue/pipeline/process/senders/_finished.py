"""The finished requests of a micro-batch, in files beside its checkpoint: a micro-batch that is repeated skips them."""

from __future__ import annotations

import logging
from pathlib import Path
from typing import IO

from mmapqueue.pipeline.process.senders._requests import Request

_LOG = logging.getLogger("mmapqueue.pipeline.senders")


class FinishedRequests:
    """The requests of one partition that a micro-batch has finished. Belongs to one task.

    Every line is a true statement about a request of that micro-batch, whichever task has written it and whatever
    became of other lines. So a loss of lines, and tasks of a driver that was killed, cost repetitions at most.

    Args:
        directory: Directory of the files; nothing is kept where it does not exist, such as on another host.
        partition: Number of the partition.
        batch: Number of the micro-batch.
    """

    def __init__(self, directory: Path, partition: int, batch: int) -> None:
        self._path = directory / str(partition)
        self._batch = f"{batch}\n"
        self._file: IO[bytes] | None = None
        try:
            lines = self._path.read_text().splitlines(keepends=True)
        except OSError:
            lines = []
        self._is_new = lines[:1] != [self._batch]
        self._found = set() if self._is_new else set(lines[1:])
        #: What comes before the next line: the number of the micro-batch, or the end of a line that a kill has torn.
        self._before = self._batch if self._is_new else "" if lines[-1].endswith("\n") else "\n"

    def __contains__(self, request: Request) -> bool:
        return f"{request.label}\n" in self._found

    def add(self, request: Request) -> None:
        """Notes a request that must not be sent again. The note survives a kill; an error costs a repetition."""
        line = f"{request.label}\n"
        if line in self._found:
            return
        self._found.add(line)
        try:
            if self._file is None:
                self._file = self._path.open("wb" if self._is_new else "ab", buffering=0)
            self._file.write((self._before + line).encode())
            self._before = ""
        except OSError as error:
            _LOG.debug("request %s is not noted as finished: %s", request.key, error)

    def close(self) -> None:
        """Closes the file."""
        if self._file is not None:
            self._file.close()
