"""How a command ends if it is interrupted by a signal, the machine or a bug."""

import os
import signal
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from ordinate.version import __version__

DEBUG = "ORDINATE_DEBUG"  # This environment variable makes errors show their traceback.
UNUSABLE, BUG, STOPPED, TERMINATED = 2, 70, 130, 143  # Exit codes; the last two are those of SIGINT and SIGTERM.


@contextmanager
def sigterm_stops() -> Iterator[list[int]]:
    """Let SIGTERM stop the command as Ctrl-C does; the list holds the signal once it came."""
    received: list[int] = []
    process = os.getpid()

    def stop(number: int, _: object) -> None:
        if os.getpid() != process:  # This is a forked process.
            os._exit(128 + number)
        received.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield received
        return
    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield received
    finally:
        signal.signal(signal.SIGTERM, before)


def unread() -> int:
    """Return the exit code of a command whose output nobody reads any more, as of ``| head``, and write no more."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())  # Python flushes what is left when it ends.
    os.close(nowhere)
    return 1


def say_stopped(message: str = "") -> int:
    """Print that the command was stopped, or the message, and return the exit code."""
    print(f"ordinate: {message or 'stopped; the same command continues where it was'}", file=sys.stderr)
    return STOPPED


def say_failure(error: Exception) -> int:
    """Print an error of the system, or of ours, in one line, and return the exit code."""
    said = " ".join(str(error).split())
    if isinstance(error, OSError) and error.filename is not None:
        said = f"{error.filename}: {error.strerror}"
    if isinstance(error, OSError | MemoryError):
        print(f"ordinate: {said or 'not enough memory'}", file=sys.stderr)
        return UNUSABLE
    print(
        f"ordinate: a bug: {type(error).__name__}: {said} (ordinate {__version__}; with {DEBUG}=1 the same command "
        "shows where, for a report)",
        file=sys.stderr,
    )
    return BUG
