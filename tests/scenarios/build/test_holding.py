"""The prior of records that nobody holds."""

import numpy as np
import pytest

from attacks.reconstruction import Case, Known
from attacks.reconstruction.posterior import PosteriorMode
from netsim.models import Linear
from netsim.problems import Dataset, build, least_squares
from scenarios.build.problem import Ownership, prior_of
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.attacks.noisy import noisy_evidence, white_noise


def test_the_prior_of_a_regression_knows_the_law_of_targets():
    rng = np.random.default_rng(0)
    width, count, rounds, replicas = 8, 600, 10, 40
    features = rng.uniform(0, 1, (count, width))
    targets = 3 + features @ rng.standard_normal(width) + 0.3 * rng.standard_normal(count)
    data = Dataset("own", features, targets)
    prior = prior_of(data.take(list(range(2, count))), least_squares([data]))
    assert prior.target == pytest.approx((np.mean(targets[2:]), np.var(targets[2:])), rel=1e-3)
    assert prior.labels == (pytest.approx(np.mean(targets[2:])),)
    points = 0.3 * rng.standard_normal((rounds, replicas, width))
    model, known = Linear(width), Known(Linear(width), 1, prior=prior, value_range=(0.0, 1.0))
    noise = white_noise(0.1, rounds, width)
    evidence = noisy_evidence(model, points, features[:1], model.targets(targets[:1]), noise, "gaussian", rng)
    found = PosteriorMode().reconstruct([Case(evidence, known)], rng)[0]
    error = np.mean((found.features - features[0]) ** 2)
    assert error < 0.1 * np.mean((prior.overall - features[0]) ** 2)


SIGNS, NUMBERS = (-1.0, 1.0), (0.0, 1.0)


@pytest.mark.parametrize(("kind", "labels"), [("logistic", SIGNS), ("softmax", NUMBERS), ("mlp", NUMBERS)])
def test_two_classes_are_counted_as_the_model_counts_them(kind, labels):
    rng = np.random.default_rng(0)
    data = Dataset("own", rng.uniform(0, 1, (60, 3)), np.resize([-1.0, 1.0], 60))
    problem = build(kind, [data])
    prior = prior_of(data.take(list(range(2, 60))), problem)
    assert prior.labels == labels
    assert prior.target is None
    holding = Ownership((data.take([0, 1]), data.take([2, 3])), problem, prior)
    assert tuple(holding.labels(0)) == labels
    assert tuple(build(kind, holding.parts).objectives[0].labels) == labels


TWO = """\
name: two
seed: 3
problem: {kind: softmax, data: {name: digits, classes: [0, 1]}, ridge: 0.1}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: recal, name: plain, step: 0.05, per_agent: 8}
attacks:
  gradients: false
  holding: 3
  reconstruct:
    - {kind: informed, name: told all but one, then: softmax_record}
"""


def test_who_is_told_all_records_but_one_of_two_classes_rebuilds_it(tmp_path):
    """The others' gradients are subtracted: with their labels counted otherwise nothing is left that explains one."""
    (entry,) = run_scenario(parse(TWO), tmp_path).algorithms
    (informed,) = entry.reconstructions.attacks
    assert "record 2" not in (tmp_path / "report.html").read_text()
    assert informed.success.rate == 1.0
