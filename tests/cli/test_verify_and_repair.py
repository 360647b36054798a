"""Verify and repair from both command lines."""

import contextlib
import os
import pty
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue
from conftest import flip
from mmapqueue._cli.main import main


def status(*words: object) -> int:
    return main([str(word) for word in words])


def test_the_command_line(closed: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("verify", closed) == 0
    assert "100 whole, offsets 0 to 99" in capsys.readouterr().out
    flip(closed / "0_segment.dat", 20)
    assert status("verify", closed) == 1
    assert "0_segment.dat, byte" in capsys.readouterr().out
    assert status("verify", tmp_path / "none") == 1
    assert "no directory" in capsys.readouterr().err
    assert status("repair", closed, "--to", tmp_path / "copy") == 0
    assert "no record is lost" in capsys.readouterr().out
    assert status("verify", tmp_path / "copy") == 0
    assert status("verify", closed) == 1
    assert status("repair", closed, "--in-place", "--yes") == 0
    assert status("verify", closed) == 0


@pytest.mark.parametrize(
    "words",
    [["verify"], ["repair", "q"], ["repair", "q", "--to", "r", "--in-place"], ["repair", "q", "--to", "r", "--yes"]],
)
def test_wrong_usage(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert status(*words) == 2
    assert capsys.readouterr().err


def test_in_place_asks(closed: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    flip(closed / "0_segment.dat", 20)
    assert status("repair", closed, "--in-place") == 2
    assert "--yes" in capsys.readouterr().err
    ours, theirs = pty.openpty()
    with os.fdopen(theirs, "r") as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        # The last but one is the end of the input.
        for typed, expected in ((b"n\n", 2), (b"\n", 2), (b"\x04", 2), (b"yes\n", 0)):
            assert status("verify", closed) == 1
            capsys.readouterr()
            os.write(ours, typed)
            assert status("repair", closed, "--in-place") == expected
            shown = capsys.readouterr()
            assert (f"Change {closed} permanently" in shown.err, "[y/N]" in shown.out) == (True, False)
    os.close(ours)
    assert status("verify", closed) == 0


def test_a_terminal_sees_progress(closed: Path) -> None:
    ours, theirs = pty.openpty()
    ended = subprocess.run(
        [sys.executable, "-m", "mmapqueue", "verify", str(closed)],
        stdout=subprocess.PIPE,
        stderr=theirs,
        check=False,
    )
    os.close(theirs)
    shown = ""
    with contextlib.suppress(OSError):  # the end
        while True:
            shown += os.read(ours, 10_000).decode(errors="replace")
    os.close(ours)
    assert ended.returncode == 0
    assert "100" in shown
    assert "%" in shown


def test_the_jar_is_a_command_line(closed: Path, tmp_path: Path) -> None:
    jar = ["java", "-jar", str(mmapqueue.jar_path())]

    def run(*words: object) -> "subprocess.CompletedProcess[str]":
        return subprocess.run([*jar, *map(str, words)], capture_output=True, text=True, check=False)

    ended = run("verify", closed)
    assert (ended.returncode, ended.stderr) == (0, "")
    assert ended.stdout.strip() == str(mmapqueue.verify(closed))
    flip(closed / "meta.dat", 100)
    assert run("verify", closed).returncode == 1
    assert run("verify").returncode == 2
    repaired = run("repair", closed, "--to", tmp_path / "copy")
    assert (repaired.returncode, repaired.stderr) == (0, "")
    assert "no record is lost" in repaired.stdout
    assert run("repair", closed, "--in-place").returncode == 2
    assert run("verify", tmp_path / "copy").returncode == 0
