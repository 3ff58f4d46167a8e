"""Files that anybody may have written: regular ones, of a size that can be read; JSON in them; names of drafts."""

import errno
import json
import linecache
import os
import stat
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import NoReturn, cast
from uuid import uuid4

from netsim.errors import ScenarioError

MOST_BYTES = 64 * 2**20
"""Of a text: a graph, a trace of delays."""
DEEPEST = 40
"""Lists and mappings within each other: more than any file of netsim has."""

LONGEST = 255
"""Bytes of a name: no file system in use takes more."""


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


def path_of(path: Path, field: str) -> Path:
    """The path, ~ spelled out, of a file or a folder, which may be there or not.

    You get a `ScenarioError` at this field for what none can be called: a name that is too long, a way through a file
    or around in links, the home folder of nobody.
    """
    try:
        path = path.expanduser()
        path.stat()
    except FileNotFoundError:
        longest = max(map(len, map(os.fsencode, path.parts)), default=0)
        error = errno.ENAMETOOLONG if longest > LONGEST else None
    except (ValueError, RuntimeError):  # a null byte, or half of a pair of surrogates; ~nobody
        raise ScenarioError(field, str(path), "no file can be called that", "another name") from None
    except OSError as found:
        error = found.errno
    else:
        return path
    if error is not None:
        raise ScenarioError(field, str(path), f"no place of a file or folder ({os.strerror(error)})", _ways(path))
    return path


def _ways(path: Path) -> str:
    """What is allowed in the place of a path that leads nowhere."""
    file = next((one for one in reversed(path.parents) if one.is_file()), None)
    return "another name" if file is None else f"a place in a folder: {file} is a file"


def no_such_file(path: str | Path) -> str:
    """That there is no such file; of a relative path where it was looked for."""
    whole = Path(path).expanduser()
    if Path(path).is_absolute():
        return "no such file"
    return f"no such file: {whole}" if whole.is_absolute() else f"no such file in {Path.cwd()}"


def unreadable(path: str | Path, error: OSError | ValueError) -> ScenarioError:
    """The error of a field `path` whose file cannot be read: where it was looked for."""
    why = f"cannot be read ({getattr(error, 'strerror', None) or error})"
    if isinstance(error, FileNotFoundError):
        why = no_such_file(path)
    return ScenarioError(
        "path", str(path), why, "a file; a relative path in a scenario starts at the scenario's file"
    )


def not_written(error: OSError) -> str:
    """That something cannot be written, and why; a link to nothing is there, and is no folder."""
    if isinstance(error, FileExistsError) and not (link := Path(error.filename)).exists() and link.is_symlink():
        return f"cannot be written ({link} is a link to {link.readlink()}, which is not there)"
    return f"cannot be written ({error.strerror or error})"


def draft_of(path: Path) -> Path:
    """A name for a draft of a file or a folder, of this process alone: workers of a command that was killed may still
    write the same one."""
    return path.with_name(f"{path.name[:50]}.{uuid4().hex}.part")  # a longer name might be too long with it


def parse_json(text: str, *, finite: bool = False, unique: bool = False) -> object:
    """The value. `finite`: NaN and Infinity, which JSON has not, are refused; `unique`: so are keys that an object
    has twice, of which JSON keeps the last.

    You get a `ValueError` for what is no JSON, for what is nested more than `DEEPEST` deep, and for half of a pair of
    surrogates, which is no text.
    """
    try:
        refuse = _refuse if finite else None
        tree: object = json.loads(text, parse_constant=refuse, object_pairs_hook=_once if unique else None)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} deep") from None
    level = [tree]
    for _ in range(DEEPEST):
        level = list(chain.from_iterable(map(_inside, level)))
    if level:
        raise ValueError(f"nested more than {DEEPEST} deep")
    if "\\u" in text:
        json.dumps(tree, ensure_ascii=False).encode()
    return tree


def read_text(path: Path, most: int | None = None) -> str:
    """A text in UTF-8, with or without a byte order mark. You get an `OSError`, or a `ValueError` that says what the
    file has in its place."""
    check_regular(path, most)
    return decoded(path.read_bytes())


def decoded(raw: bytes) -> str:
    """Bytes of a text file as `read_text` takes them, with all line ends as they are in Python."""
    if raw[:2] in (b"\xff\xfe", b"\xfe\xff"):
        raise ValueError("is in UTF-16: save it as UTF-8")
    if b"\0" in raw:
        raise ValueError("is no text: it has null bytes, as a binary file or one in UTF-16")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ValueError(f"is no text in UTF-8 (line {line}, byte {raw[error.start]:#04x})") from None
    return text.replace("\r\n", "\n").replace("\r", "\n")


def text_of(file: str) -> str:
    """The text of a file of code as it is now; "" where there is none."""
    linecache.checkcache(file)
    return "".join(linecache.getlines(file))


def read_json(path: Path, most: int | None = None) -> object:
    """The value in a file, of so many bytes at `most`. You get an `OSError` or a `ValueError`."""
    return parse_json(read_text(path, most))


def _inside(one: object) -> list[object]:
    if isinstance(one, Mapping):
        return list(cast("Mapping[str, object]", one).values())
    return cast("list[object]", one) if isinstance(one, list) else []


def _once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        twice = next(name for k, (name, _) in enumerate(pairs) if name in dict(pairs[:k]))
        raise ValueError(f"the key {twice!r} is there twice")
    return found


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
