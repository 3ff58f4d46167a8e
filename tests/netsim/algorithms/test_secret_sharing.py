"""Descent over secret shares: exact sums, an independent oracle in whole numbers, the optimum, and its claim."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats

from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import SecretSharing
from netsim.algorithms.secret_sharing import PRIME, ROUNDED
from netsim.claims import Adjacency
from netsim.codecs import Float32
from netsim.errors import ScenarioError
from netsim.network.links import ExchangePolicy
from netsim.randomness import Streams
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation, setting_of
from tests.netsim.algorithms.mixing import gradients, sent
from tests.oracles.secret_sharing import decoded
from tests.oracles.secret_sharing import shared_descent as oracle
from tests.worlds import refusal, simulated, synthetic_problem

FIVE = synthetic_problem(agents=5, dimension=3)
COMPLETE = topology.complete(5)
RECORD = Adjacency(0.25, "one record")


def tapped(algorithm, **options):
    ears = Adversary("ears", "all", nodes=(1,))
    return simulated(FIVE, COMPLETE, algorithm, adversaries=(ears,), **options).run()


def redrawn(algorithm, seed, n=5, d=3):
    """The engine's own noise (rounds, n, d) and shares [k][i][j], redrawn from its named streams."""
    rounds = algorithm.rounds
    noise = np.zeros((rounds, n, d))
    shares = [[[[0] * d for _ in range(n)] for _ in range(n)] for _ in range(rounds)]
    first = algorithm.state == "released"  # its start is public and has no noise
    for i in range(n):
        stream = Streams(seed).generator("agent", i, "noise", 0)
        for k in range(rounds):
            if algorithm.stddev(k) > 0 and k >= first:
                noise[k, i] = stream.standard_normal(size=(1, d))[0] * algorithm.stddev(k)
            for j in (j for j in range(n) if j != i):
                shares[k][i][j] = stream.integers(algorithm.modulus, size=(1, d))[0].tolist()
    return noise, shares


def broadcasts(run):
    return sent(run, "sum")[:, :, 0]


@pytest.mark.few(2)
@pytest.mark.parametrize("stddev", [Constant(0.0), Geometric(0.4, 0.97)], ids=["silent", "noisy"])
@pytest.mark.parametrize(("modulus", "state"), [(PRIME, "exact"), (2**31 - 1, "exact"), (PRIME, "released")])
def test_shares_sums_and_iterates_are_the_oracles(stddev, modulus, state):
    """Every broadcast residue to the last unit, over 50 rounds; iterates to the rounding of the gradients."""
    algorithm = SecretSharing(50, Polynomial(0.9, 0.5), stddev, resolution=2.0**-16, modulus=modulus, state=state)
    run = tapped(algorithm, seed=7)
    noise, shares = redrawn(algorithm, 7)
    expected = oracle(
        gradients(FIVE), [algorithm.step(k) for k in range(50)], np.zeros((5, 3)), *(shares, 2.0**16, modulus),
        noise=noise, in_the_state=state == "released",
    )  # fmt: skip
    np.testing.assert_array_equal(broadcasts(run), np.array(expected["broadcasts"], dtype=float))
    asked = np.array([[query.point[0] for query in queries] for queries in run.truth.queries]).swapaxes(0, 1)
    points = expected["x"][:-1] + (noise if state == "released" else 0.0)
    np.testing.assert_allclose(asked, points, rtol=0, atol=1e-12)


def test_the_prime_is_one_and_no_larger_fits():
    def is_prime(n):  # Miller-Rabin with bases that decide below 3.3e24
        d, s = n - 1, 0
        while d % 2 == 0:
            d, s = d // 2, s + 1
        return all(
            pow(a, d, n) in (1, n - 1) or any(pow(a, d << r, n) == n - 1 for r in range(s))
            for a in (2, 3, 5, 7, 11, 13, 17, 19, 23, 29, 31, 37, 41)
        )

    assert is_prime(PRIME)
    assert not any(is_prime(p) for p in range(PRIME + 2, 2**53, 2))


def test_what_travels_is_uniform_and_only_the_sum_tells():
    """Shares and broadcasts of 400 replicas: chi-square at 1e-6 over 16 bins; other shares, the same sum."""
    run = tapped(SecretSharing(2, Constant(0.5)), replicas=400)
    rows = run.views[0].transcript.on_links()
    share, held = (np.concatenate([r.values[n].ravel() for r in rows if n in r.values]) for n in ("share", "sum"))
    for residues in (share, held):
        counts = np.histogram(residues, bins=16, range=(0, PRIME))[0]
        assert stats.chisquare(counts).pvalue > 1e-6
    estimates = run.metrics.relative_errors()
    np.testing.assert_array_equal(estimates, np.repeat(estimates[:, :1], 400, axis=1))  # no noise: one world


def test_who_hears_all_links_reads_every_state():
    """e_i = S_i − Σ_{j≠i} s_ji + Σ_{j≠i} s_ij mod p, from the wire alone."""
    algorithm = SecretSharing(6, Constant(0.5), Constant(0.3))
    run = tapped(algorithm)
    sums, k, i = broadcasts(run), 4, 2
    total = sums[k, i][None].astype(np.int64)
    for row in run.views[0].transcript.on_links():
        if row.kind == "direct" and row.number // 4 == k and i in (row.sender, row.receiver):
            share = row.values["share"].astype(np.int64)
            total = total + share if row.sender == i else total - share
    x = run.truth.queries[i][k].point
    state = decoded(total[0] % PRIME, 2.0**20, PRIME)[None]
    released = run.truth.releases[i][5 * k]
    assert np.abs(state - released).max() <= 2**-21
    assert np.abs(state - x).max() > 0.01  # its own noise is all that is left


class TestClaim:
    setting = setting_of(FIVE, COMPLETE, 0)
    algorithm = SecretSharing(8, Constant(0.4), Geometric(0.5, 0.9))

    def test_by_hand(self):
        """Δ_{k+1} = α(B + LΔ_k) has the closed form αB(1 − (αL)^k)/(1 − αL); n = 5 noises cover the sum."""
        a = 0.4 * FIVE.smoothness
        rho = sum((0.4 * 0.25 * (1 - a**k) / (1 - a)) ** 2 / (2 * 5 * (0.5 * 0.9**k) ** 2) for k in range(1, 8))
        expected = rho + 2 * math.sqrt(rho * math.log(1e3))
        claim = self.algorithm.claim(RECORD, self.setting, 1e-3)
        assert claim.epsilon == pytest.approx(expected, rel=1e-12)
        assert (claim.delta, claim.norm) == (1e-3, "ℓ2")

    def test_more_agents_need_less_noise_each(self):
        """The same ε with σ smaller by √(n'/n)."""
        many = replace(self.setting, agents=20)
        few, lots = (self.algorithm.calibrated(1.0, 1e-3, RECORD, s) for s in (self.setting, many))
        assert lots.stddev(0) == pytest.approx(few.stddev(0) / 2, rel=1e-9)

    def test_states_are_no_farther_apart_than_the_sensitivity(self):
        """Two worlds with the same noise and the same means heard: run one agent's recursion in both."""
        own = FIVE.objectives[0]
        other = own.with_record(0, -own.features[0], float(own.labels[0]))
        x, y = np.zeros((1, 3)), np.zeros((1, 3))
        points = np.random.default_rng(0).normal(size=(4000, 3)) * 3
        change = np.linalg.norm(own.gradient(points) - other.gradient(points), axis=1).max() * 1.01
        bounds = self.algorithm.sensitivities(change, own.smoothness)
        rng = np.random.default_rng(1)
        for k in range(7):
            mean = rng.normal(size=(1, 3))
            x, y = mean - 0.4 * own.gradient(x), mean - 0.4 * other.gradient(y)
            assert 0 < np.linalg.norm(x - y) <= bounds[k + 1]

    def test_theorem_2_1_1_by_hand(self):
        """ε/√N' of the local version, whose 7 gradients change by 0.25 each; fewer honest agents, a larger ε."""
        printed = replace(self.algorithm, state="released")
        rho = sum((0.4 * 0.25 / (0.5 * 0.9**k)) ** 2 / 2 for k in range(1, 8))
        for honest in (1, 2, 5):
            claim = replace(printed, honest=honest).claim(RECORD, self.setting, 1e-3)
            assert claim.epsilon == pytest.approx(
                (rho + 2 * math.sqrt(rho * math.log(1e3))) / math.sqrt(honest), rel=1e-12
            )
            assert "2.1.1" in claim.source
        assert printed.claim(RECORD, self.setting, 1e-3).epsilon == pytest.approx(claim.epsilon, rel=1e-12)
        two = printed.claim(RECORD, replace(self.setting, agents=2), 1e-3)
        assert "N >= 3" in two.failed_conditions[0]

    def test_whom_nobody_joins_has_its_own_noise(self):
        """netsim's own claim: ρ of the sum of N' noises."""
        few, all_of_them = (replace(self.algorithm, honest=n).claim(RECORD, self.setting, 1e-3) for n in (2, 5))
        alone = replace(self.setting, agents=2)
        assert few.epsilon == pytest.approx(self.algorithm.claim(RECORD, alone, 1e-3).epsilon, rel=1e-12)
        assert all_of_them.epsilon == self.algorithm.claim(RECORD, self.setting, 1e-3).epsilon

    def test_outside_its_conditions_it_has_no_value(self):
        silent = replace(self.algorithm, stddev=Constant(0.0)).claim(RECORD, self.setting, 1e-3)
        pure = self.algorithm.claim(RECORD, self.setting, 0.0)
        assert (silent.epsilon, pure.epsilon) == (None, None)
        assert "σ_1 = 0" in silent.failed_conditions[0]
        assert "δ = 0" in pure.failed_conditions[0]


def rounded_sum(first, stddev, agents, size=256):
    """The law of Σ round(v_i) over whole numbers mod `size`: v_0 ~ N(first, stddev²), the others around 0."""
    k = np.arange(-size // 2, size // 2)
    own, others = (
        stats.norm.cdf((k + 0.5 - center) / stddev) - stats.norm.cdf((k - 0.5 - center) / stddev)
        for center in (first, 0.0)
    )
    turned = [np.fft.fft(np.fft.ifftshift(law)) for law in (own, others)]
    return np.clip(np.fft.ifft(turned[0] * turned[1] ** (agents - 1)).real, 0, None)


def excess_delta(stddev, agents, apart):
    """By how much the rounded sum's δ(ε) is above that of Gaussian noise √n·stddev, at the worst place and ε."""
    scale = math.sqrt(agents) * stddev
    found = []
    for first in np.linspace(0, 1, 9):
        p, q = (rounded_sum(center, stddev, agents) for center in (first, first + apart))
        for epsilon in (0.01, 0.1, 0.5, 1.0, 2.0):
            z, shift = apart / (2 * scale), epsilon * scale / apart
            gaussian = stats.norm.cdf(z - shift) - math.exp(epsilon) * stats.norm.cdf(-z - shift)
            for a, b in ((p, q), (q, p)):
                found.append(float(np.clip(a - math.exp(epsilon) * b, 0, None).sum()) - gaussian)
    return max(found)


@pytest.mark.parametrize("agents", [2, 10])
@pytest.mark.parametrize("share", [0.1, 1.0, 3.0])
def test_noise_of_some_fixed_point_steps_protects_the_rounded_sum_like_the_sum(agents, share):
    """In units of the resolution: at 4 steps δ(ε) is that of √n noises or less, at a quarter of one it is not."""
    assert excess_delta(ROUNDED, agents, share * ROUNDED) < 1e-14
    assert excess_delta(0.25, agents, share * 0.25) > (0.01 if share > 0.5 else 1e-4)


def test_noise_that_rounding_hides_claims_nothing():
    setting = TestClaim.setting
    algorithm = SecretSharing(4, Constant(0.4), Constant(0.01), resolution=0.01 / ROUNDED)
    assert algorithm.claim(RECORD, setting, 1e-3).epsilon is not None
    coarse = replace(algorithm, resolution=0.011 / ROUNDED).claim(RECORD, setting, 1e-3)
    assert coarse.epsilon is None
    assert "rounding" in coarse.failed_conditions[0]


@pytest.mark.parametrize("policy", [ExchangePolicy(0.5), ExchangePolicy(5.0, "own_value")])
def test_exchanges_with_a_deadline_are_refused(policy):
    """A sum of shares in which one stands for another is noise; on lossless links the shares may even never match."""
    with pytest.raises(ScenarioError, match=r"needs every message.*exchange\.deadline") as caught:
        Simulation(FIVE, COMPLETE, SecretSharing(5, Constant(0.5)), NetworkSettings(exchange_policy=policy))
    assert caught.value.field == "exchange_policy.deadline"
    waiting = Simulation(
        FIVE, COMPLETE, SecretSharing(5, Constant(0.5)), NetworkSettings(exchange_policy=ExchangePolicy())
    )
    assert waiting.run().activations == (5,) * 5


def test_residues_do_not_survive_a_codec_that_rounds():
    error = refusal(Simulation, FIVE, COMPLETE, SecretSharing(5, Constant(0.5)), NetworkSettings(codec=Float32()))
    assert error.field == "codec"
