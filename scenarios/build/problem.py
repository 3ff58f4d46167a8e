"""Data sets, each agent's records and the problem on them; the records nobody has, and the prior from those."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.spatial.distance import cdist

from attacks.reconstruction import Prior
from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.problems import Dataset, LogisticLoss, NonconvexLogistic, Problem, build, load, scale_for
from netsim.randomness import Streams
from scenarios.schema import Scenario

LOGISTIC = ("logistic", "nonconvex_logistic")
"""Kinds whose gradient one record moves by no more than its norm."""
AnyLogistic = LogisticLoss | NonconvexLogistic
MOST_PAIRS = 2**26
"""Pairs of records compared at most: 512 MB of distances."""


def loaded(scenario: Scenario) -> Dataset:
    """The data set, as it is loaded."""
    try:
        options = scenario.problem.data.model_dump()
        return load(options.pop("name"), **options)
    except ScenarioError as error:
        raise error.under("problem.data") from None


def reserved(scenario: Scenario, dataset: Dataset) -> tuple[Dataset, Dataset | None]:
    """Records for the agents, and those held out."""
    if not scenario.problem.held_out:
        return dataset, None
    try:
        return dataset.reserve(scenario.problem.held_out, scenario.seed)
    except ScenarioError as error:
        raise replace(error, field="problem.held_out") from None


def dealt(scenario: Scenario, dataset: Dataset, agents: int) -> tuple[float, Problem]:
    """The factor on all features, 1 where no smoothness is asked for, and the problem of every agent's part."""
    parts = parts_of_agents(scenario, dataset, agents)
    problem = problem_of(scenario, parts)
    if (smoothness := scenario.problem.smoothness) is None:
        return 1.0, problem
    if scenario.problem.data.norm_bound is not None:
        why = "scaling the features would undo problem.data.norm_bound"
        raise ScenarioError("problem.smoothness", smoothness, why, "one of the two")
    try:
        factor = scale_for(problem, smoothness)
    except ScenarioError as error:
        raise error.under("problem") from None
    return factor, problem_of(scenario, [part.scaled(factor) for part in parts])


def parts_of_agents(scenario: Scenario, dataset: Dataset, agents: int) -> tuple[Dataset, ...]:
    """Each agent's records."""
    try:
        options = scenario.problem.split.model_dump()
        return dataset.split(agents, scenario.seed, by=options.pop("kind"), **options)
    except ScenarioError as error:
        if error.field == "by":
            raise ScenarioError("problem.split.kind", error.value, error.problem, error.allowed) from None
        raise error.under("problem.split") from None


def problem_of(scenario: Scenario, parts: "tuple[Dataset, ...] | list[Dataset]") -> Problem:
    """The problem of these parts."""
    try:
        options = scenario.problem.model_dump(exclude={"data", "split", "held_out", "smoothness"})
        return build(parts=parts, **options)
    except ScenarioError as error:
        raise error.under("problem") from None


def record_bound(scenario: Scenario, dataset: Dataset) -> float:
    """sup ‖∇ℓ‖₂ of one record, from a public bound on ‖a‖₂; infinite where there is none.

    ‖a‖₂ for a logistic loss. For softmax ‖p − t‖₂ ‖(a, 1)‖₂ <= √2 · √(‖a‖₂² + 1), which is approached. None for a
    network: the gradients of its first layers grow with the weights of the later ones.
    """
    kind = scenario.problem.kind
    if kind in LOGISTIC:
        return _feature_bound(scenario, dataset)
    return float(np.sqrt(2 * (_feature_bound(scenario, dataset) ** 2 + 1))) if kind == "softmax" else float("inf")


def record_curvature(scenario: Scenario, dataset: Dataset) -> float:
    """A bound on the trace of one record's Hessian, infinite where there is none.

    ‖a‖₂²/4 for a logistic loss, as σ(1 − σ) <= 1/4. For softmax of C classes (1 − 1/C)(‖a‖₂² + 1), as the trace of
    diag p − ppᵀ is 1 − ‖p‖₂² <= 1 − 1/C.
    """
    kind, bound = scenario.problem.kind, _feature_bound(scenario, dataset)
    if kind in LOGISTIC:
        return bound**2 / 4
    return (1 - 1 / (dataset.class_count or 1)) * (bound**2 + 1) if kind == "softmax" else float("inf")


def _feature_bound(scenario: Scenario, dataset: Dataset) -> float:
    """A public bound on a record's ‖a‖₂; infinite where there is none."""
    if scenario.problem.data.norm_bound is not None:
        return scenario.problem.data.norm_bound
    if dataset.value_range is not None:
        return float(np.sqrt(dataset.dimension) * max(map(abs, dataset.value_range)))
    return float("inf")


def gradient_change(own: AnyLogistic, other: AnyLogistic) -> float:
    """sup_x ‖∇f − ∇f'‖₂ of two losses of one kind; infinite for two kinds."""
    if isinstance(own, LogisticLoss) and isinstance(other, LogisticLoss):
        return own.gradient_difference_bound(other)
    if isinstance(own, NonconvexLogistic) and isinstance(other, NonconvexLogistic):
        return own.gradient_difference_bound(other)
    return float("inf")


def farthest(own: Array, others: Array, most: int = MOST_PAIRS) -> tuple[int, int, int]:
    """The row of each that are farthest apart, the first such pair, and among how many pairs it was sought.

    Beyond `most` pairs only the longest rows of both are compared.
    """
    a, b = np.arange(len(own)), np.arange(len(others))
    if len(a) * len(b) > most:
        a = _longest(own, min(len(a), max(int(most**0.5), most // len(b))))
        b = _longest(others, min(len(b), most // len(a)))
    distance = cdist(own[a], others[b])
    row, column = np.unravel_index(np.argmax(distance), distance.shape)
    return int(a[row]), int(b[column]), distance.size


def _longest(rows: Array, count: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    return np.sort(np.argsort(-np.linalg.norm(rows, axis=1), kind="stable")[:count])


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
        asked = scenario.attacks
        if not (asked.images or asked.reconstruct or asked.membership or asked.property):
            return None
        if scenario.attacks.images:
            _check_images(scenario, dataset)
        held = _dealt(scenario, dataset, agents)
        parts = tuple(dataset.take(own) for own in held)
        rest = _rest(dataset, held)
        problem = problem_of(scenario, parts)
        return cls(parts, problem, prior_of(rest, problem), rest)

    @property
    def records(self) -> int:
        """Records of each agent."""
        return self.parts[0].records

    def labels(self, agent: int) -> Array:
        """Of an agent's records, as the model counts them: (m,), PRIVATE."""
        return counted(self.parts[agent].labels, self.parts[agent], self.problem)


def _check_images(scenario: Scenario, dataset: Dataset) -> None:
    if dataset.image_shape is None or scenario.problem.kind != "logistic":
        raise ScenarioError(
            "attacks.images",
            True,
            "images are rebuilt from logistic losses on image data",
            "kind: logistic, and data: digits, mnist, …",
        )
    if scenario.attacks.holding != 1:
        why = f"one image an agent is rebuilt in closed form, and agents hold {scenario.attacks.holding}"
        raise ScenarioError("attacks.images", True, why, "holding: 1, or reconstruct: [{kind: …}]")


def _dealt(scenario: Scenario, dataset: Dataset, agents: int) -> list[list[int]]:
    """Rows of each agent: the classes in turn, drawn by the scenario's seed; one of each is left over."""
    rng = Streams(scenario.seed).generator("images")
    order = rng.permutation(dataset.records)
    kinds = _kinds(dataset)
    pools = [[int(k) for k in order if kinds[k] == kind] for kind in np.unique(kinds)]
    size, wanted = len(pools), scenario.attacks.holding
    most = size * (min(map(len, pools)) - 1)
    if agents * wanted > most:
        raise _too_many(scenario, agents, most)
    flat = [pools[k % size][k // size] for k in range(agents * wanted)]
    return [flat[i * wanted : (i + 1) * wanted] for i in range(agents)]


def _too_many(scenario: Scenario, agents: int, most: int) -> ScenarioError:
    wanted = scenario.attacks.holding
    if wanted == 1 and scenario.attacks.images:
        return ScenarioError(
            "attacks.images", True, f"{agents} agents cannot hold an image each", f"<= {most} agents"
        )
    why = f"{agents} agents cannot hold so many each and leave a prior"
    return ScenarioError("attacks.holding", wanted, why, f"<= {most // agents}")


def _kinds(dataset: Dataset) -> Array:
    """The class of each record; all the same where labels are numbers."""
    return np.zeros(dataset.records) if _numbers(dataset) else dataset.labels


def _numbers(dataset: Dataset) -> bool:
    """Whether the labels are the targets of a regression."""
    return len(np.unique(dataset.labels)) > MOST_CLASSES


MOST_CLASSES = 100
"""More different labels than these are the targets of a regression."""


def _rest(dataset: Dataset, held: list[list[int]]) -> Dataset:
    taken = {k for own in held for k in own}
    return dataset.take([k for k in range(dataset.records) if k not in taken])


def prior_of(public: Dataset, problem: Problem) -> Prior:
    """Prior of a record, from public ones."""
    made = Prior.of_numbers if _numbers(public) else Prior.of
    return made(public.features, counted(public.labels, public, problem))


def counted(labels: Array, dataset: Dataset, problem: Problem) -> Array:
    """Labels of some of a data set's records as the problem's model counts them, (records,): two classes are −1 and 1
    in data, and 0 and 1 to a model of several outputs."""
    several = problem.model is not None and 0.0 in problem.model.classes
    return (labels + 1) / 2 if several and dataset.class_count == 2 else labels
