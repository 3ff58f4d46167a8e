"""Where private coins ask one record more than others, a pair that differs in another does not speak for it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np
import pytest

from attacks.audit.followed.asked import asked_more
from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.claims import Adjacency, Claim
from netsim.mechanisms import Laplace
from netsim.node import Node, choose, subset
from netsim.problems import Tilted, load, logistic
from netsim.simulation import Simulation
from netsim.topology import ring
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import judged

RECORDS = 4


@dataclass(frozen=True)
class Draws(Algorithm):
    """Sends clipped gradients of the batches that `drawn` gives, added up."""

    drawn: Callable[[Any, int], Sequence[Sequence[int]]]

    async def run(self, node: Node) -> None:
        clipped = [
            Clip(1.0, "l1")(await node.gradient(node.zeros(), k)) for k in self.drawn(node.coins, node.records)
        ]
        await node.exchange(x=node.privatize(np.sum(clipped, axis=0) / len(clipped), Laplace(1.0)))
        node.estimate(node.zeros())


def by_odds(coins: Any, records: int) -> Sequence[Sequence[int]]:
    """Record 2 at seven tosses in ten."""
    return [[int(coins.choice(records, p=[0.1, 0.1, 0.7, 0.1]))]]


def twice(coins: Any, records: int) -> Sequence[Sequence[int]]:
    """Record 0 once, or record 1 in two queries: no batches are alike at both tosses."""
    del records
    return [[0]] if coins.random() < 0.3 else [[1], [1]]


CASES: dict[str, tuple[Callable[[Any, int], Sequence[Sequence[int]]], tuple[int | None, ...]]] = {
    "odds": (by_odds, (2, 2, None, 2)),
    "another number of queries": (twice, (1, 0, 0, 0)),
    "the first of an ascending subset": (lambda coins, m: [subset(coins, m, 2)[:1]], (None, 0, 0, 0)),
    "the first, looked at": (lambda coins, m: [[int(subset(coins, m, 2)[0])]], (None, 0, 0, 0)),
    "one of some": (lambda coins, _: [[choose(coins, [1, 1, 3])]], (1, None, 1, 1)),
    "a subset": (lambda coins, m: [subset(coins, m, 2)], (None,) * RECORDS),
    "a subset, looked at": (lambda coins, m: [[int(k) for k in subset(coins, m, 2)]], (None,) * RECORDS),
    "one of all": (lambda coins, m: [[choose(coins, range(m))]], (None,) * RECORDS),
    "the first of a shuffled list": (lambda coins, m: [[int(coins.permutation(m)[0])]], (None,) * RECORDS),
    "no coins": (lambda coins, m: [[0]], (None,) * RECORDS),
}


def world(algorithm: Algorithm, record: int) -> tuple[Simulation, Any]:
    """Three agents; one record of agent 1 goes one way or the other."""
    problem = logistic(
        load("synthetic", records=3 * RECORDS, dimension=3, seed=3, norm_bound=1.0).split(3), ridge=0.5
    )
    own = problem.objectives[1]
    zero, other = (Tilted(own, np.full(3, way), record=record) for way in (-1e3, 1e3))
    simulation = Simulation(problem.replace(1, zero), ring(3), algorithm)
    return simulation, Pair(1, cast("Any", (zero, other)), "a record turned round")


@pytest.mark.parametrize("name", CASES)
def test_a_record_that_is_asked_with_more_chance_is_named(name: str) -> None:
    drawn, expected = CASES[name]
    for record, more in enumerate(expected):
        simulation, pair = world(Draws(drawn), record)
        one = worlds(simulation, 1, pair.hypotheses[1], 1)(0, 0)
        assert asked_more(one, 1, pair.hypotheses) == more


@pytest.mark.parametrize(
    ("record", "of_all", "verdict"),
    [
        (0, False, Verdict.UNDERPOWERED),
        pytest.param(0, True, Verdict.CONSISTENT, id="all records are known to cost no more"),
        (2, False, Verdict.REFUTED),
    ],
)
def test_a_pair_that_is_seldom_asked_speaks_for_no_claim(record: int, of_all: bool, verdict: Verdict) -> None:
    """ln(0.3 + 0.7 e²) = 1.7 of record 2, ln(0.9 + 0.1 e²) = 0.5 of others."""
    simulation, pair = world(Draws(by_odds), record)
    adjacency = Adjacency(0.5, "one record", record=True)
    claim = Claim(0.8, 0.0, "by hand", adjacency, "ℓ1")
    pair = replace(pair, any_change=True, of_all_records=of_all)
    found = judged(simulation, pair, claim, attack=None, trials=60)
    assert found.judgement.verdict is verdict
    assert ("ask record 2 in some" in found.judgement.reason) is (verdict is Verdict.UNDERPOWERED)


@dataclass(frozen=True)
class Weighted(Algorithm):
    """Sends the clipped gradient of any record, that of record 3 three times."""

    async def run(self, node: Node) -> None:
        k = choose(node.coins, range(RECORDS))
        weight = (1.0, 1.0, 1.0, 3.0)[k]
        gradient = Clip(1.0, "l1")(await node.gradient(node.zeros(), [k]))
        await node.exchange(x=node.privatize(weight * gradient, Laplace(3.0)))
        node.estimate(node.zeros())


@pytest.mark.parametrize("of_all", [False, True])
def test_a_record_that_is_treated_in_its_own_way_decides_nothing_where_all_were_tried(of_all: bool) -> None:
    """ln(3/4 + e²/4) = 0.95 of record 3."""
    simulation, pair = world(Weighted(), 3)
    claim = Claim(1.0, 0.0, "by hand", Adjacency(0.5, "one record", record=True), "ℓ1")
    pair = replace(pair, any_change=True, of_all_records=of_all)
    found = judged(simulation, pair, claim, attack=None, trials=60).judgement
    assert found.verdict is (Verdict.CONSISTENT if of_all else Verdict.UNDERPOWERED)
    assert ("by which records are in a batch" in found.reason) is not of_all
    assert "histories at most" not in found.reason


@dataclass(frozen=True)
class Signed(Algorithm):
    """Sends a clipped gradient, coarsely, and times a secret sign or positive number, finely."""

    factors: tuple[float, ...] = (-1.0, 1.0)

    async def run(self, node: Node) -> None:
        gradient = Clip(1.0, "l1")(await node.gradient(node.zeros()))
        coarse = node.privatize(gradient, Laplace(2.0))
        fine = node.privatize(choose(node.coins, self.factors) * gradient, Laplace(0.8))
        await node.exchange(x=coarse, y=fine)
        node.estimate(node.zeros())


@pytest.mark.parametrize(
    ("factors", "ranked", "verdict"),
    [
        ((-1.0, 1.0), False, Verdict.UNDERPOWERED),
        ((-1.0, 1.0), True, Verdict.CONSISTENT),
        ((0.5, 1.0), False, Verdict.CONSISTENT),
    ],
)
def test_the_dearest_pair_at_a_toss_speaks_for_others_where_tosses_turn_nothing_round(factors, ranked, verdict):
    """Opposite worlds look alike where the sign is secret, and cost ε = 1; where the factor is, 2/2 + 2/0.8 = 3.5 or
    less. The bound of 3.5, for who knows it, is above both claims."""
    simulation, pair = world(Signed(factors), 0)
    claim = Claim(1.2 if factors[0] < 0 else 3.4, 0.0, "by hand", Adjacency(0.5, "one record", record=True), "ℓ1")
    pair = replace(pair, any_change=True, over_all_tosses=ranked)
    found = judged(simulation, pair, claim, attack=None, trials=60).judgement
    assert found.verdict is verdict
