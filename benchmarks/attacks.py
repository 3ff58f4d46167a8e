"""Closed forms and posteriors: what they cost, and whether they are as good as they can be.

    python -m benchmarks.attacks [map] [rows] [dlg] [--json]

`dlg` is of `attacks_dlg.py`, which also takes a peer to be compared with.

`map`: posterior modes of one record for 100 agents, 50 rounds and 784 features, all at once on one core, in CPU
time. Seconds, the least of five runs, at three deviations of the noise in each coordinate (a gradient's norm is about
half its record's, 5); with posterior deviations too; as a multiple of the time it takes to read all points and
gradients once; and the mean square error over the posterior's own variance, 1 where it is optimal.

`rows`: batches of a logistic loss from the row space of their gradients, 3072 features, exact gradients at random
points: CPU seconds for each batch, and how many of 10 were recovered to 1e-6.
"""

import argparse
import os
import time
from collections.abc import Callable
from functools import partial

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction import Case, Known, Prior, Reconstruction
from attacks.reconstruction.posterior import PosteriorMode
from attacks.reconstruction.row_space import RowSpace
from benchmarks import attacks_dlg
from netsim.models import Logistic

Numbers = dict[str, float]

AGENTS, ROUNDS, WIDTH = 100, 50, 784
DEVIATIONS = (2.0, 0.5, 0.02)
REPETITIONS = 5


def seconds(work: Callable[[], object], repetitions: int = REPETITIONS) -> float:
    """CPU time, the least of several runs."""
    times = list[float]()
    for _ in range(repetitions):
        began = time.process_time()
        work()
        times.append(time.process_time() - began)
    return min(times)


def agents(deviation: float) -> tuple[list[Case], np.ndarray]:
    """Records drawn from the prior, (agents, width), and noisy gradients of each at random points of norm 1."""
    rng, model = np.random.default_rng(0), Logistic(WIDTH)
    mean = {label: np.clip(0.3 + 0.2 * rng.standard_normal(WIDTH), 0, 1) for label in (-1.0, 1.0)}
    variance = {label: rng.uniform(0.01, 0.1, WIDTH) for label in mean}
    prior = Prior(mean, variance, {-1.0: 0.5, 1.0: 0.5})
    covariance = np.broadcast_to((deviation**2 * np.eye(ROUNDS))[..., None], (ROUNDS, ROUNDS, WIDTH))
    cases, records = list[Case](), list[np.ndarray]()
    for agent in range(AGENTS):
        label = rng.choice([-1.0, 1.0])
        record = mean[label] + np.sqrt(variance[label]) * rng.standard_normal(WIDTH)
        points = rng.standard_normal((ROUNDS, 1, WIDTH)) / np.sqrt(WIDTH)
        gradients = model.gradient(points, record[None, None], model.targets(np.array([[label]])))
        gradients = gradients + deviation * rng.standard_normal(gradients.shape)
        evidence = Evidence(agent, tuple(range(ROUNDS)), points, gradients, covariance)
        cases.append(Case(evidence, Known(model, 1, prior=prior)))
        records.append(record)
    return cases, np.array(records)


def reading(cases: list[Case]) -> list[float]:
    """Every number once."""
    return [float(case.evidence.points.sum() + case.evidence.gradients.sum()) for case in cases]


def modes(cases: list[Case]) -> list[Reconstruction]:
    return PosteriorMode(spread=False).reconstruct(cases, np.random.default_rng(0))


def modes_and_deviations(cases: list[Case]) -> list[Reconstruction]:
    return PosteriorMode().reconstruct(cases, np.random.default_rng(0))


def map_() -> Numbers:
    """One-sample posterior modes of 100 agents."""
    numbers: Numbers = {}
    for deviation in DEVIATIONS:
        cases, records = agents(deviation)
        read, plain, whole = (partial(work, cases) for work in (reading, modes, modes_and_deviations))
        took, found = seconds(plain), whole()
        error = np.mean((np.array([one.features[0, 0] for one in found]) - records) ** 2)
        numbers |= {
            f"map_seconds_at_{deviation}": took,
            f"map_with_spread_seconds_at_{deviation}": seconds(whole),
            f"map_vs_reading_at_{deviation}": took / seconds(read),
            f"map_error_vs_posterior_at_{deviation}": float(error / np.mean([one.spread**2 for one in found])),
        }
    return numbers


def batch(records: int, rounds: int, width: int, seed: int) -> tuple[Case, np.ndarray]:
    """Gaussian records and labels, exact gradients at random points; label times features."""
    rng, model = np.random.default_rng(seed), Logistic(width)
    features, labels = rng.standard_normal((1, records, width)), rng.choice([-1.0, 1.0], (1, records))
    points = rng.standard_normal((rounds, 1, width)) / np.sqrt(width)
    gradients = model.gradient(points, features, model.targets(labels))
    evidence = Evidence(0, tuple(range(rounds)), points, gradients, np.zeros((rounds, rounds, width)))
    return Case(evidence, Known(model, records)), labels[0][:, None] * features[0]


def rows() -> Numbers:
    """Row-space nonlinear least squares."""
    numbers: Numbers = {}
    for records, rounds in ((5, 10), (10, 20)):
        recovered, took = 0, 0.0
        for seed in range(10):
            case, truth = batch(records, rounds, 3072, seed)
            began = time.process_time()
            found = RowSpace().reconstruct([case], np.random.default_rng(seed))[0]
            took += time.process_time() - began
            ours = found.labels(case.known.model)[0][:, None] * found.features[0]
            distances = np.linalg.norm(ours[:, None] - truth, axis=-1) / np.linalg.norm(truth, axis=-1)
            recovered += int(np.max(np.min(distances, axis=0)) < 1e-6)
        numbers |= {
            f"rows_seconds_{records}_of_{rounds}": took / 10,
            f"rows_recovered_{records}_of_{rounds}": recovered,
        }
    return numbers


PARTS = {"map": map_, "rows": rows, "dlg": attacks_dlg.dlg}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    options = parser.parse_args()
    numbers: dict[str, float] = {}
    for name in options.parts or PARTS:
        numbers |= PARTS[name]()
    attacks_dlg.tell(numbers, options.json)


if __name__ == "__main__":
    main()
