"""A trained classifier in an audit: what is kept of the links for it, what it is taught, and what it scores.

A black box has no door: the classifier is shown what was heard on links (on radio, in the air) and nothing of what
the tap at the agent's door adds to it. Some chunks teach it, and only others are played, so that its scores are as
fresh as the game wants them. What was heard is kept chunk by chunk, bounded, and by a rule that looks at the chunk
alone: an audit that is stopped, resumed or spread over processes learns from the same transcripts.

Transcripts of one chunk are simulated at once and have in common which messages there are, when, and how large.
That is the same in all chunks of a world, for delays and clocks are drawn by the seed alone; where it differs between
the worlds, it depends on private data and is what tells. Would it differ among the chunks of a world, a classifier
could learn chunks by heart, and scores of one chunk were right or wrong together, which the game takes for
independent trials: then there is no classifier.
"""

from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Any

import numpy as np
import numpy.typing as npt

from attacks.audit.archive import Archive
from attacks.audit.blackbox.classifier import FEWEST, Classifier
from attacks.audit.blackbox.features import Features, features
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.transcript import Transcript

HEARD = "heard on links"
"""What (replicas, columns) of float32 are called in an archive."""
COMMON, CONSTANT = "common to a chunk", "constant in a chunk"
"""Digests (32,) of the rows' places, times and sizes, and of the numbers that are the same in all transcripts."""
COLUMNS = 1000
"""Numbers of a transcript that are kept; of more, the first and the last ones."""
ROOM = 2**26
"""Numbers of a world that are kept, 256 MiB; of later chunks only digests are."""
TEACH = 0.3
"""The share of the chunks that teach."""
TAUGHT = 2500
"""Transcripts of each world that teach, at most."""
FEWEST_PLAYED = 50
"""Transcripts of each world that must be left to play."""


@dataclass(frozen=True)
class Trained:
    """What was learned: `kind` of classifier and its cross-validated log loss in nats (ln 2: it tells nothing), from
    `columns` numbers of each of `taught` transcripts of each world; `played` others are left to play."""

    kind: str
    loss: float
    columns: int
    taught: int
    played: int


def noted(view: AdversaryView, index: int) -> dict[str, npt.NDArray[Any]]:
    """What is kept for the classifier of chunk `index`: what was heard on links, if there is room, and digests."""
    on_links = Transcript([row for row in view.transcript if row.place == "link"], view.replicas)
    found = features(replace(view, transcript=on_links), COLUMNS)
    kept: dict[str, npt.NDArray[Any]] = {
        COMMON: _digest(*found.names, *(f"{name}={value!r}" for name, value in found.facts.items())),
        CONSTANT: _digest(*_constants(found)),
    }
    values = found.values
    if values.shape[1] > COLUMNS:
        values = np.concatenate([values[:, : COLUMNS // 2], values[:, -(COLUMNS - COLUMNS // 2) :]], axis=1)
    if (index + 1) * values.size <= ROOM:
        with np.errstate(over="ignore"):
            kept[HEARD] = values.astype(np.float32)
    return kept


def trained(kept: Archive, chunks: int, rng: np.random.Generator) -> tuple[Trained, tuple[Array, Array]]:
    """What a classifier learned from the first of `chunks`, and its scores of the others, by world.

    You get an `AttackError` that says why where there is nothing to learn, or too little to learn and play.
    """
    usable = next((k for k in range(chunks) if any(kept.note(HEARD, w, k) is None for w in (0, 1))), chunks)
    if usable < 2:
        what = f"{chunks} in all" if usable == chunks else f"what was heard in {usable} of {chunks} could be kept"
        raise AttackError(f"some chunks teach and others are played, so it takes two or more: {what}")
    _check_common(kept, usable)
    told = _told(kept, COMMON, 0, 0) != _told(kept, COMMON, 1, 0)
    size, columns = _values(kept, 0, 0, told).shape
    if not columns:
        raise AttackError("nothing that could be read was heard on the tapped links")
    lessons = max(1, min(round(TEACH * usable), -(-TAUGHT // size)))
    played = (usable - lessons) * size
    if min(lessons * size, TAUGHT) < FEWEST or played < FEWEST_PLAYED:
        raise AttackError(
            f"{lessons * size} transcripts of each world teach and {played} are left to play: "
            f"it takes {FEWEST} and {FEWEST_PLAYED}"
        )
    zero, one = (
        Features.of(np.concatenate([_values(kept, world, index, told) for index in range(lessons)])[:TAUGHT])
        for world in (0, 1)
    )
    learned = Classifier.fit(zero, one, rng)
    rest = range(lessons, usable)
    scores = tuple(
        np.concatenate([learned.score(Features.of(_values(kept, w, k, told))) for k in rest]) for w in (0, 1)
    )
    return Trained(learned.kind, learned.loss, columns, zero.replicas, played), (scores[0], scores[1])


def _values(kept: Archive, world: int, index: int, told: bool) -> Array:
    """What was heard, a row for each transcript; or, where that has other columns in the other world, or other times
    and sizes (`told`), a number in [0, 1) that stands for these."""
    found = kept.note(HEARD, world, index)
    assert found is not None
    if told:
        return np.full((len(found), 1), int.from_bytes(_told(kept, COMMON, world, index)[:6]) / 2**48)
    return found.astype(np.float64)


def _check_common(kept: Archive, chunks: int) -> None:
    """What is common to a chunk is so to all chunks of its world."""
    for world in (0, 1):
        if len({_told(kept, COMMON, world, k) for k in range(chunks)}) > 1:
            raise AttackError(
                "which messages were heard, when, or how large they were is not the same in all chunks of a world: "
                "that is common to all transcripts of a chunk, and a classifier would learn chunks by heart"
            )
        if len({_told(kept, CONSTANT, world, k) for k in range(chunks)}) > 1:
            raise AttackError(
                "some number is the same in all transcripts of one chunk and not in another: they may share what is "
                "random in it, and a classifier would learn chunks by heart"
            )


def _told(kept: Archive, name: str, world: int, index: int) -> bytes:
    found = kept.note(name, world, index)
    return b"" if found is None else found.tobytes()


def _constants(found: Features) -> list[str]:
    """The columns that are the same in all transcripts, with their values; none where there is but one transcript."""
    if found.replicas == 1:
        return []
    bits = np.ascontiguousarray(found.values + 0.0).view(np.int64)
    same = (bits == bits[:1]).all(axis=0)
    return [f"{found.names[k]}={bits[0, k]}" for k in np.flatnonzero(same)]


def _digest(*lines: str) -> npt.NDArray[np.uint8]:
    return np.frombuffer(sha256("\n".join(lines).encode()).digest(), dtype=np.uint8)
