"""The screen of `top`."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path

from rich import box
from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from mmapqueue._cli.screens.watching import Sample, Watched
from mmapqueue._values.durations import age_text
from mmapqueue._values.texts import size_text

_BARS = "▁▂▃▄▅▆▇█"
#: Columns of the texts beside a sparkline.
_TEXT_WIDTH = 63
_LEAST_WIDTH = 8
_BAR_WIDTH = 30
_FULL, _NEARLY_FULL = 0.9, 0.7


def sparkline(values: Sequence[float], width: int) -> str:
    """The last values as bars, the highest of them as the highest bar; an empty bar of 0 is the lowest one."""
    shown = list(values)[-width:]
    highest = max(shown, default=0)
    if highest <= 0:
        return _BARS[0] * len(shown)
    return "".join(_BARS[min(len(_BARS) - 1, int(value / highest * len(_BARS)))] for value in shown)


def screen(queues: Iterable[Watched], width: int, interval: float) -> RenderableType:
    """All queues, one below the other.

    Args:
        queues: The queues, with their samples.
        width: Columns of the terminal.
        interval: Seconds between two samples.
    """
    head = Table.grid(expand=True)
    head.add_column()
    head.add_column(justify="right")
    head.add_row(
        Text.assemble(("mmapqueue top", "bold"), f"  every {age_text(interval)}  ", ("q", "bold"), " ends"),
        Text(f"{datetime.now():%H:%M:%S}"),
    )
    return Group(head, *(_panel(queue, width) for queue in queues))


def _panel(queue: Watched, width: int) -> Panel:
    content = Text(queue.failure, style="red") if queue.last is None else _content(queue, queue.last, width)
    path = Path(queue.path)
    above = "" if path.parent == Path.cwd() else f"  {path.parent}"
    title = Text.assemble((path.name, "bold"), (above, "dim"))
    return Panel(content, title=title, title_align="left", box=box.ROUNDED)


def _content(queue: Watched, sample: Sample, width: int) -> RenderableType:
    stats = sample.stats
    spark = max(_LEAST_WIDTH, width - _TEXT_WIDTH)
    color = "red" if stats.fill >= _FULL else "yellow" if stats.fill >= _NEARLY_FULL else "green"
    held = stats.slowest_consumer or ("no consumer" if stats.records else "-")
    fill = Table.grid(padding=(0, 2))
    fill.add_row(
        Text("fill  "),
        ProgressBar(
            total=1.0, completed=stats.fill, width=min(_BAR_WIDTH, spark), complete_style=color, finished_style=color
        ),
        Text(f"{stats.fill:6.1%} of {size_text(stats.capacity)}", style=color),
        Text(f"held by {held}", style="dim"),
    )
    rates = Table.grid(padding=(0, 2))
    rates.add_column()
    rates.add_column(justify="right", min_width=12)
    rates.add_column(justify="right", min_width=9)
    rates.add_column()
    for name, rate, size, values, style in (
        ("pushed", stats.pushed_per_second, stats.pushed_bytes_per_second, queue.pushed, "cyan"),
        ("acked ", sample.acked_per_second, sample.acked_bytes_per_second, queue.acked, "magenta"),
    ):
        line = Text(sparkline(values, spark), style=style)
        rates.add_row(name, _rate(queue, f"{rate:,.0f}"), _rate(queue, size_text(int(size))), line)
    return Group(fill, rates, _consumers(queue, sample, spark))


def _rate(queue: Watched, per_second: str) -> str:
    """A rate, which the first sample does not have."""
    return f"{per_second}/s" if len(queue.acked) > 1 else "-"


def _consumers(queue: Watched, sample: Sample, spark: int) -> RenderableType:
    if not sample.consumers:
        return Text("no consumer: the queue retains everything", style="dim")
    table = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 2, 0, 0))
    table.add_column("consumer", max_width=20, no_wrap=True)
    for title in ("lag", "archived", "in flight", "bytes", "age", "acked"):
        table.add_column(title, justify="right", no_wrap=True)
    table.add_column("lag over time", no_wrap=True)
    for row in sample.consumers:
        table.add_row(
            row.name,
            f"{row.lag_records:,}",
            f"{row.archived_records:,}",
            f"{row.in_flight:,}",
            size_text(row.lag_bytes),
            age_text(row.lag_seconds),
            _rate(queue, f"{row.acked_per_second:,.0f}"),
            Text(sparkline(queue.lags[row.name], spark), style="yellow"),
        )
    return table
