"""Calls into the JVM: sent as ready-made commands, their errors translated.

py4j's members build each command anew and try a list of converters on every argument, which costs more than the round
trip. `Call` sends the same commands, by py4j's documented protocol. Answers do not pass through PySpark's replacement
of `get_return_value`, which would take the exceptions of every JVM for Spark's.

A call during which its queue is closed raises Closed: `Call` decides that, for all calls.
"""

from collections.abc import Callable
from contextlib import suppress
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
from mmapqueue._values.errors import Closed, ConfigError, FileError, MmapQueueError

_PARAMETERS = {
    "i": INTEGER_TYPE + "%d\n",
    "L": LONG_TYPE + "%d\n",
    "s": STRING_TYPE + "%s\n",
    "b": BYTES_TYPE + "%s\n",
}
# Nearly every answer is "y" for success, then the type.
_INT = "yi"
_LONG = "yL"

_HEAP_IS_FULL = "OutOfMemoryError: Java heap space"
#: In the error of an archive whose file system is not on the class path.
_NEEDS_HADOOP = "needs Hadoop's classes"


class Lifetime:
    """Whether a queue is open, shared by all calls of its objects. Thread-safe.

    Attributes:
        path: The queue's directory.
        closed: Whether this process has closed the queue. Set before the JVM closes it.
    """

    __slots__ = ("closed", "path")

    def __init__(self, path: str) -> None:
        self.path = path
        self.closed = False

    def closed_error(self) -> Closed:
        """The error of every call that meets the close, and of all later ones."""
        return Closed(f"the queue in {self.path} is closed")


class Call:
    """A method of a Java object, ready to be called. Thread-safe.

    Args:
        owner: The Java object or class.
        name: The method's name.
        parameters: The types of the parameters, a letter each; see `names`.
        lifetime: The lifetime of the queue that the owner belongs to; None if it belongs to none.

    A call with a lifetime raises Closed if the JVM reports the close, and if it fails in any way after the close: the
    JVM may have released the object, or have ended.
    """

    __slots__ = ("_lifetime", "_member", "_owner", "_plain", "_send", "_template")

    def __init__(
        self, owner: JavaObject | JavaClass, name: str, parameters: str, lifetime: Lifetime | None = None
    ) -> None:
        self._lifetime = lifetime
        try:
            member: JavaMember = getattr(owner, name)
        except Py4JError as error:  # The JVM looks up the methods of a class.
            raise self._failure(error) from None
        self._owner = owner  # Keeps it: the JVM releases an object with its last Python reference.
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
        """Calls the method, with SIGINT deferred."""
        with Shield():
            return self.within(*arguments)

    def within(self, *arguments: int | str | bytes) -> Any:
        """Calls the method, for a caller that holds a Shield."""
        if not self._plain:
            arguments = tuple(map(_as_text, arguments))
        member = self._member
        try:
            answer = self._send(self._template % arguments)
            if not answer.startswith((_INT, _LONG)):
                return get_return_value(answer, member.gateway_client, member.target_id, member.name)
        except (Py4JError, OSError) as error:  # OSError: no descriptor is left for a connection.
            raise self._failure(error) from None
        number = int(answer[2:])
        if number == names.CLOSED and self._lifetime is not None:
            raise self._lifetime.closed_error()
        return number

    def connect(self) -> Any:
        """A new connection of py4j to the JVM, for commands of this call alone."""
        try:
            return self._member.gateway_client._create_connection()
        except (Py4JError, OSError) as error:
            raise self._failure(error) from None

    def command(self, *arguments: int) -> bytes:
        """The bytes that call the method with numbers, for a connection of the caller."""
        text: str = self._template % arguments
        return text.encode()

    def number(self, answer: str) -> int | None:
        """The number of the JVM's answer to a command; None if the method has failed."""
        if answer.startswith((_INT, _LONG)):
            return int(answer[2:])
        member = self._member
        with suppress(Py4JError):  # Releases the exception in the JVM.
            get_return_value(answer, member.gateway_client, member.target_id, member.name)
        return None

    def _failure(self, error: Py4JError | OSError) -> BaseException:
        if self._lifetime is not None and self._lifetime.closed:
            return self._lifetime.closed_error()
        return translated(error)


def _as_text(argument: int | str | bytes) -> int | str:
    if isinstance(argument, str):
        try:
            argument.encode()
        except UnicodeEncodeError:
            raise ConfigError(f"{argument!r} cannot be encoded in UTF-8") from None
        text: str = escape_new_line(argument)
        return text
    if isinstance(argument, bytes):
        encoded: str = encode_bytearray(argument)
        return encoded
    return argument


def translated(error: BaseException) -> BaseException:
    """The error of this package for an error of py4j, PySpark or a connection; any other error unchanged."""
    thrown = java_exception(error)
    if thrown is None:
        if isinstance(error, Py4JError | OSError):
            return MmapQueueError(f"the JVM that has the queue does not answer: {_first_line(error)}")
        return error
    try:
        return _of_java(thrown)
    except Py4JError as silence:
        return MmapQueueError(f"the JVM failed, and then did not say how: {_first_line(silence)}")


def java_exception(error: BaseException) -> JavaObject | None:
    """The Java exception within an error of py4j or PySpark; None without one."""
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
    if text.endswith(_HEAP_IS_FULL):
        text += "; a JVM that Queue(…) starts has room for records of the first queue's max_event_size"
    if _NEEDS_HADOOP in text:
        text += (
            "; a JVM that Queue(…) starts has those of MMAPQUEUE_CLASSPATH; of PySpark if its first queue needs them"
        )
    error = _file_error(thrown, kind, text) or kind(text)
    error.java_class = name
    for field in fields:
        setattr(error, field, getattr(thrown, field)())
    if getattr(error, "pid", None) == -1:
        error.pid = None  # type: ignore[attr-defined]
    return error


def _file_error(thrown: JavaObject, kind: type[MmapQueueError], text: str) -> FileError | None:
    """The error of a Java exception that a file or directory caused; None for any other."""
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
    except Py4JError:  # py4j asks the JVM for the text of a Java exception.
        text = ""
    lines = text.strip().splitlines() or [type(error).__name__]
    # py4j puts the failure on the line after this word.
    return " ".join(lines[:2] if lines[0].endswith("Trace:") else lines[:1])
