"""Jobs that get the jar by its Maven coordinates, from the repository that `make publish` has made."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue

from .conftest import Fill

pyspark = pytest.importorskip("pyspark")

ROOT = Path(__file__).parents[2]
REPOSITORY = ROOT / "build" / "repository"
VERSION = mmapqueue.__version__
PUBLISHED = REPOSITORY / "org" / "mmapqueue" / "mmapqueue" / VERSION

pytestmark = pytest.mark.skipif(not PUBLISHED.is_dir(), reason="`make test-packages` publishes the jar first")

JOB = """\
import sys

from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
print("counted", spark.read.format("mmapqueue").load(sys.argv[1]).count())
bridge = spark._jvm.java.lang.Thread.currentThread().getContextClassLoader().loadClass("org.mmapqueue.bridge.Bridge")
spark_core = spark._jvm.java.lang.Class.forName("org.apache.spark.SparkContext")
places = [
    loader.loadClass("org.slf4j.LoggerFactory").getProtectionDomain().getCodeSource().getLocation().toString()
    for loader in (bridge.getClassLoader(), spark_core.getClassLoader())
]
print("jar", bridge.getProtectionDomain().getCodeSource().getLocation())
print("one slf4j", places[0] == places[1], places[0])
spark.stop()
"""


def test_a_job_gets_the_jar_by_its_coordinates(fill: Fill, tmp_path: Path) -> None:
    fill(20, path=tmp_path / "events")
    (tmp_path / "job.py").write_text(JOB)
    ran = subprocess.run(
        [
            str(Path(pyspark.__file__).parent / "bin" / "spark-submit"),
            *("--master", "local[1]", "--conf", "spark.ui.enabled=false", "--conf", f"spark.jars.ivy={tmp_path}/ivy"),
            *("--repositories", REPOSITORY.as_uri(), "--packages", f"org.mmapqueue:mmapqueue:{VERSION}"),
            *("--exclude-packages", "org.slf4j:slf4j-api"),
            *("job.py", str(tmp_path / "events")),
        ],
        cwd=tmp_path,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    assert ran.returncode == 0, ran.stdout
    assert "counted 20" in ran.stdout
    assert re.search(rf"^jar file:.*/ivy/jars/org\.mmapqueue_mmapqueue-{re.escape(VERSION)}\.jar$", ran.stdout, re.M)
    assert re.search(r"^one slf4j True .*/pyspark/jars/slf4j-api", ran.stdout, re.M), ran.stdout
