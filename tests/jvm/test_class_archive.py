"""The archive of classes from which the JVM of a command or program starts."""

import os
from pathlib import Path

import pytest

from command_line import CommandLine
from conftest import Script, eventually
from mmapqueue._jvm.class_archive import ClassArchive, cache_directory


@pytest.fixture
def java(tmp_path: Path) -> Path:
    program = tmp_path / "jdk" / "bin" / "java"
    program.parent.mkdir(parents=True)
    program.touch()
    (tmp_path / "jdk" / "release").write_text("17")
    return program


@pytest.fixture
def jar(tmp_path: Path) -> Path:
    (tmp_path / "queue.jar").write_text("classes")
    return tmp_path / "queue.jar"


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    return tmp_path / "cache" / "mmapqueue"


def files(archive: ClassArchive) -> dict[str, Path]:
    """The options that name a file."""
    return {
        name: Path(file) for name, _, file in (option.partition("=") for option in archive.options) if file[:1] == "/"
    }


def made(java: Path, jar: Path) -> Path:
    """Does what a JVM does that makes the archive; returns the archive."""
    archive = ClassArchive(str(java), [jar])
    files(archive)["-XX:ArchiveClassesAtExit"].write_text("archive")
    archive.keep()
    return files(ClassArchive(str(java), [jar]))["-XX:SharedArchiveFile"]


def test_the_first_jvm_makes_it_and_the_next_one_uses_it(java: Path, jar: Path, cache: Path) -> None:
    file = made(java, jar)
    assert (file.parent, file.read_text()) == (cache, "archive")
    assert cache.stat().st_mode & 0o777 == 0o700
    assert list(cache.iterdir()) == [file]


@pytest.mark.parametrize("changed", ["jar", "java"])
def test_another_jar_or_java_has_another_one(changed: str, java: Path, jar: Path, cache: Path) -> None:
    first = made(java, jar)
    if changed == "jar":
        jar.write_text("other classes")
    else:
        (java.parents[1] / "release").write_text("21")
    second = made(java, jar)
    assert first != second
    assert list(cache.iterdir()) == [second], "the first one is replaced"


def test_archives_of_other_installations_stay(java: Path, jar: Path, cache: Path, tmp_path: Path) -> None:
    (tmp_path / "other.jar").touch()
    both = {made(java, jar), made(java, tmp_path / "other.jar")}
    assert set(cache.iterdir()) == both


@pytest.mark.usefixtures("cache")
def test_the_archives_used_last_are_kept(java: Path, jar: Path, cache: Path, tmp_path: Path) -> None:
    first = made(java, jar)
    for number in range(16):
        other = tmp_path / f"{number}.jar"
        other.write_text("classes")
        file = made(java, other)
        os.utime(file, (1000 + number, 1000 + number))
        os.utime(first, (1, 1))
        assert files(ClassArchive(str(java), [jar]))["-XX:SharedArchiveFile"] == first  # a use
    assert first.exists()
    assert len(list(cache.iterdir())) == 16
    assert not any(file.stat().st_mtime == 1000 for file in cache.iterdir()), "the one that was used least recently"


def test_what_killed_jvms_have_left_is_deleted(java: Path, jar: Path) -> None:
    (old,) = files(ClassArchive(str(java), [jar])).values()
    old.write_text("half")
    fresh = old.with_name(f"{old.stem.partition('.')[0]}.1.new")
    fresh.write_text("half of another process")
    os.utime(old, (0, 0))
    archive = ClassArchive(str(java), [jar])
    other = old.rename(old.with_name(f"{old.stem.partition('.')[0]}.2.new"))
    files(archive)["-XX:ArchiveClassesAtExit"].write_text("archive")
    archive.keep()
    assert not other.exists()
    assert fresh.exists()


@pytest.mark.parametrize("directory", ["/dev/null", "/proc/none"])
def test_a_cache_that_cannot_be_written(directory: str, java: Path, jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", directory)
    archive = ClassArchive(str(java), [jar])
    assert archive.options == []
    archive.keep()


def test_a_jvm_that_makes_none(java: Path, jar: Path, cache: Path) -> None:
    ClassArchive(str(java), [jar]).keep()
    assert list(cache.iterdir()) == []


@pytest.mark.usefixtures("cache")
def test_archives_of_other_users_are_not_trusted(java: Path, jar: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    made(java, jar)
    monkeypatch.setattr(os, "geteuid", lambda: 4711)
    assert ClassArchive(str(java), [jar]).options == []


def test_the_cache_directory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    for value in ("", "relative"):
        monkeypatch.setenv("XDG_CACHE_HOME", value)
        assert cache_directory() == tmp_path / ".cache" / "mmapqueue"


def test_commands(command_line: CommandLine, closed: Path, tmp_path: Path) -> None:
    words = ("tail", closed, "-n", "1", "--format", "%o")
    cache = tmp_path / "cache"

    def archives() -> list[Path]:
        ended = command_line.run(*words, XDG_CACHE_HOME=str(cache))
        assert (ended.status, ended.out, ended.err) == (0, "99", "")
        return list((cache / "mmapqueue").glob("*.jsa"))

    # A JVM that needs too long for the archive is killed, and leaves it to the next one.
    assert eventually(lambda: bool(archives()))
    (archive,) = archives()
    # One that the JVM rejects, and a cache that cannot be written.
    for content in (b"", b"no archive", archive.read_bytes()[:100_000]):
        archive.write_bytes(content)
        ended = command_line.run(*words, XDG_CACHE_HOME=str(cache))
        assert (ended.status, ended.out, ended.err) == (0, "99", "")
    ended = command_line.run(*words, XDG_CACHE_HOME="/dev/null")
    assert (ended.status, ended.out, ended.err) == (0, "99", "")


#: A program that says with which options its JVM runs.
_PROGRAM = """
    import sys
    from pathlib import Path
    import mmapqueue
    from mmapqueue._jvm import standalone

    with mmapqueue.Queue(sys.argv[1]) as queue:
        queue.push(b"a record")
        print(Path(f"/proc/{standalone._running.process.pid}/cmdline").read_bytes().replace(bytes(1), b" ").decode())
"""


def test_programs(script: Script, tmp_path: Path) -> None:
    cache = tmp_path / "cache"

    def options(**environment: str) -> str:
        return script.run(_PROGRAM, tmp_path / "queue", XDG_CACHE_HOME=str(cache), **environment)

    def archives() -> list[Path]:
        options()
        return list((cache / "mmapqueue").glob("*.jsa"))

    assert eventually(lambda: bool(archives()))
    (archive,) = archives()
    assert f"-XX:SharedArchiveFile={archive}" in options()
    options(JDK_JAVA_OPTIONS=f"-Xlog:gc:file={tmp_path}/gc.log")
    assert (tmp_path / "gc.log").stat().st_size > 0, "an archive would have turned it off"
    archive.write_bytes(b"no archive")
    options()
