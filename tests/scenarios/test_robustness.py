"""The bound beside a success rate: κ is the largest over classes, and agents of several records have none."""

from types import SimpleNamespace

import numpy as np
import pytest

from attacks.reconstruction import Prior
from scenarios.stages import reconstruction as robustness


@pytest.mark.parametrize("holding", [1, 2])
def test_kappa_is_that_of_the_class_that_is_guessed_best(monkeypatch, holding):
    """Of a class that is one record κ is 1, and so is the bound; all records together are far apart."""
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.uniform(0, 100, (300, 4)), np.zeros((40, 4))])
    prior = Prior.of(features, np.repeat([-1.0, 1.0], [300, 40]))
    experiment = SimpleNamespace(
        scenario=SimpleNamespace(seed=1, audit=None),
        dataset=None,
        holding=SimpleNamespace(prior=prior, records=holding, problem=None),
    )
    monkeypatch.setattr(robustness, "adjacency_of", lambda *_: None)
    claim = SimpleNamespace(epsilon=0.1, delta=0.0)
    subject = SimpleNamespace(attacked=SimpleNamespace(claim=lambda *_: claim), delta=None)
    run = SimpleNamespace(largest_activations=1)
    found = robustness.bound_of(experiment, subject, run)(0.05, 0.9)  # type: ignore[arg-type]
    if holding == 2:
        assert found is None
    else:
        assert found is not None
        assert found.kappa > 0.99
        assert found.bound > 0.99
        assert not found.above
