"""The command line itself; tests/pipeline has the collector's commands."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue
from command_line import HEED_CTRL_C
from mmapqueue._cli.main import main
from mmapqueue._jvm import jars


def test_the_module_runs() -> None:
    for arguments in (["--version"], ["jar"]):
        found = subprocess.run(
            [sys.executable, "-m", "mmapqueue", *arguments], capture_output=True, text=True, check=True
        )
        assert mmapqueue.__version__ in found.stdout
    usage = subprocess.run([sys.executable, "-m", "mmapqueue"], capture_output=True, text=True)
    assert (usage.returncode, usage.stdout.split()[:2]) == (2, ["Usage:", "mmapqueue"])


def test_jar_prints_the_path(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["jar"]) == 0
    assert capsys.readouterr().out == f"{mmapqueue.jar_path()}\n"


def test_the_command_is_installed() -> None:
    command = Path(sys.executable).with_name("mmapqueue")
    found = subprocess.run([command, "--version"], capture_output=True, text=True, check=True)
    assert found.stdout == f"mmapqueue {mmapqueue.__version__}\n"


@pytest.mark.parametrize(
    ("module", "code"),
    [
        ("py4j", "os.kill(os.getpid(), signal.SIGINT)"),  # while the package is imported
        ("sitecustomize", "atexit.register(os.kill, os.getpid(), signal.SIGINT)"),  # after the command
    ],
)
def test_ctrl_c_before_and_after_a_command_shows_no_traceback(tmp_path: Path, module: str, code: str) -> None:
    (tmp_path / f"{module}.py").write_text(f"import atexit, os, signal\n{code}\n")
    command = Path(sys.executable).with_name("mmapqueue")
    ended = subprocess.run(
        [sys.executable, "-c", HEED_CTRL_C, command, "jar"],
        capture_output=True,
        text=True,
        env={**os.environ, "PYTHONPATH": str(tmp_path)},
    )
    assert (ended.returncode, ended.stderr) == (-signal.SIGINT, "")


def test_the_command_tells_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    assert main(["jar"]) == 1
    assert re.fullmatch("mmapqueue: .* carries no jar.*\n", capsys.readouterr().err)
