"""scripts/gradle says what it installs before it does, and what is missing where it may not."""

import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
APT_GET = "apt-get install --yes --no-install-recommends"


class Host:
    """Programs that are all of a PATH. Each call of them is a line of `called`."""

    def __init__(self, directory: Path) -> None:
        self.programs = directory / "bin"
        self.programs.mkdir()
        self.called = directory / "called"
        for tool in ("bash", "dirname", "sed", "env", "chmod", "true"):
            (self.programs / tool).symlink_to(f"/usr/bin/{tool}")
        self.add("javac", "echo javac 17.0.1")
        self.add("id", "echo 1000")

    def add(self, name: str, script: str) -> None:
        program = self.programs / name
        program.write_text(f'#!/bin/bash\necho "{name} $*" >>"{self.called}"\n{script}\n')
        program.chmod(0o755)

    def build(self, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [str(self.programs / "bash"), str(ROOT / "scripts" / "gradle"), "tasks"],
            env={"PATH": str(self.programs), **environment},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    def calls(self, name: str) -> list[str]:
        lines = self.called.read_text().splitlines() if self.called.exists() else []
        return [line for line in lines if line.startswith(f"{name} ")]


@pytest.fixture
def host(tmp_path: Path) -> Host:
    return Host(tmp_path)


def with_apt_get(host: Host) -> None:
    """As on Debian: an installed program is on PATH from then on."""
    gradle = host.programs / "gradle"
    host.add("apt-get", f'[[ $1 != install ]] || {{ echo "echo ran" >"{gradle}"; chmod 755 "{gradle}"; }}')


def test_a_gradle_on_the_path_is_run_and_nothing_installed(host: Host) -> None:
    host.add("gradle", "echo ran $*")
    with_apt_get(host)
    built = host.build()
    assert (built.returncode, built.stdout, built.stderr) == (0, "ran tasks\n", "")
    assert host.calls("apt-get") == []


def test_root_reads_what_is_installed_and_why(host: Host) -> None:
    with_apt_get(host)
    host.add("id", "echo 0")
    built = host.build()
    assert (built.returncode, built.stdout) == (0, "ran\n")
    why, what, how_not, *_ = built.stderr.splitlines()
    assert why.startswith("No gradle found: it builds the jar.")
    assert what == f"Installing it from the system's packages now: {APT_GET} gradle"
    assert "MMAPQUEUE_INSTALL=no" in how_not
    assert host.calls("apt-get") == ["apt-get update -qq", f"{APT_GET} -qq gradle"]


def test_it_is_said_before_it_is_done(host: Host) -> None:
    host.add("id", "echo 0")
    host.add("apt-get", "exit 100")
    built = host.build()
    assert built.returncode == 100
    assert f"{APT_GET} gradle" in built.stderr


def test_a_user_without_rights_reads_what_to_install(host: Host) -> None:
    with_apt_get(host)
    host.add("sudo", "exit 1")
    built = host.build()
    assert built.returncode == 1
    assert "No gradle found: it builds the jar. Any version from 4.4 on will do" in built.stderr
    assert f"This user may not install it; as root: {APT_GET} gradle" in built.stderr
    assert host.calls("apt-get") == []


def test_a_user_with_sudo_reads_that_it_is_used(host: Host) -> None:
    with_apt_get(host)
    host.add("sudo", '[[ $1 == -n ]] && shift; exec "$@"')
    built = host.build()
    assert (built.returncode, built.stdout) == (0, "ran\n")
    assert f"now: sudo -n {APT_GET} gradle" in built.stderr


def test_nothing_is_installed_when_that_is_not_wanted(host: Host) -> None:
    with_apt_get(host)
    host.add("id", "echo 0")
    built = host.build(MMAPQUEUE_INSTALL="no")
    assert built.returncode == 1
    assert f"as root: {APT_GET} gradle" in built.stderr
    assert host.calls("apt-get") == []


def test_a_system_without_apt_get_is_no_reason_to_look_further(host: Host) -> None:
    built = host.build()
    assert built.returncode == 1
    assert built.stderr.strip() == (
        "No gradle found: it builds the jar. Any version from 4.4 on will do, if it is on PATH."
    )


@pytest.mark.parametrize(("javac", "said"), [
    ("echo javac 11.0.2", "the javac on PATH is version 11"),
    ("echo Picked up JAVA_TOOL_OPTIONS: -ea; echo javac 16.0.1", "the javac on PATH is version 16"),
    (None, "No javac found: install a JDK, version 17 or newer"),
])  # fmt: skip
def test_an_old_or_missing_jdk_is_named_with_what_to_install(host: Host, javac: str | None, said: str) -> None:
    if javac is None:
        (host.programs / "javac").unlink()
    else:
        host.add("javac", javac)
    built = host.build()
    assert built.returncode == 1
    assert said in built.stderr
    assert f"{APT_GET} default-jdk-headless" in built.stderr


def test_what_only_the_launcher_and_gradle_4_think_of_java_is_left_out(host: Host) -> None:
    noise = [
        'openjdk version "17.0.1"',
        "OpenJDK Runtime Environment (build 17)",
        "OpenJDK 64-Bit Server VM (build 17)",
    ]
    said = "; ".join(f"echo '{line}' >&2" for line in [*noise, "FAILURE: no space"])
    host.add("gradle", f"{said}; echo 'Malformed class file [A.class] found on compile classpath'; echo ran; exit 3")
    built = host.build()
    assert (built.returncode, built.stdout, built.stderr) == (3, "ran\n", "FAILURE: no space\n")
