"""A listener of queries gets progress as JSON, without PySpark's objects."""

import json
from pathlib import Path
from typing import Any

from conftest import eventually


def test_a_listener_gets_the_json_of_progress_until_it_is_removed(spark: Any, tmp_path: Path) -> None:
    from mmapqueue.pipeline.process.listening import JsonListener

    class Listener(JsonListener):
        def __init__(self) -> None:
            self.events: list[tuple[str, Any]] = []

        def onQueryStarted(self, event: Any) -> None:  # noqa: N802
            self.events.append(("started", event))

        def onQueryProgress(self, event: Any) -> None:  # noqa: N802
            self.events.append(("progress", event.progress))

        def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
            self.events.append(("terminated", event))

    def run(number: int) -> str:
        frame = spark.readStream.format("rate").load()
        writer = frame.writeStream.format("noop").option("checkpointLocation", str(tmp_path / str(number)))
        query = writer.trigger(availableNow=True).queryName(f"q{number}").start()
        query.awaitTermination()
        return str(query.runId)

    first, second = Listener(), Listener()
    spark.streams.addListener(first)
    spark.streams.addListener(second)
    run_id = run(1)
    # Spark reports late, also on earlier queries.
    assert eventually(lambda: all(each.events and each.events[-1][0] == "terminated" for each in (first, second)), 60)
    spark.streams.removeListener(first)
    before = len(first.events)
    run(2)
    assert eventually(lambda: [name for name, _ in second.events].count("terminated") == 2, 60)
    assert len(first.events) == before
    own = [(name, each) for name, each in first.events if name == "progress" and run_id in each.json]
    assert own
    assert json.loads(own[0][1].json)["name"] == "q1"
    # Others would have cost calls of the JVM.
    assert vars(own[0][1]).keys() == {"json"}
    assert [str(each.runId) for name, each in first.events if name == "started"] == [run_id]
