"""Every history of private coins: the law of what code makes of them is NumPy's."""

import copy
import pickle
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from attacks.replay.coins import Coins, CopiedCoinsError, DrawnCoins, every, from_start
from netsim.errors import AttackError
from netsim.node import choose, subset


def gate(coins: Any) -> Any:
    u = coins.random()
    return (u < 0.25, np.float64(0.5) >= u, u > 0.1)


def nested(coins: Any) -> Any:
    return sum(coins.integers(1, 4) for _ in range(1 + int(coins.integers(2)))), bool(coins.random() < 0.7)


CODE: dict[str, Callable[[Any], Any]] = {
    "one number compared thrice": gate,
    "tosses that decide of tosses": nested,
    "a Poisson batch": lambda coins: tuple(np.flatnonzero(coins.random(4) < 0.3).tolist()),
    "a batch": lambda coins: tuple(map(int, subset(coins, 5, 2))),
    "without replacement": lambda coins: tuple(coins.choice(4, 2, replace=False).tolist()),
    "with odds": lambda coins: int(coins.choice([3, 5, 9], p=[0.2, 0.0, 0.8])),
    "a route": lambda coins: int(choose(coins, (4, 7, 9))),
    "an order": lambda coins: tuple(coins.permutation(3).tolist()),
    "a number of records": lambda coins: int(coins.binomial(3, 0.3)),
    "all of its records, for certain": lambda coins: int(coins.binomial(2, 1.0)),
    "one by odds, not put back": lambda coins: int(coins.choice([3, 5, 9], replace=False, p=[0.2, 0.0, 0.8])),
    "a batch that is compared": lambda coins: subset(coins, 5, 2) == [1, 3],
    "records of a batch": lambda coins: sum(3**k for k in subset(coins, 4, 2)[1:]),
    "by what it is": lambda coins: isinstance(k := choose(coins, (4, 7, 9)), int) and k < 5,
    "letters": lambda coins: choose(coins, "abc"),
    "eight bits": lambda coins: int(~coins.integers(3, dtype=np.uint8)),
    "ends included": lambda coins: int(coins.integers(0, 2, endpoint=True)),
}


@pytest.mark.few(3)
@pytest.mark.parametrize("name", CODE)
def test_the_law_is_that_of_numpy(name: str) -> None:
    """Total variation over 20,000 draws: its mean is below √(outcomes/20,000)/2 < 0.016, and it exceeds that by more
    than 0.02 with probability below e^(−2·20,000·0.02²) = 1e-7."""
    law = defaultdict[Any, float](float)
    for chance, outcome in every(CODE[name]):
        law[outcome] += np.exp(chance)
    assert sum(law.values()) == pytest.approx(1.0, rel=1e-12)
    rng = np.random.default_rng(0)
    seen = Counter(CODE[name](rng) for _ in range(20_000))
    assert seen.keys() <= law.keys()
    assert sum(abs(law[one] - seen[one] / 20_000) for one in law) / 2 < 0.036


@pytest.mark.parametrize("name", CODE)
def test_coins_of_a_history_toss_it_again_with_its_chance(name: str) -> None:
    for chance, (outcome, history) in every(lambda coins: (CODE[name](coins), coins.history)):
        again = Coins.of(history)
        assert CODE[name](again) == outcome
        assert again.history == history
        assert again.log_chance == pytest.approx(chance, abs=1e-12)


@pytest.mark.parametrize("make", [lambda: Coins.of(()), lambda: DrawnCoins(np.random.default_rng(0))])
def test_what_was_seen_of_a_choice_is_its_toss(make: Callable[[], Any]) -> None:
    coins = make()
    assert coins.log_chance == 0
    unseen = choose(coins, (4, 7, 7, 9))
    assert not unseen.settle(5)
    assert coins.log_chance == 0
    assert unseen.settle(7)
    assert int(unseen) == 7
    assert coins.log_chance == pytest.approx(np.log(1 / 2))


@pytest.mark.parametrize("copied", [DrawnCoins.copied, from_start])
def test_a_copy_of_drawn_coins_draws_the_same_from_the_start(copied: Callable[[DrawnCoins], DrawnCoins]) -> None:
    coins = DrawnCoins(np.random.default_rng(7))
    first = [coins.random(), int(choose(coins, (4, 7, 9))), list(subset(coins, 9, 3))]
    again = copied(coins)
    assert [again.random(), int(choose(again, (4, 7, 9))), list(subset(again, 9, 3))] == first


def test_what_nobody_looks_at_is_not_tossed() -> None:
    def use(coins: Coins) -> int:
        choose(coins, (1, 2, 3))
        return len(subset(coins, 50, 20))

    assert list(every(use)) == [(0.0, 20)]


def test_numpy_makes_numbers_of_a_choice() -> None:
    """Not objects, of which it computes little."""

    def use(coins: Coins) -> list[np.dtype[Any]]:
        k = choose(coins, (1, 2))
        made = np.zeros((1, 3)) + k, np.asarray([k, k]), np.array((k, 0.5)), np.full(3, k), np.arange(3) < k
        return [one.dtype for one in made]

    float_, int_ = np.dtype(float), np.dtype(int)
    assert [kinds for _, kinds in every(use)] == 2 * [[float_, int_, float_, int_, np.dtype(bool)]]


def geometric(coins: Any) -> int:
    """A history that tosses below at every toss has no end."""
    number = 0
    while coins.random() < 0.5:
        number += 1
    return number


REFUSED: dict[str, Callable[[Any], Any]] = {
    "by `normal`": lambda c: c.normal(), "by `bit_generator`": lambda c: c.bit_generator,
    "by their generator": lambda c: np.random.Generator.random(c),
    "generator": lambda c: c._bit_generator.random_raw(),
    "by `random` in a way": lambda c: c.random(out=np.zeros(1)),
    "by `choice` in a way": lambda c: c.choice([[1, 2], [3, 4]], axis=1),
    "as a number": lambda c: 2 * c.random(), "used as a number": lambda c: c.random(3) * np.ones(3),
    "another": lambda c: c.random() < c.random(),
    "without replacement by odds": lambda c: c.choice(3, 2, replace=False, p=[0.2, 0.3, 0.5]),
    "more than 4,096": lambda c: [c.random() < 0.5 for _ in range(13)],
    "have more than 4,096": lambda c: set(subset(c, 50, 20)),
    "tossed more than 8,192 times": geometric,
}  # fmt: skip


@pytest.mark.parametrize("why", REFUSED)
def test_coins_without_a_list_of_histories_are_refused(why: str) -> None:
    with pytest.raises(AttackError, match=why):
        list(every(REFUSED[why]))


def test_few_are_read_until_it_is_known_that_there_are_too_many() -> None:
    """The batches of forty rounds."""
    read = list[int]()

    def batches(coins: Any) -> None:
        read.append(0)
        for _ in range(40):
            coins.choice(8, 2, replace=False)

    with pytest.raises(AttackError, match="more than 4,096"):
        list(every(batches))
    assert len(read) < 16


@pytest.mark.parametrize("how", [copy.copy, copy.deepcopy, lambda coins: pickle.loads(pickle.dumps(coins))])
def test_code_that_copies_its_coins_is_refused_and_noted(how: Callable[[Any], Any]) -> None:
    """Its copy would toss what it tossed before, or what is to be tossed: no history has that."""

    def twice(coins: Any) -> bool:
        try:
            return how(coins).random() < 1e-3
        except AttackError:
            return False

    with pytest.raises(CopiedCoinsError, match="its private coins are copied"):
        list(every(twice))
    with pytest.raises(CopiedCoinsError, match="its private coins are copied"):
        how(DrawnCoins(np.random.default_rng(0)))
