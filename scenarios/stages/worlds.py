"""Audited worlds: one algorithm on adjacent objectives, simulated and seen from every view of the network."""

import hashlib
import json
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from pathlib import Path
from typing import Any, cast

import numpy as np

from attacks.audit.archive import MARK, Archive
from attacks.audit.audit import audit
from attacks.audit.games.power import Plan
from attacks.audit.games.sequential_test import MOST_EPSILON
from attacks.audit.loss import aimed
from attacks.audit.loss.comparison import Sample, reproduces
from attacks.audit.loss.exact import SINGLES
from attacks.audit.loss.secret_coins import SECRET
from attacks.audit.outside import nothing_of_data_kept
from attacks.audit.pair import FIRST_CHUNK, Infer, Pair, Simulate
from attacks.audit.proof import Bound, bound_at_door
from attacks.audit.result import AuditResult
from attacks.audit.views import SimulateViews, View, ViewsResult, audit_views
from attacks.inference import infer
from attacks.replay import Hypothesis
from netsim.adversary import Adversary, AdversaryView, Around
from netsim.arrays import evenly
from netsim.claims import Adjacency, Claim
from netsim.codecs import Dither
from netsim.errors import PrivacyError
from netsim.files import read_json
from netsim.problems import Objective, Tilted
from netsim.randomness import NoiseThrough, Streams
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from netsim.topology import Topology
from scenarios.build.duration import InPercent, OfEachWorld, Progress, Silent
from scenarios.build.experiment import Subject
from scenarios.build.problem import data_print
from scenarios.results.header import versions
from scenarios.schema import Scenario
from scenarios.schema import own_code as owncode
from scenarios.schema.scenario import AuditSpec, Wanted

AGENTS, BRIEFLY = 5, 16
"""Agents whose pairs are searched where none is named, the first with all candidates; and all that are looked at."""
_OTHERS = 16
"""Other agents that are replayed too, the nearest first."""
_CHUNKS = 2**20
"""The chunks of an audit are fewer: so many are set apart for each draw."""


@dataclass(frozen=True)
class AuditOptions:
    """Subject of an audit: one algorithm of a scenario, its claim as stated, and its pair."""

    scenario: Scenario
    subject: Subject
    pair: Pair
    stated: Claim

    @property
    def claim(self) -> Claim:
        """The claim in the adjacency that is audited."""
        return as_audited(self.stated, self.pair)

    @property
    def spec(self) -> AuditSpec:
        """The scenario's `audit`."""
        assert self.scenario.audit is not None
        return self.scenario.audit

    @property
    def simulation(self) -> Simulation:
        """World 0: the subject's simulation, where the agent holds the pair's first objective."""
        return holding(self.subject.simulation, self.pair.agent, cast("Objective", self.pair.hypotheses[0]))

    @property
    def other(self) -> Objective:
        """The agent's objective in the other world."""
        return cast("Objective", self.pair.hypotheses[1])

    @property
    def others(self) -> tuple[int, ...]:
        """Agents that the claim is about as well, where the scenario names none and the pair was searched for."""
        spec = self.spec
        if spec.search is None or spec.agent is not None or self.claim.standpoint is not None:
            return ()
        return tuple(i for i in agents_of(self.subject.simulation, None) if i != self.pair.agent)

    @property
    def plan(self) -> Plan | None:
        """Reach of the game of all `trials`; None where no number is claimed that a game could test."""
        spec, epsilon = self.spec, self.claim.epsilon
        if epsilon is None or not epsilon < MOST_EPSILON or self.claim.delta >= 1:
            return None
        parts = 3 + (spec.classifier is True)  # the exact loss and two games
        if spec.stop == "refuted":  # the sequential test has a part, and the others are right at both their times
            parts = 2 * (parts + 1)
        confidence = 1 - (1 - spec.confidence) / parts
        return Plan.of_transcripts(spec.trials, epsilon, self.claim.delta, confidence)

    @property
    def fingerprint(self) -> str:
        """Text of all that decides what is simulated: scenario, data of both worlds, pair, program and versions."""
        found = _before_its_pair(self.scenario, self.subject) | {
            "pair": self.pair.description,
            "data": data_print([*self.subject.simulation.problem.objectives, *self.pair.hypotheses]),
        }
        return json.dumps(found, sort_keys=True)


def _before_its_pair(scenario: Scenario, subject: Subject) -> dict[str, object]:
    """All of an audit's fingerprint that is known before its pair is searched."""
    audit = scenario.audit
    assert audit is not None
    scenario = scenario.model_copy(update={"audit": audit.model_copy(update={"trials": 50})})
    found: dict[str, object] = {
        "scenario": scenario.model_dump(mode="json"),
        "algorithm": subject.spec.name,
        "program": program(),
        "versions": versions(),
        "together": audit.together,
    }
    own = owncode.code_of(subject.simulation.algorithm)
    return found if own is None else found | {"own": own}


def chunks_kept(folder: Path, scenario: Scenario, subject: Subject) -> int:
    """Chunks that the folder of an audit has kept of both worlds, if it is of this program and scenario; of the same
    data too, as far as is known before its pair is searched."""
    if scenario.audit is None:
        return 0
    try:
        mark = read_json(folder / MARK)
    except (OSError, ValueError):
        return 0
    known = _before_its_pair(scenario, subject)
    if not isinstance(mark, dict) or cast("dict[str, object]", mark) | known != mark:
        return 0
    return Archive(folder).whole(scenario.audit.chunks)


def audited(
    options: AuditOptions, folder: Path | None, progress: Progress | None, jobs: int, keep: bool = False
) -> AuditResult:
    """Audit it. Transcripts are kept in `folder` until the audit is done, or, to `keep` them, after it; those there
    are not simulated again.

    Without a folder nothing is left of an audit that is interrupted.
    """
    spec, simulation, claim, shown = options.spec, options.simulation, options.claim, progress or Silent()
    archive = None if folder is None else Archive.at(folder, options.fingerprint)
    reading = f"{options.subject.spec.name}: reading histories of private coins, in percent"
    try:
        found = audit(
            worlds(simulation, options.pair.agent, options.other, spec.together, spec.draw, options.claim.delta),
            options.pair,
            for_listener(claim, spec),
            trials=spec.trials,
            chunk=spec.together,
            confidence=spec.confidence,
            rng=Streams(simulation.seed).generator("audit", options.subject.spec.name, *_drawn(spec.draw)),
            infer=infer,
            progress=OfEachWorld(shown),
            histories=InPercent(shown, reading),
            jobs=jobs,
            archive=archive,
            stop=spec.stop == "refuted",
            train=spec.classifier,
            convexity=simulation.setting(1).convexity(options.pair.agent),
            doors={
                agent: partial(bound_of, options.subject.simulation, agent, delta=claim.delta)
                for agent in options.others
            },
        )
    except PrivacyError:
        if archive is not None:
            archive.remove()
        raise
    if archive is not None and not keep:
        archive.remove()
    judgement, seen = found.judgement, as_its_claim_sees(simulation, options.pair.agent)
    if seen is not simulation:
        what = "The claim is of listeners who see less than all that the agent sends, and what they see was audited."
        judgement = judgement.adding(f"{what} {seen.algorithm.summary}")
    return replace(found, judgement=judgement)


def for_listener(claim: Claim, spec: AuditSpec) -> Claim:
    """The claim of who knows the agents' private coins, or does not, as the scenario says."""
    return claim if spec.coins is None else replace(claim, coins=spec.coins)


def as_audited(claim: Claim, pair: Pair) -> Claim:
    """The claim with the adjacency to which it is held: any data, where it is of any change; and beside other data
    constant changes as large, where the pair is of these (`scenarios.stages.worst_pair`)."""
    (zero, other), adjacency = pair.hypotheses, claim.adjacency
    if pair.any_change:
        what, _, _ = adjacency.relation.partition(" replaced")
        relation = f"any data in place of {what} (the claim ignores how much they differ)"
        return replace(claim, adjacency=replace(adjacency, gradient_change=math.inf, relation=relation))
    if adjacency.change is None and isinstance(zero, Tilted) and isinstance(other, Tilted):
        size = f"{adjacency.at(zero.records).gradient_change:.4g} in ℓ2"
        relation = f"{adjacency.relation}, or its gradient moved by a constant vector of at most {size}"
        return replace(claim, adjacency=replace(adjacency, relation=relation))
    return claim


def activations_of(simulation: Simulation) -> tuple[int, ...] | None:
    """How often each agent is active; None where all are alike."""
    found = replace(simulation, replicas=1, recording=Recording(measure=False, private="nothing")).run().activations
    return None if len({*found}) == 1 else found


def agents_of(simulation: Simulation, chosen: int | None) -> list[int]:
    """Agents that an audit is about: the chosen one; or all where they are few, for code may treat an agent by its
    number; of more one of each kind by its mixing weights, then others. Who is active more often comes first, of
    those alike who has fewer records: a mean moves most where they are few. Who has the most is one of the others."""
    topology, records = simulation.topology, simulation.problem.records
    if chosen is not None:
        return [chosen]
    lasting = [i for i in range(topology.agents) if i not in simulation.timing.forgetful]
    times = activations_of(simulation)
    if times is not None or len(lasting) > AGENTS:
        lasting.sort(key=lambda i: (0 if times is None else -times[i], records[i]))
    if len(lasting) <= AGENTS:
        return lasting
    kinds: dict[bytes, int] = {}
    for i in lasting:
        kinds.setdefault(np.sort(np.round(topology.row(i), 12)).tobytes(), i)
    several = list(kinds.values())
    first = [several[k] for k in evenly(len(several), AGENTS)]
    others = [i for i in lasting if i not in first]
    return (first + [others[k] for k in evenly(len(others), BRIEFLY - AGENTS)])[:BRIEFLY]


def bound_of(
    simulation: Simulation,
    agent: int,
    adjacency: Adjacency,
    delta: float,
    holders: tuple[int, ...] | None = None,
) -> Bound:
    """The bound over all pairs at one agent's door, from its own data; `holders` as in `worlds`. You get an
    `AttackError`, or what its code raises at answers that no objective gives, where there is none; and a
    `PrivacyError` where code keeps data from one run to the next."""
    own = simulation.problem.objectives[agent]
    size = adjacency.gradient_change if math.isfinite(adjacency.gradient_change) else 1.0
    other = Tilted(own, size * np.eye(simulation.problem.dimension)[0])
    simulate = worlds(simulation, agent, other, 2, holders=holders)
    nothing_of_data_kept(simulation.algorithm, lambda world: simulate(world, 0))
    convexity = simulation.setting(1).convexity(agent)
    return bound_at_door([simulate(world, 0) for world in (0, 1)], agent, adjacency, delta, convexity)


def as_its_claim_sees(simulation: Simulation, agent: int) -> Simulation:
    """The simulation at whose door of `agent` there is what the claim's listeners see, in the clear; itself where
    that is the door, and where messages are altered on their way."""
    seen, network = simulation.algorithm.as_its_claim_sees(agent, simulation.problem.objectives), simulation.network
    if seen is simulation.algorithm or network.active_adversaries:
        return simulation
    laws = {edge: replace(law, encrypted=False) for edge, law in network.link_laws.items()}
    network = replace(network, links=replace(network.links, encrypted=False), link_laws=laws)
    return replace(simulation, algorithm=seen, network=network)


def holding(simulation: Simulation, agent: int, objective: Objective) -> Simulation:
    """The simulation where `agent` holds this objective."""
    if objective is simulation.problem.objectives[agent]:
        return simulation
    return replace(simulation, problem=simulation.problem.replace(agent, objective))


def _drawn(draw: int) -> tuple[int, ...]:
    """End of the name of a random stream: nothing for the first draw."""
    return (draw,) if draw else ()


def _number_of(world: int, index: int, draw: int = 0) -> int:
    """The simulation's number of a chunk of a world: every draw has chunks, and so noise, of its own."""
    return 1 + 2 * (index + (draw * _CHUNKS if index < FIRST_CHUNK or index >= aimed.TILTED else 0)) + world


def worlds(
    simulation: Simulation,
    agent: int,
    other: Objective,
    chunk: int,
    draw: int = 0,
    delta: float = 0.0,
    holders: tuple[int, ...] | None = None,
) -> Simulate:
    """Simulator of both worlds of an audit: as the simulation is, and with `agent` holding `other`.

    An auditor taps the agent's door and its links; on radio it receives what the agent and its neighbors transmit.
    Unless `holders` are given, an algorithm whose claim is of listeners who see less than the door is simulated as
    these see it (`Algorithm.as_its_claim_sees`), where no message is altered on its way.
    Every (world, index) has noise of its own. In the chunk `WORST_CASE` the agent's noise points away from the other
    world; in the chunk `TILTED` it is tilted towards the losses that decide at `delta`. Chunks from `SINGLES` on are
    of one transcript, with tosses of the private coins of its own; with the first of these comes a `PrivacyError`
    where an agent's code, replayed after another run, does not send what it sent. From `SECRET` on every second one
    has aimed noise: at δ = 0 the worst, else tilted. The adversary is granted the seeds of the `holders` (default:
    those who collude by the algorithm's claim).
    """
    near = () if simulation.network.medium == "links" else simulation.topology.neighbors(agent)
    auditor = Adversary("auditor", Around((agent, *near)), nodes=(agent,))
    recording = Recording(measure=False, private="releases")
    simulation = as_its_claim_sees(simulation, agent) if holders is None else simulation
    base = replace(simulation, adversaries=(auditor,), recording=recording, backend="numpy")  # replays compare bits
    return _Worlds(base, agent, (simulation.problem.objectives[agent], other), chunk, draw, delta, holders)


@dataclass(frozen=True)
class _Worlds:
    simulation: Simulation
    agent: int
    objectives: tuple[Objective, Objective]
    chunk: int
    draw: int
    delta: float
    holders: tuple[int, ...] | None = None

    def __call__(self, world: int, index: int) -> Sample:
        if index >= SECRET:
            return self._tossed(world, index)
        if index >= SINGLES:
            if index == SINGLES:
                self._check_others(world)
            return self._sample(world, index, 1)
        true, other = self.objectives[world], self.objectives[1 - world]
        aiming = aimed.Aiming(partial(self._sample, world), self.agent, true, other)
        match index:
            case aimed.WORST_CASE:
                return aiming.worst_case(min(self.chunk, aimed.TRANSCRIPTS))
            case aimed.TILTED:
                return aiming.tilted(self.delta, min(self.chunk, aimed.WEIGHTED))
            case _:
                return self._sample(world, index, self.chunk)

    def _sample(
        self,
        world: int,
        index: int,
        replicas: int,
        noise: NoiseThrough | None = None,
        dither: NoiseThrough | None = None,
        tosses: int | None = None,
        coins: NoiseThrough | None = None,
        around: NoiseThrough | None = None,
    ) -> Sample:
        ways = {"noise_through": noise, "dither_through": dither, "coins_through": coins}
        others: dict[str, Mapping[int, NoiseThrough]] = {name: getattr(self.simulation, name) for name in ways}
        through = {name: {**others[name], self.agent: way} for name, way in ways.items() if way is not None}
        if around is not None:
            own = through.get("noise_through", others["noise_through"])
            near = {i: around for i in range(self.simulation.topology.agents) if i != self.agent}
            through["noise_through"] = {**own, **near}
        found = self._seen(self._run(world, index, replicas, tosses, **through), self.agent)
        return replace(
            found, again=partial(self._sample, world, index, replicas, noise=noise, dither=dither, tosses=tosses)
        )

    def _tossed(self, world: int, index: int) -> Sample:
        """One transcript with tosses of its own; every second one with aimed noise, by a pilot of the same tosses."""
        if index % 2 == 0:
            return self._sample(world, index, 1)

        def simulate(
            which: int, replicas: int, noise: NoiseThrough | None = None, dither: NoiseThrough | None = None
        ) -> Sample:
            pilot = index + (SECRET if which == aimed.TILTED + 1 else 0)
            return self._sample(world, pilot, replicas, noise, dither, _number_of(world, index, self.draw))

        aiming = aimed.Aiming(simulate, self.agent, self.objectives[world], self.objectives[1 - world])
        return aiming.tilted(self.delta, 1) if self.delta > 0 else aiming.worst_case(1)

    def _run(self, world: int, index: int, replicas: int, tosses: int | None = None, **settings: Any) -> Run:
        chunk = _number_of(world, index, self.draw)
        if tosses is None:
            tosses = chunk if index >= SINGLES else self.simulation.tosses
        run = replace(
            self.simulation,
            problem=self.simulation.problem.replace(self.agent, self.objectives[world]),
            replicas=replicas,
            chunk=chunk,
            tosses=tosses,
            **settings,
        ).run()
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def _seen(self, run: Run, agent: int) -> Sample:
        """Sample at an agent's door."""
        assert run.truth is not None
        made = run.simulation
        dither = Dither(partial(made.dither_stream, agent), made.replicas)
        coins = partial(made.coins_stream, agent)
        view, edges = run.views[0], run.truth.edges
        holders = made.algorithm.colluding if self.holders is None else self.holders
        law = None if edges is None else edges.known(agent, holders)
        if law is not None:
            view = replace(view, shared={agent: law})
        return Sample(
            view, coins, run.truth.releases[agent], dither,
            tossed=run.tossed, computed=run.computed, queries=run.queries[agent],
        )  # fmt: skip

    def _check_others(self, world: int) -> None:
        """Raise a `PrivacyError` where the agent, or one near, knows something that did not come through its node.

        It is replayed by itself, after a run of the other world: what agents left in a module is that world's.
        """
        others = _nearest(self.simulation.topology, self.agent)[: 1 + _OTHERS]
        listening = replace(self.simulation.adversaries[0], nodes=tuple(others))
        runs = [self._run(w, SINGLES, 1, adversaries=(listening,)) for w in (world, 1 - world)]
        for i in set(others) - self.simulation.timing.forgetful:
            reproduces(self._seen(runs[0], i), i, cast("Hypothesis", runs[0].simulation.problem.objectives[i]))


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


def _nearest(topology: Topology, agent: int) -> list[int]:
    """All agents, the nearest to this one first, which is itself."""
    distance: list[float] = topology.hops(agent).tolist()
    return sorted(range(topology.agents), key=lambda i: (distance[i], i))


def views_of(simulation: Simulation, agent: int, wanted: Wanted) -> tuple[View, ...]:
    """The views of these kinds.

    "links": every link; on radio, what every agent transmits. "nodes": the audited agent's door, and every other
    agent as an insider. "coalitions": pairs of other agents, and an outsider on all links (or transmissions) at once.
    Of each kind the nearest, up to `MOST_LINKS`, `MOST_NODES` and `MOST_PAIRS`.
    """
    topology, network = simulation.topology, simulation.network
    radio = network.medium != "links"
    distance: list[float] = topology.hops(agent).tolist()
    every = _nearest(topology, agent)
    others = [i for i in every if i != agent]
    views: list[View] = []

    if wanted in ("links", "all") and radio:
        for i in every[:MOST_LINKS]:
            name = f"transmitter {i}"
            tap = Adversary(name, Around((i,)))
            views.append(View(name, "transmitter", tap, frozenset([name]), f"what agent {i} transmits", agents=(i,)))
    elif wanted in ("links", "all"):
        near = sorted(topology.edges, key=lambda edge: (sorted(distance[i] for i in edge), edge))
        for i, j in near[:MOST_LINKS]:
            tap, words = Adversary(f"link {i}-{j}", ((i, j),)), f"the link of agents {i} and {j}, both ways"
            views.append(View(tap.name, "link", tap, frozenset([_link(i, j)]), words, links=((i, j),)))
    if wanted in ("nodes", "all"):
        name = f"door {agent}"
        words = f"the audited agent's door: all that agent {agent} sends and receives"
        tap, knows = Adversary(name, (), nodes=(agent,)), _around(simulation, agent) or frozenset([name])
        views.append(View(name, "door", tap, knows, words, agents=(agent,)))
        for i in others[:MOST_NODES]:
            views.append(insiders(simulation, i))
    if wanted in ("coalitions", "all"):
        pairs = combinations(others[: MOST_PAIRS + 1], 2)
        for pair in sorted(pairs, key=lambda pair: (sum(distance[i] for i in pair), pair))[:MOST_PAIRS]:
            views.append(insiders(simulation, *sorted(pair)))
        everything = (
            [f"transmitter {i}" for i in range(topology.agents)] if radio else [_link(*e) for e in topology.edges]
        )
        words, links = ("all that is transmitted", ()) if radio else ("all links at once", topology.edges)
        outsider = Adversary("outsider", "all")
        views.append(View("outsider", "outside", outsider, frozenset(everything), words, links=links))
    return tuple(views)


def insiders(simulation: Simulation, *members: int) -> View:
    """One agent, or several together, honest but curious."""
    knows = frozenset[str]().union(*(_around(simulation, i) | {f"inside {i}"} for i in members))
    if len(members) == 1:
        name, kind, words = f"node {members[0]}", "node", f"agent {members[0]}, honest but curious"
    else:
        name, kind = f"coalition {'+'.join(map(str, members))}", "coalition"
        words = f"agents {', '.join(map(str, members[:-1]))} and {members[-1]}, honest but curious, together"
    return View(name, kind, Adversary(name, insiders=members), knows, words, agents=members)


def _link(i: int, j: int) -> str:
    return f"link {min(i, j)}-{max(i, j)}"


def _around(simulation: Simulation, agent: int) -> frozenset[str]:
    """Messages at an agent's door, as the links that they are on; nothing where some are lost on their way, and who
    sits at a door knows which got there."""
    network = simulation.network
    complete = network.exchange_policy.endless and not simulation.timing.downtimes and not network.active_adversaries
    if not complete or network.medium != "links":
        return frozenset()
    return frozenset(_link(agent, j) for j in simulation.topology.neighbors(agent))


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
            chunk=_number_of(world, index, draw),
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
    also: Sequence[View] = (),
) -> ViewsResult | None:
    """The view lattice of one algorithm of a scenario, `name`, with `also` these views; None where none are wanted.

    You get a `PrivacyError` where nothing is claimed that views could refute.
    """
    if wanted == "none":
        return None
    views = views_of(simulation, pair.agent, wanted)
    there = {view.name for view in views}
    views += tuple(view for view in also if view.name not in there)
    size = min(chunk, math.ceil(trials / _VIEW_CHUNKS))
    return audit_views(
        seen_by(simulation, pair.agent, other, size, views, draw),
        views,
        pair,
        claim,
        trials=trials,
        chunk=size,
        confidence=confidence,
        rng=Streams(simulation.seed).generator("views", name, *_drawn(draw)),
        jobs=jobs,
        infer=infer,
        progress=progress,
    )
