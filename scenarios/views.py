"""The points of view of a scenario's network on one audited agent, and both worlds as they look from there."""

import math
from collections.abc import Callable
from dataclasses import replace
from itertools import combinations

from attacks.audit.audit import Pair
from attacks.audit.blackbox.inferred import Infer
from attacks.audit.views.lattice import Lattice, SimulateViews, lattice
from attacks.audit.views.view import View
from netsim.adversary import Adversary, AdversaryView
from netsim.claims import Claim
from netsim.problems import Objective
from netsim.randomness import Streams
from netsim.simulation import Simulation
from netsim.topology.distances import hops
from netsim.wiretaps import Around
from scenarios.auditing import drawn, number_of
from scenarios.schema.scenario import Wanted

MOST_LINKS, MOST_NODES, MOST_PAIRS = 40, 40, 12
"""The views of each kind, nearest to the audited agent first."""
CHUNKS = 10
"""At least so many chunks, so that trials can be shared out among those that teach, choose and are played."""


def views_of(simulation: Simulation, agent: int, wanted: Wanted) -> tuple[View, ...]:
    """The views that are asked for.

    "links": every link; on radio, what every agent transmits. "nodes": the audited agent's door, and every other
    agent as an insider. "coalitions": pairs of other agents, and an outsider on all links (or transmissions) at once.
    Of each kind the nearest, up to `MOST_LINKS`, `MOST_NODES` and `MOST_PAIRS`.
    """
    builder = _Builder(simulation, agent)
    parts: dict[str, Callable[[], list[View]]] = {
        "links": builder.on_radio if simulation.medium != "links" else builder.links,
        "nodes": builder.nodes,
        "coalitions": builder.coalitions,
    }
    return tuple(view for name, part in parts.items() if wanted in (name, "all") for view in part())


class _Builder:
    def __init__(self, simulation: Simulation, agent: int) -> None:
        self.topology, self.agent = simulation.topology, agent
        self.radio = simulation.medium != "links"
        self.told_all = not self.radio and simulation.patience.endless and not simulation.downtimes
        self.told_all = self.told_all and not simulation.meddlers
        self.distance: list[float] = hops(self.topology.adjacency, agent).tolist()

    def links(self) -> list[View]:
        edges = sorted(self.topology.edges, key=lambda edge: (self._far(edge), edge))[:MOST_LINKS]
        return [
            View(
                f"link {i}-{j}", "link", Adversary(f"link {i}-{j}", ((i, j),)), frozenset([_link(i, j)]),
                f"the link of agents {i} and {j}, both ways", links=((i, j),),
            )
            for i, j in edges
        ]  # fmt: skip

    def on_radio(self) -> list[View]:
        near = sorted(range(self.topology.agents), key=lambda i: (self.distance[i], i))[:MOST_LINKS]
        return [
            View(
                f"transmitter {i}", "transmitter", Adversary(f"transmitter {i}", Around((i,))),
                frozenset([f"transmitter {i}"]), f"what agent {i} transmits", agents=(i,),
            )
            for i in near
        ]  # fmt: skip

    def nodes(self) -> list[View]:
        name = f"door {self.agent}"
        at_door = View(
            name, "door", Adversary(name, (), nodes=(self.agent,)), self._around(self.agent) or frozenset([name]),
            f"the audited agent's door: all that agent {self.agent} sends and receives", agents=(self.agent,),
        )  # fmt: skip
        return [at_door, *map(self._insider, self._others()[:MOST_NODES])]

    def coalitions(self) -> list[View]:
        pairs = sorted(combinations(self._others()[: MOST_PAIRS + 1], 2), key=lambda pair: (self._sum(pair), pair))
        everything = [f"transmitter {i}" for i in range(self.topology.agents)]
        knows = everything if self.radio else [_link(i, j) for i, j in self.topology.edges]
        words = "all that is transmitted" if self.radio else "all links at once"
        links = () if self.radio else self.topology.edges
        outsider = View("outsider", "outside", Adversary("outsider", "all"), frozenset(knows), words, links=links)
        return [*(self._pair(i, j) for i, j in pairs[:MOST_PAIRS]), outsider]

    def _insider(self, agent: int) -> View:
        name, words = f"node {agent}", f"agent {agent}, honest but curious"
        return View(name, "node", Adversary(name, insiders=(agent,)), self._inside(agent), words, agents=(agent,))

    def _pair(self, *members: int) -> View:
        i, j = sorted(members)
        name, words = f"coalition {i}+{j}", f"agents {i} and {j}, honest but curious, together"
        knows = self._inside(i) | self._inside(j)
        return View(name, "coalition", Adversary(name, insiders=(i, j)), knows, words, agents=(i, j))

    def _inside(self, agent: int) -> frozenset[str]:
        return self._around(agent) | {f"inside {agent}"}

    def _around(self, agent: int) -> frozenset[str]:
        """What passes an agent's door, in terms of what else there is to listen to.

        Nothing of that kind where messages may not get there: who sits at the door knows which ones did.
        """
        if not self.told_all:
            return frozenset()
        return frozenset(_link(agent, j) for j in self.topology.neighbors(agent))

    def _others(self) -> list[int]:
        others = (i for i in range(self.topology.agents) if i != self.agent)
        return sorted(others, key=lambda i: (self.distance[i], i))

    def _far(self, edge: tuple[int, int]) -> tuple[float, float]:
        ends = sorted(self.distance[i] for i in edge)
        return ends[0], ends[1]

    def _sum(self, pair: tuple[int, ...]) -> float:
        return sum(self.distance[i] for i in pair)


def _link(i: int, j: int) -> str:
    return f"link {min(i, j)}-{max(i, j)}"


def seen_by(
    simulation: Simulation, agent: int, other: Objective, chunk: int, views: tuple[View, ...], draw: int = 0
) -> SimulateViews:
    """How to simulate both worlds, as the simulation is and with `agent` holding `other`, for all views at once.

    Every (world, index) has noise of its own, that of `scenarios.auditing.worlds`.
    """
    adversaries = tuple(view.adversary for view in views)

    def simulate(world: int, index: int) -> tuple[AdversaryView, ...]:
        problem = simulation.problem if world == 0 else simulation.problem.replace(agent, other)
        run = replace(
            simulation,
            problem=problem,
            adversaries=adversaries,
            replicas=chunk,
            chunk=number_of(world, index, draw),
            measure=False,
            record="nothing",
            spool=None,
        ).run()
        if run.interrupted:
            raise KeyboardInterrupt
        return run.views

    return simulate


def look(
    simulation: Simulation,
    wanted: Wanted,
    pair: Pair,
    other: Objective,
    claim: Claim,
    *,
    trials: int,
    chunk: int,
    confidence: float,
    name: str,
    infer: Infer | None = None,
    progress: Callable[[int], None] | None = None,
    jobs: int = 1,
    draw: int = 0,
) -> Lattice | None:
    """The view lattice of one algorithm of a scenario, `name`; None where no views are asked for.

    You get a `PrivacyError` where nothing is claimed that views could refute.
    """
    if wanted == "none":
        return None
    views = views_of(simulation, pair.agent, wanted)
    size = min(chunk, math.ceil(trials / CHUNKS))
    return lattice(
        seen_by(simulation, pair.agent, other, size, views, draw),
        views,
        pair,
        claim,
        trials=trials,
        chunk=size,
        confidence=confidence,
        rng=Streams(simulation.seed).generator("views", name, *drawn(draw)),
        jobs=jobs,
        infer=infer,
        progress=progress,
    )
