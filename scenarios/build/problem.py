"""Data sets, each agent's records and the problem on them; the records nobody has, and the prior from those."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
from scipy.spatial.distance import cdist

from attacks.reconstruction import Prior
from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.problems import Dataset, LogisticLoss, NonconvexLogistic, Problem, build, load, scale_for
from netsim.randomness import Streams
from netsim.topology import Topology
from scenarios.build.duration import check_data, check_problem
from scenarios.schema import Scenario
from scenarios.schema.spec import built

AnyLogistic = LogisticLoss | NonconvexLogistic
MOST_PAIRS = 2**26
"""Pairs of records compared at most: 512 MB of distances."""
MOST_CLASSES = 100
"""More different labels than these are the targets of a regression."""


@contextmanager
def _under(field: str) -> Generator[None]:
    """A `ScenarioError` within has its fields under this one."""
    try:
        yield
    except ScenarioError as error:
        raise error.under(field) from None


# ── data and problem ────────────────────────────────────────────────────────────────────────────────────


def posed(scenario: Scenario, topology: Topology) -> tuple[Dataset, Dataset | None, Problem]:
    """The records of the agents, those held out, and the problem of every agent's part; features are scaled to the
    smoothness that the scenario names. You get a `ScenarioError` for what does not fit."""
    spec, agents = scenario.problem, topology.agents
    check_data(scenario)
    with _under("problem.data"):
        options = spec.data.model_dump()
        dataset, held_out = load(options.pop("name"), **options), None
    if spec.held_out:
        try:
            dataset, held_out = dataset.reserve(spec.held_out, scenario.seed)
        except ScenarioError as error:
            raise replace(error, field="problem.held_out") from None
    if agents > dataset.records:
        field = "topology.agents" if hasattr(scenario.topology, "agents") else "topology"
        why = f"every agent needs a record of its own, and {dataset.name} has {dataset.records}"
        raise ScenarioError(field, agents, why, f"<= {dataset.records} agents")
    parts = parts_of_agents(scenario, dataset, agents)
    problem = problem_of(scenario, parts)
    check_problem(scenario, agents, dataset.records, problem.dimension)
    if spec.smoothness is None:
        return dataset, held_out, problem
    if spec.data.norm_bound is not None:
        why = "scaling the features would undo problem.data.norm_bound"
        raise ScenarioError("problem.smoothness", spec.smoothness, why, "one of the two")
    with _under("problem"):
        factor = scale_for(problem, spec.smoothness)
    scaled = [part.scaled(factor) for part in (dataset, *parts)]
    held_out = None if held_out is None else held_out.scaled(factor)
    return scaled[0], held_out, problem_of(scenario, scaled[1:])


def parts_of_agents(scenario: Scenario, dataset: Dataset, agents: int) -> tuple[Dataset, ...]:
    """Each agent's records."""
    options = scenario.problem.split.model_dump()
    try:
        return dataset.split(agents, scenario.seed, by=options.pop("kind"), **options)
    except ScenarioError as error:
        if error.field == "by":
            raise ScenarioError("problem.split.kind", error.value, error.problem, error.allowed) from None
        raise error.under("problem.split") from None


def problem_of(scenario: Scenario, parts: Sequence[Dataset]) -> Problem:
    """The problem of these parts."""
    with _under("problem"):
        spec = scenario.problem
        apart = {"data", "split", "held_out", "smoothness", "regularizer", "gradient_bound"}
        options = spec.model_dump(exclude=apart)
        regularizer = None if spec.regularizer is None else built("regularizer", spec.regularizer)
        return build(parts=parts, regularizer=regularizer, **options)


# ── records that are farthest apart ─────────────────────────────────────────────────────────


def gradient_change(own: AnyLogistic, other: AnyLogistic) -> float:
    """sup_x ‖∇f − ∇f'‖₂ of two losses of one kind; infinite for two kinds."""
    return own.gradient_difference_bound(cast("Any", other)) if type(own) is type(other) else float("inf")


def farthest(own: Array, others: Array, most: int = MOST_PAIRS) -> tuple[int, int, int]:
    """The row of each that are farthest apart, the first such pair, and among how many pairs it was sought.

    Beyond `most` pairs only the longest rows of both are compared.
    """
    a, b = np.arange(len(own)), np.arange(len(others))
    if len(a) * len(b) > most:
        lengths = [np.argsort(-np.linalg.norm(rows, axis=1), kind="stable") for rows in (own, others)]
        a = np.sort(lengths[0][: min(len(a), max(int(most**0.5), most // len(b)))])
        b = np.sort(lengths[1][: min(len(b), most // len(a))])
    distance = cdist(own[a], others[b])
    row, column = np.unravel_index(np.argmax(distance), distance.shape)
    return int(a[row]), int(b[column]), distance.size


# ── records to rebuild ──────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Ownership:
    """The `parts` of the agents, as many records each, the `problem` of these, and a `prior` of what nobody holds
    (`unheld`)."""

    parts: tuple[Dataset, ...]
    problem: Problem
    prior: Prior | None
    unheld: Dataset | None = None

    @classmethod
    def of(cls, scenario: Scenario, dataset: Dataset, agents: int) -> "Ownership | None":
        """None where a scenario rebuilds nothing. You get a `ScenarioError` where the records do not suffice."""
        options = scenario.attacks
        if not (options.images or options.reconstruct or options.membership or options.property):
            return None
        if options.images and (dataset.image_shape is None or scenario.problem.kind != "logistic"):
            why = "images are rebuilt from logistic losses on image data"
            raise ScenarioError("attacks.images", True, why, "kind: logistic, and data: digits, mnist, …")
        if options.images and options.holding != 1:
            why = f"one image an agent is rebuilt in closed form, and agents hold {options.holding}"
            raise ScenarioError("attacks.images", True, why, "holding: 1, or reconstruct: [{kind: …}]")
        held = _dealt(scenario, dataset, agents)
        parts = tuple(dataset.take(own) for own in held)
        taken = {k for own in held for k in own}
        rest = dataset.take([k for k in range(dataset.records) if k not in taken])
        problem = problem_of(scenario, parts)
        return cls(parts, problem, prior_of(rest, problem), rest)

    @property
    def records(self) -> int:
        """Records of each agent."""
        return self.parts[0].records

    def labels(self, agent: int) -> Array:
        """Of an agent's records, as the model counts them: (m,), PRIVATE."""
        return counted(self.parts[agent].labels, self.parts[agent], self.problem)


def _dealt(scenario: Scenario, dataset: Dataset, agents: int) -> list[list[int]]:
    """Rows of each agent: the classes in turn, drawn by the scenario's seed; one of each is left over."""
    order = Streams(scenario.seed).generator("images").permutation(dataset.records)
    classes = np.zeros(dataset.records) if _numbers(dataset) else dataset.labels
    pools = [[int(k) for k in order if classes[k] == one] for one in np.unique(classes)]
    size, each = len(pools), scenario.attacks.holding
    most = size * (min(map(len, pools)) - 1)
    if agents * each > most and each == 1 and scenario.attacks.images:
        why = f"{agents} agents cannot hold an image each"
        raise ScenarioError("attacks.images", True, why, f"<= {most} agents")
    if agents * each > most:
        why = f"{agents} agents cannot hold so many each and leave a prior"
        raise ScenarioError("attacks.holding", each, why, f"<= {most // agents}")
    flat = [pools[k % size][k // size] for k in range(agents * each)]
    return [flat[i * each : (i + 1) * each] for i in range(agents)]


def _numbers(dataset: Dataset) -> bool:
    """Whether the labels are the targets of a regression."""
    return len(np.unique(dataset.labels)) > MOST_CLASSES


def prior_of(public: Dataset, problem: Problem) -> Prior:
    """Prior of a record, from public ones."""
    made = Prior.of_numbers if _numbers(public) else Prior.of
    return made(public.features, counted(public.labels, public, problem))


def counted(labels: Array, dataset: Dataset, problem: Problem) -> Array:
    """Labels of some of a data set's records as the problem's model counts them, (records,): two classes are −1 and 1
    in data, and 0 and 1 to a model of several outputs."""
    several = problem.model is not None and 0.0 in problem.model.classes
    return (labels + 1) / 2 if several and dataset.class_count == 2 else labels
