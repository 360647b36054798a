"""Rows of payloads."""

from __future__ import annotations

from typing import Literal

from mmapqueue._values.annotations import DataFrame
from mmapqueue.pipeline.plugins import Filter
from mmapqueue.pipeline.process.events import Rows, explode


class Explode(Filter):
    """Makes one row of each log record, span or data point.

    Attributes:
        rows: `logs`, `spans` or `points`.
    """

    type: Literal["explode"] = "explode"
    rows: Rows

    def apply(self, events: DataFrame) -> DataFrame:
        """The rows; payloads that cannot be decoded are rows with `error`."""
        return explode(events, self.rows)
