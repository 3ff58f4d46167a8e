"""Trained classifiers in an audit: training, checks and scores, for one adversary or for many views at once.

A black box has no door: the classifier gets the rows captured on links (on radio, in the air) and none of those that
the tap at the agent's door adds. Some chunks teach it, and only others are played, so that its scores are as fresh as
the game wants them. Captured numbers are kept chunk by chunk, bounded, and by a rule that looks at the chunk alone:
an audit that is stopped, resumed or spread over processes learns from the same transcripts.

Transcripts of one chunk are simulated at once and share which messages there are, when, and how large. That is the
same in all chunks of a world, for delays and clocks are drawn by the seed alone; a difference between the worlds
depends on private data and is evidence. Would it differ among the chunks of a world, a classifier could learn chunks
by heart, and scores of one chunk were right or wrong together, which the game takes for independent trials: then
there is no classifier.

The transcripts that teach are kept, view by view, in a folder that is removed afterwards; of the others only their
scores are kept. So memory holds one view's lessons at a time, whatever the number of views.
"""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from pickle import dumps, loads
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from attacks.audit.archive import Archive
from attacks.audit.classifier import FEWEST, MOST, Classifier, Features, recorded_ids
from attacks.audit.pair import INFERRED, Infer, Pair, resemblance, spread
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.errors import AttackError
from netsim.transcript import Transcript

CAPTURED = "heard on links"
"""Name in an archive of the captured numbers, (replicas, columns) of float32."""
COMMON, CONSTANT = "common to a chunk", "constant in a chunk"
"""Digests (32,) of the rows' places, times and sizes, and of the numbers that are the same in all transcripts."""
COLUMNS = 1000
"""Numbers of a transcript that are kept, at most; of more, the first and the last ones."""
ROOM = 2**26
"""Numbers of a world that are kept, 256 MiB; of later chunks only digests are."""
_TEACH = 0.3
"""Share of the chunks that teach."""
TAUGHT = 2500
"""Transcripts of each world that teach, at most."""
_FEWEST_PLAYED = 50
"""Transcripts of each world left to play, at least."""


@dataclass(frozen=True)
class Trained:
    """Classifier of an audit: its `kind` and cross-validated log loss in nats (ln 2: no better than a coin), from
    `columns` numbers of each of `taught` transcripts of each world; `played` others are left to play."""

    kind: str
    loss: float
    columns: int
    taught: int
    played: int


def captured(view: AdversaryView) -> Features:
    """Numbers of the rows that a view captured on links, without those of the tap at the agent's door."""
    on_links = Transcript([row for row in view.transcript if row.place == "link"], view.replicas)
    return Features.of_view(replace(view, transcript=on_links), COLUMNS)


def noted(view: AdversaryView, index: int) -> dict[str, npt.NDArray[Any]]:
    """Arrays to keep of chunk `index` for the classifier: captured numbers, if there is room, and digests."""
    found = captured(view)
    constants: list[str] = []
    if found.replicas > 1:
        bits = np.ascontiguousarray(found.values + 0.0).view(np.int64)
        same = np.flatnonzero((bits == bits[:1]).all(axis=0))
        constants = [f"{found.names[k]}={bits[0, k]}" for k in same]
    kept: dict[str, npt.NDArray[Any]] = {
        COMMON: _digest(*found.names, *(f"{name}={value!r}" for name, value in found.facts.items())),
        CONSTANT: _digest(*constants),
    }
    values = found.values
    if values.shape[1] > COLUMNS:
        values = np.concatenate([values[:, : COLUMNS // 2], values[:, -(COLUMNS - COLUMNS // 2) :]], axis=1)
    if (index + 1) * values.size <= ROOM:
        with np.errstate(over="ignore"):
            kept[CAPTURED] = values.astype(np.float32)
    return kept


def trained(
    kept: Archive, chunks: int, rng: np.random.Generator
) -> tuple[Trained, tuple[Array, Array], tuple[Array, Array]]:
    """Train a classifier on the first of `chunks`; give its scores of the others, by world, and of those that taught
    it, each by what others taught: thresholds may be chosen on these.

    Raises `AttackError` where there is nothing to learn, or too little to learn and play.
    """
    usable = next((k for k in range(chunks) if any(kept.note(CAPTURED, w, k) is None for w in (0, 1))), chunks)
    if usable < 2:
        found = f"there is {chunks}" if usable == chunks else f"of {chunks} the messages of {usable} could be kept"
        raise AttackError(
            "it learns from some chunks of transcripts and is played on others, so it needs two chunks or more, and "
            f"{found} (a smaller audit.chunk makes more of them)"
        )
    _check_common(kept, usable)
    facts_differ = _note_bytes(kept, COMMON, 0, 0) != _note_bytes(kept, COMMON, 1, 0)
    size, columns = _values(kept, 0, 0, facts_differ).shape
    if not columns:
        raise AttackError("no readable value was captured on the tapped links")
    lessons = max(1, min(round(_TEACH * usable), -(-TAUGHT // size)))
    played = (usable - lessons) * size
    if min(lessons * size, TAUGHT) < FEWEST or played < _FEWEST_PLAYED:
        raise AttackError(
            f"{lessons * size} transcripts of each world teach and {played} are left to play: "
            f"it takes {FEWEST} and {_FEWEST_PLAYED}"
        )
    zero, one = (
        Features.of(np.concatenate([_values(kept, world, index, facts_differ) for index in range(lessons)])[:TAUGHT])
        for world in (0, 1)
    )
    learned = Classifier.fit(zero, one, rng)
    rest = range(lessons, usable)
    scores = tuple(
        np.concatenate([learned.score(Features.of(_values(kept, w, k, facts_differ))) for k in rest]) for w in (0, 1)
    )
    kind = Trained(learned.kind, learned.loss, columns, zero.replicas, played)
    return kind, (scores[0], scores[1]), learned.held_out


def _values(kept: Archive, world: int, index: int, facts_differ: bool) -> Array:
    """Captured numbers, (replicas, columns); where columns, times or sizes differ between the worlds
    (`facts_differ`), a number in [0, 1) in their place that stands for these."""
    found = kept.note(CAPTURED, world, index)
    assert found is not None
    if facts_differ:
        return np.full((len(found), 1), int.from_bytes(_note_bytes(kept, COMMON, world, index)[:6]) / 2**48)
    return found.astype(np.float64)


def _check_common(kept: Archive, chunks: int) -> None:
    """Raise an `AttackError` where chunks of a world differ in what is common to the transcripts of a chunk."""
    for world in (0, 1):
        if len({_note_bytes(kept, COMMON, world, k) for k in range(chunks)}) > 1:
            raise AttackError(
                "which messages were captured, when, or how large they were differs among the chunks of a world: "
                "that is common to all transcripts of a chunk, and a classifier would learn chunks by heart"
            )
        if len({_note_bytes(kept, CONSTANT, world, k) for k in range(chunks)}) > 1:
            raise AttackError(
                "some number is the same in all transcripts of one chunk and not in another: they may share what is "
                "random in it, and a classifier would learn chunks by heart"
            )


def _note_bytes(kept: Archive, name: str, world: int, index: int) -> bytes:
    found = kept.note(name, world, index)
    return b"" if found is None else found.tobytes()


def _digest(*lines: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(sha256("\n".join(lines).encode()).digest(), dtype=np.uint8)


_Chunks = tuple[range, range, range]
"""Chunks that teach, that choose, and that are played."""


class Scored(NamedTuple):
    """Scores of all views, and whether view m recorded all that view k did, (views k, views m)."""

    views: tuple["ViewScores", ...]
    recorded: Mask

    @classmethod
    def of(
        cls,
        simulate: Callable[[int, int], tuple[AdversaryView, ...]],
        pair: Pair,
        infer: Infer | None,
        chunks: _Chunks,
        seeds: Sequence[int],
        jobs: int,
        progress: Callable[[int], None] | None,
    ) -> "Scored":
        """Teach a classifier for each view (`seeds` has one for each) and score the rest of the trials with it."""
        teach, choose, play = chunks
        with TemporaryDirectory(prefix="views-") as folder:
            lessons = [(world, index) for index in teach for world in (0, 1)]
            taught, recorded = 0, np.ones((len(seeds), len(seeds)), dtype=bool)
            for replicas, held in spread(_TrainingChunk(simulate, Path(folder)), lessons, jobs):
                taught += replicas
                recorded &= held
                if progress is not None:
                    progress(replicas)
            pupils = [(k, lessons, seed) for k, seed in enumerate(seeds)]
            classifiers = tuple(spread(_Trainer(Path(folder)), pupils, jobs))
        tasks = [(world, index) for index in (*choose, *play) for world in (0, 1)]
        found: list[list[_Seen]] = []
        for seen in spread(_Scorer(simulate, classifiers, pair, infer), tasks, jobs):
            found.append(seen)
            if progress is not None:
                progress(seen[0].classified.size)
        views = (
            _collected([seen[k] for seen in found], tasks, choose, one, taught // 2)
            for k, one in enumerate(classifiers)
        )
        return cls(tuple(views), recorded)


class ViewScores(NamedTuple):
    """Scores of one view for the trials that choose and those that are played, for each world (scores, trials).

    A row for each of `labels`; larger: more like world 1. `taught` trials of each world taught the classifier.
    """

    labels: tuple[str, ...]
    choosing: tuple[Array, Array]
    played: tuple[Array, Array]
    taught: int


class _Seen(NamedTuple):
    """Scores of one chunk from one view: the classifier's, and those of the inferred gradients, if there are some."""

    classified: Array
    inverted: Array | None


@dataclass(frozen=True)
class _TrainingChunk:
    """Task that writes the features of one chunk from every view to files; may run in another process."""

    simulate: Callable[[int, int], tuple[AdversaryView, ...]]
    folder: Path

    def __call__(self, world: int, index: int) -> tuple[int, Mask]:
        """Number of transcripts, and whether view m recorded all that view k did."""
        views = self.simulate(world, index)
        for k, view in enumerate(views):
            _training_file(self.folder, k, world, index).write_bytes(dumps(Features.of_view(view, MOST)))
        held = [recorded_ids(view) for view in views]
        return views[0].replicas, np.array([[one <= other for other in held] for one in held], dtype=bool)


@dataclass(frozen=True)
class _Trainer:
    """Task that trains one view's classifier."""

    folder: Path

    def __call__(self, k: int, lessons: Sequence[tuple[int, int]], seed: int) -> Classifier:
        samples: tuple[list[Features], list[Features]] = ([], [])
        for world, index in lessons:
            samples[world].append(loads(_training_file(self.folder, k, world, index).read_bytes()))
        return Classifier.fit(*samples, np.random.default_rng(seed))


@dataclass(frozen=True)
class _Scorer:
    """Task that scores one chunk from every view."""

    simulate: Callable[[int, int], tuple[AdversaryView, ...]]
    classifiers: tuple[Classifier, ...]
    pair: Pair
    infer: Infer | None

    def __call__(self, world: int, index: int) -> list[_Seen]:
        found: list[_Seen] = []
        for view, classifier in zip(self.simulate(world, index), self.classifiers, strict=True):
            classified, inverted = classifier.score(Features.of_view(view)), None
            if self.infer is not None:
                with suppress(AttackError):
                    inverted = resemblance(self.infer(view), self.pair, view.replicas)
            found.append(_Seen(classified, inverted))
        return found


def _collected(
    seen: Sequence[_Seen], tasks: Sequence[tuple[int, int]], choose: range, classifier: Classifier, taught: int
) -> ViewScores:
    """Scores of one view from all chunks; the gradients' score only where every chunk that chooses has one.

    A chunk that is played and has none is scored 0: what is played must have no say in which scores there are.
    """
    inverted = all(one.inverted is not None for one, (_, index) in zip(seen, tasks, strict=True) if index in choose)
    labels = (f"classifier: {classifier.kind}", *([INFERRED] if inverted else []))

    def part(world: int, chosen: bool) -> Array:
        chunks: list[Array] = []
        for one, (of, index) in zip(seen, tasks, strict=True):
            if of == world and (index in choose) == chosen:
                second = np.zeros(one.classified.size) if one.inverted is None else one.inverted
                chunks.append(np.array([one.classified, second] if inverted else [one.classified]))
        return np.concatenate(chunks, axis=1)

    choosing, played = ((part(0, chosen), part(1, chosen)) for chosen in (True, False))
    return ViewScores(labels, choosing, played, taught)


def _training_file(folder: Path, view: int, world: int, index: int) -> Path:
    return folder / f"{view}-{world}-{index}"
