"""Files that are there whole or not at all, and folders that one command at a time writes to."""

import os
import re
import shutil
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path

from netsim.errors import ScenarioError
from netsim.files import draft_of, not_written

try:
    import fcntl
except ImportError:  # a system without it has no locks
    fcntl = None

MANIFEST = "manifest.json"
"""What was run: the whole scenario, versions, the machine, the command."""
RESULTS = "results.json"
"""What was found; `docs/results-reference.md` describes it."""
SWEEP, SWEPT = "sweep.json", "sweep.parquet"
"""Manifest and table of a sweep."""
PAGE = "report.html"
"""The same to read."""
LOCK = ".netsim-lock"
"""While a command writes to a folder: which, since when. One that nobody holds any more is taken over."""
_DRAFT = re.compile(r".+\.[0-9a-f]{32}\.part")
_COMING = 5.0
"""Seconds that who shares a folder waits for another one that is just beginning."""


def is_draft(path: Path) -> bool:
    """Whether it was a draft (`draft_of`), which a process that was killed leaves behind."""
    return _DRAFT.fullmatch(path.name) is not None


def remove_drafts(*folders: Path) -> None:
    """Remove what commands that were killed have left in folders that nobody else writes to."""
    for one in folders:
        for draft in filter(is_draft, one.iterdir() if one.is_dir() else ()):
            if draft.is_dir() and not draft.is_symlink():
                shutil.rmtree(draft)
            else:
                draft.unlink()


@contextmanager
def whole(path: Path) -> Generator[Path]:
    """A draft to write, of this process alone, that becomes the file when all of it is there, and else is removed.

    A device or a pipe (/dev/stdout) is written itself: a draft would take its place. An `OSError` of a full disk
    names the file.
    """
    direct = path.exists() and not path.is_file()
    draft = path if direct else draft_of(path)
    try:
        yield draft
        if not direct:
            draft.replace(path)
    except OSError as error:
        if error.filename is None and error.errno is not None:
            error.filename = str(path)
        raise
    finally:
        if not direct:
            draft.unlink(missing_ok=True)


@contextmanager
def written(path: Path, field: str = "--out", allowed: str = "a file in a folder that is there") -> Generator[Path]:
    """The same for a file that an option names: you get a `ScenarioError` of that where it cannot be written."""
    try:
        with whole(path) as draft:
            yield draft
    except OSError as error:
        raise ScenarioError(field, str(path), not_written(error), allowed) from None


def check_writable(folder: Path, field: str = "--out") -> None:
    """Make a folder, or raise a `ScenarioError` where files cannot be written to it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise ScenarioError(field, str(folder), not_written(error), "a folder to write to") from None


def check_new(folder: Path, field: str = "--out") -> None:
    """Make a folder that is new or empty. You get a `ScenarioError` for any other, and where none can be."""
    if folder.is_dir() and any(folder.iterdir()):
        raise ScenarioError(field, str(folder), "not empty", "a new folder")
    check_writable(folder, field)


@contextmanager
def held(folder: Path, command: str = "", *, shared: bool = False, drafts: tuple[Path, ...] = ()) -> Generator[None]:
    """Nobody else writes to this folder until the end, or, `shared`, only who shares it, too. You get a
    `ScenarioError` that says who does already.

    A process that is killed holds it no more; the drafts that it left in `drafts`, folders that this lock is for, are
    removed by the first who comes. Where there is no folder, or none to write to, nothing is held.
    """
    path = folder / LOCK
    own = _taken(path, folder, command or "a command", shared, drafts)
    if own is None:
        yield
        return
    try:
        yield
    finally:
        if not shared or _locked(own, "LOCK_EX"):  # else others are still there
            path.unlink(missing_ok=True)
        os.close(own)


def _locked(own: int, way: str) -> bool:
    """Whether the lock was free. (One that was held in another way is lost where not.)"""
    assert fcntl is not None
    try:
        fcntl.flock(own, getattr(fcntl, way) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _taken(path: Path, folder: Path, command: str, shared: bool, drafts: tuple[Path, ...]) -> int | None:
    """The open file of the lock, which is this process's; None where there can be none."""
    end = time.monotonic() + _COMING
    while fcntl is not None:
        try:
            # whoever made the folder may have set a link there to a file that is not to be written over
            own = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        except OSError:
            return None
        try:
            alone = _locked(own, "LOCK_EX")
            if not alone and not (shared and _locked(own, "LOCK_SH")):
                raise BlockingIOError
            if path.exists() and os.path.samestat(os.fstat(own), path.stat()):
                if alone:
                    os.ftruncate(own, 0)
                    os.write(
                        own, f"{command} (process {os.getpid()}, since {datetime.now():%Y-%m-%d %H:%M:%S})".encode()
                    )
                    remove_drafts(*drafts)
                if not alone or not shared or _locked(own, "LOCK_SH"):
                    return own
        except BlockingIOError:
            if shared and time.monotonic() < end:
                os.close(own)
                time.sleep(0.02)
                continue
            who = os.read(own, 500).decode(errors="replace") or "another command"
            os.close(own)
            why = f"is being written by {who}"
            raise ScenarioError("folder", str(folder), why, "another folder, or wait until that has ended") from None
        except FileNotFoundError:  # somebody else's, which was there a moment ago
            pass
        except OSError:  # a file system without locks
            os.close(own)
            return None
        os.close(own)  # whoever held it has removed it
    return None
