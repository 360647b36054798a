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
from conftest import Script
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


@pytest.mark.parametrize(
    ("words", "starts"),
    [
        (["stats", "QUEUE"], True),
        (["tail", "--lines", "2", "QUEUE"], True),
        (["push", "QUEUE"], True),
        (["stats", "QUEUE", "--help"], False),
        (["stats", "nowhere"], False),
        (["verify", "QUEUE"], False),
        (["jar"], False),
        ([], False),
    ],
)
def test_the_jvm_starts_before_the_imports_of_a_command_that_opens_a_queue(
    script: Script, tmp_path: Path, words: list[str], starts: bool
) -> None:
    queue = tmp_path / "queue"
    queue.mkdir()
    (queue / "meta.dat").touch()
    out = script.run(
        """
        import sys
        from mmapqueue._cli import main
        from mmapqueue._jvm import standalone
        from mmapqueue._cli.ahead import start_jvm
        start_jvm(sys.argv[1:])
        print(standalone._ahead is not None, "typer" in sys.modules, "mmapqueue._queue.queue" in sys.modules)
        """,
        *[queue if word == "QUEUE" else word for word in words],
    )
    assert out.split() == [str(starts), "False", "False"]


def test_the_command_tells_what_is_wrong(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(jars, "_JARS", tmp_path)
    assert main(["jar"]) == 1
    assert re.fullmatch("mmapqueue: .* carries no jar.*\n", capsys.readouterr().err)
