"""Secret coins: prices against subsampled Gaussians that are integrated numerically, and claims of amplification."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy.stats import norm

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.secret_coins import SECRET, History, SecretCoins, losses_of, price_of_secret
from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency
from netsim.errors import AttackError, TranscriptError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node, choose
from netsim.problems import LeastSquares, Problem
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import HELD, claim_of, judged

Q, SURE = 0.25, 0.999
"""A batch has the record with probability Q. An interval misses the truth at one seed in 1,000."""


@dataclass(frozen=True)
class Subsampled(Algorithm):
    """The gradient with noise of variance 1, in each round with probability Q; else the noise alone."""

    rounds: int = 1
    bare: bool = False

    async def run(self, node: Node) -> None:
        for _ in range(self.rounds):
            gradient, used = await node.gradient(node.zeros()), node.coins.random() < Q
            sent = gradient if used else node.zeros()
            node.send(choose(node.coins, node.neighbors), x=node.privatize(sent, Gaussian(1.0)))
            if self.bare and node.coins.integers(4) == 0:
                node.broadcast(y=gradient)
            elif self.bare:
                node.broadcast(y=node.privatize(node.zeros(), Gaussian(1.0)))
            node.estimate(gradient)


def world(algorithm: Algorithm, mu: float) -> tuple[Simulation, Pair]:
    """Gradients at 0 are 0 in one world, and μ in the other."""
    own, other = (LeastSquares(np.ones((1, 1)), np.full(1, -b), 0.0) for b in (0.0, mu))
    found = Simulation(Problem((own, own, own)), ring(3), algorithm), Pair(1, (own, other), "another gradient")
    gap = float(np.abs(other.gradient(np.zeros((1, 1))) - own.gradient(np.zeros((1, 1)))).item())
    np.testing.assert_allclose(gap, mu)
    return found


def priced(algorithm: Algorithm, mu: float, delta: float) -> SecretCoins:
    simulation, pair = world(algorithm, mu)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 1, 0, delta)
    found = price_of_secret(simulate, 1, pair.hypotheses, delta, SURE)
    assert found is not None
    return found


def truth(mu: float, delta: float, rounds: int) -> float:
    """ε(δ) of the larger direction, by the rectangle rule on a grid of the numbers that are released."""
    x = np.arange(-8.0, 8.0 + mu, 0.02)
    zero, one = norm.pdf(x), (1 - Q) * norm.pdf(x) + Q * norm.pdf(x - mu)
    both = [1.0, 1.0]
    for _ in range(rounds):
        both = [np.multiply.outer(a, b) for a, b in zip(both, (zero, one), strict=True)]
    low, high = 0.0, 20.0
    for _ in range(40):
        middle = (low + high) / 2
        gaps = [np.sum(np.maximum(p - np.exp(middle) * q, 0.0)) for p, q in (both, both[::-1])]
        low, high = (low, middle) if max(gaps) * 0.02**rounds <= delta else (middle, high)
    return high


@pytest.mark.parametrize("own", [0, 1])
def test_losses_of_a_subsampled_gaussian_are_those_of_the_mixture(own: int) -> None:
    """ln φ(x)/((1 − Q)φ(x) + Qφ(x − μ)), or its opposite; who knows the coin loses 0, or ln φ(x)/φ(x − μ)."""
    mu = 2.0
    simulation, pair = world(Subsampled(), mu)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 1, 0, 0.05)
    samples = [simulate(own, SECRET + 2 * k) for k in range(12)]
    found = losses_of(samples, 1, pair.hypotheses[own], pair.hypotheses[1 - own])
    x = np.array([sample.releases[0].item() for sample in samples])
    x = x * np.sign(pair.hypotheses[1].gradient(np.zeros((1, 1))).item())
    sign, gap = 1 - 2 * own, norm.logpdf(x) - norm.logpdf(x - mu)
    mixed = norm.logpdf(x) - np.log((1 - Q) * norm.pdf(x) + Q * norm.pdf(x - mu))
    assert found.secret is not None
    np.testing.assert_allclose(found.secret, sign * mixed, atol=1e-9)
    used = ~np.isclose(found.known, 0.0)
    assert 0 < np.sum(used) < 12
    np.testing.assert_allclose(found.known[used], sign * gap[used], atol=1e-9)


def test_histories_of_more_numbers_with_a_density_count_nothing_beside_those_of_fewer() -> None:
    """Noise hits a point with probability 0."""
    found = History(np.log([[0.2, 0.2], [0.3, 0.3]]), np.array([[1.0, 2.0], [2.0, 2.0]]), np.ones((2, 2)))
    np.testing.assert_allclose(found.total(np.array([1.0, 2.0])), np.log([0.2, 0.5]))


@pytest.mark.slow
@pytest.mark.parametrize(("rounds", "delta", "least"), [(1, 0.05, 0.3), (1, 1e-3, 0.8), (2, 0.05, 0.4)])
def test_a_subsampled_gaussian_is_enclosed(rounds: int, delta: float, least: float) -> None:
    """Both ends hold, and the lower is no less than this share of the truth; who knows the batch loses more."""
    mu = 3.0
    found, epsilon = priced(Subsampled(rounds), mu, delta), truth(mu, delta, rounds)
    assert found.histories == 2**rounds  # routes are seen
    assert least * epsilon < found.epsilon.lower <= epsilon <= found.epsilon.upper
    known = gaussian_epsilon(mu, delta / Q) if rounds == 1 else epsilon
    assert found.known.upper >= known
    assert found.known.estimate > epsilon
    if delta == 0.05:
        assert found.epsilon.upper < 2 * epsilon


@pytest.mark.slow
def test_a_false_claim_of_amplification_is_refuted_and_the_true_one_is_not() -> None:
    """Amplification is by ln(1 + q(e^ε − 1)) at qδ; ε is not multiplied by q. Who knows the batch has qδ(ε) alone."""
    mu, delta = 3.0, 0.05
    simulation, pair = world(Subsampled(), mu)
    true, full = truth(mu, delta, 1), gaussian_epsilon(mu, delta / Q)
    assert true <= np.log1p(Q * np.expm1(full)) + 1e-3
    for epsilon, coins, verdicts in (
        (1.001 * true, "secret", HELD),
        (Q * full, "secret", (Verdict.REFUTED,)),
        (1.001 * full, "known", HELD),
        (0.6 * full, "known", (Verdict.REFUTED,)),
    ):
        claim = replace(claim_of(epsilon, delta), coins=coins, adjacency=Adjacency(mu, "another gradient"))
        found = judged(simulation, pair, claim, attack=None, trials=60)
        assert found.judgement.verdict in verdicts, found.judgement.reason


@pytest.mark.slow
def test_a_value_in_the_clear_at_one_toss_in_four() -> None:
    """It is proven that more than 0.15 of the mass has an infinite loss; no more than a quarter has.

    Of 250 tosses less than 48 have it with probability 0.01, and then the bound would be less."""
    for delta, lower, upper in ((0.15, np.inf, np.inf), (0.5, 0.0, 5.0)):
        found = priced(Subsampled(bare=True), 3.0, delta)
        assert found.epsilon.lower >= lower
        assert found.epsilon.upper <= upper


@dataclass(frozen=True)
class Named(Algorithm):
    """A release, and a bit that is said by the name of its field or by whom it is sent to: false at one toss in four,
    which is made before it or after it."""

    after: bool
    routed: bool = False

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        false = not self.after and bool(node.coins.random() >= 0.75)
        x = node.privatize(gradient, Laplace(1.0))
        false = bool(node.coins.random() >= 0.75) if self.after else false
        bit = bool(np.abs(gradient[0, 0]) > 1) != false
        if self.routed:
            node.send(node.neighbors[int(bit)], x=x)
        else:
            node.broadcast(**{"ab"[bit]: x})
        node.estimate(gradient)


@pytest.mark.parametrize("routed", [False, True])
@pytest.mark.parametrize("after", [False, True])
def test_a_toss_after_a_release_decides_which_message_it_is_in(after: bool, routed: bool) -> None:
    """Randomized response of ε = ln 3 beside the release's loss; who knows the toss has all."""
    mu = 3.0
    simulation, pair = world(Named(after, routed), mu)
    samples = [worlds(simulation, 1, pair.hypotheses[1], 1)(0, SECRET + 2 * k) for k in range(12)]
    found = losses_of(samples, 1, *pair.hypotheses)
    assert found.unlisted is None
    assert np.all(np.isinf(found.known))
    x = np.array([sample.releases[0].item() for sample in samples])
    x = x * np.sign(pair.hypotheses[1].gradient(np.zeros((1, 1))).item())
    bits = found.secret - (np.abs(x - mu) - np.abs(x))
    np.testing.assert_allclose(np.abs(bits), np.log(3), atol=1e-9)
    assert 0 < np.sum(bits < 0) < 12
    assert found.histories == 1
    assert found.tried == 2


class Hidden(Subsampled):
    """What is sent is no release as it was made, and has a secret sign."""

    async def run(self, node: Node) -> None:
        sign = choose(node.coins, (-1.0, 1.0))
        node.broadcast(x=sign * node.privatize(await node.gradient(node.zeros()), Gaussian(1.0)))  # type: ignore[arg-type]


@dataclass(frozen=True)
class Momentum(Algorithm):
    """The subsampled gradient, with noise of variance 1, in each of two rounds; or `inside` a step, with those of
    before."""

    inside: bool

    async def run(self, node: Node) -> None:
        x = velocity = node.zeros()
        for _ in range(2):
            used = node.coins.random() < Q
            released = node.privatize(used * await node.gradient(node.zeros()), Gaussian(1.0))
            velocity = 0.5 * velocity + released
            x = x - 3.0 * velocity
            node.broadcast(x=x if self.inside else released)
        node.estimate(x)


def test_what_comes_out_of_messages_is_priced_as_if_it_was_sent() -> None:
    """By those who do not know the coins, too: the messages and the releases say the same."""
    both = list[np.ndarray]()
    for inside in (False, True):
        simulation, pair = world(Momentum(inside), 2.0)
        simulate = worlds(simulation, 1, pair.hypotheses[1], 1, 0, 0.05)
        found = losses_of([simulate(0, SECRET + 2 * k) for k in range(12)], 1, *pair.hypotheses)
        assert (found.histories, found.secret is None) == (4, False)
        both.append(np.array([found.known, found.secret]))
    assert np.max(np.abs(both[0][0] - both[0][1])) > 0.1
    np.testing.assert_allclose(*both, atol=1e-9)


class Many(Subsampled):
    """Noise that is drawn from a list of 5,000 scales."""

    async def run(self, node: Node) -> None:
        scale = 1 + int(node.coins.integers(5000)) / 5000
        node.broadcast(x=node.privatize(await node.gradient(node.zeros()), Gaussian(scale)))


class Seen(Subsampled):
    """Coins that are on the wire."""

    async def run(self, node: Node) -> None:
        used = bool(node.coins.random() < Q)
        node.broadcast(
            x=node.privatize(used * await node.gradient(node.zeros()), Gaussian(1.0)), used=node.zeros() + used
        )


def test_of_coins_that_are_known_no_game_is_played() -> None:
    """Whose histories are too many: what a game says of who does not know them decides no such claim."""
    simulation, pair = world(Many(), 3.0)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 1, 0, 0.05)
    found = price_of_secret(simulate, 1, pair.hypotheses, 0.05, SURE, played=False)
    assert found is not None
    assert (found.drawn, found.epsilon.lower, found.epsilon.upper) == (0, 0.0, found.known.upper)
    assert 0 < found.known.lower <= gaussian_epsilon(3.0, 0.05)
    assert "more than 4,096 histories; 250 tosses" in found.sentence("known")


@pytest.mark.slow
def test_what_is_not_hidden_or_cannot_be_replayed() -> None:
    seen = priced(Seen(), 3.0, 0.05)
    assert (seen.histories, seen.epsilon) == (1, seen.known)
    with pytest.raises(TranscriptError, match="not on the wire as it was"):
        priced(Hidden(), 3.0, 0.05)
    simulation, pair = world(Many(), 3.0)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 1, 0, 0.05)
    with pytest.raises(AttackError, match="more than 4,096 histories"):
        price_of_secret(simulate, 1, pair.hypotheses, 0.05, SURE, bounded=False)


class OrZeros(Algorithm):
    """The gradient with a secret sign, or zeros in the clear in its place."""

    async def run(self, node: Node) -> None:
        value = choose(node.coins, (-1.0, 1.0)) * await node.gradient(node.zeros())  # type: ignore[arg-type]
        node.broadcast(x=node.privatize(value, Laplace(1.0)) if choose(node.coins, (0, 1)) else node.zeros())
        node.estimate(value)


def test_noise_is_aimed_beside_what_may_be_sent_in_the_clear() -> None:
    """The loss is largest where a release is 0, which is seen of zeros in the clear alone."""
    np.testing.assert_allclose(priced(OrZeros(), 1.0, 0.0).epsilon.lower, 1.0, rtol=1e-5)
