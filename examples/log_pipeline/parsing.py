"""Log lines to columns, with Spark DataFrames.

Known are syslog (both of its time formats), dpkg.log, apt's history.log and term.log, alternatives.log, and
any line that begins with a date and a time. Of a line of another shape the whole text is the message.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import NamedTuple

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

#: What the job hands in: a record of the queue, unpacked. `pushed` is when the queue took it.
RECORD_SCHEMA = "offset bigint, pushed timestamp, source string, position bigint, line bigint, raw binary"

_DATE = r"\d{4}-\d\d-\d\d"
_CLOCK = r"\d\d:\d\d:\d\d"
_FRACTION_AND_ZONE = r"(?:[.,]\d+)?(?:Z|[+-]\d\d:?\d\d)?"
_PROGRAM = r"([^\s:\[]+)(?:\[\d+\])?:"
_DPKG = "startup|status|install|upgrade|remove|purge|configure|trigproc|conffile|disappear"
_APT = "Commandline|Requested-By|Install|Reinstall|Upgrade|Downgrade|Remove|Purge|Error"
_APT_TERM = "Preparing to unpack|Unpacking|Selecting|Setting up|Removing|Purging|Processing triggers"
_LEVEL = r"(?i:(TRACE|DEBUG|INFO|NOTICE|WARN|WARNING|ERROR|FATAL|CRITICAL))"

_WITH_YEAR = "yyyy-MM-dd HH:mm:ss"
_WITHOUT_YEAR = "yyyy MMM d HH:mm:ss"


class Format(NamedTuple):
    """How one kind of line looks. The numbers are groups of the pattern, 0 where a line has no such part."""

    name: str
    pattern: str
    time: int
    action: int  # what was done, at which level, or by which program
    message: int
    time_format: str = _WITH_YEAR


#: Tried in this order; the first whose pattern matches says what a line is.
FORMATS = (
    Format("dpkg", rf"^({_DATE} {_CLOCK}) ({_DPKG})\b ?(.*)$", 1, 2, 3),
    Format("alternatives", rf"^update-alternatives ({_DATE} {_CLOCK}): (run with|link group|\S+) ?(.*)$", 1, 2, 3),
    Format("apt", rf"^(Start-Date|End-Date|Log started|Log ended): ({_DATE}  {_CLOCK})$", 2, 1, 0),
    Format("apt", rf"^({_APT}): (.*)$", 0, 1, 2),
    Format("apt", rf"^({_APT_TERM}) ?(.*)$", 0, 1, 2),
    Format("syslog", rf"^({_DATE}T{_CLOCK}){_FRACTION_AND_ZONE} \S+ {_PROGRAM} ?(.*)$", 1, 2, 3),
    Format("syslog", rf"^([A-Z][a-z]{{2}} +\d+ {_CLOCK}) \S+ {_PROGRAM} ?(.*)$", 1, 2, 3, _WITHOUT_YEAR),
    Format("dated", rf"^\[?({_DATE}[ T]{_CLOCK}){_FRACTION_AND_ZONE}\]?[ :]*(?:\[?{_LEVEL}\b\]?)?[ :]*(.*)$", 1, 2, 3),
    Format("other", r"^(.*)$", 0, 0, 1),
)


def parse(records: DataFrame) -> DataFrame:
    """Add the columns format, time, action and message to rows of `RECORD_SCHEMA`.

    `time` is as the line has it, its zone left out; null where the line has none. Bytes that are not UTF-8
    show as the replacement character in the text columns; `raw` keeps them.
    """
    text = F.regexp_replace(F.col("raw").cast("string"), r"[\r\n]+$", "")
    return (
        records.withColumn("text", text)
        .withColumn("format", _choose(lambda kind: F.lit(kind.name)))
        .withColumn("time", _choose(_time))
        .withColumn("action", _choose(lambda kind: _group(kind, kind.action)))
        .withColumn("message", _choose(lambda kind: _group(kind, kind.message)))
        .drop("text")
    )


def _choose(value: Callable[[Format], Column]) -> Column:
    """Return `value` of the first format that a line matches."""
    first, *others = FORMATS
    cases = F.when(F.col("text").rlike(_dotall(first)), value(first))
    return reduce(lambda so_far, kind: so_far.when(F.col("text").rlike(_dotall(kind)), value(kind)), others, cases)


def _dotall(kind: Format) -> str:
    # Lines may hold carriage returns, where "." would stop.
    return "(?s)" + kind.pattern


def _group(kind: Format, number: int) -> Column:
    """Return a group of the pattern, null where it is empty or the format has no such part."""
    if not number:
        return F.lit(None).cast("string")
    return F.nullif(F.regexp_extract("text", _dotall(kind), number), F.lit(""))


def _time(kind: Format) -> Column:
    if not kind.time:
        return F.lit(None).cast("timestamp")
    text = F.regexp_replace(_group(kind, kind.time), "[ T]+", " ")
    if kind.time_format == _WITH_YEAR:
        # A time that does not exist, such as 25:00:00, gives null here rather than an error.
        return F.try_to_timestamp(text, F.lit(kind.time_format))
    # Old syslog has no year: it is that of the push, or the one before when that would be in the future.
    pushed = F.col("pushed")
    time, before = (
        F.try_to_timestamp(F.concat_ws(" ", (F.year(pushed) - back).cast("string"), text), F.lit(kind.time_format))
        for back in (0, 1)
    )
    return F.when(time > pushed + F.expr("INTERVAL 1 DAY"), before).otherwise(time)


def without_duplicates(rows: DataFrame) -> DataFrame:
    """Keep one row of each line.

    A job that is killed between writing and acking gets the same records again: they have the same offset.
    An agent that is killed between pushing and noting it pushes the same lines again: those have offsets of
    their own, but the same source and position. The earliest counts.
    """
    copies = Window.partitionBy("source", "position").orderBy("offset")
    return rows.withColumn("copy", F.row_number().over(copies)).where("copy = 1").drop("copy")


def per_minute(rows: DataFrame) -> DataFrame:
    """Count lines and bytes per source and minute. A line without a time has that of the line before it."""
    before = Window.partitionBy("source").orderBy("position")
    minute = F.date_trunc("minute", F.last("time", ignorenulls=True).over(before))
    return (
        rows.withColumn("minute", minute)
        .groupBy("source", "minute")
        .agg(F.count("*").alias("lines"), F.sum(F.length("raw")).alias("bytes"))
        .orderBy("minute", "source")
    )
