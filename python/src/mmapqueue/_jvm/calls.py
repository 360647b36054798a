"""Calls into the JVM: sent as ready-made commands, their errors translated.

A call of a py4j member builds its command anew each time and asks a list of converters about every argument, which
costs more than the round trip itself. What is sent here are the same commands, of the documented protocol. Nor do the
answers go through what PySpark puts in py4j's place, which takes every JVM for its own when there is an exception.
"""

from collections.abc import Callable
from typing import Any

from py4j.java_gateway import JavaClass, JavaMember, JavaObject
from py4j.protocol import (
    BYTES_TYPE,
    CALL_COMMAND_NAME,
    END_COMMAND_PART,
    INTEGER_TYPE,
    LONG_TYPE,
    STRING_TYPE,
    Py4JError,
    Py4JJavaError,
    encode_bytearray,
    escape_new_line,
    get_return_value,
)

from mmapqueue._jvm import names
from mmapqueue._jvm.signals import Shield
from mmapqueue._values.errors import ConfigError, FileError, MmapQueueError

_PARAMETERS = {
    "i": INTEGER_TYPE + "%d\n",
    "L": LONG_TYPE + "%d\n",
    "s": STRING_TYPE + "%s\n",
    "b": BYTES_TYPE + "%s\n",
}
# "y" for success, then the type: what nearly every answer begins with.
_INT = "yi"
_LONG = "yL"


class Call:
    """A method of a Java object, ready to be called. Safe for any number of threads."""

    __slots__ = ("_member", "_owner", "_plain", "_send", "_template")

    def __init__(self, owner: JavaObject | JavaClass, name: str, parameters: str) -> None:
        member: JavaMember = getattr(owner, name)
        self._owner = owner  # The JVM lets go of an object when the last Python reference to it is gone.
        self._member = member
        self._send: Callable[[str], str] = member.gateway_client.send_command
        self._plain = not {"s", "b"} & set(parameters)
        self._template = (
            CALL_COMMAND_NAME
            + member.command_header.replace("%", "%%")
            + "".join(_PARAMETERS[parameter] for parameter in parameters)
            + END_COMMAND_PART
        )

    def __call__(self, *arguments: int | str | bytes) -> Any:
        """Calls the method, shielded from SIGINT."""
        with Shield():
            return self.within(*arguments)

    def within(self, *arguments: int | str | bytes) -> Any:
        """Calls the method, for a caller that has a shield up already."""
        if not self._plain:
            arguments = tuple(map(_as_text, arguments))
        member = self._member
        try:
            answer = self._send(self._template % arguments)
            if answer.startswith((_INT, _LONG)):
                return int(answer[2:])
            return get_return_value(answer, member.gateway_client, member.target_id, member.name)
        except Py4JError as error:
            raise translated(error) from None


def _as_text(argument: int | str | bytes) -> int | str:
    if isinstance(argument, str):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ValueError(f"{argument!r} is refused; allowed: text that is UTF-8") from None
        text: str = escape_new_line(argument)
        return text
    if isinstance(argument, bytes):
        encoded: str = encode_bytearray(argument)
        return encoded
    return argument


def translated(error: BaseException) -> BaseException:
    """The error of this package for one out of py4j or PySpark; any other comes back as it is."""
    thrown = java_exception(error)
    if thrown is None:
        if isinstance(error, Py4JError):
            return MmapQueueError(f"the JVM that has the queue does not answer: {_first_line(error)}")
        return error
    try:
        return _of_java(thrown)
    except Py4JError as silence:
        return MmapQueueError(f"the JVM failed, and then did not say how: {_first_line(silence)}")


def java_exception(error: BaseException) -> JavaObject | None:
    """The Java exception within an error of py4j, or of PySpark, which turns some into exceptions of its own."""
    if isinstance(error, Py4JJavaError):
        return error.java_exception
    origin = getattr(error, "_origin", None)
    return origin if isinstance(origin, JavaObject) else None


def _of_java(thrown: JavaObject) -> MmapQueueError:
    name = str(thrown.getClass().getName())
    message = thrown.getMessage()
    kind, fields = names.ERRORS.get(name, (MmapQueueError, ()))
    text = str(message) if message else name
    if name not in names.ERRORS and message:
        text = f"{name}: {message}"
    error = _file_error(thrown, kind, text) or kind(text)
    error.java_class = name
    for field in fields:
        setattr(error, field, getattr(thrown, field)())
    if getattr(error, "pid", None) == -1:
        error.pid = None  # type: ignore[attr-defined]
    return error


def _file_error(thrown: JavaObject, kind: type[MmapQueueError], text: str) -> FileError | None:
    """The error of a Java exception that a file or directory has caused; None for any other."""
    cause = thrown.getCause()
    if cause is None or kind not in (MmapQueueError, ConfigError):
        return None
    name = str(cause.getClass().getName())
    if not name.startswith(names.FILE_CAUSES):
        return None
    found = names.CAUSES.get(name) or names.CAUSES.get(str(cause.getReason()))
    if found is None or issubclass(kind, ConfigError) != issubclass(found, ConfigError):
        return None
    error = found(text)
    error.filename = cause.getFile()
    return error


def _first_line(error: BaseException) -> str:
    try:
        text = str(error)
    except Py4JError:  # what a Java exception says is asked of the JVM, too
        text = ""
    lines = text.strip().splitlines() or [type(error).__name__]
    # py4j puts what has failed on the line after this word.
    return " ".join(lines[:2] if lines[0].endswith("Trace:") else lines[:1])
