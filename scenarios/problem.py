"""From what a scenario says of its problem to data, each agent's part of them, and the problem itself."""

from dataclasses import replace

import numpy as np
from scipy.spatial.distance import cdist

from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.problems import Dataset, LogisticLoss, NonconvexLogistic, Problem, scale_for
from scenarios.schema import Scenario

LOGISTIC = ("logistic", "nonconvex_logistic")
"""Kinds whose gradient one record moves by no more than its norm."""
AnyLogistic = LogisticLoss | NonconvexLogistic
MOST_PAIRS = 2**26
"""Pairs of records compared at most: 512 MB of distances."""


def loaded(scenario: Scenario) -> Dataset:
    """The data set, as it is loaded."""
    try:
        return scenario.problem.data.load()
    except ScenarioError as error:
        raise error.under("problem.data") from None


def reserved(scenario: Scenario, dataset: Dataset) -> tuple[Dataset, Dataset | None]:
    """What the agents hold, and what nobody does."""
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
        return scenario.problem.split.deal(dataset, agents, scenario.seed)
    except ScenarioError as error:
        if error.field == "by":
            raise ScenarioError("problem.split.kind", error.value, error.problem, error.allowed) from None
        raise error.under("problem.split") from None


def problem_of(scenario: Scenario, parts: "tuple[Dataset, ...] | list[Dataset]") -> Problem:
    """The problem of these parts."""
    try:
        return scenario.problem.build(parts)
    except ScenarioError as error:
        raise error.under("problem") from None


def record_bound(scenario: Scenario, dataset: Dataset) -> float:
    """sup ‖∇ℓ‖₂ of one record, from a public bound on ‖a‖₂; infinite where there is none.

    ‖a‖₂ for a logistic loss. For softmax ‖p − t‖₂ ‖(a, 1)‖₂ <= √2 · √(‖a‖₂² + 1), which is approached. None for a
    network: the gradients of its first layers grow with the weights of the later ones.
    """
    kind = scenario.problem.kind
    if kind in LOGISTIC:
        return feature_bound(scenario, dataset)
    return float(np.sqrt(2 * (feature_bound(scenario, dataset) ** 2 + 1))) if kind == "softmax" else float("inf")


def record_curvature(scenario: Scenario, dataset: Dataset) -> float:
    """A bound on the trace of one record's Hessian, infinite where there is none.

    ‖a‖₂²/4 for a logistic loss, as σ(1 − σ) <= 1/4. For softmax of C classes (1 − 1/C)(‖a‖₂² + 1), as the trace of
    diag p − ppᵀ is 1 − ‖p‖₂² <= 1 − 1/C.
    """
    kind, bound = scenario.problem.kind, feature_bound(scenario, dataset)
    if kind in LOGISTIC:
        return bound**2 / 4
    return (1 - 1 / (dataset.class_count or 1)) * (bound**2 + 1) if kind == "softmax" else float("inf")


def feature_bound(scenario: Scenario, dataset: Dataset) -> float:
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
