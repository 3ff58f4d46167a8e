"""The covariance that a probe states is that of its errors: χ² tests over replicas, of each round and of all jointly.

Of errors e = Gz with independent z of variance 1 and excess kurtosis κ (Laplace 3, Gaussian 0), and w = L⁻¹e with
LLᵀ = GGᵀ, the mean of |w|² over n = replicas × coordinates has variance Σ(2 + κ Σ_k Q_kk²/T)/n, Q = GᵀL⁻ᵀL⁻¹G. So the
statistics are standard normal for large n. Each test is at false-alarm probability `ALPHA` in all, Bonferroni over
rounds and pairs of rounds; seeds are fixed.
"""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from scipy import stats

from attacks.closed_form.descent import through_differences
from attacks.estimates import Evidence
from attacks.inference import evidence, infer, probed
from netsim.adversary import Adversary
from netsim.algorithms import (
    DAdmm,
    DiaDSP,
    Dpp2,
    DPRecal,
    GradientTracking,
    IcAdmm,
    Nids,
    PrivateGradientDescent,
    Walkman,
)
from netsim.algorithms.algorithm import Algorithm
from netsim.claims import Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian
from netsim.node import Node
from netsim.problems import L1
from netsim.schedules import Constant, Geometric
from tests.worlds import heard, synthetic_problem

ALPHA = 1e-3
KURTOSIS = {"laplace": 3.0, "gaussian": 0.0}
DOOR = Adversary("door", links=(), nodes=(1,))
REPLICAS, ROUNDS = 300, 10
RATIO = 0.8
PDD = Dpp2(
    ROUNDS, 0.1, 0.02, 0.5, eta=Geometric(0.9, 0.95), scale_w=Geometric(0.3, RATIO), scale_e=Geometric(0.4, RATIO)
)
FALLING = Geometric(0.3, 0.9)
NOISY = {
    "dpp2": PDD, "private_gradient_descent": PrivateGradientDescent(ROUNDS, Constant(0.05), FALLING),
    "diadsp": DiaDSP(ROUNDS, 0.05, 0.3, 0.2, 0.9),
    "gradient_tracking, atc": GradientTracking(ROUNDS, 0.05, FALLING, FALLING, "atc"),
    "ic_admm": IcAdmm(ROUNDS, penalty=1.0, proximal=2.0, noise="gaussian", scale=FALLING),
    "d_admm": DAdmm(ROUNDS, penalty=1.0, noise="gaussian", scale=FALLING), "nids": Nids(ROUNDS, 0.1, scale=FALLING),
}  # fmt: skip


@cache
def ran(algorithm, adversary=DOOR, replicas=REPLICAS, seed=0):
    return heard(algorithm, adversary, replicas=replicas, seed=seed)


def errors_of(found, run, queries):
    return found.gradients - np.array([run.truth.queries[found.agent][k].gradient for k in queries])


def scores(error, covariance, mixing, kurtosis):
    """Of each round, of all rounds jointly, and of each pair of whitened rounds: standard normal if all is right."""
    rounds, n = len(error), error[0].size
    error = error.reshape(rounds, n)
    lower = np.linalg.inv(np.linalg.cholesky(covariance))
    own = mixing / np.sqrt(np.diag(covariance))[:, None]
    each = np.mean(error**2, axis=1) / np.diag(covariance) - 1
    each /= np.sqrt((2 + (own**4) @ kurtosis) / n)
    white, mixed = lower @ error, lower @ mixing
    leverage = np.sum(mixed**2, axis=0)
    joint = np.mean(np.sum(white**2, axis=0)) - rounds
    joint /= np.sqrt((2 * rounds + leverage**2 @ kurtosis) / n)
    cross = (white @ white.T) / np.sqrt(n * (1 + (mixed**2 * kurtosis) @ (mixed**2).T))
    return each, joint, cross[np.triu_indices(rounds, 1)]


def checked(found, run):
    """How many gradients a probe identified, whose errors are as it states."""
    kept = np.flatnonzero(found.identifiable)
    if len(kept):
        error = errors_of(found, run, range(len(found.identifiable)))[kept]
        check(error, found.covariance[np.ix_(kept, kept)][..., 0], found.mixing[kept][..., 0], found.laws)
    return len(kept)


def check(error, covariance, mixing, laws) -> None:
    each, joint, cross = scores(error, covariance, mixing, np.array([KURTOSIS[law] for law in laws]))
    assert np.max(np.abs(each)) < stats.norm.isf(ALPHA / 2 / len(each))
    assert abs(joint) < stats.norm.isf(ALPHA / 2)
    if len(cross):
        assert np.max(np.abs(cross)) < stats.norm.isf(ALPHA / 2 / len(cross))


@pytest.mark.parametrize("name", NOISY)
class TestProbed:
    @pytest.mark.few(3)
    def test_of_every_round_and_of_all_jointly_and_it_would_notice_a_tenth(self, name):
        run = ran(NOISY[name])
        found = probed(run.views[0], 1)
        assert checked(found, run) >= ROUNDS - 1
        kept = np.flatnonzero(found.identifiable)
        covariance = found.covariance[np.ix_(kept, kept)][..., 0]
        mixing = found.mixing[kept][..., 0]
        np.testing.assert_allclose(mixing @ mixing.T, covariance, rtol=1e-7, atol=1e-12 * np.max(covariance))
        # Ten per cent more noise than is stated is far outside what chance allows.
        error = 1.1 * errors_of(found, run, range(len(found.identifiable)))[kept]
        kurtosis = np.array([KURTOSIS[law] for law in found.laws])
        _, joint, _ = scores(error, covariance, mixing, kurtosis)
        assert joint > stats.norm.isf(ALPHA / 2)


class Leaning(Algorithm):
    """Objective perturbation around a point that is private: it leans on a gradient that is told with noise."""

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(ROUNDS):
            gradient = await node.gradient(x)
            heard = await node.exchange(x=x, g=node.privatize(gradient, Gaussian(0.1)))
            x = await node.perturbed_proximal(heard.mix("x") - 0.3 * gradient, 0.4, Gaussian(0.2))
            node.estimate(x)


def test_a_perturbed_objective_whose_center_is_private():
    run = ran(Leaning())
    found = probed(run.views[0], 1)
    assert checked(found, run) == 2 * ROUNDS - 1
    assert found.covariance[0, 1, 0] == pytest.approx(-0.3 / 0.4 * 0.1**2)


LOSSY = NOISY | {
    "d_admm, dual": DAdmm(ROUNDS, penalty=1.0, perturbation="dual", noise="gaussian", scale=FALLING),
    "walkman": Walkman(penalty=4.0, activations=100, scale=Constant(0.1)),
    "recal, sent_state": DPRecal(0.4, per_agent=9, stddev=0.05, reading="sent_state"),
}


@pytest.mark.few("ic_admm")
@pytest.mark.parametrize("name", LOSSY)
def test_taps_that_lose_packets(name):
    """Noise of releases that were not heard, and values of any size that were not: what is left is as is stated."""
    run = ran(LOSSY[name], Adversary("ears", "all", capture_loss=0.25))
    assert sum(checked(probed(run.views[0], agent), run) for agent in range(5)) >= 2


@pytest.mark.parametrize("adversary", [DOOR, Adversary("insider", insiders=(0, 2)), Adversary("ears", "all")])
def test_dpp2_noise_that_falls_lets_go_of_the_gradients(adversary):
    """η is public: whoever hears both vectors knows d and q, and what hides ∇f(x^k) is the noise of that round alone.

    z^k tells it with error e^k, and y^{k+1} with error w^{k+1}/α: together (1/(2e²) + α²/(2w²))^{-1/2} a coordinate.
    """
    run = ran(PDD, adversary)
    found = probed(run.views[0], 1)
    assert found.identifiable.all()
    error = errors_of(found, run, range(ROUNDS))
    rms = np.sqrt(np.mean(error**2, axis=(1, 2)))
    slope = np.polyfit(np.arange(ROUNDS), np.log(rms), 1)[0]
    assert slope == pytest.approx(np.log(RATIO), abs=0.02)
    e = np.array([0.4 * RATIO**k for k in range(ROUNDS)])
    w = np.array([0.3 * RATIO ** (k + 1) for k in range(ROUNDS - 1)] + [np.inf])
    stated = (1 / (2 * e**2) + 0.1**2 / (2 * w**2)) ** -0.5
    assert found.stddev[:, 0] == pytest.approx(stated, rel=1e-6)
    check(error, found.covariance[..., 0], found.mixing[..., 0], found.laws)


def of_the_victim(run) -> Evidence:
    """At the door of agent 1 a little is heard of its neighbors too."""
    return next(one for one in evidence(run.views[0]) if one.agent == 1)


class TestEvidence:
    def test_of_a_probe_it_has_the_whole_covariance_and_the_law(self):
        run = ran(NOISY["diadsp"])
        told = of_the_victim(run)
        found = probed(run.views[0], 1)
        assert told.hidden == 1
        assert told.law is None  # mixtures of Laplace noises
        np.testing.assert_array_equal(told.covariance, found.covariance[:ROUNDS, :ROUNDS])
        off = told.covariance[0, 1, 0] / np.sqrt(told.covariance[0, 0, 0] * told.covariance[1, 1, 0])
        assert abs(off) > 0.1
        np.testing.assert_allclose(told.points, found.points[:ROUNDS])

    def test_gaussian_noise_makes_gaussian_errors(self):
        told = of_the_victim(ran(NOISY["ic_admm"]))
        assert told.law == "gaussian"
        assert told.hidden == 0

    def test_one_release_each_is_laplace(self):
        """Private descent's own term in the mean is the noisy one too: a gradient is hidden by one release alone."""
        told = of_the_victim(ran(NOISY["private_gradient_descent"]))
        assert told.law == "laplace"
        assert told.hidden == 1

    def test_descent_s_own_inversion_has_independent_errors(self):
        """ĝ^k has the noise of release k + 1, and that of release k is in what was sent: it is known."""
        run = ran(NOISY["private_gradient_descent"])
        own = [e for e in through_differences(run.views[0]) if e.agent == 1]
        told = Evidence.of(own, "laplace")
        error = errors_of(told, run, told.queries)
        covariance = told.covariance[..., 0]
        assert np.count_nonzero(covariance) == len(own)
        check(error, covariance, np.sqrt(covariance), ["laplace"] * len(own))
        z = error / told.stddev[:, None]
        assert stats.kstest(z.ravel() * 2**0.5, "laplace").pvalue > ALPHA

    @pytest.mark.parametrize("reading", ["fresh_noise", "sent_state"])
    def test_repairs_of_dp_recal(self, reading):
        """Consecutive estimates share a release: their covariance is not diagonal (`fresh_noise`)."""
        algorithm = DPRecal(0.4, per_agent=9, stddev=0.05, reading=reading)
        run = ran(algorithm, Adversary("ears", "all"))
        told = of_the_victim(run)
        assert told.law == "gaussian"
        found = probed(run.views[0], 1)
        kept = list(told.queries)
        check(errors_of(told, run, kept), told.covariance[..., 0], found.mixing[kept][..., 0], found.laws)
        off = told.covariance[0, 1, 0] / np.sqrt(told.covariance[0, 0, 0] * told.covariance[1, 1, 0])
        assert (abs(off) > 0.1) == (reading == "fresh_noise")

    def test_what_a_probe_refuses_the_own_inversion_tells(self):
        """A clip that acts is no affine function; what is told is the clipped gradient, no evidence of one."""
        algorithm = PrivateGradientDescent(6, Constant(0.05), FALLING, Clip(0.05, "l2"))
        view = ran(algorithm, Adversary("ears", "all"), 3).views[0]
        told = infer(view)
        assert [sum(one.agent == agent for one in told) for agent in range(5)] == [5] * 5
        with pytest.raises(AttackError, match="the clip may have acted on every gradient"):
            evidence(view)

    @pytest.mark.parametrize("reading", ["as_deployable", "as_analysed"])
    def test_an_own_inversion_that_is_exact_whatever_the_noise_goes_first(self, reading):
        algorithm = DPRecal(0.4, per_agent=9, stddev=0.05, reading=reading)
        told = evidence(ran(algorithm, Adversary("ears", "all"), 3).views[0])
        assert all(one.exact for one in told)
        found = probed(ran(algorithm, Adversary("ears", "all"), 3).views[0], 1)
        exact = found.gradients[found.exact]
        np.testing.assert_allclose(exact[: told[1].rounds], told[1].gradients, atol=1e-9)

    def test_where_both_refuse_both_say_why(self):
        problem = replace(synthetic_problem(), regularizer=L1(0.05))
        run = heard(PrivateGradientDescent(6, Constant(0.05)), problem=problem)
        with pytest.raises(AttackError, match=r"no affine function.*; and otherwise: r ≠ 0"):
            infer(run.views[0])
        with pytest.raises(AttackError, match=r"is no affine function.*; and otherwise: r ≠ 0"):
            evidence(run.views[0])
