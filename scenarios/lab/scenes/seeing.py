"""Every view of one network: exact ε of a door, links, single agents and coalitions, under noise that cancels."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

from scenarios.build.experiment import Experiment
from scenarios.lab.live import REMEMBERED, planned
from scenarios.render.page import plan
from scenarios.render.page.drawing import Chart
from scenarios.results.header import network
from scenarios.results.views import ViewPrices
from scenarios.schema.scenario import ViewsSpec
from scenarios.stages.audit import price_views

AGENTS, ROUNDS, STEP, CHANGE = 6, 5, 0.1, 1.0
OWN = (0.5, 1.0, 2.0, 4.0, 8.0)
"""σ of the slider: each agent's own noise, on its gradient."""
SHARED = (0.0, 1.0, 2.0, 4.0, 8.0, 16.0)
"""σ_cor of the slider: noise of every two neighbors that one adds and the other subtracts."""
Exact = Literal["door", "links", "neighbors", "pairs"]


@lru_cache(REMEMBERED)
def _priced(topology: str, own: float, shared: float, victim: int, exact: tuple[Exact, ...], size: int) -> ViewPrices:
    experiment = planned(_words(topology, own, shared))
    (subject,) = experiment.subjects
    spec = ViewsSpec(exact=list(exact), coalition=size or None)
    found, _ = price_views(subject.simulation, spec, victim, experiment.adjacency, subject.price_delta)
    return found


def _words(topology: str, own: float, shared: float) -> dict[str, object]:
    """Least squares, a few rounds of DECOR without clipping: what is sent is linear in data and noise."""
    data = {"name": "synthetic", "kind": "regression", "records": 36, "dimension": 2}
    decor = {"kind": "decor", "rounds": ROUNDS, "step": STEP, "stddev": own, "correlated": shared}
    return {
        "name": "every-view",
        "seed": 4,
        "problem": {"kind": "ridge", "data": data, "ridge": 0.1},
        "topology": {"kind": topology, "agents": AGENTS},
        "algorithms": [decor],
        "audit": {"adjacency": {"change": CHANGE, "direction": "random"}},
    }


@dataclass(frozen=True)
class Seen:
    """One network and its noise, with the exact ε of every listener about a victim whose gradient may move by 1.

    `topology` is the kind of a scenario; `own` and `shared` are the two deviations of the noise.
    """

    topology: str
    own: float
    shared: float
    victim: int = 0

    @property
    def experiment(self) -> Experiment:
        return planned(_words(self.topology, self.own, self.shared))

    @property
    def prices(self) -> ViewPrices:
        """Of its door, all links, its neighbors, and all ordered pairs."""
        return _priced(self.topology, self.own, self.shared, self.victim, ("door", "links", "neighbors", "pairs"), 0)

    @property
    def pairs(self) -> ViewPrices.PairPrices:
        assert self.prices.pairs is not None
        return self.prices.pairs

    @property
    def delta(self) -> float:
        return self.prices.delta

    @property
    def neighbors(self) -> tuple[int, ...]:
        return self.experiment.topology.neighbors(self.victim)

    @property
    def alone(self) -> dict[int, float]:
        """ε of the victim at every other agent, by agent."""
        return {agent: one for agent, one in enumerate(self.pairs.upper[self.victim]) if agent != self.victim}

    @property
    def nearest(self) -> float:
        """The largest ε at a neighbor."""
        return max(self.alone[agent] for agent in self.neighbors)

    @property
    def farthest(self) -> float:
        """The largest ε at those that are the most hops away."""
        hops = self.pairs.hops[self.victim]
        return max(one for agent, one in self.alone.items() if hops[agent] == max(hops))

    @property
    def door(self) -> float:
        """ε at the victim's door: all that it sends and receives, and nobody's noise."""
        return self._of("door")

    def _of(self, kind: str) -> float:
        ends = next(one.all_pairs for one in self.prices.views if one.kind == kind)
        assert ends is not None
        return ends[1]

    def rows(self) -> list[list[object]]:
        """What each single view is and its ε, the largest first."""
        said = {"door": "a tap at its door", "link": "a tap on a link", "node": "an agent, curious"}
        rows = [
            (one.name, said[one.kind], one.all_pairs[1]) for one in self.prices.views if one.all_pairs is not None
        ]
        return [list(row) for row in sorted(rows, key=lambda row: -row[2])]

    def together(self, size: int) -> tuple[tuple[int, ...], float]:
        """The coalition of this size that learns most, and its ε; all of the size are tried."""
        found = _priced(self.topology, self.own, self.shared, self.victim, ("door",), size)
        one = found.views[-1]
        assert one.all_pairs is not None
        return tuple(one.agents), one.all_pairs[1]

    @property
    def by_size(self) -> list[float]:
        """ε of the costliest coalition of 1, 2, … of the others."""
        return [self.together(size)[1] for size in range(1, AGENTS)]

    @property
    def holders(self) -> int:
        """The size of the smallest coalition to which noise that is shared hides nothing: that learns as much as the
        largest coalition does."""
        most = self.by_size[-1]
        return next(size for size, one in enumerate(self.by_size, 1) if one >= most * (1 - 1e-6))

    def matrix(self, name: str) -> Chart:
        """ε of all ordered pairs."""
        return plan.heat_map(self.pairs, name)

    def exposure(self, name: str) -> Chart:
        """The network, every agent shaded by what it learns of the victim."""
        return plan.exposure(
            network(self.experiment), self.pairs.upper[self.victim], self.victim, name, listens=False
        )
