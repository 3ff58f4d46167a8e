"""Noise that is not on the wire by itself: enough of it is not held against an algorithm, too little is."""

from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.arrays import Array
from netsim.mechanisms import Gaussian
from netsim.node import Node
from tests.attacks.auditing import audited, explained, quadratic_world


@dataclass(frozen=True)
class Summed(Algorithm):
    """Sends x plus `parts` hidden noises; sends it `copies` times, as a multiple each, with the same noise."""

    parts: int = 1
    copies: int = 1
    rounds: int = 3

    async def run(self, node: Node) -> None:
        x: Array = node.zeros()
        for k in range(self.rounds):
            hidden = [node.privatize(node.zeros(), Gaussian(0.7)) for _ in range(self.parts)]
            sent = x + sum(hidden[1:], start=hidden[0])
            heard = await node.exchange(x=sent)
            for c in range(self.copies - 1):
                await node.exchange(x=(c + 2) * sent + (c if k else 0) * x)
            x = heard.mix("x") - 0.2 * await node.gradient(x)
            node.estimate(x)


@pytest.mark.parametrize("algorithm", [Summed(), Summed(parts=3), Summed(copies=2)])
def test_what_some_noise_explains_costs_what_its_own_law_says(algorithm):
    """x_{k+1} = mix − 0.2∇f(x_k) differs by δ_{k+1} = −0.2(∇²f δ_k + Δ∇f), which noise of `parts`·0.7² covers:
    multiples of one noisy value tell no more than it does."""
    simulation, pair = quadratic_world(algorithm)
    found = explained((simulation, pair))
    assert found.uncovered is found.inexplicable is None
    assert found.granted_from == np.inf
    own, other = pair.hypotheses
    differs, cost = np.zeros((1, 4)), 0.0
    for _ in range(algorithm.rounds):
        cost += np.sum(differs**2) / (algorithm.parts * 0.7**2)
        differs = -0.2 * (other.gradient(differs) - own.gradient(np.zeros((1, 4))))
    np.testing.assert_allclose(found.cost.sum(axis=0), cost, rtol=1e-9)


@pytest.mark.slow
def test_two_combinations_of_one_value_and_one_noise_tell_it():
    """x + n, and 3(x + n) + x: the first message after the start that no noise explains is the second copy's."""
    found = audited(Summed(copies=3), 1.0, 1e-3)
    assert found.judgement.verdict is Verdict.UNPROTECTED
    assert found.uncovered is not None
    assert (found.uncovered.message, found.uncovered.activation, found.uncovered.name) == (5, 2, "x")
    assert "no noise can explain" in str(found.uncovered)


@pytest.mark.slow
def test_the_share_of_noisy_numbers_is_what_counts():
    """Two of four coordinates share one number of noise with nobody: those two are named."""

    @dataclass(frozen=True)
    class Half(Algorithm):
        scale: float = 0.7

        async def run(self, node: Node) -> None:
            x = node.zeros()
            for _ in range(3):
                noise = node.privatize(node.zeros(), Gaussian(self.scale))
                x = (await node.exchange(x=x + noise * np.array([1.0, 1.0, 0.0, 0.0]))).mix("x")
                x = x - 0.2 * await node.gradient(x)
                node.estimate(x)

    found = audited(Half(), 1.0, 1e-3)
    assert found.judgement.verdict is Verdict.UNPROTECTED


@dataclass(frozen=True)
class Scales(Algorithm):
    """Each coordinate of x at a scale of its own, under hidden noise of that size; `shared`: one draw, turned round,
    for two of them.

    `inside`: the scale is the mechanism's, else the released number is multiplied by it.
    """

    shared: bool = False
    inside: bool = True
    scales: tuple[float, ...] = (1e-12, 5e-10, 1.0, 1e6)
    rounds: int = 2

    def turned(self, c: int) -> float:
        return -self.scales[c] / self.scales[c - 1] if self.shared and c % 2 else 1.0

    async def run(self, node: Node) -> None:
        x: Array = node.zeros()
        for _ in range(self.rounds):
            sent = np.array(self.scales) * x
            for c, scale in enumerate(self.scales):
                if not (self.shared and c % 2):
                    drawn = node.privatize(node.zeros(), Gaussian(scale if self.inside else 1.0))
                    noise = drawn[:, c : c + 1] * (1.0 if self.inside else scale)
                sent = sent + np.eye(len(self.scales))[c] * noise * self.turned(c)
            await node.exchange(x=sent)
            x = x - 0.2 * await node.gradient(x)
            node.estimate(x)


@pytest.mark.slow
@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize("shared", [False, True])
def test_noises_of_very_different_size_each_cover_their_own(shared, inside):
    """Scales from 1e-12 to 1e6 in one message: its own noise in each number is enough, one for two numbers is not."""
    found = audited(Scales(shared=shared, inside=inside), 1.0, 1e-3)
    if shared:
        assert found.judgement.verdict is Verdict.UNPROTECTED
        assert "no noise can explain" in str(found.uncovered)
    else:
        assert found.uncovered is None
        assert found.judgement.verdict is not Verdict.UNPROTECTED


@dataclass(frozen=True)
class Weighed(Algorithm):
    """Large hidden noise times a small factor, and other noise times 1: x + N(0, 1) in every number."""

    factors: tuple[float, ...] = (5e-10, 1.0, 2e-10, 1.0)
    copies: int = 1

    async def run(self, node: Node) -> None:
        x: Array = node.zeros()
        for _ in range(2):
            drawn = [node.privatize(node.zeros(), Gaussian(1 / factor)) for factor in self.factors]
            noise = sum(np.eye(4)[c] * f * drawn[c][:, c : c + 1] for c, f in enumerate(self.factors))
            for c in range(self.copies):
                await node.exchange(x=(1 + c) * x + noise)
            x = x - 0.2 * await node.gradient(x)
            node.estimate(x)


@pytest.mark.slow
@pytest.mark.parametrize("copies", [1, 2])
def test_a_small_factor_of_large_noise_covers_like_any_other(copies):
    found = audited(Weighed(copies=copies), 1.0, 1e-3)
    assert (found.judgement.verdict is Verdict.UNPROTECTED) == (copies > 1)
    assert (found.uncovered is None) == (copies == 1)
