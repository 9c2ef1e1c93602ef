"""Files that a person asked for. A file takes the place of an older one only when it is whole."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pagewalk.errors import BadInput


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """A new empty file to write, with the suffix of `path`, which takes the place of `path` at the end of the block.

    If the block ends by an error, as on a full disk, the new file is removed and `path` stays as it was. What is no
    regular file, such as /dev/stdout, is written itself, and so is a file in a folder where no other can be made.
    BadInput says why the file cannot be written.
    """
    try:
        # A link stays a link: the file that it names is replaced.
        target = path.resolve()
        if (target.exists() and not target.is_file()) or not os.access(target.parent, os.W_OK):
            yield path
            return
        fresh = target.parent / f".pagewalk-{os.getpid()}-{os.urandom(4).hex()}{path.suffix[:16]}"
        os.close(os.open(fresh, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666))
        try:
            if target.exists():
                fresh.chmod(target.stat().st_mode & 0o7777)
            yield fresh
            fresh.replace(target)
        except BaseException:
            with suppress(OSError):
                fresh.unlink()
            raise
    except OSError as error:
        raise BadInput(f"{path}: {error.strerror}") from None


def write(path: Path, content: str | bytes) -> None:
    """Writes a file, text as UTF-8. BadInput says why it cannot be written; an older file then stays as it was."""
    with replacing(path) as file:
        file.write_bytes(content.encode() if isinstance(content, str) else content)
