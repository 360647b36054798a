"""The template of a Declarative Pipeline, examples/spark_pipeline, under spark-pipelines."""

import importlib.util
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import mmapqueue
from conftest import LONG

pyspark = pytest.importorskip("pyspark")

if tuple(map(int, pyspark.__version__.split(".")[:2])) < (4, 1):
    pytest.skip("Declarative Pipelines begin with Spark 4.1", allow_module_level=True)

from pyspark.sql import SparkSession  # noqa: E402

#: The libraries of a client of Spark Connect, if `make test-connect` has installed them.
CONNECT = Path(__file__).parents[2] / ".venv" / "connect"
TEMPLATE = Path(__file__).parents[2] / "examples" / "spark_pipeline"
HAS_CLIENT = CONNECT.is_dir() or all(importlib.util.find_spec(name) for name in ("grpc", "pandas", "pyarrow"))
#: One that outlives an update, which takes another quarter of a minute to begin with.
CATALOG = {"spark.sql.catalogImplementation": "hive"} if LONG else {}

pytestmark = pytest.mark.skipif(not HAS_CLIENT, reason="needs the libraries of a client: make test-connect")


def push(path: Path, numbers: Iterable[int]) -> None:
    with mmapqueue.Queue(path, segment_size="64k", capacity="16m") as queue:
        for number in numbers:
            order = {"id": number, "customer": f"c{number % 2}", "amount": number * 100.0}
            queue.push(json.dumps(order).encode())


def update(directory: Path) -> None:
    """Runs the pipeline once."""
    settings = {
        "spark.jars": str(mmapqueue.jar_path()),
        "spark.ui.enabled": "false",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.sql.warehouse.dir": str(directory / "warehouse"),
        "spark.sql.shuffle.partitions": "1",
        **CATALOG,
    }
    (directory / "conf").mkdir(exist_ok=True)
    defaults = "".join(f"{key} {value}\n" for key, value in settings.items())
    (directory / "conf" / "spark-defaults.conf").write_text(defaults)
    environment = {"SPARK_CONF_DIR": str(directory / "conf"), "PYTHONPATH": str(CONNECT)}
    command = [str(Path(pyspark.__file__).parent / "bin" / "spark-pipelines"), "run", "--remote", "local[2]"]
    ran = subprocess.run(
        command,
        cwd=directory,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable, **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    assert ran.returncode == 0, ran.stdout
    assert "Run is COMPLETED" in ran.stdout


def table(spark: SparkSession, directory: Path, name: str) -> list[tuple[object, ...]]:
    return sorted(tuple(row) for row in spark.read.parquet(str(directory / "warehouse" / name)).collect())


def alerts(directory: Path) -> list[int]:
    with mmapqueue.Queue(directory / "queues" / "alerts") as queue:
        return sorted(json.loads(message.data)["id"] for message in queue.read_many(0, 100))


def test_the_template(spark: SparkSession, tmp_path: Path) -> None:
    shutil.copytree(TEMPLATE, tmp_path, dirs_exist_ok=True)
    specification = tmp_path / "spark-pipeline.yml"
    specification.write_text(specification.read_text().replace("/data/", f"{tmp_path}/"))
    push(tmp_path / "queues" / "orders", range(15))
    update(tmp_path)
    assert [row[:3] for row in table(spark, tmp_path, "orders")] == [(i, f"c{i % 2}", i * 100.0) for i in range(15)]
    assert table(spark, tmp_path, "revenue") == [("c0", 8, 5600.0), ("c1", 7, 4900.0)]
    assert alerts(tmp_path) == [10, 11, 12, 13, 14]
    if LONG:
        # Each update continues where the last one ended.
        push(tmp_path / "queues" / "orders", range(15, 20))
        update(tmp_path)
        assert [row[0] for row in table(spark, tmp_path, "orders")] == list(range(20))
        assert alerts(tmp_path) == list(range(10, 20))
