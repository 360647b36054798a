"""What a process runs, in short: the script or the main class, and its arguments."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_PROC = Path("/proc")
_JAVA = re.compile(r"java|javaw")
_PYTHON = re.compile(r"(python|pypy)[\d.]*t?")
#: Options whose value is the next word.
_JAVA_PAIRS = frozenset(
    (
        *("-cp", "-classpath", "--class-path", "-p", "--module-path", "--upgrade-module-path", "--limit-modules"),
        *("--add-modules", "--add-reads", "--add-exports", "--add-opens", "--patch-module", "--enable-native-access"),
        *("--illegal-native-access", "--source"),
    )
)
_PYTHON_PAIRS = frozenset(("-W", "-X", "--check-hash-based-pycs"))
#: Options of spark-submit that have no value.
_SPARK_FLAGS = frozenset(("-v", "--verbose", "--supervise"))
_SPARK_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def command_of(pid: int) -> list[str]:
    """The words of a process's command line; none if it cannot be read."""
    try:
        words = (_PROC / str(pid) / "cmdline").read_bytes().rstrip(b"\0")
    except OSError:
        return []
    return words.decode(errors="backslashreplace").split("\0") if words else []


def program_text(words: Sequence[str]) -> str:
    """A command line without the interpreter, its options, and directories.

    Args:
        words: The command line, of one word at least.

    Returns:
        The script or the main class, and its arguments; of spark-submit the class, if it is given, and the script or
        jar. Of any other program the name and the arguments.
    """
    name = _last_part(words[0])
    rest = iter(words[1:])
    if _JAVA.fullmatch(name):
        found = _of_java(rest)
    elif _PYTHON.fullmatch(name):
        found = _of_python(rest)
    else:
        found = [name, *rest]
    return " ".join(found or [name])


def _of_java(words: Iterator[str]) -> list[str]:
    for word in words:
        if word in _JAVA_PAIRS:
            next(words, None)
        elif word == "-jar":
            return [_last_part(next(words, "")), *words]
        elif word in ("-m", "--module"):
            return list(words)
        elif word == _SPARK_SUBMIT:
            return _of_spark(words)
        elif not word.startswith(("-", "@")):
            return [word, *words]
    return []


def _of_spark(words: Iterator[str]) -> list[str]:
    main: list[str] = []
    for word in words:
        if not word.startswith("-"):
            return [*main, _last_part(word), *words]
        value = None if word in _SPARK_FLAGS or "=" in word else next(words, None)
        if word == "--class" and value is not None:
            main = [value]
    return main


def _of_python(words: Iterator[str]) -> list[str]:
    for word in words:
        if word in _PYTHON_PAIRS:
            next(words, None)
        elif word.startswith("-m"):
            return [*([word[2:]] if word[2:] else []), *words]
        elif not word.startswith("-"):
            return [_last_part(word), *words]
        elif word == "-c":
            return []
    return []


def _last_part(path: str) -> str:
    # A title that a process has given itself is not a path.
    return path if " " in path else path.rpartition("/")[2]
