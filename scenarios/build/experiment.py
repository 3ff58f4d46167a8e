"""Experiment built from a scenario: every part made and every condition checked before time 0."""

import math
from collections.abc import Container, Mapping
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.pair import Pair
from netsim.claims import SYMBOLS, Adjacency
from netsim.errors import NetsimError, ScenarioError, together, written
from netsim.memory import check_memory
from netsim.metrics import OWN_GRADIENTS, Measures
from netsim.network.laws import DelayLaw
from netsim.network.links import AccessLaw, LinkLaw
from netsim.network.radio import Radio
from netsim.problems import Bent, Dataset, Objective, Problem, Tilted
from netsim.problems.objective import direction
from netsim.readers.live import Downtime
from netsim.settings import NetworkSettings, Recording, Timing
from netsim.simulation import Simulation
from netsim.topology import Topology
from scenarios.build.duration import Cost, Progress, Silent, audit_cost, cost
from scenarios.build.inference import check_attacks, check_worlds
from scenarios.build.problem import AnyLogistic, Ownership, curvature_of, farthest, gradient_change, in_words, posed
from scenarios.schema import AlgorithmSpec, Ground, Scenario
from scenarios.schema.algorithms import MONITOR_DELTA
from scenarios.schema.scenario import GradientChange
from scenarios.schema.spec import built

OFFSET = 2.0
"""The default pair's gradient moves by tanh 2, that is by 96 %, of what it may at the public x = 0."""
LOGISTIC = ("logistic", "nonconvex_logistic")
"""Kinds whose gradient one record moves by no more than its norm."""


@dataclass(frozen=True)
class Subject:
    """One algorithm of the scenario, ready to run: with all records split, and with what agents hold when their
    records are to be rebuilt."""

    spec: AlgorithmSpec
    delta: float
    simulation: Simulation
    attacked: Simulation | None

    @property
    def price_delta(self) -> float:
        """The δ at which views are priced, which is above 0."""
        return self.delta or MONITOR_DELTA


@dataclass(frozen=True)
class Experiment:
    """A scenario with everything built. `holding` says who holds what where records are to be rebuilt."""

    scenario: Scenario
    dataset: Dataset
    problem: Problem
    topology: Topology
    adjacency: Adjacency
    subjects: tuple[Subject, ...]
    pair: Pair | None
    holding: Ownership | None
    held_out: Dataset | None

    @classmethod
    def of(cls, scenario: Scenario, progress: Progress | None = None) -> "Experiment":
        """Build everything. You get a `ScenarioError` with the path of the field for what does not fit.

        `progress` advances by each of the `parts` of it that is built.
        """
        advance = (progress or Silent()).advance
        topology = _topology(scenario)
        dataset, held_out, problem = posed(scenario, topology)
        measure, known = scenario.measures.measure, Measures.defined(problem)
        if measure not in known:
            raise ScenarioError("measures.measure", measure, "not defined for this problem", ", ".join(known))
        advance(1)
        holding = Ownership.of(scenario, dataset, topology.agents)
        check_attacks(scenario, dataset, holding)
        builder = _Builder(scenario, topology, dataset)
        pair = None if scenario.audit is None else _pair(scenario, problem)
        advance(1)
        subjects: list[Subject] = []
        wrong: list[ScenarioError] = []
        for index in range(len(scenario.algorithms)):
            try:
                subjects.append(builder.subject(index, problem, holding))
                one, name = subjects[-1].simulation, subjects[-1].spec.name
                fewer = "fewer rounds, agents, replicas, records or coordinates"
                check_memory(cost(one).memory, f"algorithms[{index}]", name, fewer)
                if scenario.audit is not None and one.algorithm.noisy:
                    memory = cost(one, scenario.audit.together).memory
                    fewer = "a smaller chunk, fewer rounds, agents or records"
                    check_memory(memory, "audit.chunk", scenario.audit.together, fewer)
            except ScenarioError as error:
                wrong += [error] if error.field not in [other.field for other in wrong] else []
            advance(1)
        if wrong:
            raise together(wrong)
        if pair is not None and isinstance(bent := pair.hypotheses[1], Bent):
            for one in subjects:
                try:
                    other = one.simulation.problem.replace(pair.agent, bent)
                    replace(one.simulation, problem=other, recording=Recording())
                except ScenarioError as error:
                    outside = f"{one.spec.name} is outside its conditions ({error.problem})"
                    why = f"with an adjacent objective that is bent as much, {outside}"
                    remedy = f"less; or {error.field}: {error.allowed}"
                    raise ScenarioError("audit.adjacency.curvature", bent.curvature, why, remedy) from None
        check_worlds(scenario, holding, [one.attacked for one in subjects])
        adjacency = adjacency_of(scenario, dataset, problem)
        return cls(scenario, dataset, problem, topology, adjacency, tuple(subjects), pair, holding, held_out)

    def costs(self, kept: Mapping[str, int] | None = None) -> dict[str, Cost]:
        """Of the runs of all algorithms, and of their audits where there are any, one after the other; `kept`: chunks
        of an audit that are there, by the name of the algorithm."""
        spec = self.scenario.audit
        audited = [] if spec is None else [one for one in self.subjects if self.claims(one)]
        there = kept or {}
        audits = [
            audit_cost(one.simulation, spec, there.get(one.spec.name, 0)) for one in audited if spec is not None
        ]
        each = {"run": [cost(one.simulation) for one in self.subjects], "audit": audits}
        return {
            what: Cost(max(one.memory for one in some), sum(one.seconds for one in some))
            for what, some in each.items() if some
        }  # fmt: skip

    def claims(self, subject: Subject) -> bool:
        """Whether it claims anything, without which it is not audited."""
        simulation = subject.simulation
        if simulation.algorithm.noisy:
            return True
        try:
            return simulation.claim(self.adjacency, simulation.algorithm.horizon or 1, subject.delta) is not None
        except NetsimError:
            return False

    @staticmethod
    def parts(scenario: Scenario) -> int:
        """Parts that `of` builds: the problem on its data, the pair of worlds, and every algorithm."""
        return 2 + len(scenario.algorithms)

    def subject(self, name: str) -> Subject:
        """The algorithm of this name. You get a `ScenarioError` where there is none."""
        named = {one.spec.name: one for one in self.subjects}
        if name not in named:
            raise ScenarioError("algorithm", name, "not in the scenario", ", ".join(map(written, named)))
        return named[name]


def _topology(scenario: Scenario) -> Topology:
    for index, edge in enumerate(getattr(scenario.topology, "edges", [])):
        if edge[0] == edge[1]:
            why = "an agent is not its own neighbor"
            raise ScenarioError(f"topology.edges[{index}]", edge, why, "two different agents")
    try:
        built, places = scenario.topology.build(), scenario.topology.positions
        return built if places is None else built.placed(places)
    except ScenarioError as error:
        raise error if error.field == "topology" else error.under("topology") from None


def adjacency_of(scenario: Scenario, dataset: Dataset, problem: Problem) -> Adjacency:
    """By how much a gradient differs between adjacent worlds where the agents hold the parts of this problem."""
    if scenario.audit is not None and isinstance(moved := scenario.audit.adjacency, GradientChange):
        how = "a constant vector" if moved.constant else "a vector that varies with x"
        relation = f"the gradient of one agent moved by {how} of at most {moved.change:.4g} in {SYMBOLS[moved.norm]}"
        curvature = curvature_of(moved, problem)
        return Adjacency.within(moved.change, moved.norm, problem.dimension, relation, curvature=curvature)
    largest, curvature = (scenario.problem.scale * one for one in _record_bounds(scenario, dataset))
    bound = 2 * largest
    if scenario.audit is not None and scenario.audit.adjacency == "agent":
        return Adjacency(bound, "all data of one agent replaced", curvature)
    fewest, most = min(problem.records), max(problem.records)
    relation = "one record of one agent replaced"
    if scenario.problem.kind not in (*LOGISTIC, "softmax") and math.isfinite(bound):
        relation += f", each record's gradient assumed to be at most {largest:.4g} in ℓ2"
    unequal = fewest if fewest < most else None
    return Adjacency(bound / fewest, relation, curvature / fewest, record=True, fewest=unequal)


def _record_bounds(scenario: Scenario, dataset: Dataset) -> tuple[float, float]:
    """sup ‖∇ℓ‖₂ of one record, and a bound on the trace of its Hessian, from a public bound on ‖a‖₂; infinite where
    there is none.

    A logistic loss: ‖a‖₂, and ‖a‖₂²/4, as σ(1 − σ) <= 1/4. Softmax of C classes: ‖p − t‖₂ ‖(a, 1)‖₂ <=
    √2 · √(‖a‖₂² + 1), which is approached, and (1 − 1/C)(‖a‖₂² + 1), as the trace of diag p − ppᵀ is
    1 − ‖p‖₂² <= 1 − 1/C. Least squares: what the scenario assumes, and ‖a‖₂². None for a network: the gradients of
    its first layers grow with the weights of later ones.
    """
    kind, bound = scenario.problem.kind, scenario.problem.data.norm_bound
    if bound is None:
        there = dataset.value_range
        bound = float("inf" if there is None else np.sqrt(dataset.dimension) * max(map(abs, there)))
    if kind in LOGISTIC:
        return bound, bound**2 / 4
    if kind == "softmax":
        return float(np.sqrt(2 * (bound**2 + 1))), (1 - 1 / (dataset.class_count or 1)) * (bound**2 + 1)
    assumed = float("inf") if scenario.problem.gradient_bound is None else scenario.problem.gradient_bound
    return assumed, bound**2 if kind in ("ridge", "lasso") else float("inf")


def _own_gradients(scenario: Scenario) -> bool:
    """Whether a measure, a check or a figure needs ∇f_i at the agents' own estimates."""
    checks = [] if scenario.reproduces is None else scenario.reproduces.checks
    asked = {scenario.measures.measure, *(getattr(check, "curve", "") for check in checks)}
    return not asked.union(figure.y for figure in scenario.figures).isdisjoint(OWN_GRADIENTS)


# ── algorithms ──────────────────────────────────────────────────────────────────────────────────────────

READDRESSED = ("adversaries[0]", "adversary"), ("link_laws", "link_overrides"), ("exchange_policy", "exchange")
"""A simulation's fields, and the scenario's."""


@dataclass(frozen=True)
class _Builder:
    scenario: Scenario
    topology: Topology
    dataset: Dataset

    def subject(self, index: int, problem: Problem, holding: Ownership | None) -> Subject:
        spec = self.scenario.algorithms[index]
        if spec.name in [other.name for other in self.scenario.algorithms[:index]]:
            raise ScenarioError(f"algorithms[{index}].name", spec.name, "used twice", "another name")
        simulation = self._simulation(index, problem)
        attacked = None if holding is None else self._simulation(index, holding.problem)
        return Subject(spec, spec.delta_handed, simulation, attacked)

    def _simulation(self, index: int, problem: Problem) -> Simulation:
        scenario = self.scenario
        ground = Ground(problem, self.topology, adjacency_of(scenario, self.dataset, problem))
        try:
            algorithm = scenario.algorithms[index].build(ground)
            made = Simulation(
                problem,
                self.topology,
                algorithm,
                self._network(),
                (scenario.adversary.build(),),
                self._timing(),
                Recording(measure_every=scenario.measures.every, own_gradients=_own_gradients(scenario)),
                replicas=scenario.replicas if algorithm.noisy else 1,
                seed=scenario.seed,
                value_range=self.dataset.value_range,
            )
            if scenario.backend != "numpy":
                replace(made, backend=scenario.backend)  # what it does not carry is an error before time 0
                if scenario.attacks.traffic:
                    why = "attacks.traffic is held against a packet log, which only the live reader writes"
                    raise ScenarioError("backend", scenario.backend, why, "numpy")
            return made
        except ScenarioError as error:
            for inner, outer in (("algorithm", f"algorithms[{index}]"), *READDRESSED):
                if error.field == inner or error.field.startswith(inner + "."):
                    raise replace(error, field=outer + error.field.removeprefix(inner)) from None
            raise error from None

    def _network(self) -> NetworkSettings:
        scenario, medium = self.scenario, self.scenario.medium
        access: AccessLaw = AccessLaw() if scenario.access is None else built("access", scenario.access)
        some = None if scenario.access is None else scenario.access.agents
        lines = {} if some is None else dict.fromkeys(self._known("access", some), access)
        return NetworkSettings(
            built("links", scenario.links),
            self._overrides(),
            access if some is None else AccessLaw(),
            lines,
            scenario.exchange.build(),
            # whether their links are there, and can be altered, is the simulation's affair
            tuple(built(f"active_adversaries[{k}]", one) for k, one in enumerate(scenario.active_adversaries)),
            built("messages.codec", scenario.messages.codec),
            scenario.messages.header,
            ("links" if medium == "links" else Radio()) if isinstance(medium, str) else medium.build(),
        )

    def _overrides(self) -> dict[tuple[int, int], LinkLaw]:
        """Directed links with a law of their own."""
        laws: dict[tuple[int, int], LinkLaw] = {}
        for index, override in enumerate(self.scenario.link_overrides):
            law: LinkLaw = built(f"link_overrides[{index}].law", override.law)
            for place, (i, j) in enumerate(override.between):
                field = f"link_overrides[{index}].between[{place}]"
                if not self.topology.has_edge(i, j):
                    raise ScenarioError(field, [i, j], "no such link", "an edge of the topology")
                if not laws.keys().isdisjoint(override.directions(i, j)):
                    raise ScenarioError(field, [i, j], "has a law of its own already", "one override for each link")
                laws |= dict.fromkeys(override.directions(i, j), law)
        return laws

    def _timing(self) -> Timing:
        scenario = self.scenario
        compute: dict[int, DelayLaw] = {}
        downtimes: dict[int, Downtime] = {}
        for index, straggler in enumerate(scenario.stragglers):
            place = f"stragglers[{index}]"
            law: DelayLaw = built(f"{place}.compute", straggler.compute)
            compute |= dict.fromkeys(self._known(place, straggler.agents, compute), law)
        for index, spec in enumerate(scenario.downtimes):
            place = f"downtimes[{index}]"
            downtime: Downtime = built(place, spec)
            downtimes |= dict.fromkeys(self._known(place, spec.agents, downtimes), downtime)
        return Timing(
            None if scenario.compute is None else built("compute", scenario.compute),
            compute,
            None if scenario.activation == "rounds" else scenario.activation.build(),
            downtimes,
        )

    def _known(self, place: str, agents: list[int], named: Container[int] = ()) -> list[int]:
        """Agents that are there and were not `named` before."""
        for index, agent in enumerate(agents):
            if agent in named or agent in agents[:index]:
                raise ScenarioError(f"{place}.agents[{index}]", agent, "named before", "one entry for each agent")
            if agent >= self.topology.agents:
                allowed = f"0 … {self.topology.agents - 1}"
                raise ScenarioError(f"{place}.agents[{index}]", agent, "no such agent", allowed)
        return agents


# ── the adjacent pair ───────────────────────────────────────────────────────────────────────────────────


def _pair(scenario: Scenario, problem: Problem) -> Pair:
    spec = scenario.audit
    assert spec is not None
    agent = spec.agent or 0
    if agent >= problem.agents:
        raise ScenarioError("audit.agent", agent, "no such agent", f"0 … {problem.agents - 1}")
    for index, down in enumerate(scenario.downtimes):
        if down.effect == "restart_without_state" and agent in down.agents:
            why = f"an audit follows one life of agent {agent}, which it audits"
            raise ScenarioError(f"downtimes[{index}].effect", down.effect, why, "another effect, or another agent")
    own = problem.objectives[agent]
    if isinstance(spec.adjacency, GradientChange):
        change, curvature = spec.adjacency, curvature_of(spec.adjacency, problem)
        slope = change.change * direction(change.direction, own.dimension, scenario.seed, change.norm)
        other: Objective = Tilted(own, slope) if curvature is None else Bent(own, slope, curvature, OFFSET)
        how = in_words(change.direction, slope, other, change.norm)
        return Pair(agent, (own, other), f"the gradient of agent {agent} {how}")
    if not isinstance(own, AnyLogistic):
        why = (
            f"records and labels are exchanged in logistic losses only, and problem.kind is {scenario.problem.kind!r}"
        )
        allowed = "{change: 1} (by how much a gradient may differ; any number), or a logistic problem.kind"
        raise ScenarioError("audit.adjacency", spec.adjacency, why, allowed)
    if spec.adjacency == "agent":
        flipped = replace(own, labels=-own.labels)
        return Pair(agent, (own, flipped), f"all labels of agent {agent} flipped")
    # one record by one of the others', labels as they are or flipped, such that sup ‖∇f − ∇f'‖ =
    # max(‖z‖, ‖z'‖, ‖z − z'‖)/m is largest
    others = [f for i, f in enumerate(problem.objectives) if i != agent and isinstance(f, AnyLogistic)]
    features = np.concatenate([f.features for f in others] * 2)
    labels = np.concatenate([f.labels for f in others] + [-f.labels for f in others])
    out, new, searched = farthest(own.labels[:, None] * own.features, labels[:, None] * features)
    adjacent = own.with_record(out, features[new], float(labels[new]))
    words = (
        f"record {out} of agent {agent} replaced by another agent's record (sup ‖Δ∇f‖₂ = "
        f"{gradient_change(own, adjacent):.4g}; the largest of {searched:,} replacements searched)"
    )
    return Pair(agent, (own, adjacent), words)
