"""Audited worlds: one algorithm on adjacent objectives, simulated and seen from every view of the network."""

import hashlib
import json
import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import cast

from attacks.audit.archive import Archive
from attacks.audit.audit import AuditResult, audit
from attacks.audit.games.power import Plan
from attacks.audit.games.sequential_test import MOST_EPSILON
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.exact import TRANSCRIPTS, WORST_CASE, worst_case_sample
from attacks.audit.pair import Infer, Pair, Simulate
from attacks.audit.pair_search import FIRST_CHUNK
from attacks.audit.views import SimulateViews, View, ViewsResult, audit_views
from attacks.inference import infer
from netsim.adversary import Adversary, AdversaryView, Around
from netsim.claims import Claim
from netsim.codecs import Dither
from netsim.errors import PrivacyError
from netsim.problems import Objective
from netsim.randomness import NoiseThrough, Streams, coins_of, dither_of
from netsim.settings import Recording
from netsim.simulation import Simulation
from netsim.topology.weights import hops
from scenarios.build.adjacency import data_print
from scenarios.build.experiment import Subject
from scenarios.results.header import versions
from scenarios.schema import Scenario
from scenarios.schema import own_code as owncode
from scenarios.schema.scenario import AuditSpec, Wanted

_CHUNKS = 2**20
"""The chunks of an audit are fewer: so many are set apart for each draw."""


@dataclass(frozen=True)
class AuditOptions:
    """Subject of an audit: one algorithm of a scenario, its claim and its pair."""

    scenario: Scenario
    subject: Subject
    pair: Pair
    claim: Claim

    @property
    def spec(self) -> AuditSpec:
        """The scenario's `audit`."""
        assert self.scenario.audit is not None
        return self.scenario.audit

    @property
    def other(self) -> Objective:
        """The agent's objective in the other world."""
        return cast(Objective, self.pair.hypotheses[1])

    @property
    def plan(self) -> Plan | None:
        """Reach of the game of all `trials`; None where no number is claimed that a game could test."""
        spec, epsilon = self.spec, self.claim.epsilon
        if epsilon is None or not epsilon < MOST_EPSILON or self.claim.delta >= 1:
            return None
        parts = 3 + spec.classifier  # the exact loss and two games
        if spec.stop == "refuted":  # the sequential test has a part, and the others are right at both their times
            parts = 2 * (parts + 1)
        confidence = 1 - (1 - spec.confidence) / parts
        return Plan.of_transcripts(spec.trials, epsilon, self.claim.delta, confidence)

    @property
    def fingerprint(self) -> str:
        """Text of all that decides what is simulated: scenario, data of both worlds, pair, program and versions."""
        audit = self.spec
        scenario = self.scenario.model_copy(update={"audit": audit.model_copy(update={"trials": 50})})
        found = {
            "scenario": scenario.model_dump(mode="json"),
            "algorithm": self.subject.spec.name,
            "pair": self.pair.description,
            "data": data_print([*self.subject.simulation.problem.objectives, *self.pair.hypotheses]),
            "program": program(),
            "versions": versions(),
            "together": audit.together,
        }
        if (own := owncode.code_of(self.subject.simulation.algorithm)) is not None:
            found["own"] = own
        return json.dumps(found, sort_keys=True)


def audited(options: AuditOptions, folder: Path, progress: Callable[[int], None], jobs: int) -> AuditResult:
    """Audit it. Transcripts are kept in `folder` until the audit is done; those there are not simulated again."""
    spec, simulation = options.spec, options.subject.simulation
    archive = Archive.at(folder, options.fingerprint)
    try:
        found = audit(
            worlds(simulation, spec.agent, options.other, spec.together, spec.draw),
            options.pair,
            options.claim,
            trials=spec.trials,
            chunk=spec.together,
            confidence=spec.confidence,
            rng=Streams(simulation.seed).generator("audit", options.subject.spec.name, *drawn(spec.draw)),
            infer=infer,
            progress=progress,
            jobs=jobs,
            archive=archive,
            stop=spec.stop == "refuted",
            train=spec.classifier,
        )
    except PrivacyError:
        archive.remove()
        raise
    archive.remove()
    return found


def drawn(draw: int) -> tuple[int, ...]:
    """End of the name of a random stream: nothing for the first draw."""
    return (draw,) if draw else ()


def number_of(world: int, index: int, draw: int = 0) -> int:
    """The simulation's number of a chunk of a world: every draw has chunks, and so noise, of its own."""
    return 1 + 2 * (index + (draw * _CHUNKS if index < FIRST_CHUNK else 0)) + world


def worlds(simulation: Simulation, agent: int, other: Objective, chunk: int, draw: int = 0) -> Simulate:
    """Simulator of both worlds of an audit: as the simulation is, and with `agent` holding `other`.

    An auditor taps the agent's door and its links; on radio it receives what the agent and its neighbors transmit.
    Every (world, index) has noise of its own. In the chunk `WORST_CASE` the agent's noise points away from the other
    world.
    """
    near = () if simulation.network.medium == "links" else simulation.topology.neighbors(agent)
    auditor = Adversary("auditor", Around((agent, *near)), nodes=(agent,))
    base = replace(simulation, adversaries=(auditor,), recording=Recording(measure=False, private="releases"))
    return _Worlds(base, agent, (simulation.problem.objectives[agent], other), chunk, draw)


@dataclass(frozen=True)
class _Worlds:
    simulation: Simulation
    agent: int
    objectives: tuple[Objective, Objective]
    chunk: int
    draw: int = 0

    def __call__(self, world: int, index: int) -> Sample:
        if index != WORST_CASE:
            return self._sample(world, index, self.chunk)
        true, other = self.objectives[world], self.objectives[1 - world]
        return worst_case_sample(
            partial(self._sample, world, index), self.agent, true, other, min(self.chunk, TRANSCRIPTS)
        )

    def _sample(self, world: int, index: int, replicas: int, noise: NoiseThrough | None = None) -> Sample:
        chunk = number_of(world, index, self.draw)
        run = replace(
            self.simulation,
            problem=self.simulation.problem.replace(self.agent, self.objectives[world]),
            replicas=replicas,
            chunk=chunk,
            noise_through={} if noise is None else {self.agent: noise},
        ).run()
        if run.interrupted:
            raise KeyboardInterrupt
        assert run.truth is not None
        streams = Streams(self.simulation.seed)
        dither = Dither(partial(dither_of, streams, chunk, self.agent), replicas)
        return Sample(run.views[0], partial(coins_of, streams, self.agent), run.truth.releases[self.agent], dither)


@cache
def program() -> str:
    """SHA-256 of netsim's own source files: another program may simulate something else."""
    digest = hashlib.sha256()
    root = Path(__file__).parents[1]
    for package in ("netsim", "attacks", "scenarios"):
        for file in sorted((root / package).rglob("*.py")):
            digest.update(file.relative_to(root).as_posix().encode() + b"\0" + file.read_bytes() + b"\0")
    return digest.hexdigest()


MOST_LINKS, MOST_NODES, MOST_PAIRS = 40, 40, 12
"""The views of each kind, nearest to the audited agent first."""
_VIEW_CHUNKS = 10
"""At least so many chunks, so that trials can be shared out among those that teach, choose and are played."""


def views_of(simulation: Simulation, agent: int, wanted: Wanted) -> tuple[View, ...]:
    """The views of these kinds.

    "links": every link; on radio, what every agent transmits. "nodes": the audited agent's door, and every other
    agent as an insider. "coalitions": pairs of other agents, and an outsider on all links (or transmissions) at once.
    Of each kind the nearest, up to `MOST_LINKS`, `MOST_NODES` and `MOST_PAIRS`.
    """
    builder = _Builder(simulation, agent)
    parts: dict[str, Callable[[], list[View]]] = {
        "links": builder.on_radio if simulation.network.medium != "links" else builder.links,
        "nodes": builder.nodes,
        "coalitions": builder.coalitions,
    }
    return tuple(view for name, part in parts.items() if wanted in (name, "all") for view in part())


class _Builder:
    def __init__(self, simulation: Simulation, agent: int) -> None:
        self.topology, self.agent = simulation.topology, agent
        self.radio = simulation.network.medium != "links"
        self.told_all = (
            not self.radio and simulation.network.exchange_policy.endless and not simulation.timing.downtimes
        )
        self.told_all = self.told_all and not simulation.network.active_adversaries
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
        """Messages at an agent's door, as the links that they are on.

        Empty where messages may be lost: who sits at the door knows which ones got there.
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
    """Simulator of both worlds, as the simulation is and with `agent` holding `other`, for all views at once.

    Every (world, index) has noise of its own, that of `scenarios.stages.worlds.worlds`.
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
            recording=Recording(measure=False, private="nothing"),
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
) -> ViewsResult | None:
    """The view lattice of one algorithm of a scenario, `name`; None where no views are requested.

    You get a `PrivacyError` where nothing is claimed that views could refute.
    """
    if wanted == "none":
        return None
    views = views_of(simulation, pair.agent, wanted)
    size = min(chunk, math.ceil(trials / _VIEW_CHUNKS))
    return audit_views(
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
