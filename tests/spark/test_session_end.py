"""A session that is stopped while queries begin: the process can make the next one."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pyspark")

from .conftest import Fill

#: Stops sessions at different moments of a query's start.
PROGRAM = '''
import sys
from pathlib import Path

from conftest import eventually
from sessions import spark_session

queue, scratch = map(Path, sys.argv[1:])


def is_planning(jvm):
    """Whether the thread of any query still runs; isActive stays true if the thread fails in its last steps."""
    return any(each.getName().startswith("stream execution") for each in jvm.Thread.getAllStackTraces().keySet())


for number, file in enumerate(["", "metadata", "sources/0/queue-0", "offsets/0", "commits/0"]):
    checkpoint = scratch / f"checkpoint-{number}"
    with spark_session(2, scratch / "warehouse", "OFF") as spark:
        assert spark.range(1).count() == 1
        frame = spark.readStream.format("mmapqueue").load(str(queue))
        query = frame.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
        assert eventually(lambda: (checkpoint / file).exists() or not query.isActive, 60), file
        jvm = spark._jvm
    assert eventually(lambda: not is_planning(jvm), 60)
print("each session was made")
'''


@pytest.mark.slow
def test_the_next_session_can_be_made(fill: Fill, queue_dir: Path, tmp_path: Path) -> None:
    fill(10)
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    ran = subprocess.run(
        [sys.executable, str(program), str(queue_dir), str(tmp_path)],
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[1])},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=400,
    )
    assert ran.returncode == 0, ran.stdout
    assert ran.stdout.endswith("each session was made\n"), ran.stdout
