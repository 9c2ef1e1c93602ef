"""The `pagewalk` command's first step: from here on, Ctrl-C and unusual terminals cause no traceback."""

import os
import signal
import sys

_INTERRUPTED = 130
_BROKEN_PIPE = 141
"""What a shell reports of a program that SIGPIPE (13) ended: 128 + 13."""


def _leave(*_: object) -> None:
    os._exit(_INTERRUPTED)


# Before anything slow is imported.
signal.signal(signal.SIGINT, _leave)


def main() -> None:
    """Loads the command and runs it; ends the process with its exit status."""
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown by its code, not refused.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    from pagewalk.cli.app import command  # noqa: PLC0415 - slow to import

    signal.signal(signal.SIGINT, signal.default_int_handler)
    status = command()
    signal.signal(signal.SIGINT, _leave)
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader has gone. Python must not try to flush again when it ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        status = _BROKEN_PIPE
    sys.exit(status)
