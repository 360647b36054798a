"""`mmapqueue process` under spark-submit, as docs/reference/pipeline/senders.md has it."""

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
from pipeline.processing import line, lines, parquet, push

pyspark = pytest.importorskip("pyspark")

SUBMIT = Path(pyspark.__file__).parent / "bin" / "spark-submit"
CONFIG = """\
name: shop
spark: {{master: "local[1]", conf: {{spark.sql.shuffle.partitions: 3, spark.ui.enabled: false}}}}
pipes:
  - name: logs
    queue: {{dir: queue, capacity: 16m, segment_size: 64k, max_event_size: 256k}}
    filters: [{{type: python, function: "session_of:with_settings"}}]
    senders: [{{type: spark, name: archive, format: parquet, options: {{path: "{out}"}}}}]
"""
FILTER = """\
from pyspark.sql import functions as sf


def with_settings(events):
    conf = events.sparkSession.sparkContext.getConf()
    settings = [events.sparkSession.conf.get("spark.sql.shuffle.partitions"), conf.get("spark.master")]
    return events.withColumn("settings", sf.lit(" ".join(settings)))
"""


@pytest.mark.slow
def test_process_uses_the_session_of_spark_submit(spark: Any, tmp_path: Path) -> None:
    push(tmp_path / "queue", lines(10))
    (tmp_path / "shop.yaml").write_text(CONFIG.format(out=tmp_path / "out"))
    (tmp_path / "submit.py").write_text("import mmapqueue.__main__\n")
    (tmp_path / "session_of.py").write_text(FILTER)
    options = ["--master", "local[2]", "--jars", str(mmapqueue.jar_path()), "--conf", "spark.driver.host=127.0.0.1"]
    run = subprocess.run(
        [str(SUBMIT), *options, "submit.py", "process", "shop.yaml", "--once"],
        cwd=tmp_path,
        env={**os.environ, "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=300,
    )
    assert run.returncode == 0, run.stdout
    assert parquet(spark, tmp_path / "out") == sorted(line(i) for i in range(10))
    # The command line's master counts; of the file, what the command line does not say.
    (settings,) = spark.read.parquet(str(tmp_path / "out")).select("settings").distinct().collect()
    assert settings.settings == "3 local[2]"
    assert "has not been configured" not in run.stdout
    assert "spark.sql.adaptive.enabled is not supported" not in run.stdout
