"""No task sees the queue of another host, and no host is left over."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from cluster.clusters import HOSTS, Cluster, cluster
from cluster.hosts import ENTER, Network

ROOT = Path(__file__).parents[2]

#: Where each task runs, and the entries of the directories of all hosts that it sees.
TASKS = """
import json, os, socket, sys, time
from pyspark.sql import SparkSession

properties, hosts = json.loads(sys.argv[1]), sys.argv[2:]
builder = SparkSession.builder
for key, value in properties.items():
    builder.config(key, value)
spark = builder.getOrCreate()


def look(_):
    time.sleep(1)  # the load: tasks that are slow enough for all executors to get some
    return socket.gethostname(), [os.path.basename(host) for host in hosts if os.listdir(host)]


seen = spark.sparkContext.parallelize(range(12), 12).map(look).collect()
print("seen", json.dumps([look(0), *seen]))
"""


def test_no_task_sees_the_directory_of_another_host() -> None:
    with cluster("isolation") as made:
        for host in made.hosts:
            (host.directory / "queue").mkdir()
        found = _tasks(made)
    # The name node has files in the hub.
    assert found["hub"] == {("hub",)}
    assert {host: found[host] for host in HOSTS if host in found} == {
        host: {(host,)} for host in HOSTS if host in found
    }
    assert len(found) > 2, "too few hosts ran tasks"


def _tasks(made: Cluster) -> dict[str, set[tuple[str, ...]]]:
    program = made.root / "tasks.py"
    program.write_text(TASKS)
    properties = json.dumps(made.spark.properties(made.hub))
    directories = [host.directory for host in (made.hub, *made.hosts)]
    driver = made.python(made.hub, "tasks", program, properties, *directories)
    assert driver.wait(300) == 0, driver.tail()
    lines = [line for line in driver.said().splitlines() if line.startswith("seen ")]
    found: dict[str, set[tuple[str, ...]]] = {}
    for host, seen in json.loads(lines[-1].removeprefix("seen ")):
        found.setdefault(host, set()).add(tuple(seen))
    return found


def test_a_host_without_a_link_reaches_no_other_one(tmp_path: Path) -> None:
    # In namespaces of their own, which have none of the names of other tests.
    code = f"""
import subprocess, sys
from pathlib import Path
from cluster.hosts import Network

network = Network(Path({str(tmp_path / "hosts")!r}), ["a", "b"])
reaches = network["a"].inside(sys.executable, "-c", "import socket; socket.create_connection(('b', 7000), 2)")
server = network["b"].start([sys.executable, "-m", "http.server", "7000"], Path({str(tmp_path / "log")!r}))
while subprocess.run(reaches, stderr=subprocess.DEVNULL).returncode:
    assert server.status is None
network["b"].link(up=False)
assert subprocess.run(reaches, stderr=subprocess.DEVNULL).returncode
network["b"].link(up=True)
while subprocess.run(reaches, stderr=subprocess.DEVNULL).returncode:
    pass
network["b"].lose()
assert server.status is not None or server.wait(10)
network.end()
"""
    ran = subprocess.run(
        [*ENTER, sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_a_checkout_below_tmp_is_in_each_host(tmp_path: Path) -> None:
    checkout = tmp_path / "checkout"
    shutil.copytree(ROOT / "tests" / "cluster", checkout / "tests" / "cluster")
    other = tmp_path / "other"
    other.mkdir()
    code = f"""
import subprocess, sys
from pathlib import Path
from cluster.hosts import Network

checkout = Path({str(checkout)!r})
network = Network(checkout / "build" / "hosts", ["a", "b"])
for host in network.hosts.values():
    (host.directory / "mine").touch()

def listed(host, directory):
    ran = subprocess.run(host.inside("ls", str(directory)), capture_output=True, text=True)
    return ran.stdout.split() if ran.returncode == 0 else None

for name, host in network.hosts.items():
    other = network["b" if name == "a" else "a"]
    assert "hosts.py" in listed(host, checkout / "tests" / "cluster"), listed(host, "/tmp")
    # Its files are those of the machine; those of the other host stay hidden.
    assert listed(host, host.directory) == ["mine"]
    assert listed(host, other.directory) == []
    # All else of /tmp is its own.
    assert listed(host, {str(other)!r}) is None
    assert listed(host, "/mnt") is not None
network.end()
"""
    ran = subprocess.run(
        [*ENTER, sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(checkout / "tests")},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.returncode == 0, ran.stderr


def test_a_killed_run_leaves_no_process_and_no_link(tmp_path: Path) -> None:
    code = f"""
import sys, time
from pathlib import Path
from cluster.hosts import Network

network = Network(Path({str(tmp_path / "hosts")!r}), ["a", "b"])
network["a"].start(["sleep", "1000077"], Path({str(tmp_path / "log")!r}))
print("ready", flush=True)
time.sleep(600)
"""
    run = subprocess.Popen(
        [*ENTER, sys.executable, "-c", code],
        env={**os.environ, "PYTHONPATH": str(ROOT / "tests")},
        stdout=subprocess.PIPE,
        text=True,
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "ready\n"
        deadline = time.monotonic() + 30
        while not _sleeping():
            assert time.monotonic() < deadline
            time.sleep(0.05)
    finally:
        run.send_signal(signal.SIGKILL)
        run.communicate()
    deadline = time.monotonic() + 30
    while _sleeping() and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not _sleeping()
    assert "to-a" not in Path("/proc/net/dev").read_text()


def _sleeping() -> bool:
    lines = []
    for entry in Path("/proc").glob("[0-9]*/cmdline"):
        try:
            lines.append(entry.read_bytes())
        except OSError:
            continue
    return b"sleep\x001000077\x00" in lines


def test_hosts_refuse_the_network_of_the_machine(tmp_path: Path) -> None:
    # The cluster of another test is gone: only its own devices would be there.
    subprocess.run(["ip", "link", "add", "other", "type", "bridge"], check=True)
    try:
        with pytest.raises(RuntimeError, match="not in a network namespace of its own"):
            Network(tmp_path / "hosts", ["a"])
    finally:
        subprocess.run(["ip", "link", "delete", "other"], check=True)
