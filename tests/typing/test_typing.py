"""What type checkers see: programs of users are clean, and mistakes are found."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SOURCE = Path(__file__).parents[2] / "python" / "src"
PROGRAM = Path(__file__).with_name("program.py")
WRONG = PROGRAM.read_text(encoding="utf-8").partition('WRONG = """\n')[2].partition('"""')[0]
#: Its lines that have an error.
MISTAKES = [number for number, line in enumerate(WRONG.splitlines(), 1) if line and number > 4]


@pytest.fixture
def wrong(tmp_path: Path) -> Path:
    shutil.copy(PROGRAM, tmp_path)
    (tmp_path / "wrong.py").write_text(WRONG)
    return tmp_path / "wrong.py"


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What mypy has found in the libraries: only its first run reads them."""
    return tmp_path_factory.mktemp("cache")


def mypy(file: Path, cache: Path) -> list[tuple[int, str]]:
    pytest.importorskip("mypy")
    options = ["--strict", "--python-version", "3.10", "--config-file", "", "--cache-dir", str(cache)]
    ran = subprocess.run(
        [sys.executable, "-m", "mypy", *options, file.name],
        cwd=file.parent,
        env={**os.environ, "MYPYPATH": str(SOURCE)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert ran.returncode in (0, 1), ran.stderr
    return [(int(line), text) for line, text in re.findall(rf"^{file.name}:(\d+): error: (.*)", ran.stdout, re.M)]


def pyright(file: Path, directory: Path) -> list[tuple[int, str]]:
    command = shutil.which("pyright")
    if command is None:
        pytest.skip("pyright is not installed: npm install -g pyright")
    settings: dict[str, Any] = {"typeCheckingMode": "strict", "extraPaths": [str(SOURCE)], "pythonVersion": "3.10"}
    settings["include"] = [str(file)]
    (directory / "pyrightconfig.json").write_text(json.dumps(settings))
    ran = subprocess.run(
        [command, "--outputjson", "--pythonpath", sys.executable, "-p", str(directory)],
        capture_output=True,
        text=True,
        check=False,
    )
    found = [each for each in json.loads(ran.stdout)["generalDiagnostics"] if each["severity"] == "error"]
    return [(each["range"]["start"]["line"] + 1, each["message"]) for each in found]


def test_mypy_accepts_what_is_right(cache: Path) -> None:
    assert mypy(PROGRAM, cache) == []


def test_mypy_finds_what_is_wrong(wrong: Path, cache: Path) -> None:
    assert sorted({line for line, _ in mypy(wrong, cache)}) == MISTAKES


def test_pyright_accepts_what_is_right(tmp_path: Path) -> None:
    assert pyright(PROGRAM, tmp_path) == []


def test_pyright_finds_what_is_wrong(wrong: Path) -> None:
    assert {line for line, _ in pyright(wrong, wrong.parent)} >= set(MISTAKES)
