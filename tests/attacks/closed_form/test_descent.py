"""DiaDSP and CPGT: gradients, their differences, what a compressor leaves open, and Hessians."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.descent import (
    compressed_bounds,
    hessian_from,
    hessian_of,
    through_tracking,
    tracking_differences,
    tracking_evidence,
)
from attacks.estimates import Evidence, preimage
from attacks.score import score_gradients
from netsim.adversary import Adversary, Around
from netsim.algorithms import Cpgt, DiaDSP, PrivateGradientDescent
from netsim.codecs import FixedPoint, Float32, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import AttackError
from netsim.problems import LeastSquares, Problem
from netsim.schedules import Constant
from tests.worlds import ROUGH, heard

DIMENSION = 6
RNG = np.random.default_rng(4)
QUADRATICS = Problem(
    tuple(
        LeastSquares(RNG.normal(size=(20, DIMENSION)) * np.linspace(0.4, 1.2, DIMENSION), RNG.normal(size=20), 0.1)
        for _ in range(5)
    )
)
HESSIANS = [f.features.T @ f.features / 20 + 0.1 * np.eye(DIMENSION) for f in QUADRATICS.objectives]
PLAIN = {"diadsp": DiaDSP(20, 0.1, 0.0, 0.0, 0.9), "cpgt": Cpgt(20, 0.1, 0.0, 0.0, 0.9, gamma=0.7)}
COMPRESSORS = [
    TopK(3), TopK(5), RandomK(4, unbiased=False), Quantizer(4), Quantizer(4, norm="linf"), ScaledSign(),
    Quantizer(3, unbiased=True), Float32(), FixedPoint(12, 4.0),
]  # fmt: skip


def compressed(compressor, scale=0.0) -> Cpgt:
    return Cpgt(20, 0.1, scale, scale, 0.9, gamma=0.3, compressor=compressor)


class TestWithoutCompression:
    @pytest.mark.parametrize("name", PLAIN)
    def test_the_errors_have_the_stated_covariance(self, name):
        run = heard(replace(PLAIN[name], rounds=10, scale_x=0.05, scale_y=0.02), replicas=300)
        for found in tracking_evidence(run.views[0]):
            truth = np.array([run.truth.queries[found.agent][k].gradient for k in found.queries])
            factor = np.linalg.inv(np.linalg.cholesky(found.covariance[..., 0]))
            white = np.einsum("ts,srd->trd", factor, found.gradients - truth)
            assert abs(np.mean(white**2) - 1) < 5 * np.sqrt(5 / white.size)
            assert abs(np.mean(white)) < 5 / np.sqrt(white.size)
            between = np.corrcoef(white.reshape(found.rounds, -1)) - np.eye(found.rounds)
            assert np.abs(between).max() < 5 / np.sqrt(white[0].size)

    def test_differences_are_told_ever_better_and_the_gradients_only_as_well_as_the_first(self):
        run = heard(DiaDSP(20, 0.1, 0.1, 0.1, 0.6))
        found = tracking_evidence(run.views[0])[0]
        late = [d.stddev for d in tracking_differences(run.views[0]) if d.agent == 0]
        assert found.stddev[-1, 0] >= found.stddev[0, 0]
        assert late[-1] < 1e-3 * late[0]

    @pytest.mark.parametrize("scale", [0.0, 0.05])
    def test_differences_go_on_after_a_gap(self, scale):
        algorithm = DiaDSP(30, 0.1, scale, scale, 0.9)
        run = heard(algorithm, adversary=Adversary(capture_loss=0.05), replicas=50)
        found = tracking_differences(run.views[0])
        known = {(e.agent, e.query) for e in through_tracking(run.views[0])}
        after = [d for d in found if (d.agent, d.queries[0]) not in known]
        assert len(after) > 10
        white = []
        for agent, (before, k), points, change, stddev in found:
            queries = run.truth.queries[agent]
            error = change - (queries[k].gradient - queries[before].gradient)
            if stddev == 0:
                assert np.abs(error).max() < 1e-10
                np.testing.assert_allclose(points[1], queries[k].point, atol=1e-9)
            else:
                white.append(error / stddev)
        assert not white or abs(np.mean(np.square(white)) - 1) < 5 * np.sqrt(5 / np.size(white))


class TestCompressed:
    @pytest.mark.parametrize("codec", COMPRESSORS, ids=str)
    def test_what_was_sent_lies_within_the_bounds_of_what_was_decoded(self, codec):
        rng = np.random.default_rng(2)
        for size in (1e-8, 1.0, 3.0):
            value = size * rng.standard_normal((300, DIMENSION)) * rng.uniform(0, 1, (300, DIMENSION)) ** 4
            value[:20, 2:] = 0.0
            decoded = codec.encode(value, rng.random(value.shape))
            low, high = preimage(codec, decoded)
            assert np.all(low <= value)
            assert np.all(value <= high)

    @pytest.mark.parametrize("compressor", COMPRESSORS[:6], ids=str)
    def test_without_noise_every_gradient_and_point_is_inside(self, compressor):
        run = heard(compressed(compressor), replicas=4)
        bounds = compressed_bounds(run.views[0])
        assert len(bounds) == 100
        for b in bounds:
            query = run.truth.queries[b.agent][b.query]
            assert np.all(b.low <= query.gradient)
            assert np.all(query.gradient <= b.high)
            assert np.all(b.points[0] <= query.point)
            assert np.all(query.point <= b.points[1])
            assert np.all(np.abs(b.middle - query.gradient)[b.exact] < 1e-8)

    def test_what_a_compressor_sends_it_tells_and_its_errors_do_not_add_up(self):
        run = heard(compressed(TopK(3)), replicas=4)
        bounds = compressed_bounds(run.views[0])
        assert np.mean([b.exact.mean() for b in bounds]) >= 0.5
        widths = [np.mean(b.high - b.low) for b in bounds if b.agent == 1]
        assert widths[-1] < 0.1 * widths[0]
        errors = score_gradients(through_tracking(run.views[0]), run.truth)
        assert errors.estimated == 100
        assert errors.median < 0.01

    def test_with_noise_the_bounds_hold_up_to_the_sum_of_it(self):
        run = heard(compressed(TopK(3), 0.01), replicas=200)
        exact = []
        for b in compressed_bounds(run.views[0]):
            error = run.truth.queries[b.agent][b.query].gradient
            stated = np.sqrt(2 * sum((0.01 * 0.9**t) ** 2 for t in range(b.query + 1)))
            assert b.stddev == pytest.approx(stated)
            exact.append(((b.middle - error) / b.stddev)[b.exact])
        assert np.mean(np.square(np.concatenate(exact))) == pytest.approx(1, abs=0.1)


class TestHessians:
    @pytest.mark.parametrize("name", PLAIN)
    @pytest.mark.parametrize("rounds", [3, 5, 30])
    def test_exact_in_the_directions_that_were_walked(self, name, rounds):
        run = heard(replace(PLAIN[name], rounds=rounds), problem=QUADRATICS)
        for found in tracking_evidence(run.views[0]):
            fit, truth = hessian_of(found), HESSIANS[found.agent]
            known = fit.identified()
            assert fit.rank[0] == min(rounds - 1, DIMENSION)
            np.testing.assert_allclose(fit.hessian[0] @ known, truth @ known, atol=1e-8)
            np.testing.assert_allclose(known @ fit.hessian[0], known @ truth, atol=1e-8)
            if rounds == 30:
                np.testing.assert_allclose(fit.hessian[0], truth, atol=1e-8)
                assert not fit.stddev().any()
            else:
                assert np.isinf(fit.stddev()).any()
                assert np.isinf(fit.spread[0]).sum() == (DIMENSION - fit.rank[0]) ** 2

    def test_from_differences_after_a_gap(self):
        run = heard(replace(PLAIN["diadsp"], rounds=40), problem=QUADRATICS, adversary=Adversary(capture_loss=0.05))
        full = 0
        for agent in range(5):
            own = [d for d in tracking_differences(run.views[0]) if d.agent == agent]
            if not own:
                continue
            fit = hessian_from(own)
            known = fit.identified()
            np.testing.assert_allclose(fit.hessian[0] @ known, HESSIANS[agent] @ known, atol=1e-8)
            full += fit.rank[0] == DIMENSION
        assert full >= 2

    @pytest.mark.parametrize(("step", "scale", "ratio"), [(0.05, 0.02, 0.8), (0.05, 0.1, 0.5)])
    def test_under_noise_the_entries_errors_are_as_stated(self, step, scale, ratio):
        run = heard(DiaDSP(30, step, scale, scale, ratio), problem=QUADRATICS, replicas=60)
        white = []
        for agent in range(5):
            fit = hessian_from([d for d in tracking_differences(run.views[0]) if d.agent == agent])
            stddev = np.array([fit.stddev(r) for r in range(60)])
            assert np.all(fit.rank == DIMENSION)
            white.append((fit.hessian - HESSIANS[agent]) / stddev)
        assert np.mean(np.square(white)) == pytest.approx(1, abs=0.25)
        assert abs(np.mean(white)) < 0.2

    def test_against_a_textbook_fit(self):
        """Symmetric least squares by the normal equations of the d(d + 1)/2 numbers, and their covariance."""
        rng = np.random.default_rng(3)
        truth = rng.standard_normal((3, 3))
        truth = truth + truth.T
        points, sigma = rng.standard_normal((5, 1, 3)), 0.1
        gradients = points @ truth + sigma * rng.standard_normal((5, 1, 3)) + rng.standard_normal(3)
        covariance = np.repeat((sigma**2 * np.eye(5))[..., None], 3, axis=-1)
        fit = hessian_of(Evidence(0, tuple(range(5)), points, gradients, covariance))
        places = [(i, j) for i in range(3) for j in range(i, 3)]
        columns = []
        for i, j in places:
            basis = np.zeros((3, 3))
            basis[i, j] = basis[j, i] = 1.0
            columns.append((points[:, 0] @ basis).ravel())
        design = np.column_stack([*columns, np.tile(np.eye(3), (5, 1))])
        answer = np.linalg.lstsq(design, gradients[:, 0].ravel(), rcond=None)[0]
        spread = sigma * np.sqrt(np.diag(np.linalg.inv(design.T @ design)))
        for k, (i, j) in enumerate(places):
            assert fit.hessian[0, i, j] == pytest.approx(answer[k], abs=1e-10)
            assert fit.stddev()[i, j] == pytest.approx(spread[k], rel=1e-9)


def test_what_was_heard_in_part():
    run = heard(PLAIN["cpgt"], adversary=Adversary(links=Around((1,))))
    assert {e.agent for e in through_tracking(run.views[0])} == {1}
    door = heard(PLAIN["cpgt"], adversary=Adversary(links=(), nodes=(3,)), links=ROUGH)
    found = through_tracking(door.views[0])
    assert {e.agent for e in found} == {3}
    assert score_gradients(found, door.truth).worst < 1e-10


def test_refusals():
    descent = heard(PrivateGradientDescent(3, Constant(0.1))).views[0]
    with pytest.raises(AttackError, match="neither DiaDSP nor CPGT"):
        through_tracking(descent)
    with pytest.raises(AttackError, match="only bounds follow"):
        tracking_evidence(heard(compressed(TopK(3))).views[0])
    with pytest.raises(AttackError, match="copies are sums"):
        tracking_differences(heard(PLAIN["cpgt"]).views[0])
    with pytest.raises(AttackError, match="changes what is sent"):
        through_tracking(heard(PLAIN["diadsp"], codec=Float32()).views[0])
    one = tracking_evidence(heard(replace(PLAIN["cpgt"], rounds=1)).views[0])[0]
    with pytest.raises(AttackError, match="needs 2"):
        hessian_of(one)
