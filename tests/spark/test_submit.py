"""spark-submit as docs/deployment/spark-submit.md has it: spark-defaults.conf, and client and cluster mode."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import mmapqueue
import spark_archive
from conftest import eventually

pyspark = pytest.importorskip("pyspark")

from pyspark.sql import SparkSession  # noqa: E402

from .conftest import Fill  # noqa: E402

BIN = Path(pyspark.__file__).parent / "bin"
PAGE = Path(__file__).parents[2] / "docs" / "deployment" / "spark-submit.md"
LOCAL = {"SPARK_LOCAL_IP": "127.0.0.1", "PYSPARK_PYTHON": sys.executable}
JVM_OPTIONS = spark_archive.options()
#: What a small executor and a small driver need, so that two of them fit into one worker.
SMALL_JVMS = [
    "--driver-memory", "512m", "--conf", f"spark.driver.extraJavaOptions={JVM_OPTIONS}",
    "--executor-memory", "512m", "--conf", f"spark.executor.extraJavaOptions={JVM_OPTIONS}",
    "--total-executor-cores", "1",
]  # fmt: skip

Run = Callable[..., str]


def block(language: str, holds: str) -> str:
    """The code of the page in that language that holds some text."""
    blocks = re.findall(r"^```(\w*)\n(.*?)^```", PAGE.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    (found,) = [code for its_language, code in blocks if its_language == language and holds in code]
    return str(found)


def in_directory(code: str, directory: Path) -> str:
    """Code of the page with its paths in a directory of a test."""
    code = re.sub(r"/opt/mmapqueue/mmapqueue-\S+\.jar", str(mmapqueue.jar_path()), code)
    return code.replace("/data/", f"{directory}/")


@pytest.fixture
def submit(tmp_path: Path) -> Run:
    """Runs spark-submit in the test's directory; returns its output."""

    def run(*arguments: object, **environment: str) -> str:
        ran = subprocess.run(
            [str(word) for word in (BIN / "spark-submit", "--conf", "spark.ui.enabled=false", *arguments)],
            cwd=tmp_path,
            env={**os.environ, **LOCAL, **environment},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=400,
        )
        assert ran.returncode == 0, ran.stdout
        return ran.stdout

    return run


@pytest.fixture
def events(fill: Fill, tmp_path: Path) -> list[bytes]:
    """The records of the queue in `events`."""
    return fill(20, path=tmp_path / "events")


def archived(spark: SparkSession, path: Path) -> list[bytes]:
    return sorted(bytes(row.value) for row in spark.read.parquet(str(path)).select("value").collect())


TABLES = """\
from pyspark.sql import SparkSession

spark = SparkSession.builder.getOrCreate()
spark.sql("INSERT INTO q.events VALUES ('x')")
print("counted", spark.sql("SELECT count(*) FROM q.events").first()[0])
print("plugin", spark.conf.get("spark.plugins"))
spark.stop()
"""


@pytest.mark.slow
def test_settings_in_spark_defaults(submit: Run, fill: Fill, tmp_path: Path) -> None:
    fill(20, path=tmp_path / "queues" / "events")
    settings = in_directory(block("", "spark.sql.catalog.q.path"), tmp_path)
    if pyspark.__version__ < "4":
        settings = settings.replace("QueueCatalogWithProcedures", "QueueCatalog")
    (tmp_path / "conf").mkdir()
    (tmp_path / "conf" / "spark-defaults.conf").write_text(settings)
    (tmp_path / "tables.py").write_text(TABLES)
    out = submit("--master", "local[1]", "tables.py", SPARK_CONF_DIR=str(tmp_path / "conf"))
    assert "counted 21" in out
    assert "plugin org.mmapqueue.spark.MmapQueuePlugin" in out


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A standalone cluster of one worker on this host; its URL."""
    work = tmp_path_factory.mktemp("standalone")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    url = f"spark://127.0.0.1:{port}"
    options = {
        "SPARK_MASTER_OPTS": "-Dspark.master.rest.enabled=false",
        "SPARK_DAEMON_MEMORY": "256m",
        "SPARK_DAEMON_JAVA_OPTS": JVM_OPTIONS,
    }
    started: list[subprocess.Popen[Any]] = []

    def start(name: str, *arguments: str) -> Path:
        log = work / f"{name}.log"
        with log.open("w") as out:
            command = [str(BIN / "spark-class"), f"org.apache.spark.deploy.{name.lower()}.{name}", "--webui-port", "0"]
            environment = {**os.environ, **LOCAL, **options}
            started.append(subprocess.Popen([*command, *arguments], env=environment, stdout=out, stderr=out))
        return log

    try:
        log = start("Master", "--host", "127.0.0.1", "--port", str(port))
        assert eventually(lambda: "I have been elected leader" in log.read_text(), 120), log.read_text()
        start("Worker", "--cores", "2", "--memory", "2g", "--work-dir", str(work / "work"), url)
        assert eventually(lambda: "Registering worker" in log.read_text(), 120), log.read_text()
        yield url
    finally:
        for process in reversed(started):
            process.terminate()
            process.wait(60)


@pytest.mark.slow
def test_a_python_program_in_client_mode(
    submit: Run, cluster: str, events: list[bytes], spark: SparkSession, tmp_path: Path
) -> None:
    job = in_directory(block("python", "# job.py"), tmp_path)
    (tmp_path / "job.py").write_text(job.replace(".start()", ".trigger(availableNow=True).start()"))
    submit("--master", cluster, *SMALL_JVMS, "--jars", mmapqueue.jar_path(), "job.py")
    assert archived(spark, tmp_path / "archive") == sorted(events)


@pytest.mark.slow
def test_a_java_program_in_cluster_mode(
    submit: Run, cluster: str, events: list[bytes], spark: SparkSession, tmp_path: Path
) -> None:
    home = os.environ.get("JAVA_HOME")
    javac = shutil.which("javac", path=f"{home}/bin" if home else None)
    if javac is None:
        pytest.skip("needs a JDK")
    (tmp_path / "Archive.java").write_text(block("java", "// Archive.java"))
    classes = f"{Path(pyspark.__file__).parent / 'jars'}/*"
    subprocess.run([javac, "-cp", classes, "-d", "classes", "Archive.java"], cwd=tmp_path, check=True)
    shutil.make_archive(str(tmp_path / "archive"), "zip", tmp_path / "classes")
    (tmp_path / "archive.zip").rename(tmp_path / "archive.jar")
    directories = [tmp_path / name for name in ("events", "archive", "archive.checkpoint")]
    options = ["--master", cluster, "--deploy-mode", "cluster", *SMALL_JVMS, "--jars", mmapqueue.jar_path()]
    submit(*options, "--class", "Archive", tmp_path / "archive.jar", *directories)
    commits = tmp_path / "archive.checkpoint" / "commits" / "0"
    assert eventually(commits.exists, 240)
    assert archived(spark, tmp_path / "archive") == sorted(events)
