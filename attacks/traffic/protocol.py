"""Pattern of an algorithm's messages: one agent's coroutine run on a port that only takes notes.

Gradients are zeros there and neighbors send what the agent sends: only the order of queries and messages, and how
many vectors a message has, are read off. They depend on no data in the algorithms that a pattern is found for.
"""

from collections.abc import Coroutine, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from netsim.adversary import PublicKnowledge
from netsim.arrays import Array
from netsim.errors import AttackError, NetsimError
from netsim.mechanisms import Gaussian, Mechanism
from netsim.models.model import Regularizer
from netsim.node import Exchange, Node
from netsim.transcript.message import Message

ACTIVATIONS = 4
"""Activations of a walk that are run: they have to be alike."""


MOST_ROUNDS = 1_000_000
"""Code that never ends is not followed further."""


class _Done(BaseException):
    """Enough was seen."""


@dataclass(frozen=True)
class _PublicSend:
    """One message in the code's order: `queries` of the objective since the message before, its number of `vectors`,
    and whether an activation was `closed` in between (the first one counts as such)."""

    queries: int
    vectors: int
    closed: bool


@dataclass(frozen=True)
class Protocol:
    """`walk`: one token, passed on once an activation, from agent `first` on; `sends` has one entry then. Else all
    agents exchange in rounds, and `sends` has an entry for each exchange of the whole run."""

    walk: bool
    first: int
    sends: tuple[_PublicSend, ...]
    rounds: int
    after: int = 0
    """Queries after the last message."""

    @classmethod
    def of(cls, public: PublicKnowledge) -> "Protocol":
        """The pattern of the public algorithm. You get an `AttackError` where it is none of the two."""
        algorithm = public.algorithm
        walk, first = algorithm.stopping().walks, int(getattr(algorithm, "first", 0))
        notes = _Notes(public, first, ACTIVATIONS if walk else None)
        coroutine = cast("Coroutine[Any, Any, None]", algorithm.run(cast("Node", notes)))
        try:
            with np.errstate(all="ignore"):
                coroutine.send(None)
        except (StopIteration, _Done):
            pass
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError, NetsimError) as error:
            raise AttackError(f"its code does not run on a port that only takes notes ({error})") from error
        else:
            raise AttackError("its code waits for something else than messages")
        finally:
            coroutine.close()
        closed = max(notes.closed, 1)
        if walk:
            sends = _split(notes.steps)
            alike = len(notes.steps) > 0 and len({(one.queries, one.vectors) for one in sends}) == 1
            if not alike or len(sends) != closed or not _only(notes.steps, ">"):
                raise AttackError(
                    "the walk's messages are more than one token passed on: times and sizes do not follow it"
                )
            return cls(True, first, sends[:1], 0)
        if not _only(notes.steps, "="):
            raise AttackError("its agents send messages to single neighbors, besides exchanges or in place of them")
        last = max(k for k, step in enumerate(notes.steps) if step[0] == "=")
        return cls(False, 0, _split(notes.steps), closed, notes.steps[last:].count("query"))

    @property
    def vectors(self) -> tuple[int, ...]:
        """The numbers of vectors that messages may have, ascending."""
        return tuple(sorted({one.vectors for one in self.sends}))


def _only(steps: Sequence[str], mark: str) -> bool:
    """Whether there are messages, and all of this kind."""
    sent = [step for step in steps if step not in ("query", "close")]
    return bool(sent) and all(step[0] == mark for step in sent)


def _split(steps: Sequence[str]) -> tuple[_PublicSend, ...]:
    found: list[_PublicSend] = []
    queries, closed = 0, True
    for step in steps:
        if step == "query":
            queries += 1
        elif step == "close":
            closed = True
        else:
            found.append(_PublicSend(queries, int(step[1:]), closed))
            queries, closed = 0, False
    return tuple(found)


class _Notes:
    """The port: it answers at once and writes down "query", "=v" (an exchange of v vectors), ">v", "close"."""

    def __init__(self, public: PublicKnowledge, agent: int, most: int | None) -> None:
        self.id, self.agents, self.neighbors = agent, public.agents, public.neighbors[agent]
        self.weights: Array = public.weights[agent]
        self.replicas, self.dimension = 1, public.dimension
        self.records = public.records[agent] if public.records else 1
        self.regularizer: Regularizer = public.regularizer
        self.coins = np.random.default_rng(0)
        self.steps: list[str] = []
        self.closed = self._number = 0
        self._most = most
        self._token: Message | None = None

    def zeros(self) -> Array:
        return np.zeros((1, self.dimension))

    async def gradient(self, x: Array, batch: Sequence[int] | None = None) -> Array:  # noqa: ARG002
        self.steps.append("query")
        return np.zeros_like(x)

    async def proximal(self, v: Array, step: float, *, regularized: bool = False) -> Array:  # noqa: ARG002
        self.steps.append("query")
        return v.copy()

    async def perturbed_proximal(self, v: Array, step: float, mechanism: Mechanism) -> Array:  # noqa: ARG002
        self.steps.append("query")
        return v.copy()

    def privatize(
        self,
        value: Array,
        mechanism: Mechanism,  # noqa: ARG002
        shared: Gaussian | None = None,  # noqa: ARG002
        draw: int | None = None,  # noqa: ARG002
    ) -> Array:
        return value

    def split(self, value: Array, mechanism: Gaussian) -> dict[int, Array]:  # noqa: ARG002
        return dict.fromkeys((self.id, *self.neighbors), value)

    async def exchange(self, **values: Array) -> Exchange:
        self.steps.append(f"={len(values)}")
        own = Message(self.id, "exchange", self._number, dict(values))
        self._number += 1
        return Exchange(cast("Node", self), own, [own] * len(self.neighbors))

    def send(self, to: int, **values: Array) -> None:  # noqa: ARG002
        self.steps.append(f">{len(values)}")
        self._token = Message(self.id, "direct", 0, dict(values))

    def broadcast(self, **values: Array) -> None:
        self.steps.append(f"*{len(values)}")
        self._token = Message(self.id, "direct", 0, dict(values))

    async def receive(self) -> Message:
        if self._token is None:
            raise _Done
        token, self._token = self._token, None
        return token

    def estimate(self, x: Array) -> None:  # noqa: ARG002
        self.steps.append("close")
        self.closed += 1
        if self.closed in (self._most, MOST_ROUNDS):
            raise _Done
