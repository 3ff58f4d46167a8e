"""Archive of an audit, chunk by chunk in a folder: an audit can be interrupted and go on, and memory does not grow.

A chunk of transcripts is a file of its own, written whole or not at all, so that it does not matter which process
made it, when, or in which order.
"""

import json
import shutil
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import TypeAdapter

from attacks.audit.loss.comparison import WorldComparison
from attacks.audit.loss.envelopes import Measured
from attacks.audit.loss.noise_check import NoiseScores
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss.wire_fields import Details, Released, UnprotectedField
from netsim.arrays import Array
from netsim.files import draft_of
from netsim.node import Computed

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
        draft = draft_of(mark)
        draft.write_bytes(content)
        draft.replace(mark)
        return cls(folder)

    def __contains__(self, task: tuple[int, int]) -> bool:
        return self._file(*task).is_file()

    def put(self, world: int, chunk: int, seen: Seen) -> None:
        """Keep a chunk."""
        file = self._file(world, chunk)
        draft = draft_of(file)
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

    def whole(self, chunks: int) -> int:
        """How many of the first `chunks` are there of both worlds."""
        return sum(all((world, chunk) in self for world in (0, 1)) for chunk in range(chunks))

    def sound(self, world: int, chunk: int) -> bool:
        """Whether a chunk is there, and can be read to its end."""
        try:
            with zipfile.ZipFile(self._file(world, chunk)) as found:
                return WORDS in found.namelist() and found.testzip() is None
        except (OSError, RuntimeError, zipfile.BadZipFile):
            return False

    def explained(self, world: int, chunks: int) -> "_Chunks":
        """Comparisons of one world, read anew at each iteration."""
        return _Chunks(lambda chunk: self.transcripts(world, chunk), chunks)

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
class _Chunks:
    """Samples that are read anew at each iteration."""

    read: Callable[[int], WorldComparison]
    count: int

    def __iter__(self) -> Iterator[WorldComparison]:
        return (self.read(chunk) for chunk in range(self.count))


# ── as arrays ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Words:
    """All of a chunk that is no array, under the names of `WorldComparison` and its `Details`."""

    laws: tuple[str, ...]
    """As "module:class"."""
    sent_in: tuple[float, ...]
    dates: tuple[int, ...]
    granted_from: float
    complete: bool
    unreliable_from: int | None
    rounded: bool
    tossed: bool
    computed: Computed | None
    uncovered: UnprotectedMessage | None
    faint: UnprotectedMessage | None
    inexplicable: UnprotectedMessage | None
    released: tuple[Released, ...]
    fields: tuple[UnprotectedField, ...]
    refused: dict[str, str]


_WORDS = TypeAdapter(_Words)
_SAME = (
    "sent_in", "dates", "granted_from", "complete", "unreliable_from", "rounded", "tossed", "computed",
    "uncovered", "faint", "inexplicable",
)  # fmt: skip


def _arrays(seen: Seen) -> dict[str, npt.NDArray[Any]]:
    one = seen.explained
    arrays: dict[str, npt.NDArray[Any]] = {f"explained.{name}": getattr(one, name) for name in _ARRAYS}
    arrays |= {f"noise.{name}": np.asarray(value) for name, value in one.noise._asdict().items()}
    arrays |= {_NOTED + name: value for name, value in seen.noted.items()}
    arrays["averages"] = one.details.averages
    arrays |= {name: value for name in _OPTIONAL if (value := getattr(one, name)) is not None}
    if one.measured is not None:
        arrays |= {f"measured.{name}": np.asarray(value) for name, value in vars(one.measured).items()}
    words = _Words(
        **{name: getattr(one, name) for name in _SAME},
        laws=tuple(f"{law.__module__}:{law.__qualname__}" for law in one.laws),
        released=one.details.released,
        fields=one.details.uncovered,
        refused=seen.refused,
    )
    return arrays | {"words": np.array(json.dumps(asdict(words)))}


def _seen(arrays: Mapping[str, npt.NDArray[Any]]) -> Seen:
    words = _WORDS.validate_python(json.loads(str(arrays["words"])))
    measured: Measured | None = None
    if "measured.shifts" in arrays:
        each = ((field.name, arrays[f"measured.{field.name}"]) for field in fields(Measured))
        found: Any = {name: value if value.ndim else value.item() for name, value in each}
        measured = Measured(**found)
    explained = WorldComparison(
        **{name: arrays[f"explained.{name}"] for name in _ARRAYS},
        **{name: getattr(words, name) for name in _SAME},
        laws=tuple(map(_law, words.laws)),
        noise=NoiseScores(*(arrays[f"noise.{name}"] for name in NoiseScores._fields)),
        measured=measured,
        details=Details(words.released, words.fields, arrays["averages"]),
        log_weights=arrays.get("log_weights"),
        coded=arrays.get("coded"),
        scores=arrays.get("scores"),
    )
    noted = {name.removeprefix(_NOTED): value for name, value in arrays.items() if name.startswith(_NOTED)}
    return Seen(explained, noted, words.refused)


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
_OPTIONAL = ("log_weights", "coded", "scores")
_NOTED = "noted."
