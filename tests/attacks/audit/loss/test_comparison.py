"""Code that mixes replicas is refused: what it does for one is not what it does for many."""

import random
import re
import time
from dataclasses import dataclass

import numpy as np
import pytest

from attacks.audit.loss.aimed import WORST_CASE
from netsim.algorithms import Algorithm
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace
from tests.attacks.auditing import explained


class ClippedTogether(Algorithm):
    """A norm without its axis: the gradient is clipped by the norm of all replicas' gradients."""

    async def run(self, node):
        for _ in range(3):
            g = await node.gradient(node.zeros())
            g = g * min(1.0, 0.1 / (1e-9 + np.linalg.norm(g)))
            node.broadcast(x=node.privatize(g, Gaussian(0.05)))
            node.estimate(g)


class MeanTogether(Algorithm):
    """A mean without its axis: the next release depends on the noise of all replicas."""

    async def run(self, node):
        compared = node.privatize(await node.gradient(node.zeros()), Laplace(1.0))
        await node.exchange(x=compared)
        await node.exchange(x=node.privatize(compared - compared.mean(), Laplace(1.0)))
        node.estimate(compared)


class ScaledTogether(Algorithm):
    """The scale of the second release is one number for all replicas."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(2):
            compared = node.privatize(await node.gradient(x), Laplace(1.0 + float(np.linalg.norm(x))))
            await node.exchange(x=compared)
            x = compared
            node.estimate(x)


class OwnNoise(Algorithm):
    """Noise of a generator of its own, the same in each run of the code."""

    async def run(self, node):
        g = await node.gradient(node.zeros())
        g = g + np.random.default_rng(node.id).laplace(0.0, 1.0, g.shape)
        node.broadcast(x=node.privatize(g, Laplace(1.0)))
        node.estimate(g)


class EachByItself(Algorithm):
    """The same with an axis."""

    async def run(self, node):
        for _ in range(3):
            g = await node.gradient(node.zeros())
            g = g * np.minimum(1.0, 0.1 / (1e-9 + np.linalg.norm(g, axis=-1, keepdims=True)))
            node.broadcast(x=node.privatize(g, Gaussian(0.05)))
            node.estimate(g)


class OneMore(Algorithm):
    """Sends zeros too where its own gradient is small: the worlds have −1/4 and −3/8 there."""

    async def run(self, node):
        g = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(g, Laplace(1.0)))
        if g[0, 0] > -0.3:
            node.broadcast(x=node.zeros())
        node.estimate(g)


class Inside(Algorithm):
    """Two releases come out inside others' messages: the second before the first, which another release covers."""

    async def run(self, node):
        g = await node.gradient(node.zeros())
        first, second = (node.privatize(g, Laplace(1.0)) for _ in range(2))
        node.broadcast(y=np.exp(second))
        node.broadcast(x=node.privatize(first + g, Laplace(1.0)))
        node.estimate(g)


class BranchesForAll(Algorithm):
    """Half the gradient in all replicas where the first one's noise is above zero."""

    async def run(self, node):
        x = node.privatize(node.zeros(), Laplace(1.0))
        node.broadcast(x=x)
        g = await node.gradient(node.zeros())
        if x[0, 0] > 0:
            g = g / 2
        node.broadcast(y=node.privatize(g, Laplace(1.0)))
        node.estimate(g)


def test_code_that_draws_its_own_noise_is_told_so():
    with pytest.raises(PrivacyError, match="or draws randomness that is not its node's"):
        explained(OwnNoise())


@pytest.mark.parametrize(
    ("algorithm", "by"),
    [
        (ClippedTogether, r"\(a norm, sum or mean without axis=-1, a branch\)"),
        (MeanTogether, r"\(a norm, sum"),
        (ScaledTogether, r"\(a norm, sum"),
        (BranchesForAll, r"in line \d+ of test_comparison.py \(`if x\[0, 0\] > 0:`\)"),
    ],
)
def test_code_that_mixes_replicas_is_refused_and_one_at_a_time_audited_also_where_noise_is_aimed(algorithm, by):
    options = ": -o audit.chunk=1 -o audit.search=null$"
    with pytest.raises(PrivacyError, match=f"decides for all replicas by the values of some {by}.*{options}"):
        explained(algorithm())
    for chunk in (0, WORST_CASE):
        assert explained(algorithm(), 1, chunk=chunk).replicas == 1


SENT = []


@pytest.mark.parametrize(
    ("draw", "named"),
    [
        (random.random, "the generator of the module random"),
        (np.random.random, "the generator of the module numpy.random"),
        (lambda: SENT.append(1) or len(SENT), ".SENT"),
        (lambda: np.random.default_rng().random(), "keeps between runs"),
        (time.perf_counter, "keeps between runs"),
    ],
    ids=["random", "numpy", "a list", "a generator", "the time"],
)
@pytest.mark.parametrize("released", [True, False], ids=["before noise", "in a message"])
def test_code_that_draws_outside_its_node_is_told_from_that(draw, named, released):
    class Drawing(Algorithm):
        async def run(self, node):
            x = node.zeros() + draw()
            node.broadcast(x=node.privatize(x, Laplace(1.0)) if released else x)
            node.estimate(x)

    first = "what it privatizes in its round 1" if released else "'x' of its message 1, in its round 1"
    with pytest.raises(PrivacyError) as caught:
        explained(Drawing())
    said = rf"agent 1's code does something else when it is replayed again: the first that differs is {first}: "
    said += rf"\S+ once, \S+ the next time \(test_comparison.py:\d+\). .*node.privatize.*{re.escape(named)}$"
    assert re.match(said, str(caught.value))


def clocked():
    return time.perf_counter()


class Timed(Algorithm):
    """Adds the time, by a function."""

    async def run(self, node):
        node.broadcast(x=node.privatize(node.zeros() + clocked(), Laplace(1.0)))
        node.estimate(node.zeros())


class Drawn(Algorithm):
    """Adds a number of a generator of its own."""

    async def run(self, node):
        node.broadcast(x=node.privatize(node.zeros() + np.random.default_rng().random(), Laplace(1.0)))
        node.estimate(node.zeros())


@pytest.mark.parametrize(("kind", "named"), [(Drawn, "np.random.default_rng"), (Timed, "time.perf_counter")])
def test_what_may_do_it_is_named_with_its_line(kind, named):
    with pytest.raises(PrivacyError, match=rf"; here test_comparison.py:\d+ calls {named}$"):
        explained(kind())


def test_code_that_does_not_is_not():
    found, alone = explained(EachByItself()), explained(EachByItself(), 1)
    np.testing.assert_allclose(found.cost, np.broadcast_to(alone.cost, found.cost.shape), rtol=1e-12)


@pytest.mark.parametrize("world", [0, 1])
def test_a_message_that_one_world_alone_sends_is_unprotected(world):
    found = explained(OneMore(), 5, world)
    assert found.leaked.tolist() == [1.0] * 5
    assert found.uncovered.message == 1
    assert "at its message 1 (round 1)" in found.uncovered.sentence


@dataclass(frozen=True)
class BesideALargeNumber(Algorithm):
    """Sends its gradient where a public 1e13 has been, or what rounding leaves of 0.1 when it comes and goes."""

    bare: bool

    async def run(self, node):
        g = await node.gradient(node.zeros())
        node.broadcast(x=node.zeros() + 1e13)
        node.broadcast(x=g if self.bare else (0.1 + g) - g)
        node.estimate(g)


@pytest.mark.parametrize("bare", [True, False])
def test_a_large_public_number_hides_no_difference_and_rounding_is_none(bare):
    found = explained(BesideALargeNumber(bare), 10)
    assert found.leaked.tolist() == [1.0 if bare else np.inf] * 10
    assert (found.uncovered is None, found.faint is None) == (not bare, bare)


def test_hidden_releases_are_followed_to_where_each_comes_out():
    found = explained(Inside(), 5)
    first, second, shown = found.details.released
    assert (first.inside.message, first.inside.name) == (1, "x")
    assert (second.inside.message, second.inside.name) == (0, "y")
    assert shown.inside is None
    assert [(one.message, one.name) for one in shown.carriers] == [(1, "x")]
