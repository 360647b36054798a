"""Messages of a syslog TCP connection (RFC 6587): octet counting and framing by newline or NUL, message by message."""

import re

#: MSG-LEN SP, and the "<" with which each counted message starts: a line that starts with a year is not a length.
_COUNT = re.compile(rb"([1-9][0-9]{0,8}) <")
#: The ends of messages that are not counted. Python's SysLogHandler ends messages with NUL.
_END = re.compile(rb"[\n\0]")


class SyslogFrames:
    r"""Splits the bytes of one connection into messages. Not safe for several threads.

    A message that starts with a number, a space and "<" has that number of bytes; any other message ends with a
    newline or NUL, which is not part of it. Empty messages are ignored.

    Example:
        >>> SyslogFrames(1000).feed(b"5 <1>ab<2>one line\n<3>another\0<4>rest")
        [b'<1>ab', b'<2>one line', b'<3>another']

    Attributes:
        discarded: Number of messages that exceeded the limit.
    """

    def __init__(self, limit: int) -> None:
        """Starts at the first byte of a connection.

        Args:
            limit: The maximum number of bytes of a message. Larger messages are discarded, and reading continues after
                them.
        """
        self.discarded = 0
        self._limit = limit
        self._rest = b""
        self._skip = 0
        self._skip_line = False

    def feed(self, data: bytes) -> list[bytes]:
        """The messages that these bytes complete."""
        buffer, at = self._rest + data, 0
        messages: list[bytes] = []
        while at < len(buffer):
            if self._skip:
                skipped = min(self._skip, len(buffer) - at)
                self._skip -= skipped
                at += skipped
                continue
            count = None if self._skip_line else _COUNT.match(buffer, at)
            if count is not None:
                start, size = count.end() - 1, int(count[1])
                if size > self._limit:
                    self.discarded += 1
                    self._skip, at = size, start
                    continue
                if start + size > len(buffer):
                    break
                messages.append(buffer[start : start + size])
                at = start + size
                continue
            found = _END.search(buffer, at)
            if found is None:
                if self._skip_line or len(buffer) - at > self._limit:
                    self.discarded += not self._skip_line
                    self._skip_line, at = True, len(buffer)
                break
            end = found.start()
            if self._skip_line:
                self._skip_line = False
            elif end - at > self._limit:
                self.discarded += 1
            elif end > at:
                messages.append(buffer[at:end])
            at = end + 1
        self._rest = buffer[at:]
        return messages

    def end(self) -> list[bytes]:
        """The last message, when the client has ended the connection without an end of it. One cut off is dropped."""
        rest, self._rest = self._rest, b""
        return [rest] if rest and _COUNT.match(rest) is None else []
