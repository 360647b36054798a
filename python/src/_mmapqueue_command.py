"""The command `mmapqueue`. Outside of the package, to run before it is imported."""

import signal


def main() -> int:
    """Runs the command line; returns the exit status.

    Ctrl-C ends the process without a traceback while the package is imported, and after the command.
    """
    handler = signal.getsignal(signal.SIGINT)
    outside = signal.SIG_DFL if handler is signal.default_int_handler else handler
    signal.signal(signal.SIGINT, outside)
    from mmapqueue._cli import main as command_line

    signal.signal(signal.SIGINT, handler)
    try:
        return command_line.main()
    finally:
        signal.signal(signal.SIGINT, outside)
