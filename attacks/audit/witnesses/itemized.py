"""The exact loss of one transcript, release by release: what each told, to whom, and what the sum comes to."""

import math
from dataclasses import dataclass
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from attacks.audit.loss.encoded import rounded_replays
from attacks.audit.loss.explain import Explained, Reproduced, Sample, Uncovered, compare, replayed_under
from attacks.audit.loss.prices import covered
from attacks.audit.verdict import exceeds
from attacks.replay import Hypothesis, Perturbed, Release, Replayed, Sending
from attacks.replay.replayed import Law
from netsim.arrays import Array
from netsim.errors import PrivacyError
from netsim.transcript import EVERYBODY, Record

Link = tuple[int, int]


@dataclass(frozen=True)
class Item:
    """What one `privatize`, the `release`-th of the agent from 0, adds to the loss.

    `message` is the agent's message that carries it, from 0, None if none does as it was released, and `name` the
    field there ("" if none); `receivers` whom that message is for; `activation` that of the message (of the release,
    if no message carries it), from 1. `law` is the mechanism's class, `scale` its parameter (Laplace b, Gaussian σ,
    the modulus of uniform noise), one number or
    one a coordinate. `l1` and `l2` are the norms of Δ, by which the worlds' values differ (by objective perturbation:
    the gradients at the minimizer). `loss` is ln p(observed | D)/p(observed | D') in nats. `counts`: it is part of
    what a tap at the agent's door has to know; else the release was granted, and the loss holds with that only.
    """

    release: int
    activation: int
    message: int | None
    receivers: tuple[int, ...]
    law: str
    scale: float | tuple[float, ...]
    l1: float
    l2: float
    loss: float
    counts: bool
    name: str = ""


@dataclass(frozen=True)
class Account:
    """The loss of one transcript at an agent's door, in nats.

    `uncovered` is the first message of it that no noise covers, sent to `uncovered_to`; the loss is ∞ from it on.
    `identical`: the hypothesis that was simulated reproduced every message to the last bit, and not but for rounding.
    From activation `unreliable_from` on noise drowns in the rounding of what it covers: nothing counts from there on.
    """

    agent: int
    items: tuple[Item, ...]
    uncovered: Uncovered | None
    identical: bool
    unreliable_from: int | None
    uncovered_to: tuple[int, ...] = ()

    @property
    def total(self) -> float:
        """L of all that counts."""
        return math.inf if self.uncovered is not None else sum(item.loss for item in self._counted)

    def running(self) -> list[float]:
        """The loss up to each release: ∞ from the uncovered message on."""
        bare = self.before_uncovered
        return [loss if bare is None or t < bare else math.inf for t, loss in enumerate(self._sums())]

    @property
    def before_uncovered(self) -> int | None:
        """How many releases there were before the uncovered message; None where there is none."""
        if self.uncovered is None:
            return None
        bare = self.uncovered.message
        after = (t for t, item in enumerate(self.items) if item.message is not None and item.message >= bare)
        return next(after, len(self.items))

    def first_above(self, claimed: float) -> int | None:
        """The first release by which the losses of releases are above a claimed ε (nats), None if they never are."""
        return next((t for t, loss in enumerate(self._sums()) if above(loss, claimed)), None)

    def by_activation(self) -> dict[int, float]:
        """What the messages of each activation add; ∞ in that of the uncovered message."""
        sums: dict[int, float] = {} if self.uncovered is None else {self.uncovered.activation: math.inf}
        for item in self._counted:
            sums[item.activation] = sums.get(item.activation, 0.0) + item.loss
        return sums

    def by_link(self) -> dict[Link, float]:
        """What the messages that went over each link (from, to) add, ∞ where the uncovered one did. One message for
        several counts on each link."""
        sums: dict[Link, float] = {(self.agent, j): math.inf for j in self.uncovered_to}
        for item in self._counted:
            for j in item.receivers:
                sums[self.agent, j] = sums.get((self.agent, j), 0.0) + item.loss
        return sums

    def _sums(self) -> list[float]:
        """Of what releases add, up to each."""
        return list(accumulate(item.loss if item.counts else 0.0 for item in self.items))

    @property
    def _counted(self) -> list[Item]:
        return [item for item in self.items if item.counts]


def above(loss: float, claimed: float) -> bool:
    """Whether a loss exceeds a claim by more than rounding may do, as a verdict asks (`attacks.audit.verdict`)."""
    return exceeds(loss, claimed)


def itemize(sample: Sample, agent: int, true: Hypothesis, other: Hypothesis, *, to_the_bit: bool = True) -> Account:
    """The account of a sample of one replica, by replaying the agent under both hypotheses.

    You get a `PrivacyError` if the true hypothesis does not reproduce what was sent: every bit of it, or, without
    `to_the_bit`, all but what may be rounding, as for a transcript of another machine, where exponentials end in
    other bits.
    """
    assert sample.view.replicas == 1
    told = replayed_under(sample, agent, true, "the hypothesis that was simulated")
    _check_sent(agent, told, to_the_bit)
    explained = compare(Reproduced(sample, agent, true, told), other)
    foil = replayed_under(sample, agent, other, "the other hypothesis")
    here, there = rounded_replays(sample.view, agent, sample.coins, (true, told), (other, foil)) or (told, foil)
    rows = [row for row in sample.view.at_node(agent) if row.event == "sent"]
    door = _Door(rows, sample.view.public.neighbors[agent], here.sendings)
    counted = counting(explained)
    pairs = zip(here.releases, there.releases, strict=False)
    uncovered = _first_uncovered(explained)
    return Account(
        agent,
        tuple(door.item(t, *pair, float(explained.steps[t, 0]), t < counted) for t, pair in enumerate(pairs)),
        uncovered,
        told.identical,
        explained.unreliable_from,
        () if uncovered is None else door.receivers(uncovered.message),
    )


def counting(explained: Explained) -> int:
    """How many releases, from the first, are on the wire before anything has to be granted."""
    reached = (t for t, sent in enumerate(explained.sent_in) if sent >= explained.granted_from)
    return next(reached, len(explained.sent_in))


def uncovered_from(explained: Explained) -> Array:
    """The first message of each transcript, (replicas,), that no noise covers, ∞ if none. Nothing is granted."""
    leaked = np.where(explained.leaked < explained.granted_from, explained.leaked, math.inf)
    return np.minimum(leaked, explained.bare)


def _first_uncovered(explained: Explained) -> Uncovered | None:
    first = float(uncovered_from(explained)[0])
    named = (explained.uncovered, explained.inexplicable)
    return next((u for u in named if u is not None and u.message == first), None)


def _check_sent(agent: int, told: Replayed, to_the_bit: bool) -> None:
    wrong = None if told.departure is None else f"at its message {told.departure.message} {told.departure.what}"
    for one in told.comparisons:
        if wrong is None and (not one.identical if to_the_bit else bool(np.any(one.visible))):
            wrong = f"sends another {one.name!r} in its message {one.message}"
    if wrong is not None:
        raise PrivacyError(f"agent {agent}, under the hypothesis that was simulated, {wrong}")


class _Door(NamedTuple):
    """What the agent sent, whom a message to all is for, and when it sent each."""

    sent: list[Record]
    neighbors: tuple[int, ...]
    sendings: list[Sending]

    def item(self, index: int, here: Release, there: Release, loss: float, counts: bool) -> Item:
        """Of a release in either world."""
        difference = np.abs(covered(here) - covered(there))[0]
        told_in = here.made_before if here.sent_in is None else here.sent_in
        return Item(
            release=index,
            activation=self.sendings[min(told_in, len(self.sendings) - 1)].activation if self.sendings else 1,
            message=here.sent_in,
            receivers=() if here.sent_in is None else self.receivers(here.sent_in),
            law=type(_law(here)).__name__,
            scale=_scale(here),
            l1=float(np.sum(difference)),
            l2=float(np.sqrt(np.sum(difference**2))),
            loss=loss,
            counts=counts,
            name=next((name for message, name in here.carriers if message == here.sent_in), ""),
        )

    def receivers(self, message: int) -> tuple[int, ...]:
        """Whom a message is for; nobody where it was not sent."""
        if message >= len(self.sent):
            return ()
        receiver = self.sent[message].receiver
        return self.neighbors if receiver == EVERYBODY else (receiver,)


def _law(release: Release) -> Law:
    return release.mechanism.noise if isinstance(release.mechanism, Perturbed) else release.mechanism


def _scale(release: Release) -> float | tuple[float, ...]:
    """The law's own parameter; the standard deviation where it has none of these names."""
    law = _law(release)
    named = (getattr(law, name, None) for name in ("scale", "stddev", "modulus"))
    scale = next((value for value in named if value is not None), np.sqrt(law.variance()))
    numbers: list[float] = np.broadcast_to(np.asarray(scale, dtype=np.float64), release.value.shape)[0].tolist()
    return numbers[0] if len(set(numbers)) == 1 else tuple(numbers)
