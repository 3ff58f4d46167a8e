"""Exact ε of what listeners to one run see: doors, links, agents, coalitions, and all ordered pairs of agents.

One probe of all agents gives every message as O = o + C g + B z (`attacks.probe.message_map`); each listener's rows
are priced by `attacks.audit.view_price`. O is linear in what adjacent worlds have different only where no agent asks
its objective at a point that this could move, or where what it answers there is linear too. So one of these has to
hold of every agent, and `Priced.of` names the first of which neither does:

- its queries are at points that depend on no answer and no noise (data enter once, as in gossip after noise);
- its objective is quadratic. Its Hessian goes into the map, and what is unknown of an answer is its constant part.

Elsewhere, as where gradients are clipped, a view is only bounded, by its victim's door (`Bounded`).

Two worlds of the victim may differ by their answers to public queries, whatever these are, or by a constant part with
the same Hessian: then O moves by CΔ, Δ the change of each answer, and the price of this pair is exact. Over **all**
pairs of an adjacency μ is, with c the adjacency's bound on ‖∇f − ∇f'‖₂: for a difference that is the same everywhere
c·max ‖(Σ_t V_t)u‖ over unit vectors u, V = B⁺C; else, at public points, what `Prices.worst` says of ‖Δg_t‖ ≤ c. The
first is exact for an adjacency in ℓ2, and an upper end for one in another norm.

Listeners know the data and the noise of all their members, and the data of all agents but the victim. What holds
does so for the Hessians that the agents have here, and for this run's routes, delays and losses.
"""

import math
from collections.abc import Container, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from itertools import combinations
from typing import NamedTuple

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.made_up import SAME
from attacks.audit.verdict import Bound
from attacks.audit.view_price import GaussianView, Prices, exposing
from attacks.probe import Field, MessageMap, message_map, recorded
from attacks.replay import Hypothesis
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.claims import Adjacency
from netsim.errors import AttackError
from netsim.shown import show

EXHAUSTIVE = 400
"""Up to so many coalitions are all tried; of more, agents are added one by one, each the one that costs most."""
SIZES = (1e-3, 1.0, 1e3, 1e6)
"""Of points at which gradients tell whether an objective is quadratic."""
SMALL = 1e-9
"""Relative: weights so small beside the largest are left out of a combination; costs that are so close are equal."""


class Ends(NamedTuple):
    """ε between two proven ends, equal where it is decided."""

    lower: float
    upper: float


@dataclass(frozen=True)
class Combination:
    """A sum of messages that tells two worlds apart: a witness that can be checked with nothing but the code.

    `terms`: field, coordinate (None: that along the change) and weight. The other world moves the sum by `shift`; the
    deviation of its noise is `stddev`, 0 where noise cancels. `gradient_stddev`: what it
    says of the gradient's part along the change has this deviation, in units of the gradient.
    """

    terms: tuple[tuple[Field, int | None, float], ...]
    shift: float
    stddev: float
    gradient_stddev: float

    def epsilon(self, delta: float) -> float:
        """ε(δ) that the sum alone proves."""
        return gaussian_epsilon(self.shift / self.stddev if self.stddev else math.inf, delta)


@dataclass(frozen=True)
class Price:
    """Price of one victim's data at one view: ε(δ) of the audited `pair` (None: without one), over `all` pairs of the
    adjacency (None: not bounded), and the combination of messages that shows most of the pair, or of the worst change
    without a pair."""

    pair: Ends | None
    all: Ends | None
    witness: Combination | None


@dataclass(frozen=True)
class _Coalition:
    """The costliest coalition that was found, of `tried` ones; `exhaustive`: of all of its size."""

    members: tuple[int, ...]
    price: Price
    tried: int
    exhaustive: bool


@dataclass(frozen=True, eq=False)
class Priced:
    """Every message of one run, ready to be priced for any listener.

    `seen[i]` are the fields that agent i received or sent. `conditions` were checked, and all prices rest on them.
    """

    messages: MessageMap
    seen: tuple[frozenset[Field], ...]
    adjacency: Adjacency
    delta: float
    conditions: tuple[str, ...]
    quadratic: frozenset[int]
    neighbors: Sequence[tuple[int, ...]]
    records: tuple[int, ...]

    @classmethod
    def of(
        cls,
        everything: AdversaryView,
        agents: Sequence[AdversaryView],
        objectives: Sequence[Hypothesis],
        adjacency: Adjacency,
        delta: float,
    ) -> "Priced":
        """`everything` recorded all messages, `agents[i]` is the view of agent i, honest but curious; `objectives`
        are those of the run. You get an `AttackError` where the views are not linear in what may differ."""
        if not 0 < delta < 1:
            raise AttackError(f"δ = {show(delta)}: a Gaussian price needs one between 0 and 1")
        dimension = everything.public.dimension
        found = {i: _hessian_of(one, dimension) for i, one in enumerate(objectives)}
        known = {i: H for i, H in found.items() if H is not None}
        messages = message_map(everything, known, linear=True)
        queries = zip(messages.found.queries, messages.public, strict=True)
        used = sorted({agent for (agent, _), public in queries if not public})
        conditions = ["the run's routes, delays, losses and coins, which every listener knows"]
        conditions += ["what is sent is affine in answers and noise, and all noise in a priced view is Gaussian"]
        if used:
            which = "all agents" if len(used) == len(objectives) else f"agents {used}"
            conditions += [f"objectives of {which} are quadratic, with the Hessians that they have here"]
        if len(used) < len(objectives):
            conditions += ["all other queries are at points that depend on no answer and no noise"]
        return cls(
            messages,
            tuple(map(recorded, agents)),
            adjacency,
            delta,
            tuple(conditions),
            frozenset(used),
            everything.public.neighbors,
            everything.public.records,
        )

    # ── single views ────────────────────────────────────────────────────────────────────────────────
    def price(
        self,
        victim: int,
        fields: AbstractSet[Field],
        inside: Container[int],
        worlds: tuple[Hypothesis, Hypothesis] | None = None,
    ) -> Price:
        """Price of `victim`'s data for who has these fields and is `inside` these agents; also of a pair of `worlds`.

        You get an `AttackError` for a view with other than Gaussian noise, and for worlds that are not linearly
        apart.
        """
        listener = _Listener.of(self, fields, inside)
        change = None if worlds is None else self.change(victim, worlds)
        pair = None if change is None else self._epsilon(*listener.of_change(victim, change))
        size, constant = self._size(victim), self.adjacency.constant
        bound = None if self.unbounded(victim) else self._epsilon(*(listener.worst([victim], constant)[0] * size))
        shown = listener.worst_change(victim) * (size if math.isfinite(size) else 1.0) if change is None else change
        return Price(pair, bound, listener.combination(victim, shown))

    def coalition(self, victim: int, size: int, worlds: tuple[Hypothesis, Hypothesis] | None = None) -> _Coalition:
        """The coalition of so many other agents at which the victim's data cost most. You get an `AttackError` for a
        size that there is not."""
        near = self.neighbors[victim]
        others = [*near, *(i for i in range(len(self.seen)) if i != victim and i not in near)]
        if not 1 <= size <= len(others):
            raise AttackError(f"there is no coalition of {size} among {len(others)} other agents")
        change = None if worlds is None else self.change(victim, worlds)
        found: dict[tuple[int, ...], float] = {}

        def cost(members: tuple[int, ...]) -> float:
            if members not in found:
                listener = _Listener.of(self, self.together(members), members)
                ends = listener.worst([victim], self.adjacency.constant)[0]
                found[members] = max(ends if change is None else listener.of_change(victim, change))
            return found[members]

        def costliest(coalitions: list[tuple[int, ...]]) -> tuple[int, ...]:
            """The first, of those that cost the same but for rounding."""
            bar = max(map(cost, coalitions)) * (1 - SMALL)
            return next(one for one in coalitions if cost(one) >= bar)

        exhaustive = math.comb(len(others), size) <= EXHAUSTIVE
        if exhaustive:
            best = costliest([tuple(sorted(one)) for one in combinations(others, size)])
        else:
            best = ()
            for _ in range(size):
                best = costliest([tuple(sorted((*best, i))) for i in others if i not in best])
        return _Coalition(best, self.price(victim, self.together(best), best, worlds), len(found), exhaustive)

    def pairs(self) -> tuple[Array, Array]:
        """Ends of ε over all pairs of the adjacency, [victim, listener], (agents, agents); 0 for an agent by itself,
        NaN for victims without a bound (`unbounded`)."""
        n = len(self.seen)
        ends = np.full((n, n, 2), np.nan)
        victims = [i for i in range(n) if self.unbounded(i) is None]
        sizes = np.array([[self._size(i)] for i in victims])
        for listener in range(n):
            one = _Listener.of(self, self.seen[listener], (listener,))
            if victims:
                ends[victims, listener] = sizes * one.worst(victims, self.adjacency.constant)
            ends[listener, listener] = 0.0
        epsilon = gaussian_epsilon(np.where(np.isnan(ends), 0.0, ends), self.delta)
        epsilon = np.where(np.isnan(ends), np.nan, epsilon)
        return epsilon[..., 0], epsilon[..., 1]

    @property
    def attained(self) -> bool:
        """Whether every change within the bound is that of a pair of the adjacency, so that the worst one is."""
        return self.adjacency.constant and self.adjacency.norm == "l2"

    def unbounded(self, victim: int) -> str | None:
        """The reason why nothing bounds all pairs of a victim, None where something does."""
        if not math.isfinite(self.adjacency.gradient_change):
            return "the adjacency bounds no change of a gradient"
        if victim in self.quadratic and not self.adjacency.constant:
            return (
                f"the Hessian of agent {victim} may differ between worlds, and with it how messages depend on noise"
            )
        return None

    def bound(self, victim: int, price: Price) -> Bound | None:
        """The price over all pairs with what it rests on."""
        if price.all is None:
            return None
        where = f"{self.adjacency.relation}, by at most {show(self._size(victim), 4)} in ℓ2"
        return Bound(price.all.upper, (*self.conditions, f"agent {victim}: {where}"))

    def _size(self, victim: int) -> float:
        """By how much the adjacency lets the victim's gradient change, in ℓ2."""
        records = self.records[victim] if self.records else 1
        return self.adjacency.at(records).gradient_change

    def together(self, members: Sequence[int]) -> frozenset[Field]:
        """The fields that these agents received or sent."""
        return frozenset[Field]().union(*(self.seen[i] for i in members))

    def _epsilon(self, least: float, most: float) -> Ends:
        return Ends(gaussian_epsilon(least, self.delta), gaussian_epsilon(most, self.delta))

    def change(self, victim: int, worlds: tuple[Hypothesis, Hypothesis]) -> Array:
        """By how much each answer of the victim differs between the worlds, (queries, dimension). You get an
        `AttackError` where their Hessians differ."""
        found, d = self.messages.found, self.messages.found.shape[1]
        own = [k for k, (agent, _) in enumerate(found.queries) if agent == victim]
        if victim in self.quadratic:
            first, other = (_hessian_of(world, d) for world in worlds)
            if first is None or other is None or np.max(np.abs(first - other)) > SAME * np.max(np.abs(first)):
                raise AttackError("the Hessians of the pair's worlds differ: their views differ by more than a shift")
            points = np.zeros((len(own), 1, d))
        else:
            points = self.messages.points[own, :1]
        return np.array([worlds[1].gradient(x)[0] - worlds[0].gradient(x)[0] for x in points]).reshape(-1, d)


@dataclass(frozen=True, eq=False)
class Bounded:
    """Views that no map prices, each bounded by its victim's door: [0, ε of the door], over all pairs.

    `doors[i]` is a bound of ε at agent i's door for who holds the seeds that the agent shares with others, or the
    reason why there is none. The data and the noise of all others given, what they send and keep is made of what the
    agent sent, and the bound is of every transcript of that, whatever comes in: a listener that is not inside the
    agent has no more (post-processing), however others react. `why` it is not priced.
    """

    doors: Mapping[int, Bound | str]
    agents: int
    adjacency: Adjacency
    delta: float
    why: str

    @property
    def conditions(self) -> tuple[str, ...]:
        """Those of all doors that are bounded."""
        found = [one.conditions[1:] for one in self.doors.values() if isinstance(one, Bound)]
        why = self.why.replace(": a probe cannot invert it", ", before any clip of these")
        only = "no listener has an ε of its own, only the bound for who sees all that its victim sends and receives"
        common = [f"{only}: {why}"]
        common += ["the run's routes and delays, which every listener knows"]
        common += ["what others send is made of what they received, of their data, and of noise that is no victim's"]
        return (*common, *dict.fromkeys(sentence for sentences in found for sentence in sentences))

    @property
    def attained(self) -> bool:
        """Nothing says that a pair costs as much as the bound."""
        return False

    def price(
        self,
        victim: int,
        fields: AbstractSet[Field],
        inside: Container[int],
        worlds: tuple[Hypothesis, Hypothesis] | None = None,
    ) -> Price:
        """The same for every listener; of a pair of worlds alone nothing is known."""
        del fields, worlds
        found = self.doors[victim]
        if victim in inside:
            raise AttackError(f"who is inside agent {victim} has its data")
        if isinstance(found, str):
            raise AttackError(f"{self.why}; nor is its door bounded: {found}")
        return Price(None, Ends(0.0, found.epsilon), None)

    def pairs(self) -> tuple[Array, Array]:
        """As `Priced.pairs` has them; NaN for victims without a bound."""
        each = np.array([self._epsilon(i) for i in range(self.agents)])
        upper = np.where(np.eye(self.agents) > 0, 0.0, np.repeat(each[:, None], self.agents, axis=1))
        return np.where(np.isnan(upper), np.nan, 0.0), upper

    def unbounded(self, victim: int) -> str | None:
        """The reason why a victim has no bound, None where it has one."""
        found = self.doors[victim]
        return found if isinstance(found, str) else None

    def bound(self, victim: int, price: Price) -> Bound | None:
        """The bound of the door with what it rests on."""
        found = self.doors[victim]
        return None if price.all is None or isinstance(found, str) else replace(found, conditions=self.conditions)

    def _epsilon(self, victim: int) -> float:
        found = self.doors.get(victim, "")
        return math.nan if isinstance(found, str) else found.epsilon


@dataclass(frozen=True, eq=False)
class _Listener:
    """One view, factored once for all victims. `design` C (rows, columns); `fields` of its rows."""

    messages: MessageMap
    fields: tuple[Field, ...]
    design: Array
    noise: Array
    scale: Array
    view: GaussianView

    @classmethod
    def of(cls, priced: Priced, fields: AbstractSet[Field], inside: Container[int]) -> "_Listener":
        messages = priced.messages
        design, noise, scale = messages.selected(fields, inside)
        rows = tuple(one for one in messages.found.fields if one in fields)
        return cls(messages, rows, design, noise, scale, GaussianView.of(noise, scale))

    def of_change(self, victim: int, change: Array) -> tuple[float, float]:
        """Ends of μ of a change (queries, dimension)."""
        prices = self.view.prices(self._moved(victim, change))
        return float(np.linalg.norm(prices.least)), float(np.linalg.norm(prices.most))

    def worst(self, victims: Sequence[int], constant: bool) -> Array:
        """Ends of μ of each victim over all changes of length 1, (victims, 2); `constant`: alike at every point."""
        width = self.messages.width
        parts = [self._columns(victim, constant) for victim in victims]
        stops: list[int] = np.cumsum([part.shape[1] for part in parts]).tolist()
        prices = self.view.prices(np.hstack(parts))
        ends = np.zeros((len(parts), 2))
        for k, (part, stop) in enumerate(zip(parts, stops, strict=True)):
            start = stop - int(part.shape[1])
            if width == 1:
                ends[k] = prices.worst(slice(start, stop), np.ones(stop - start))
            elif part.shape[1]:
                each = np.array([_steepest(prices, slice(at, at + width)) for at in range(start, stop, width)])
                ends[k] = np.max(each[:, 0]), np.sum(each[:, 1])
        return ends

    def worst_change(self, victim: int) -> Array:
        """A change of every answer by the same unit vector, the one that costs most where coordinates mix."""
        columns, d = self._columns(victim, True), self.messages.found.shape[1]
        unit = np.eye(d)[0]
        if columns.shape[1] > 1:
            prices = self.view.prices(columns)
            finite = bool(np.all(np.isfinite(prices.most))) and prices.vectors.size > 0
            unit = np.linalg.svd(prices.vectors)[2][0] if finite else np.eye(d)[int(np.argmax(prices.least))]
        own = self.messages.queries_of(victim)
        return np.tile(unit, ((own.stop - (own.start or 0)) // self.messages.width, 1))

    def combination(self, victim: int, change: Array) -> Combination | None:
        """The sum of messages that shows most of a change; None where nothing shows any of it."""
        moved, width = self._moved(victim, change), self.messages.width
        if not np.any(moved):
            return None
        best = int(np.argmax(np.linalg.norm(moved, axis=0)))
        column = moved[:, best]
        weights = exposing(column[:, None], self.noise, np.ones(1), self.scale)
        bare = weights is not None
        if weights is None:
            weights = self.view.combination(self.view.prices(column[:, None]).vectors[:, 0])
        weights = np.where(np.abs(weights) > SMALL, weights, 0.0)
        shift, stddev = abs(float(weights @ column)), float(np.linalg.norm(weights @ self.noise))
        if not shift:
            return None
        stddev = 0.0 if bare else stddev
        coordinate = None if moved.shape[1] == 1 else best
        terms = tuple(
            (self.fields[k // width], k % width if width > 1 else coordinate, float(weights[k]))
            for k in np.flatnonzero(weights).tolist()
        )
        return Combination(terms, shift, stddev, stddev / shift * float(np.max(np.linalg.norm(change, axis=1))))

    def _columns(self, victim: int, constant: bool) -> Array:
        """What moves each row: each answer in each coordinate, or all answers alike (`constant`)."""
        design, width = self.design[:, self.messages.queries_of(victim)], self.messages.width
        return design.reshape(len(design), design.shape[1] // width, width).sum(axis=1) if constant else design

    def _moved(self, victim: int, change: Array) -> Array:
        """By how much a change moves the rows, (rows, columns): a column for each coordinate that is apart."""
        if self.messages.width > 1:
            return self._columns(victim, False) @ change.reshape(-1, 1)
        if len(change) and np.all(change == change[0]):  # one direction in all answers is a coordinate, turned
            return np.linalg.norm(change[0]) * self._columns(victim, True)
        return self._columns(victim, False) @ change


def _steepest(prices: Prices, columns: slice) -> tuple[float, float]:
    """Ends of μ over all unit vectors, of which these columns are the coordinates."""
    vectors, least, most = prices.vectors[:, columns], prices.least[columns], prices.most[columns]
    if np.all(prices.decided[columns]) and np.all(np.isfinite(most)):
        steepest = float(np.linalg.norm(vectors, 2)) if vectors.size else 0.0
        return steepest, steepest
    return float(np.max(least, initial=0.0)), float(np.linalg.norm(most))


def _hessian_of(objective: Hypothesis, dimension: int) -> Array | None:
    """The Hessian (dimension, dimension) of a quadratic objective, as far as its gradients at points of sizes up to
    10⁶ tell; None of another."""
    origin = np.zeros((1, dimension))
    hessian, start = np.asarray(objective.hessian(origin[0]), dtype=np.float64), objective.gradient(origin)
    for seed, size in enumerate(SIZES):
        x = size * np.random.default_rng(seed).standard_normal((4, dimension))
        found, expected = objective.gradient(x) - start, x @ hessian
        room = SAME * np.max(np.abs(expected)) + 1e-12 * (1 + np.max(np.abs(start)))
        if not np.max(np.abs(found - expected)) <= room:
            return None
    return (hessian + hessian.T) / 2
