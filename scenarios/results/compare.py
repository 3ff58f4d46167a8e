"""Runs side by side (`netsim compare --json`)."""

from dataclasses import dataclass
from typing import Literal

from scenarios.results.audit import EpsilonExact
from scenarios.results.base import Result, Setting, Status, Unit

Side = Literal["below", "above", "not told apart"]


@dataclass(frozen=True)
class Ratio:
    """How many times as large a second sample is as a first one.

    Where they are `paired` (number r of both belongs together) `estimate` is the median of the ratios, and the
    interval is one of that median; else it is the ratio of the medians, and so is the interval. `low` and `high` are
    nan where there are too few replicas for the `confidence`. `counts`: of the first and of the second sample.
    """

    estimate: float
    low: float
    high: float
    paired: bool
    confidence: float
    counts: tuple[int, int]

    @property
    def told_apart(self) -> bool:
        """Whether the interval is there and has not 1 in it."""
        return self.low > 1 or self.high < 1


class ComparedAlgorithm(Result):
    """One algorithm of one run."""

    class FinalError(Result):
        """Relative error at the end."""

        final: float | None
        replicas: int | None
        unit: Unit | None

    class InferredGradients(Result):
        """Inferred gradients in short."""

        queries: int | None
        estimated: int | None
        median: float | None
        baseline: float | None

    label: str
    run: str
    name: str | None
    slug: str
    verdict: str
    broken: bool
    epsilon_claimed: float | None
    epsilon_exact: EpsilonExact | None
    epsilon_audited: float | None
    first_violation: int | None
    delta: float | None
    adjacency: str | None
    norm: str | None
    error: FinalError
    gradients: InferredGradients
    costs: dict[str, float | None]
    """Of the whole run, by the names of `CostCurves`."""


class ComparisonResult(Result):
    """Runs side by side."""

    class ComparedRun(Result):
        """One run of a comparison."""

        label: str
        folder: str
        name: str | None
        title: str | None
        status: Status | None
        seed: int | None
        versions: dict[str, str] | None

    class Difference(Result):
        """A field of the scenario that is not the same in all runs."""

        field: str
        values: tuple[Setting, ...]
        """Null where a run has no such field."""

    class Against(Result):
        """One algorithm against its base."""

        base: str
        other: str
        epsilon_exact: Side | None
        epsilon_exact_confidence: float | None
        final_error: Ratio | None
        gradient_error: Ratio | None
        why: dict[str, str]
        """Why a number is missing, by its name."""

    runs: tuple[ComparedRun, ...]
    cautions: tuple[str, ...]
    differences: tuple[Difference, ...]
    algorithms: tuple[ComparedAlgorithm, ...]
    confidence: float
    """Of all ratios together."""
    against: tuple[Against, ...]
