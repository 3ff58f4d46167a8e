"""Files that users name: regular ones, of a size that can be read."""

import errno
import os
import stat
from pathlib import Path

MOST_BYTES = 64 * 2**20
"""Of a text: a graph, a trace of delays."""


def check_regular(path: Path, most: int | None = None) -> None:
    """Raise an `OSError` for what cannot be read to an end: a pipe or a device, which may never end, a file of more
    than `most` bytes, a folder, nothing, and what no file can be called."""
    try:
        found = path.stat()
    except ValueError:  # a null byte, or half of a pair of surrogates
        raise OSError(errno.EINVAL, "no file can be called that") from None
    if stat.S_ISDIR(found.st_mode):
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    if not stat.S_ISREG(found.st_mode):
        raise OSError(errno.EINVAL, "a pipe or a device, which may never end", str(path))
    if most is not None and found.st_size > most:
        why = f"{found.st_size:,} bytes; at most {most:,} are read"
        raise OSError(errno.EINVAL, why, str(path))


def is_there(path: Path) -> bool:
    """Whether there is something of this name; a name that the file system does not take is of nothing."""
    try:
        return path.exists()
    except (OSError, ValueError):
        return False
