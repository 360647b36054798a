"""What the tests of the collector share: a Spark session, and a fetcher of files that is led step by step."""

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, settings

from pipeline.tailing import Make, MemoryInbox, Steps
from sessions import spark_session

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A busy machine makes any example slow.
settings.register_profile("no clock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("no clock")


@pytest.fixture(scope="package")
def spark(tmp_path_factory: pytest.TempPathFactory) -> Iterator["SparkSession"]:
    """A session on three cores, for all tests of the collector."""
    pytest.importorskip("pyspark")
    with spark_session(3, tmp_path_factory.mktemp("warehouse"), "ERROR", spark_scheduler_mode="FAIR") as session:
        yield session


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "app.log"


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Make]:
    made: list[Steps] = []

    def make_one(inbox: MemoryInbox | None = None, **options: Any) -> Steps:
        steps = Steps(inbox or MemoryInbox(), **{"paths": [str(tmp_path / "*.log")], **options})
        made.append(steps)
        steps.start()
        return steps

    yield make_one
    for each in made:
        each.close()
