"""A pipe with a queue that is shipped by a key of its configuration."""

from pathlib import Path

from archive_runs import payloads
from conftest import eventually
from mmapqueue.pipeline import Event
from pipeline.gathering import gathering, request


def test_gather_ships_the_queue_of_a_pipe(tmp_path: Path) -> None:
    archive = tmp_path / "shared" / "archive"
    with gathering(tmp_path, keys="archive_uri: shared/archive, ship_period: 10ms") as gather:
        for number in range(20):
            gather.export(request(f"log {number}")).result()
        assert eventually(lambda: archive.exists() and len(payloads(archive)) == 20, 120)
    found = [Event.FromString(data).data for data in payloads(archive) if data is not None]
    assert all(f"log {number}".encode() in each for number, each in enumerate(found))
