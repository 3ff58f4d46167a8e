"""What DP-RECAL's own paper infers from the wire: nothing but noise, and as much of it as is said."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.recal import published_inversion_of, through_duals, through_noisy_duals
from attacks.inference import inversions_of
from netsim.algorithms import Recal
from netsim.errors import AttackError
from tests.worlds import digits_problem, dp_recal, tapped_ring

PROBLEM = digits_problem(4, records=1)


def errors(reading, replicas=600, **parameters):
    """Of each estimate the errors (replicas, dimension), and the deviation that it states."""
    algorithm = replace(dp_recal(PROBLEM, reading, per_agent=6), **parameters)
    run = tapped_ring(PROBLEM, algorithm, replicas=replicas, seed=3).run()
    found = through_noisy_duals(run.views[0])
    truth = run.truth
    return [(e.gradient - truth.queries[e.agent][e.query].gradient, e.stddev) for e in found]


@pytest.mark.parametrize("parameters", [{}, {"steps": (0.1, 0.05, 0.2, 0.15), "start": 1.0}])
@pytest.mark.parametrize("reading", ["as_deployable", "sent_state"])
def test_the_deviation_it_states_is_that_of_its_errors(reading, parameters):
    found = errors(reading, **parameters)
    assert len(found) > 12
    for error, stddev in found:
        assert np.std(error) == pytest.approx(stddev, rel=0.02)  # 38,400 values: 0.4 % of sampling
        assert abs(np.mean(error)) < 0.03 * stddev


@pytest.mark.parametrize("reading", ["as_analysed", "fresh_noise"])
def test_elsewhere_the_deviation_is_of_the_right_size(reading):
    for error, stddev in errors(reading, replicas=40)[4:]:
        assert 0.3 < np.std(error) / stddev < 3


def test_without_noise_it_is_recals_own_inversion():
    algorithm = dp_recal(PROBLEM, "as_analysed", per_agent=5).scaled(0.0)
    view = tapped_ring(PROBLEM, algorithm, seed=3).run().views[0]
    exact = {(e.agent, e.query): e for e in through_duals(view)}
    noisy = through_noisy_duals(view)
    assert len(noisy) == len(exact)
    for one in noisy:
        assert one.stddev == 0
        np.testing.assert_allclose(one.gradient, exact[one.agent, one.query].gradient, atol=1e-9)


def test_only_dp_recal_has_one_of_its_own():
    recal = Recal(step=0.1, activations=10)
    assert published_inversion_of(recal) is inversions_of(recal)[0]
    with pytest.raises(AttackError, match="is not DP-RECAL"):
        through_noisy_duals(tapped_ring(PROBLEM, Recal(step=0.05, activations=10)).run().views[0])
