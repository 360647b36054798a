"""`make demo` names all that it lacks at once, before it downloads anything."""

import os
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
JAVA = "echo 'openjdk version \"17.0.1\" 2021-10-19' >&2"


class Host:
    """Programs that are all of a PATH."""

    def __init__(self, directory: Path) -> None:
        self.programs = directory
        for tool in ("bash", "dirname", "sed", "head", "df", "tail", "sort"):
            (directory / tool).symlink_to(f"/usr/bin/{tool}")
        self.add("java", JAVA)
        self.add("javac", "echo javac 17.0.1")
        self.add("gradle", "exit 0")
        self.add("python3", "exit 0")

    def add(self, name: str, script: str) -> None:
        (self.programs / name).write_text(f"#!/bin/bash\n{script}\n")
        (self.programs / name).chmod(0o755)

    def remove(self, *names: str) -> None:
        for name in names:
            (self.programs / name).unlink()

    def look(self, *missing: str, **variables: str) -> subprocess.CompletedProcess[str]:
        command = [str(self.programs / "bash"), str(ROOT / "scripts" / "demo-needs"), *missing]
        environment = {"PATH": str(self.programs), "LOGS": os.devnull, **variables}
        return subprocess.run(command, env=environment, capture_output=True, text=True, timeout=60, check=False)


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def test_what_follows_is_said_with_its_size_and_time(host: Host) -> None:
    looked = host.look("jar", "packages")
    assert (looked.returncode, looked.stderr) == (0, "")
    steps = looked.stdout.splitlines()[1:]
    assert ["the jar:" in step or "packages:" in step or "the demo:" in step for step in steps] == [True] * 3
    assert all("minute" in step for step in steps)
    assert [" MB" in step or " GB" in step for step in steps] == [True] * 3


def test_what_is_there_is_not_announced(host: Host) -> None:
    looked = host.look()
    assert looked.returncode == 0
    assert len(looked.stdout.splitlines()) == 2


def test_all_that_is_missing_is_one_list_with_one_command(host: Host) -> None:
    host.remove("java", "javac", "gradle", "python3")
    looked = host.look("jar", "packages", LOGS=f"{os.devnull}:/no/such/log")
    assert (looked.returncode, looked.stdout) == (1, "")
    said = looked.stderr.splitlines()
    assert [line.split(",")[0].split(":")[0] for line in said[1:-1]] == [
        "  java 17 or newer", "  javac 17 or newer", "  gradle", "  Python 3.10 or newer",
        "  the logs /no/such/log",
    ]  # fmt: skip
    assert said[-1].endswith("apt-get install --yes default-jdk-headless gradle python3-venv")


def test_a_jar_that_is_built_needs_no_jdk_and_no_gradle(host: Host) -> None:
    host.remove("javac", "gradle")
    assert host.look("packages").returncode == 0


@pytest.mark.parametrize(("program", "script", "said"), [
    ("java", "echo Picked up JAVA_TOOL_OPTIONS: -ea >&2; echo 'openjdk version \"11.0.2\"' >&2", "is version 11"),
    ("javac", "echo javac 16.0.1", "is version 16"),
    ("python3", '[[ $1 == --version ]] && echo Python 3.9.2; [[ $2 != *version_info* ]]', "is Python 3.9.2"),
    ("python3", "[[ $2 != *ensurepip* ]]", "Python's module venv"),
    ("df", "echo; echo 900", "4 GiB of free disk"),
])  # fmt: skip
def test_what_is_too_old_or_too_little_is_named(host: Host, program: str, script: str, said: str) -> None:
    host.remove(program)
    host.add(program, script)
    looked = host.look("jar", "packages")
    assert looked.returncode == 1
    (line,) = [line for line in looked.stderr.splitlines() if line.startswith("  ")]
    assert said in line
