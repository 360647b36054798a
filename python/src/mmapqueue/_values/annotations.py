"""Names in annotations that may be missing at run time, so that `typing.get_type_hints` can resolve all annotations.

pyspark and pyarrow are optional, and slow to import: at run time their classes count as Any here.
"""

import sys
from typing import TYPE_CHECKING, Any, TypeVar

if TYPE_CHECKING:
    from pyarrow import RecordBatch, RecordBatchReader
    from pyspark import SparkContext
    from pyspark.sql import DataFrame, DataFrameWriter, SparkSession
    from pyspark.sql.streaming.query import StreamingQuery
    from pyspark.sql.streaming.readwriter import DataStreamWriter
    from typing_extensions import Self, Unpack
    from typing_extensions import TypeVar as TypeVarWithDefault

    #: The type of a queue's messages: bytes, or the objects of its serializer.
    Value = TypeVarWithDefault("Value", default=bytes)
else:
    Value = TypeVar("Value")
    RecordBatch = RecordBatchReader = Any
    SparkContext = SparkSession = DataFrame = DataFrameWriter = DataStreamWriter = StreamingQuery = Any
    if sys.version_info >= (3, 11):
        from typing import Self, Unpack
    else:
        Self = Any

        class Unpack:
            """Marks unpacked keyword arguments."""

            def __class_getitem__(cls, item: Any) -> Any:
                return item


__all__ = [
    "DataFrame",
    "DataFrameWriter",
    "DataStreamWriter",
    "RecordBatch",
    "RecordBatchReader",
    "Self",
    "SparkContext",
    "SparkSession",
    "StreamingQuery",
    "Unpack",
    "Value",
]
