"""Messages of one agent whatever its data are: how many its code sends, and the names of the values in each.

The code is run on what was recorded, with made-up answers, noise and coins, and made-up values where nothing was
captured. What several such runs agree on is public: a transcript in which it is otherwise is none of this algorithm.
"""

from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from attacks.replay.recorded import RecordedNode, Recording
from netsim.arrays import Array
from netsim.errors import NetsimError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.node import Coins, Exchange
from netsim.transcript.message import EVERYBODY, Kind, Message, Record, Values, as_sent

RUNS = 2
"""Made-up runs that have to agree."""
_LONGEST = 100_000
"""Messages after which a run is given up."""


class Outline(NamedTuple):
    """Names of the values in each message, by its kind and number; of all messages, if it is `complete`."""

    names: dict[tuple[str, int], frozenset[str]]
    complete: bool

    def shared(self, other: "Outline") -> "Outline":
        """What two runs agree on."""
        same = {key: found for key, found in self.names.items() if other.names.get(key) == found}
        both = self.complete and other.complete
        return Outline(same, both and len(same) == len(self.names) == len(other.names))


def outline(recording: Recording) -> Outline:
    """The outline of the agent's messages, as far as its code comes with what was recorded."""
    return reduce(Outline.shared, (_Outliner(recording, seed).outline() for seed in range(RUNS)))


class _Outliner(RecordedNode):
    """One made-up run."""

    blind_to_receivers = True

    def __init__(self, recording: Recording, seed: int) -> None:
        self._rng = np.random.default_rng(seed)
        super().__init__(recording._replace(coins=Coins(np.random.PCG64(seed))))
        self._horizon = recording.public.algorithm.stopping().per_agent
        self._found: dict[tuple[str, int], frozenset[str]] = {}

    def outline(self) -> Outline:
        """What the code sends until it ends, or cannot go on."""
        try:
            with np.errstate(all="ignore"):
                complete = self.run_to_the_end() or self._ended
        except (NetsimError, ValueError, ArithmeticError, LookupError, TypeError):  # of code at made-up numbers
            complete = False
        return Outline(self._found, complete)

    @property
    def _ended(self) -> bool:
        """Whether a walk is over, which others end."""
        return self._horizon is not None and self.activation > self._horizon

    async def exchange(self, **values: Array) -> Exchange:
        await self._goes_on()
        number = self._counts["exchange"]
        own, received = self._put("exchange", values, EVERYBODY), self._exchanged.get(number, {})
        messages = [
            Message(j, "exchange", number, received[j].values if j in received else self._made_up(values))
            for j in self.neighbors
        ]
        return Exchange(self, own, messages)

    def estimate(self, x: Array) -> None:
        super().estimate(x)
        if self._ended:
            raise self._end()

    def _put(self, kind: Kind, values: Values, to: int) -> Message:  # noqa: ARG002  whom it is for is not compared
        number = self._counts[kind]
        if len(self._found) >= _LONGEST:
            raise self._end()
        self._counts[kind] += 1
        self._found[kind, number] = frozenset(values)
        row = self._outgoing.get((kind, number))
        same = row is not None and row.values.keys() == values.keys()
        return Message(
            self.id, kind, number, row.values if row and same else {n: as_sent(v) for n, v in values.items()}
        )

    def _made_up(self, names: Sequence[str] | Values) -> Values:
        return {name: self._any() for name in names}

    def _any(self) -> Array:
        return self._rng.standard_normal((self.replicas, self.dimension))

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:  # noqa: ARG002
        return self._any()

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:  # noqa: ARG002
        return v + self._any()

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:  # noqa: ARG002
        return v + self._any()

    def privatize(
        self,
        value: Array,
        mechanism: Mechanism,  # noqa: ARG002
        shared: Gaussian | None = None,  # noqa: ARG002
        draw: int | None = None,  # noqa: ARG002
    ) -> Array:
        return value + self._rng.standard_normal(value.shape)

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:
        return {j: self.privatize(value, mechanism) for j in (self.id, *self.neighbors)}

    def _seen(self, row: Record) -> None:
        pass

    def _sent(self, row: Record, values: Values) -> None:
        pass
