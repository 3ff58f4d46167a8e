"""Archive of an audit, chunk by chunk in a folder: an audit can be interrupted and go on, and memory does not grow.

A chunk of transcripts is a file of its own, written whole or not at all, so that it does not matter which process
made it, when, or in which order.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Generator, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attacks.audit.loss.comparison import WorldComparison
from attacks.audit.loss.envelopes import Measured
from attacks.audit.loss.noise_check import NoiseScores
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss.wire_fields import Details
from netsim.arrays import Array

MARK = "of.json"
"""Name of the file that identifies the audit."""
WORDS = "words.npy"
"""Name of a member that every chunk has."""


class Seen(NamedTuple):
    """One chunk: its transcripts compared, arrays noted by observers, and observers that refused.

    `noted[name]` has shape (replicas, …), or belongs to the chunk as a whole; `refused[name]` is the reason.
    """

    explained: WorldComparison
    noted: dict[str, npt.NDArray[Any]]
    refused: dict[str, str]


@dataclass(frozen=True)
class Archive:
    """Folder with one file for each (world, chunk)."""

    folder: Path

    @classmethod
    def at(cls, folder: Path, of: str) -> "Archive":
        """Archive in `folder`, made if it is not there. Files there are kept if they are `of` the same; else they are
        removed: other parameters, another program, another format."""
        mark, content = folder / MARK, of.encode()
        if mark.is_file() and mark.read_bytes() == content:
            return cls(folder)
        if folder.is_dir() and not folder.is_symlink():
            shutil.rmtree(folder)
        else:
            folder.unlink(missing_ok=True)
        folder.mkdir(parents=True)
        draft = mark.with_suffix(".part")
        draft.write_bytes(content)
        draft.replace(mark)
        return cls(folder)

    def __contains__(self, task: tuple[int, int]) -> bool:
        return self._file(*task).is_file()

    def put(self, world: int, chunk: int, seen: Seen) -> None:
        """Keep a chunk."""
        file = self._file(world, chunk)
        draft = file.with_suffix(".part")
        with draft.open("wb") as out:
            np.savez(out, allow_pickle=False, **_arrays(seen))
        draft.replace(file)

    def get(self, world: int, chunk: int) -> Seen:
        """Read a chunk."""
        with np.load(self._file(world, chunk), allow_pickle=False) as found:
            return _seen({name: found[name] for name in found.files})

    def transcripts(self, world: int, chunk: int) -> WorldComparison:
        """Read the comparison of a chunk, without the observers' notes."""
        with np.load(self._file(world, chunk), allow_pickle=False) as found:
            return _seen({name: found[name] for name in found.files if not name.startswith(_NOTED)}).explained

    def note(self, name: str, world: int, chunk: int) -> npt.NDArray[Any] | None:
        """Read one note of a chunk; None if there is none."""
        with np.load(self._file(world, chunk), allow_pickle=False) as found:
            return found[_NOTED + name] if _NOTED + name in found.files else None

    def sound(self, world: int, chunk: int) -> bool:
        """Whether a chunk is there, and can be read to its end."""
        try:
            with zipfile.ZipFile(self._file(world, chunk)) as found:
                return WORDS in found.namelist() and found.testzip() is None
        except (OSError, RuntimeError, zipfile.BadZipFile):
            return False

    def explained(self, world: int, chunks: int) -> "Chunks":
        """Comparisons of one world, read anew each time."""
        return Chunks(lambda chunk: self.transcripts(world, chunk), chunks)

    def noted(self, name: str, world: int, chunks: int) -> Array:
        """One note of all transcripts of one world."""
        found = (self.note(name, world, chunk) for chunk in range(chunks))
        return np.concatenate([one for one in found if one is not None])

    def remove(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.folder)

    def _file(self, world: int, chunk: int) -> Path:
        return self.folder / f"world-{world}-chunk-{chunk:06d}.npz"


@dataclass(frozen=True)
class Chunks:
    """Samples that are read anew at each iteration."""

    read: Callable[[int], WorldComparison]
    count: int

    def __iter__(self) -> Iterator[WorldComparison]:
        return (self.read(chunk) for chunk in range(self.count))


@contextmanager
def archive_in(archive: Archive | None) -> Generator[Archive]:
    """Context of the given archive, or of a temporary one."""
    if archive is not None:
        yield archive
        return
    with TemporaryDirectory(prefix="netsim-audit-") as folder:
        yield Archive.at(Path(folder) / "evidence", "")


# ── as arrays ───────────────────────────────────────────────────────────────────────────────────────────


def _arrays(seen: Seen) -> dict[str, Any]:
    one = seen.explained
    arrays: dict[str, Any] = {f"explained.{name}": getattr(one, name) for name in _ARRAYS}
    arrays |= {f"noise.{name}": value for name, value in one.noise._asdict().items()}
    arrays |= {_NOTED + name: value for name, value in seen.noted.items()}
    arrays["averages"] = one.details.averages
    if one.measured is not None:
        arrays |= {f"measured.{name}": value for name, value in vars(one.measured).items()}
    words = {
        "laws": [f"{law.__module__}:{law.__qualname__}" for law in one.laws],
        "sent_in": one.sent_in,
        "dates": one.dates,
        "granted_from": one.granted_from,
        "complete": one.complete,
        "unreliable_from": one.unreliable_from,
        "rounded": one.rounded,
        "details": one.details.words(),
        "refused": seen.refused,
    }
    words |= {name: None if (u := getattr(one, name)) is None else asdict(u) for name in _MESSAGES}
    return arrays | {"words": np.array(json.dumps(words))}


def _seen(arrays: dict[str, Any]) -> Seen:
    words: dict[str, Any] = json.loads(str(arrays["words"]))
    refused: dict[str, str] = words.pop("refused")
    words |= {name: None if words[name] is None else UnprotectedMessage(**words[name]) for name in _MESSAGES}
    words["laws"] = tuple(map(_law, words["laws"]))
    words["details"] = Details.of(words["details"], arrays["averages"])
    words |= {name: tuple(words[name]) for name in ("sent_in", "dates")}
    noise = NoiseScores(*(arrays[f"noise.{name}"] for name in NoiseScores._fields))
    own = {name: arrays[f"explained.{name}"] for name in _ARRAYS}
    explained = WorldComparison(**own, **words, noise=noise, measured=_measured(arrays))
    noted = {name.removeprefix(_NOTED): value for name, value in arrays.items() if name.startswith(_NOTED)}
    return Seen(explained, noted, refused)


def _measured(arrays: dict[str, Any]) -> Measured | None:
    if "measured.shifts" not in arrays:
        return None
    found = {field.name: arrays[f"measured.{field.name}"] for field in fields(Measured)}
    return Measured(**{name: value if value.ndim else value.item() for name, value in found.items()})


def _law(name: str) -> type:
    """Type of a mechanism by its name; `object`, which has no cost, where it cannot be found."""
    module, _, qualified = name.partition(":")
    try:
        found: Any = import_module(module)
    except ImportError:
        return object
    for part in qualified.split("."):
        found = getattr(found, part, object)
    return found


_ARRAYS = ("steps", "cost", "leaked", "bare")
_NOTED = "noted."
_MESSAGES = ("uncovered", "faint", "inexplicable")
