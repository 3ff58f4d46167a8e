"""What a scenario can say of how its runs are measured."""

from typing import Literal

from scenarios.schema.base import Count, Model, Positive

Error = Literal[
    "relative_error",
    "mean_error",
    "consensus_error",
    "consensus_distance",
    "objective_gap",
    "relative_gap",
    "stationarity_gap",
    "proximal_residual",
]


class MeasureSpec(Model):
    """What each algorithm had cost when its `measure`, the median over the replicas, came down to each of the
    `accuracies` to stay. The relative error is known at every round or activation, the other measures at every
    `every`-th; if that is not given, at 200 of them at most. `netsim.measures` defines them."""

    accuracies: list[Positive] = [1e-2, 1e-4, 1e-6]
    measure: Error = "relative_error"
    every: Count | None = None
