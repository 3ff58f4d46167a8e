# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (joblib ships no types)
"""Two adjacent worlds: how their transcripts are simulated, in several processes, and how gradients score them."""

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar, cast

import numpy as np
from joblib import Parallel, delayed

from attacks.audit.loss.comparison import Sample
from attacks.estimates import GradientEstimate
from attacks.replay import Hypothesis
from netsim.adversary import AdversaryView
from netsim.arrays import Array

Simulate = Callable[[int, int], Sample]
"""(world 0 or 1, chunk) ↦ independent transcripts of that world."""


@dataclass(frozen=True)
class Pair:
    """Two adjacent worlds: `hypotheses[w]` is what `agent` holds in world w."""

    agent: int
    hypotheses: tuple[Hypothesis, Hypothesis] = field(repr=False)
    description: str


T = TypeVar("T")


def spread(work: Callable[..., T], tasks: Sequence[tuple[Any, ...]], jobs: int) -> Iterator[T]:
    """work(*task) for each task, in order. `jobs` processes (−1: one per core); with 1, in this one."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="A worker stopped")  # its memory had grown: another one starts
        warnings.filterwarnings("ignore", message=r"\d+ tasks (have|which)")  # who asked has enough
        yield from cast(
            Iterator[T], Parallel(n_jobs=jobs, return_as="generator")(delayed(work)(*task) for task in tasks)
        )


Infer = Callable[[AdversaryView], list[GradientEstimate]]
INFERRED = "inferred gradients"
"""What these scores are called in an archive."""
EXACT = 1e-9
"""The deviation that an exact gradient estimate is credited with."""


def resemblance(estimates: Sequence[GradientEstimate], pair: Pair, replicas: int) -> Array | None:
    """How much more the inferred gradients of the agent look like world 1's than world 0's, (replicas,).

    ln of the likelihood ratio, times two, where errors are Gaussian of the deviation they are said to have. None
    where no gradient of the agent is among them.
    """
    own = [e for e in estimates if e.agent == pair.agent]
    score = np.zeros(replicas)
    for e in own:
        zero, one = (hypothesis.gradient(e.point) for hypothesis in pair.hypotheses)
        far_0 = np.sum((e.gradient - zero) ** 2, axis=-1)
        far_1 = np.sum((e.gradient - one) ** 2, axis=-1)
        score = score + (far_0 - far_1) / max(e.stddev, EXACT) ** 2
    return np.where(np.isnan(score), 0.0, score) if own else None
