"""What all commands share: exit status, errors, help, colours, pipes that close, Ctrl-C."""

import json
import logging
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import mmapqueue
from command_line import CommandLine
from conftest import Open, eventually
from mmapqueue._cli import app, overview
from mmapqueue._cli.app import command, names
from mmapqueue._cli.main import main
from mmapqueue._cli.queues import existing


def test_the_jar_needs_no_extra() -> None:
    code = "import sys; sys.modules['typer'] = None; import mmapqueue._cli.main as c; sys.exit(c.main(['jar']))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stdout, ended.stderr) == (0, f"{mmapqueue.jar_path()}\n", "")


@pytest.mark.parametrize("words", [[], ["--help"], ["jar", "--help"], ["tail", "DIR"]], ids=str)
def test_without_the_extra_the_other_commands_say_what_to_install(words: list[str]) -> None:
    code = f"import sys; sys.modules['typer'] = None; import mmapqueue._cli.main as c; sys.exit(c.main({words}))"
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    said = "mmapqueue: the command line needs typer and rich: pip install 'mmapqueue[cli]'\n"
    assert (ended.returncode, ended.stdout, ended.stderr) == (2, "", said)


def test_every_command_has_a_help_text(command_line: CommandLine) -> None:
    ended = command_line.run("--help")
    assert (ended.status, ended.err) == (0, "")
    for name in names():
        assert f"\n  {name} " in ended.out
        assert command(name).help, name


def test_the_help_is_in_groups(command_line: CommandLine) -> None:
    plain_text, boxes = command_line.call("--help").out, command_line.terminal("--help", columns=80).out
    assert plain_text.endswith(f"\n{overview.text()}\n")
    titles = re.findall(r"^╭─ (.+?) ─+╮$", boxes, re.MULTILINE)
    assert titles == ["Options", *overview.GROUPS]
    # Each command on one line.
    rows = re.findall(r"^│ ([a-z-]+) +([A-Z].*?) *│$", boxes, re.MULTILINE)
    assert dict(rows) == overview.SUMMARIES


@pytest.mark.parametrize("words", [["top"], ["consumer"], ["consumer", "seek"]], ids=str)
def test_help_has_boxes_on_a_terminal_alone(words: list[str], command_line: CommandLine) -> None:
    ended = command_line.call(*words, "--help")
    assert (ended.status, "─" in ended.out) == (0, False)
    assert "─" in command_line.terminal(*words, "--help").out


def test_help_fills_its_lines(command_line: CommandLine) -> None:
    shown = command_line.terminal("top", "--help", columns=200).out
    assert "With --json it prints an object for each queue and interval; without a terminal it prints one" in shown


def test_without_words_the_help_is_printed(command_line: CommandLine) -> None:
    ended = command_line.call()
    assert (ended.status, ended.out) == (2, command_line.call("-h").out)


@pytest.mark.parametrize(
    ("words", "text"),
    [
        (["tial"], "No such command 'tial'. Did you mean 'tail'?"),
        (["tail"], "Missing argument 'DIR'"),
        (["tail", "DIR", "-n", "x"], "-n"),
        (["tail", "DIR", "-n", "-1"], "-n"),
        (["tail", "DIR", "--from", "soon"], "--from = 'soon' is invalid; allowed: earliest, latest, an offset"),
        (["tail", "DIR", "--from", "-5"], "--from = '-5' is invalid"),
        (["tail", "DIR", "--grep", "("], "--grep = '(' is invalid"),
        (["tail", "DIR", "--format", "%x"], "has %x; allowed: %o offset"),
        (["tail", "DIR", "--format", r"\x"], r"has \x; allowed: \n"),
        (["pop", "DIR", "--wait", "long"], "--wait = 'long' is invalid"),
        (["pop", "DIR", "--exec", "true", "--ack"], "without --ack"),
        (["show", "DIR", "9..8"], "OFFSET = '9..8' is invalid"),
        (["show", "DIR", "x"], "OFFSET = 'x' is invalid"),
    ],
)
def test_wrong_usage(words: list[str], text: str, command_line: CommandLine) -> None:
    ended = command_line.call(*words)
    assert (ended.status, ended.out) == (2, "")
    assert text in " ".join(ended.err.split())


@pytest.mark.parametrize("words", [["tail"], ["show", "0"], ["pop"], ["stats"], ["consumers"], ["producers"]], ids=str)
def test_a_directory_without_a_queue(words: list[str], command_line: CommandLine, tmp_path: Path) -> None:
    name, *others = words
    (tmp_path / "file").write_text("")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x").write_text("")
    for path in (tmp_path / "missing", tmp_path / "file", tmp_path / "other"):
        ended = command_line.call(name, path, *others)
        assert (ended.status, ended.out, ended.err) == (1, "", f"mmapqueue: there is no queue in {path}\n")
    assert sorted(each.name for each in tmp_path.iterdir()) == ["file", "other"]
    assert [each.name for each in (tmp_path / "other").iterdir()] == ["x"]


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
def test_a_directory_that_may_not_be_read(tmp_path: Path) -> None:
    path = tmp_path / "queue"
    path.mkdir(mode=0o700)
    os.seteuid(65534)
    try:
        with pytest.raises(PermissionError, match=re.escape(str(path))):
            existing(str(path))
    finally:
        os.seteuid(0)


@pytest.mark.parametrize("words", [["tail"], ["stats"], ["gc"]], ids=str)
def test_a_damaged_queue(words: list[str], command_line: CommandLine, closed: Path) -> None:
    (closed / "meta.dat").unlink()
    ended = command_line.call(*words, closed)
    assert (ended.status, ended.out) == (1, "")
    assert f"{closed / 'meta.dat'}" in ended.err
    assert "the file is missing" in ended.err


def test_verify_and_repair_print_json(command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    found = json.loads(command_line.call("verify", closed, "--json").out)
    assert (found["records"], found["findings"]) == (100, [])
    assert [each["name"] for each in found["consumers"]] == ["default", "other"]
    found = json.loads(command_line.call("repair", closed, "--to", tmp_path / "copy", "--json").out)
    assert (found["before"]["records"], found["lost"]) == (100, [])


def test_colours_are_for_terminals(command_line: CommandLine, closed: Path) -> None:
    in_colour = command_line.terminal("stats", closed)
    without = command_line.terminal("stats", closed, NO_COLOR="1")
    assert "\x1b[1m" in in_colour.shown
    assert "\x1b[3" not in without.shown
    assert in_colour.out == without.out == command_line.call("stats", closed).shown


def test_a_pipe_that_closes(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push_many([b"x" * 1000] * 5000)
    process = command_line.start("tail", queue.path, "--from", "earliest")
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline() == b"x" * 1000 + b"\n"
    process.stdout.close()
    assert process.stderr.read() == b""
    assert process.wait(60) == 141


def test_a_pipe_that_closes_while_nothing_is_pushed(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"one")
    process = command_line.start("tail", queue.path, "-f")
    assert process.stdout
    assert process.stderr
    assert process.stdout.readline() == b"one\n"
    process.stdout.close()
    assert process.wait(60) == 141
    assert process.stderr.read() == b""


def test_ctrl_c(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push(b"one")
    for words in (["tail", queue.path, "-f"], ["pop", queue.path, "-n", "2", "--wait", "1h"]):
        process = command_line.start(*words)
        assert process.stdout
        assert process.stdout.readline() == b"one\n"
        process.send_signal(signal.SIGINT)
        assert process.communicate(timeout=60) == (b"", b"")
        assert process.returncode == 130
    # The record that pop had in flight is released.
    assert eventually(lambda: queue.pop(timeout=10).attempts == 1)


@pytest.mark.parametrize("is_raised", [False, True])
def test_an_interrupted_command_logs_nothing_more(is_raised: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def run(words: list[str]) -> int:  # noqa: ARG001
        if is_raised:
            raise KeyboardInterrupt
        return 130

    monkeypatch.setattr(app, "run", run)
    try:
        assert main(["tail"]) == 130
        assert not logging.getLogger().isEnabledFor(logging.ERROR)
    finally:
        logging.disable(logging.NOTSET)


def test_a_full_disk_is_an_error(command_line: CommandLine, closed: Path) -> None:
    with Path("/dev/full").open("w") as full:
        process = command_line.start("tail", closed, stdout=full)
        _, err = process.communicate(timeout=60)
    assert (process.returncode, err) == (1, b"mmapqueue: No space left on device\n")


def test_output_may_be_closed(command_line: CommandLine) -> None:
    ended = subprocess.run(
        ["sh", "-c", 'exec "$@" >&-', "sh", *command_line._words(("--version",))], capture_output=True, check=False
    )
    assert ended.returncode in (0, 1)
    assert b"Traceback" not in ended.stderr


def test_stdin_and_stderr_may_be_closed(command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    def run(redirection: str, *words: object) -> "subprocess.CompletedProcess[bytes]":
        line = ["sh", "-c", f'exec "$@" {redirection}', "sh", *command_line._words(words)]
        return subprocess.run(line, capture_output=True, timeout=60, check=False)

    (tmp_path / "lines").write_text("one\n")
    pushed = run("2>&-", "push", closed, tmp_path / "lines")
    assert (pushed.returncode, pushed.stdout) == (0, b"pushed 1 record (3B): offset 100\n")
    assert (run("2>&-", "verify", closed).returncode, run("2>&-", "tail", tmp_path).stdout) == (0, b"")
    for words, status in ((("push", closed), 1), (("import", closed, "-"), 1), (("repair", closed, "--in-place"), 2)):
        ended = run("<&-", *words)
        assert (words[0], ended.returncode, b"Traceback" in ended.stderr) == (words[0], status, False)
    assert command_line.call("stats", closed, "--json").out.count('"end_offset": 101') == 1


def test_the_output_is_utf8_in_every_locale(command_line: CommandLine, open_queue: Open) -> None:
    queue = open_queue()
    queue.push("grün".encode())
    for words in (["tail", "--json"], ["show", "0"], ["export", "-"]):
        name, *others = words
        ended = command_line.run(name, queue.path, *others, PYTHONIOENCODING="latin-1")
        assert (words, ended.status, "grün" in ended.out) == (words, 0, True)
