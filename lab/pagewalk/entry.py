"""The `pagewalk` command's first step: from here on, Ctrl-C and unusual terminals cause no traceback."""

import os
import sys

_INTERRUPTED = 130
_CANNOT_GO_ON = 126
_BROKEN_PIPE = 141
"""What a shell reports of a program that SIGPIPE (13) ended: 128 + 13."""


def _leave(*_: object) -> None:
    os._exit(_INTERRUPTED)


# Before anything slow is imported; this import itself takes some time.
try:
    import signal

    signal.signal(signal.SIGINT, _leave)
except KeyboardInterrupt:
    _leave()


def _open_streams() -> None:
    """Gives a closed standard stream the null device: else the next file to be opened would take its number."""
    for number, (name, mode) in enumerate((("stdin", "r"), ("stdout", "w"), ("stderr", "w"))):
        if getattr(sys, name) is None:
            opened = os.open(os.devnull, os.O_RDWR)
            if opened != number:
                os.dup2(opened, number)
                os.close(opened)
            setattr(sys, name, open(number, mode))  # noqa: PTH123, SIM115 - open until the process ends


def _fail(sentence: str) -> int:
    """Says why the command ends; returns its exit status."""
    try:
        print(f"pagewalk: {sentence}", file=sys.stderr, flush=True)
    except OSError:
        return _CANNOT_GO_ON  # there is nowhere to say it
    return _CANNOT_GO_ON


def _run() -> int:
    """Runs the command line and writes all of its output; returns the exit status."""
    try:
        import pagewalk._machine  # noqa: PLC0415, F401 - slow to import
    except ImportError as error:
        return _fail(
            f"the simulator cannot be loaded: {error}; this copy of the package was built for another system or "
            f"Python than this one ({sys.platform}, {os.uname().machine}, Python {sys.version_info[0]}."
            f"{sys.version_info[1]}): install a wheel for it, or run `make` in a checkout"
        )
    from pagewalk import later  # noqa: PLC0415 - before what it keeps waiting

    later.install()
    from pagewalk.cli.app import command  # noqa: PLC0415 - slow to import

    status = command()
    signal.signal(signal.SIGINT, _leave)
    sys.stdout.flush()
    sys.stderr.flush()
    return status


def main() -> None:
    """Loads the command and runs it; ends the process with its exit status.

    A failure to write the output and a lack of memory end every command with one sentence.
    """
    unwritable = sys.stdout is None
    _open_streams()
    for stream in (sys.stdout, sys.stderr):
        # A name that the terminal's encoding lacks is shown by its code, not refused.
        getattr(stream, "reconfigure", lambda **_: None)(errors="backslashreplace")
    for name in ("COLUMNS", "LINES"):
        if not os.environ.get(name, "0").isdecimal():
            del os.environ[name]  # Rich takes ² for a number, and fails.
    if unwritable:
        sys.exit(_fail("standard output is closed"))
    status = _CANNOT_GO_ON
    try:
        status = _run()
    except BrokenPipeError:
        status = _BROKEN_PIPE
    except OSError as error:
        named = f"{error.filename}: " if error.filename else "cannot write the output: "
        status = _fail(f"{named}{error.strerror or error}")
    except MemoryError:
        status = _fail("not enough memory")
    signal.signal(signal.SIGINT, _leave)
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except (OSError, ValueError):
            # Otherwise Python flushes again at exit, and prints an error.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    sys.exit(status)
