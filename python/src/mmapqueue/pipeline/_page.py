"""The page of a running pipeline: what `mmapqueue top FILE` shows, as HTML without scripts."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable
from datetime import datetime, timezone
from html import escape

from mmapqueue._tools.pages import TEXT, Page
from mmapqueue._values.durations import age_text
from mmapqueue._values.errors import ConfigError
from mmapqueue.pipeline._table import COLUMNS, Cell, Column, Tone, lines, troubles
from mmapqueue.pipeline._watching import OK, WatchedPipeline
from mmapqueue.pipeline.config import Pipeline

_HTML = "text/html; charset=utf-8"
#: Seconds after which a browser loads the page again.
_REFRESH = 2
#: Seconds for which a sample serves further requests: each sample asks every process of the pipeline.
_FRESH = 1.0
_STYLE = """
:root { color-scheme: light dark }
body { font: 14px/1.5 system-ui, sans-serif; margin: 2em }
h1 { font-size: 1.2em }
.wide { overflow-x: auto }
table { border-collapse: collapse }
th, td { padding: .2em .8em; text-align: left; white-space: nowrap; border-bottom: 1px solid #8884 }
th { font-weight: normal; opacity: .7 }
.figure { text-align: right; font-variant-numeric: tabular-nums }
.name { font-weight: bold }
.good { color: light-dark(#17692b, #6fd08a) }
.warning { color: light-dark(#8a5a00, #f0c060) }
.bad { color: light-dark(#b3201a, #ff8a80); font-weight: bold }
dt { font-weight: bold; float: left; clear: left; margin-right: 1em }
"""


class LivePage:
    """Samples a pipeline when the page is asked for. Safe for any number of threads.

    Args:
        pipeline: The configuration.
    """

    def __init__(self, pipeline: Pipeline) -> None:
        self._lock = threading.Lock()
        self.change(pipeline)

    def change(self, pipeline: Pipeline) -> None:
        """Shows another configuration from now on."""
        with self._lock:
            self._pipeline = pipeline
            self._watched: WatchedPipeline | None = None
            self._sampled = float("-inf")
            self._last = Page(503, TEXT, b"the first sample is being taken\n")

    def answer(self) -> Page:
        """The page; 503 with the reason when the addresses of the processes are not known.

        Beside a sample it is the last page: a thread that waits could be the one that the sample needs.
        """
        if self._lock.acquire(blocking=False):
            try:
                if time.monotonic() - self._sampled > _FRESH:
                    self._last = self._new()
                    self._sampled = time.monotonic()
            finally:
                self._lock.release()
        return self._last

    def _new(self) -> Page:
        try:
            watched = self._watched = self._watched or WatchedPipeline(self._pipeline.name, self._pipeline)
        except ConfigError as error:
            return Page(503, TEXT, f"{error}\n".encode())
        watched.sample()
        return Page(200, _HTML, html(watched).encode())


def html(pipeline: WatchedPipeline) -> str:
    """The last sample as a document. All names and errors are escaped."""
    title = escape(pipeline.file)
    now = f"{datetime.now(timezone.utc):%Y-%m-%d %H:%M:%S} UTC"
    rates = "come with the next sample" if pipeline.seconds is None else f"are of the last {age_text(pipeline.seconds)}"
    head = "".join(f"<th{_classes(column, Tone.PLAIN)} scope=col>{escape(column.title)}</th>" for column in COLUMNS)
    body = "\n".join(f"<tr>{_cells(line)}</tr>" for line in lines(pipeline))
    senders = dict(troubles(pipeline))
    processes = [
        (name, line)
        for name, state in pipeline.states().items()
        for line in state.splitlines()
        if line != OK and line.partition(": ")[0] not in senders
    ]
    refused = [(f"server {what}", f"refused {count:,}") for what, count in pipeline.servers().items()]
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta http-equiv="refresh" content="{_REFRESH}">
<meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>{_STYLE}</style>
</head>
<body>
<h1>{title}</h1>
<p>{now}. Rates {rates}. Totals count from the start of the processes.
<a href="metrics">metrics</a>, <a href="ready">ready</a></p>
<div class=wide><table>
<thead><tr>{head}</tr></thead>
<tbody>
{body}
</tbody>
</table></div>
{_listed("Last errors", senders.items())}
{_listed("Processes that are not ready", processes)}
{_listed("Refused by servers", refused)}
</body>
</html>
"""


def _cells(line: list[Cell]) -> str:
    return "".join(
        f"<td{_classes(column, cell.tone)}>{escape(cell.text)}</td>" for cell, column in zip(line, COLUMNS, strict=True)
    )


def _classes(column: Column, tone: Tone) -> str:
    names = " ".join(filter(None, ("figure" if column.is_figure else "", tone.value)))
    return f' class="{names}"' if names else ""


def _listed(title: str, entries: Iterable[tuple[str, str]]) -> str:
    """Names and texts below a heading; nothing without an entry."""
    items = "\n".join(f"<dt>{escape(name)}</dt><dd class=bad>{escape(text)}</dd>" for name, text in entries)
    return f"<h2>{escape(title)}</h2>\n<dl>\n{items}\n</dl>" if items else ""
