"""Named streams: what a name draws depends on the seed and the name, and on nothing else."""

import itertools
from copy import deepcopy

import numpy as np
import pytest

from netsim.errors import ProtocolError
from netsim.node import choose, subset
from netsim.randomness import Streams, coins_of

GOLDEN_GENERATOR = [0.973988935830481, 0.849415404509993, 0.06021123169925524]
GOLDEN_PLAIN = 0.9065319765946652
GOLDEN_CHILD = 154204925126687670859326645066118103585
NAMES = [("agent", i, purpose) for i in range(6) for purpose in ("noise", "coins")] + [("link", 0, 1), ("link", 1, 0)]


def test_the_first_values_are_pinned():
    """Golden: they may change only with a new major version, for every stored result changes with them."""
    streams = Streams(0)
    assert streams.generator("agent", 0, "noise").random(3).tolist() == GOLDEN_GENERATOR
    assert [streams.plain("link", 0, 1).random() for _ in range(2)] == [GOLDEN_PLAIN] * 2
    assert streams.child("chunk", 1).seed == GOLDEN_CHILD


def test_a_stream_starts_at_the_same_place_whenever_it_is_asked_for():
    streams = Streams(3)
    first = streams.generator("agent", 0).random(5)
    streams.generator("agent", 1).random(1_000)
    streams.plain("link", 0, 1).random()
    assert (streams.generator("agent", 0).random(5) == first).all()
    assert (Streams(3).generator("agent", 0).random(5) == first).all()


@pytest.mark.parametrize(
    "other", [("agent", 1), ("agent", "0"), ("agent0",), ("agent", 0, 0), ("agent", 0, ""), (0, "agent")]
)
def test_another_name_is_another_stream(other):
    streams = Streams(3)
    assert (streams.generator("agent", 0).random(5) != streams.generator(*other).random(5)).all()
    assert streams.plain("agent", 0).random() != streams.plain(*other).random()
    assert streams.child("agent", 0).seed != streams.child(*other).seed


def test_another_seed_is_another_stream():
    drawn = {Streams(seed).generator("agent", 0).random() for seed in (0, 1, 2**32, 2**64, 2**200)}
    assert len(drawn) == 5


def test_a_child_draws_other_values_than_its_parent_and_its_siblings():
    parent = Streams(5)
    seeds = [parent, parent.child("chunk", 0), parent.child("chunk", 1), parent.child("chunk", 0).child("chunk", 0)]
    assert len({s.generator("agent", 0).random() for s in seeds}) == 4


def test_streams_of_different_names_are_uncorrelated():
    """Every |r|·√n of 91 pairs is a standard normal: above 6.5 with probability < 91 · 8.1e-11 < 1e-8."""
    count = 20_000
    streams = Streams(11)
    drawn = np.array([streams.generator(*name).standard_normal(count) for name in NAMES])
    correlations = np.corrcoef(drawn)
    for i, j in itertools.combinations(range(len(NAMES)), 2):
        assert abs(correlations[i, j]) * np.sqrt(count) < 6.5, (NAMES[i], NAMES[j])


def test_choices_of_coins_are_those_of_numpy_bit_for_bit():
    """Whatever is drawn between them, and among so many options that a word in three is drawn anew."""
    coins, script = coins_of(Streams(4), 1), np.random.default_rng(2)
    for k in range(3_000):
        plain = deepcopy(coins)
        many = range(int(script.choice([1, 2, 3, 10, 2**31 + 1, 3 * 2**30])))
        match k % 4:
            case 0:
                assert coins.random() == plain.random()
            case 1:
                assert subset(coins, 9, 4) == sorted(plain.choice(9, 4, replace=False))
            case _:
                assert choose(coins, many) == many[int(plain.integers(len(many)))]
        assert coins.bit_generator.state == plain.bit_generator.state


def test_no_option_is_no_choice():
    with pytest.raises(ProtocolError, match="there is nothing to choose from"):
        choose(coins_of(Streams(4), 1), ())
