"""What an audit sees, chunk by chunk, and the wager that is played meanwhile."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.archive import Archive, Seen
from attacks.audit.blackbox.inferred import INFERRED, Infer, resemblance
from attacks.audit.blackbox.trained import noted
from attacks.audit.games.anytime import Wager, tossed
from attacks.audit.loss.aimed import AIMED
from attacks.audit.loss.exact import NOISE, granted_from, losses_on_wire
from attacks.audit.loss.explain import explain
from attacks.audit.loss.measured import Measured
from attacks.audit.loss.noise import NOTHING
from attacks.audit.pair import Pair, Simulate
from attacks.audit.parallel import spread
from netsim.arrays import Array
from netsim.errors import AttackError

Task = tuple[int, int]
"""World and chunk."""


@dataclass(frozen=True)
class Look:
    """Simulates one sample and says what is seen in it; may run in another process."""

    simulate: Simulate
    pair: Pair
    infer: Infer | None
    train: bool
    references: tuple[Measured | None, Measured | None] = (None, None)

    def __call__(self, world: int, index: int) -> Seen:
        sample = self.simulate(world, index)
        true, other = self.pair.hypotheses[world], self.pair.hypotheses[1 - world]
        explained = explain(sample, self.pair.agent, true, other, self.references[world])
        if index * max(map(len, explained.noise)) >= NOISE:
            explained = replace(explained, noise=NOTHING)
        notes = noted(sample.view, index) if self.train else {}
        refused = dict[str, str]()
        if self.infer is not None:
            try:
                score = resemblance(self.infer(sample.view), self.pair, sample.view.replicas)
                notes[INFERRED] = np.zeros(sample.view.replicas) if score is None else score
            except AttackError as error:
                refused[INFERRED] = str(error)
        return Seen(explained, notes, refused)


class Gathering:
    """Fills an archive, and plays the anytime game meanwhile; `chunks` of each world are there in the end."""

    def __init__(self, kept: Archive, delta: float, rng: np.random.Generator) -> None:
        self.kept, self.delta, self.chunks = kept, delta, 0
        self._coins = rng.spawn(1)[0]
        self._cut = math.inf
        self._left: tuple[Array, Array] = (np.empty(0), np.empty(0))

    def gather(
        self, look: Look, wager: Wager, chunks: int, jobs: int, progress: Callable[[int], None] | None
    ) -> None:
        """Every chunk of both worlds is in the archive after this, whoever put it there; or until the wager is
        decided, if it ends then."""
        tasks = [(world, index) for index in range(chunks) for world in (0, 1)]
        missing = [task for task in tasks if not self.kept.sound(*task)]
        asked = set(missing)
        found = self._found(look, missing, jobs)
        for world, index in tasks:
            if (world, index) in asked:
                task, seen = next(found)
                self.kept.put(*task, seen)
            if progress is not None:
                progress(self.kept.transcripts(world, index).replicas)
            if world == 1:
                self.chunks = index + 1
                self._play(wager, index)
                if wager.over:
                    return

    def _found(self, look: Look, missing: list[Task], jobs: int) -> Iterator[tuple[Task, Seen]]:
        """What is missing, in order; by the first chunk of its world all others are measured."""
        first = [task for task in missing if task[1] == 0]
        yield from zip(first, spread(look, first, jobs), strict=True)
        rest = missing[len(first) :]
        if rest:
            zero, one = (self.kept.get(world, 0).explained.measured for world in (0, 1))
            yield from zip(rest, spread(replace(look, references=(zero, one)), rest, jobs), strict=True)

    def _play(self, wager: Wager, index: int) -> None:
        """Both worlds' transcripts of a chunk, with their exact losses as scores, until one world is empty."""
        parts = [self.kept.transcripts(world, index) for world in (0, 1)]
        self._cut = min(self._cut, granted_from(parts))
        zero, one = (losses_on_wire(part, self._cut) for part in parts)
        queues = np.concatenate([self._left[0], -zero]), np.concatenate([self._left[1], one])
        coins = tossed(queues[0].size, queues[1].size, self._coins)
        scores = np.empty(coins.size)
        for world, queue in enumerate(queues):
            scores[coins == world] = queue[: np.count_nonzero(coins == world)]
        ones = np.count_nonzero(coins)
        self._left = queues[0][coins.size - ones :], queues[1][ones:]
        wager.update(coins, scores)

    def aim(self, look: Look) -> None:
        """At δ = 0, where one possible transcript refutes: some whose noise points where it costs most."""
        for world in (0, 1) if self.delta == 0 else ():
            if not self.kept.sound(world, AIMED):
                self.kept.put(world, AIMED, look(world, AIMED))
