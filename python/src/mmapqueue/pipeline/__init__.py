"""Collector: receivers and fetchers → queue → filters → senders, with filters and senders on Spark.

    mmapqueue gather pipeline.yaml      # takes events and pushes them; no Spark
    mmapqueue process pipeline.yaml     # reads the queues in Spark, filters and sends
    mmapqueue run pipeline.yaml         # both
    mmapqueue check pipeline.yaml       # validates the file

A Spark job can read events itself with `events(spark, directory)`, and decode payloads with `explode`.

Needs `pip install mmapqueue[pipeline]`. Plugins are classes of `mmapqueue.pipeline.plugins`.
"""

from mmapqueue.pipeline._event import encode
from mmapqueue.pipeline.event_pb2 import Event, EventType
from mmapqueue.pipeline.process.events import events, events_batch, explode

__all__ = ["Event", "EventType", "encode", "events", "events_batch", "explode"]
