"""doctor, bench and completion."""

import itertools
import json
import os
import shutil
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import eventually
from mmapqueue._cli import checks
from mmapqueue._cli.measuring import Latency

CHECKS = [
    "jar", "Java", "class archive", "Spark", "Arrow", "locale", "disk", "disk space", "vm.max_map_count", "open files",
    "address space", "file size", "shared memory",
]  # fmt: skip


def test_doctor(command_line: CommandLine, tmp_path: Path) -> None:
    ended = command_line.run("doctor", tmp_path)
    assert (ended.status, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0].split() == ["STATUS", "CHECK", "FOUND", "WHAT", "TO", "DO"]
    assert len(lines) == 1 + len(CHECKS)
    objects = [json.loads(line) for line in command_line.run("doctor", tmp_path, "--json").out.splitlines()]
    assert [each["check"] for each in objects] == CHECKS
    assert {each["status"] for each in objects} <= {"ok", "warning"}
    assert all(each["advice"] for each in objects if each["status"] != "ok")
    found = {each["check"]: each["found"] for each in objects}
    assert found["jar"] == str(mmapqueue.jar_path())
    (tmp_path / "file").touch()
    for name, command in itertools.product(("none", "file"), ("doctor", "bench")):
        ended = command_line.call(command, tmp_path / name)
        assert (ended.status, ended.err) == (1, f"mmapqueue: {tmp_path / name} is not a directory\n")


def test_doctor_says_what_is_wrong(command_line: CommandLine, tmp_path: Path) -> None:
    ended = command_line.run("doctor", tmp_path, "--json", JAVA_HOME=str(tmp_path), LC_ALL="en_US.ISO-8859-1")
    assert ended.status == 1
    found = {each["check"]: each for each in map(json.loads, ended.out.splitlines())}
    assert found["Java"]["status"] == "error"
    assert found["Java"]["found"] == f"JAVA_HOME is {tmp_path}, and its bin has no java; Java 17 or newer is needed"
    assert "set JAVA_HOME" in found["Java"]["advice"]


def test_doctor_and_a_cache_that_cannot_be_made(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", os.devnull)
    assert checks._archive()[:3] == (checks.Status.WARNING, "class archive", "/dev/null is not writable")


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_doctor_and_a_cache_of_another_user(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "home").mkdir(mode=0o700)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "home" / "cache"))
    os.seteuid(65534)
    try:
        found = checks._archive()
    finally:
        os.seteuid(0)
    assert (found.status, found.found.endswith("is not writable")) == (checks.Status.WARNING, True)


MOUNTS = r"""
22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /tmp rw shared:2 - tmpfs tmpfs rw
31 22 0:26 / /mnt/my\040share rw shared:3 - nfs4 host:/export rw
32 22 0:27 / /data rw shared:4 - btrfs /dev/sdb rw
33 32 8:2 / /data/queues rw - xfs /dev/sdc rw
34 22 0:28 / /merged rw - overlay overlay rw
""".strip()


@pytest.mark.parametrize(
    ("path", "status", "text"),
    [
        ("/var/lib/events", "ok", "ext4 at /"),
        ("/tmpfiles", "ok", "ext4 at /"),
        ("/tmp/events", "warning", "tmpfs at /tmp: memory, lost at a restart"),
        ("/mnt/my share/events", "error", "nfs4 at /mnt/my share, a network file system"),
        ("/data/events", "warning", "btrfs at /data"),
        ("/data/queues", "ok", "xfs at /data/queues"),
        ("/merged/x", "warning", "overlay at /merged: the container's own, lost with it"),
    ],
)
def test_disks(path: str, status: str, text: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    (tmp_path / "self" / "mountinfo").write_text(MOUNTS)
    monkeypatch.setattr(checks, "_PROC", tmp_path)
    found = checks.disk(path)
    assert (found.status.value, found.found[: len(text)]) == (status, text)
    assert bool(found.advice) == (status != "ok")


@pytest.mark.parametrize(("free", "status"), [(1 << 30, "ok"), (100 << 20, "warning"), (10 << 20, "error")])
def test_disk_space(free: int, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    usage = shutil.disk_usage(tmp_path)
    monkeypatch.setattr(shutil, "disk_usage", lambda path: usage._replace(free=free))  # noqa: ARG005
    assert checks.space(str(tmp_path)).status.value == status


@pytest.mark.parametrize(
    ("version", "status"), [("3.5.0", "ok"), ("4.3.0.dev1", "ok"), ("3.4.4", "warning"), ("5.0.0", "warning")]
)
def test_spark_versions(version: str, status: str) -> None:
    assert checks.spark(version).status.value == status


LIMITED = """
    import resource, sys
    from mmapqueue._cli import checks
    for name, limit in (("NOFILE", 200), ("FSIZE", 1 << 20), ("AS", 1 << 40)):
        resource.setrlimit(getattr(resource, f"RLIMIT_{name}"), (limit, limit))
    for each in checks.limits():
        print(each.check, each.status.value, each.found, each.advice)
"""


def test_limits() -> None:
    code = textwrap.dedent(LIMITED)
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert ended.stdout.splitlines() == [
        "open files warning 200 ulimit -n 1024",
        "address space ok 1.0T ",
        "file size error 1.0M ulimit -f unlimited: a segment has up to 64M",
    ]


@pytest.mark.parametrize(("count", "status"), [("65530", "ok"), ("1000", "warning")])
def test_maps(count: str, status: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    (tmp_path / "sys" / "vm").mkdir(parents=True)
    (tmp_path / "sys" / "vm" / "max_map_count").write_text(f"{count}\n")
    monkeypatch.setattr(checks, "_PROC", tmp_path)
    assert checks.maps().status.value == status


@pytest.mark.slow
def test_bench(command_line: CommandLine, tmp_path: Path) -> None:
    ended = command_line.run("bench", tmp_path, "--time", "1s", "--size", "4k")
    assert (ended.status, ended.err) == (0, "")
    lines = [line.split("  ")[0] for line in ended.out.splitlines()]
    assert lines == ["WHAT", "push", "pop", "push and pop at once", "durable push", "fsync of 4 KiB"]
    assert list(tmp_path.iterdir()) == []
    rows = [
        json.loads(line) for line in command_line.run("bench", tmp_path, "--time", "0.5", "--json").out.splitlines()
    ]
    assert all(row["per_second"] > 0 for row in rows)
    assert [row["median_us"] is None for row in rows] == [True, True, True, False, False]
    assert all(row["median_us"] <= row["p99_us"] <= row["max_us"] for row in rows[3:])


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_bench_that_is_ended_leaves_nothing(
    command_line: CommandLine, tmp_path: Path, number: signal.Signals
) -> None:
    process = command_line.start("bench", tmp_path, "--time", "60s")
    assert eventually(lambda: any(tmp_path.glob("*/queue/meta.dat")))
    process.send_signal(number)
    assert process.wait(60) == 130
    assert list(tmp_path.iterdir()) == []


def test_bench_rejects(command_line: CommandLine, tmp_path: Path) -> None:
    for words in (("--size", "2m"), ("--size", "x"), ("--time", "1ms"), ("--time", "2h")):
        ended = command_line.call("bench", tmp_path, *words)
        assert (ended.status, ended.out) == (2, ""), words
        assert words[0] in ended.err
    assert command_line.call("bench", tmp_path / "none").status == 1
    assert list(tmp_path.iterdir()) == []


def test_latencies() -> None:
    measured = Latency.of([0.001 * number for number in range(1, 201)])
    assert measured == (200, measured.seconds, 0.101, 0.199, 0.2)
    assert measured.seconds == pytest.approx(20.1)
    assert Latency.of([1.0]) == (1, 1.0, 1.0, 1.0, 1.0)


def test_bash_completes_commands_and_options(tmp_path: Path) -> None:
    (tmp_path / "mmapqueue").write_text(f'#!/bin/sh\nexec {sys.executable} -m mmapqueue "$@"\n')
    (tmp_path / "mmapqueue").chmod(0o755)
    script = """
        source <(mmapqueue completion bash)
        complete -p mmapqueue
        try() {
            COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMPREPLY=()
            _mmapqueue_completion mmapqueue
            echo "${COMPREPLY[*]}"
        }
        try mmapqueue cons
        try mmapqueue consumer s
        try mmapqueue push --le
        try mmapqueue completion z
    """
    path = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    ended = subprocess.run(
        ["bash", "-c", script], capture_output=True, text=True, check=False, env={**os.environ, "PATH": path}
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    first, *found = ended.stdout.splitlines()
    assert first == "complete -o default -F _mmapqueue_completion mmapqueue"
    assert [set(line.split()) for line in found] == [
        {"consumer", "consumers"}, {"seek"}, {"--length-prefixed"}, {"zsh"},
    ]  # fmt: skip


@pytest.mark.parametrize("shell", ["zsh", "fish"])
def test_other_shells(shell: str, command_line: CommandLine) -> None:
    ended = command_line.run("completion", shell)
    assert (ended.status, ended.err) == (0, "")
    assert f"_MMAPQUEUE_COMPLETE=complete_{shell}" in ended.out
    assert ended.out.startswith("#compdef mmapqueue\n" if shell == "zsh" else "complete --command mmapqueue ")
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=ended.out, text=True, check=False).returncode == 0
    assert command_line.run("completion", "tcsh").status == 2
