"""A bound over all pairs: no adjacent pair loses more, true claims are reached, a tenth less noise is noticed."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.aimed import WORST_CASE
from attacks.audit.loss.comparison import Sample, compare_worlds
from attacks.audit.moved import Moved
from attacks.audit.proof import bound_at_door
from attacks.audit.verdict import Bound, Verdict, judge
from benchmarks.survival import Survived, proven, rows
from netsim.algorithms import Algorithm
from netsim.claims import Adjacency, Clip
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node, choose, subset
from netsim.problems import Bent, LogisticLoss, Problem, Tilted, load
from netsim.simulation import Simulation
from netsim.topology import complete
from scenarios.build.experiment import Experiment
from scenarios.schema.scenario import Scenario
from scenarios.stages.worlds import worlds

AGENT, DELTA = 1, 1e-3
NOISE: dict[str, Any] = {"noise": "gaussian", "scale": {"epsilon": 1.0, "delta": DELTA}}
PROVEN: dict[str, dict[str, Any]] = {
    "descent, clipped": {"kind": "private_gradient_descent", "rounds": 6, "clip": {"bound": 1.0}, "scale": 0.5},
    "descent, released": {"kind": "private_gradient_descent", "rounds": 6, "state": "released", "scale": 0.5},
    "descent, batches": {
        "kind": "private_gradient_descent", "rounds": 6, "clip": {"bound": 1.0}, "batch": 3, "scale": 0.5,
    },
    "random penalties": {"kind": "random_penalty_admm", "rounds": 5},
    "extremes": {"kind": "neighbor_range", "rounds": 5, "step": 0.2, "scale": 1.0},
    "d-admm": {"kind": "d_admm", "rounds": 4, **NOISE},
    "r-admm": {"kind": "r_admm", "rounds": 4, "scale": {"epsilon": 1.0}},
    "mr-admm": {"kind": "mr_admm", "rounds": 4, "scale": {"epsilon": 1.0}},
    "rw-admm, a walk": {"kind": "rw_admm", "per_agent": 3, **NOISE},
    "rw-admm, everybody": {"kind": "rw_admm", "per_agent": 3, "activation": "everybody", **NOISE},
    "dp-recal": {
        "kind": "dp_recal", "per_agent": 6, "reading": "sent_state", "noise": {"epsilon": 1.0, "delta": DELTA},
    },
}  # fmt: skip


def simulated(algorithm: dict[str, Any]) -> tuple[Simulation, Adjacency]:
    """Five agents on a ring with eight records each; one record may be replaced."""
    tree = {
        "name": "proof",
        "problem": {
            "kind": "logistic",
            "data": {"name": "synthetic", "records": 40, "dimension": 4, "norm_bound": 1.0},
            "ridge": 0.5,
        },
        "topology": {"kind": "ring", "agents": 5},
        "algorithms": [algorithm],
        "attacks": {"gradients": False},
        "audit": {"agent": AGENT, "trials": 50},
    }
    experiment = Experiment.of(Scenario.model_validate(tree))
    return experiment.subjects[0].simulation, experiment.adjacency


ADJACENT = Adjacency(0.25, "any two")


def samples(simulation: Simulation, other: Any) -> tuple[Sample, Sample]:
    simulate = worlds(simulation, AGENT, other, 4)
    return simulate(0, WORST_CASE), simulate(1, WORST_CASE)


def bound_of(simulation: Simulation, adjacency: Adjacency) -> Bound:
    own = simulation.problem.objectives[AGENT]
    kappa = simulation.setting(1).convexity(AGENT)
    return bound_at_door(samples(simulation, own), AGENT, adjacency, DELTA, kappa)


def adjacent(own: Any, adjacency: Adjacency, rng: np.random.Generator) -> list[Any]:
    """A gradient moved by a constant vector, by one that varies, and a record replaced, as far as is allowed."""
    direction = rng.standard_normal(int(own.dimension))
    slope = direction * (adjacency.gradient_change / float(np.linalg.norm(direction)))
    features, labels = own.features.copy(), own.labels.copy()
    features[0], labels[0] = slope / np.linalg.norm(slope), -labels[0]
    bend = min(adjacency.curvature_change, 0.1)
    return [Tilted(own, slope), Bent(own, slope, bend), replace(own, features=features, labels=labels)]


def lost(sample: Sample, own: Any, other: Any, agent: int = AGENT) -> float:
    """ε(δ) of the pair: of the releases' total cost where all noise is Gaussian, else the largest loss seen."""
    found = compare_worlds(sample, agent, own, other)
    assert not np.any(np.isfinite(found.leaked))
    if set(found.laws) == {Gaussian}:
        return gaussian_epsilon(float(np.sqrt(np.max(np.sum(found.cost, axis=0)))), DELTA)
    return float(np.max(np.sum(found.steps, axis=0)))


@pytest.mark.few("dp-recal")
@pytest.mark.parametrize("name", PROVEN)
def test_no_pair_loses_more_and_a_tenth_of_the_noise_is_missed(name: str) -> None:
    """The worst noise of each pair is tried too (`worlds` aims it where noise is Laplace)."""
    simulation, adjacency = simulated(PROVEN[name])
    bound = bound_of(simulation, adjacency)
    claim = simulation.claim(adjacency, max(simulation.run().activations), DELTA)
    assert claim is not None
    assert claim.epsilon is not None
    assert bound.epsilon <= claim.epsilon * (1 + 1e-9)

    own, rng = simulation.problem.objectives[AGENT], np.random.default_rng(0)
    for other in adjacent(own, adjacency, rng):
        zero, one = samples(simulation, other)
        for sample, pair in ((zero, (own, other)), (one, (other, own))):
            assert lost(sample, *pair) <= bound.epsilon * (1 + 1e-9)

    quieter = replace(simulation, algorithm=simulation.algorithm.scaled(0.9))
    verdicts = [
        judge(epsilon_claimed=bound.epsilon, delta=DELTA, exact_lower=0.0, exact_upper=1e-9, bound=one).verdict
        for one in (bound, bound_of(quieter, adjacency))
    ]
    assert verdicts[0] is Verdict.PROVEN
    assert verdicts[1] in (Verdict.CONSISTENT, Verdict.UNDERPOWERED)


@pytest.mark.slow
@pytest.mark.parametrize(
    "names",
    [
        ("one release, βω = 2", "Muffliato, plain gossip"),
        pytest.param(("descent, batches of ten", "R-ADMM"), marks=pytest.mark.slow),
    ],
)
def test_proven_rows_of_the_ledger_survive_random_pairs_and_show_too_little_noise(names: tuple[str, ...]) -> None:
    """Random weights, Gaussian noise, any data, a perturbed objective; `benchmarks.survival` has all rows."""
    assert len(proven()) >= 12
    found = [Survived.of(row, 20) for row in rows(names)]
    assert {one.name for one in found} == set(names) <= proven()
    for one in found:
        assert one.holds, one
        assert one.random > 0.4, one  # the pairs are far apart
        assert one.tenth > 0.1, one


def test_where_one_constant_change_is_the_worst_the_bound_is_what_it_loses() -> None:
    """Released states: each gradient is at a public point, and a change of one sign costs the whole claim."""
    simulation, adjacency = simulated(PROVEN["descent, released"])
    own, d = simulation.problem.objectives[AGENT], simulation.problem.dimension
    slope = np.full(d, adjacency.gradient_change / np.sqrt(d))
    sample, _ = samples(simulation, other := Tilted(own, slope))
    np.testing.assert_allclose(lost(sample, own, other), bound_of(simulation, adjacency).epsilon, rtol=1e-9)


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        ({"kind": "private_gradient_descent", "rounds": 4, "scale": 0.5}, "other gradients move"),
        (
            {"kind": "dmsp", "rounds": 4, "step": 0.3, "scale": 0.5, "domain": {"kind": "ball", "radius": 5.0}},
            "made by more than sums, multiples and clips",
        ),
        ({"kind": "ic_admm", "rounds": 4, **NOISE}, "other gradients move"),
    ],
)
def test_where_a_condition_fails_it_is_named(algorithm: dict[str, Any], why: str) -> None:
    with pytest.raises(AttackError, match=why):
        bound_of(*simulated(algorithm))


# ── code that a bound must not be given ─────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Hides(Algorithm):
    """A second message gives away the noise of the first."""

    async def run(self, node: Node) -> None:
        z = node.privatize(node.zeros(), Gaussian(1.0))
        g = await node.gradient(node.zeros())
        await node.exchange(x=g + z)
        await node.exchange(y=z)


@dataclass(frozen=True)
class Bends(Algorithm):
    """Affine at small answers only."""

    async def run(self, node: Node) -> None:
        g = await node.gradient(node.zeros())
        await node.exchange(x=node.privatize(np.where(np.abs(g) < 50, g, 2 * g), Laplace(1.0)))


@dataclass(frozen=True)
class FarOut(Algorithm):
    """Three times the weight for small answers, beside a number in which this drowns, but for the noise."""

    start: float = 1e7
    noise: float = 1.0

    async def run(self, node: Node) -> None:
        g = await node.gradient(node.zeros())
        moved = self.noise * np.where(np.abs(g) < 0.4, 3 * g, g)
        await node.exchange(x=node.privatize(self.start + moved, Laplace(self.noise)))


@dataclass(frozen=True)
class Seldom(Algorithm):
    """Affine but where one coordinate of an answer is between 0.1 and 0.12, or beyond 10⁷."""

    low: float = 0.1
    high: float = 0.12

    async def run(self, node: Node) -> None:
        g = await node.gradient(node.zeros())
        far = np.any((np.abs(g) > self.low) & (np.abs(g) < self.high), axis=-1, keepdims=True)
        await node.exchange(x=node.privatize(np.where(far, 2 * g, g), Laplace(1.0)))


@dataclass(frozen=True)
class AtARareView(Algorithm):
    """Thirty times the weight, or a thirtieth of the noise, where a release was far out."""

    weight: float = 1.0
    noise: float = 1.0

    async def run(self, node: Node) -> None:
        sent = (await node.exchange(x=node.privatize(node.zeros(), Laplace(1.0)))).sent("x")
        far = np.any(np.abs(sent) > 12, axis=-1, keepdims=True)
        g = np.where(far, self.weight, 1.0) * await node.gradient(sent)
        await node.exchange(x=node.privatize(g, Laplace(np.where(far, self.noise, 1.0))))


@dataclass(frozen=True)
class Adapts(Algorithm):
    """Weight that depends on what was seen before."""

    async def run(self, node: Node) -> None:
        first = node.privatize(await node.gradient(node.zeros()), Laplace(1.0))
        sent = (await node.exchange(x=first)).sent("x")
        g = await node.gradient(node.zeros())
        await node.exchange(x=node.privatize(g * (1 + np.abs(sent)), Laplace(1.0)))


@dataclass(frozen=True)
class Tosses(Algorithm):
    """The noise is `quiet` times as large at one toss in 300, or there is none, or a second message; or what is sent
    is as the coins have it."""

    at_times: str = "quiet"
    quiet: float = 1.0

    async def run(self, node: Node) -> None:
        g = await node.gradient(node.zeros())
        if self.at_times == "moved":
            g = g + node.coins.random(node.dimension)
        elif self.at_times == "chosen":
            g = float(choose(node.coins, node.neighbors) == node.neighbors[0]) * g
        elif self.at_times == "by data":
            g = g + (float(np.max(np.abs(g))) > 1 and node.coins.random() < 0.5)
        rare = self.at_times in ("quiet", "bare", "more") and node.coins.random() < 1 / 300
        noise = Laplace(self.quiet if rare and self.at_times == "quiet" else 1.0)
        await node.exchange(x=g if rare and self.at_times == "bare" else node.privatize(g, noise))
        if rare and self.at_times == "more":
            await node.exchange(y=g)


@dataclass(frozen=True)
class Skips(Algorithm):
    """Takes part in a round with probability one half, or sends zeros; `chance`: of what it sends in all."""

    chance: float = 0.5

    async def run(self, node: Node) -> None:
        for _ in range(2):
            sent = node.zeros()
            if node.coins.random() < self.chance:
                sent = node.privatize(Clip(0.5, "l1")(await node.gradient(sent)), Laplace(1.0))
            await node.exchange(x=sent)


def test_where_coins_leave_an_agent_out_it_costs_nothing() -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    bound = bound_of(replace(simulation, algorithm=Skips()), adjacency)
    np.testing.assert_allclose(bound.epsilon, 2.0)
    assert bound.histories == 4
    with pytest.raises(AttackError, match="nothing has noise"):
        bound_of(replace(simulation, algorithm=Skips(0.0)), adjacency)


@dataclass(frozen=True)
class Deltas(Algorithm):
    """By how much two local steps move the model: a difference, which is rounded as the model is."""

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(3):
            y = x
            for _ in range(2):
                y = y - 0.1 * Clip(1.0, "l1")(await node.gradient(y))
            x = x + (await node.exchange(x=node.privatize(y - x, Laplace(0.2)))).mix("x")


def test_differences_of_models_are_affine_but_for_their_rounding() -> None:
    """3 · 0.1 · (1 + 2)/0.2: the first step's gradient is at a point that who listens knows."""
    simulation, adjacency = simulated(PROVEN["descent, released"])
    np.testing.assert_allclose(bound_of(replace(simulation, algorithm=Deltas()), adjacency).epsilon, 4.5)


@dataclass(frozen=True)
class Transformed(Algorithm):
    """Sends what it released once more, times a matrix: a product over all copies is not that of a copy alone."""

    async def run(self, node: Node) -> None:
        x, waves = node.zeros(), np.sin(np.arange(50 * node.dimension**2)).reshape(-1, node.dimension)
        for _ in range(3):
            noisy = node.privatize(Clip(1.0, "l1")(await node.gradient(x)), Laplace(4.0))
            x = x - (await node.exchange(x=noisy, waves=np.tile(noisy, 50) @ waves)).mix("x")


def test_products_with_what_was_released_differ_by_rounding_alone() -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    np.testing.assert_allclose(bound_of(replace(simulation, algorithm=Transformed()), adjacency).epsilon, 0.75)


CLIPS = "made by more than sums, multiples and clips"


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        (Tosses("bare"), "at some of its private coins.* no noise is in it|nothing has noise"),
        (Tosses("more"), "at some of its private coins, it goes on to send where"),
        (Tosses("moved"), "as a number"),
        (Tosses("by data"), "decides by what is private"),
        (Hides(), "no noise is in it"),
        (Bends(), CLIPS),
        (FarOut(), CLIPS),
        (FarOut(noise=1e-2), CLIPS),
        (FarOut(1e9, 1e-2), CLIPS),
        (Seldom(), CLIPS),
        (Seldom(1e7, np.inf), CLIPS),
        (AtARareView(weight=30.0), "decides by what is private"),
        (AtARareView(noise=1 / 30), "decides by what is private"),
        (Adapts(), "decides by what is private"),
    ],
)
def test_code_that_only_looks_bounded(algorithm: Algorithm, why: str) -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    with pytest.raises(AttackError, match=why):
        bound_of(replace(simulation, algorithm=algorithm), adjacency)


def test_every_history_of_private_coins_is_read() -> None:
    """A toss of 1 in 300 that no transcript had; and one that weighs the answer, which a receiver's name may not."""
    simulation, _ = simulated(PROVEN["descent, released"])
    loud, quiet, chosen = (
        bound_of(replace(simulation, algorithm=algorithm), ADJACENT)
        for algorithm in (Tosses(), Tosses(quiet=0.2), Tosses("chosen"))
    )
    np.testing.assert_allclose(quiet.epsilon, 5 * loud.epsilon, rtol=1e-9)
    np.testing.assert_allclose(chosen.epsilon, loud.epsilon, rtol=1e-9)
    assert all(
        "all 2 ways in which its random choices may fall" in one.conditions[-1] for one in (loud, quiet, chosen)
    )
    batches = bound_of(simulated(PROVEN["descent, batches"])[0], ADJACENT)
    assert "decide only" in batches.conditions[-1]


# ── batches that the code names ─────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Cycles(Algorithm):
    """A step along one record's gradient after the other; `local`: along the next one's too, before x is sent."""

    clip: float = np.inf
    local: bool = False
    chosen: bool = False
    weights: tuple[float, ...] = ()
    rounds: int = 16

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for t in range(self.rounds):
            for k in range(1 + self.local if not self.weights else 0):
                batch = subset(node.coins, node.records, 1) if self.chosen else [(t + k) % node.records]
                g = await node.gradient(x, batch)
                x = x - 0.1 * (g if np.isinf(self.clip) else Clip(self.clip, "l1")(g))
            at = x
            for k, weight in zip(subset(node.coins, node.records, len(self.weights)), self.weights, strict=True):
                x = x - 0.1 * weight * Clip(self.clip, "l1")(await node.gradient(at, [k]))
            x = (await node.exchange(x=node.privatize(x, Laplace(1.0)))).sent("x")


@pytest.mark.parametrize(
    ("algorithm", "queries", "of_a_record", "of_all"),
    [
        # two queries of its own, each moved by 8 times as much as the whole gradient: 2 · 0.1 · 8 · √4 · 0.25
        pytest.param(Cycles(), 2, 0.8, None, id="a batch weighs more than the whole"),
        pytest.param(Cycles(0.5), 2, 0.2, 1.6, id="clipped"),
        # and the second of each round, whose point the first one moves, of any record
        pytest.param(Cycles(0.5, local=True), 18, 1.8, 3.2, id="points that other records move"),
        pytest.param(Cycles(0.5, chosen=True), 16, 1.6, 1.6, id="any record may be in it"),
        # of two records that coins draw together one is it: at the place where it counts most
        pytest.param(Cycles(0.5, weights=(1.0, 1.0)), 16, 1.6, 3.2, id="members of one subset"),
        pytest.param(Cycles(0.5, weights=(1.0, 0.5)), 16, 1.6, 2.4, id="places of a subset that count differently"),
    ],
)
def test_where_a_record_differs_batches_without_it_do_not(
    algorithm: Cycles, queries: int, of_a_record: float, of_all: float | None
) -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    simulation = replace(simulation, algorithm=algorithm)
    bound = bound_of(simulation, adjacency)
    np.testing.assert_allclose(bound.epsilon, of_a_record, rtol=1e-9)
    each = len(algorithm.weights) or 1 + algorithm.local
    several = f"a record is in {queries} of its {16 * each} queries at most"
    assert (several in bound.conditions) is (queries < 16 * each)
    if of_all is None:
        with pytest.raises(AttackError, match="batches are not clipped"):
            bound_of(simulation, replace(adjacency, record=False))
    else:
        np.testing.assert_allclose(bound_of(simulation, replace(adjacency, record=False)).epsilon, of_all, rtol=1e-9)
    own, rng = simulation.problem.objectives[AGENT], np.random.default_rng(0)
    most = 0.0
    for record, sign in enumerate(rng.choice((-1.0, 1.0), (8, 4))):
        slope = sign * adjacency.gradient_change / 2  # of this norm in ℓ2
        zero, other = (Tilted(own, by * slope, record=record) for by in (-0.5, 0.5))
        here = replace(simulation, problem=simulation.problem.replace(AGENT, zero))
        most = max(most, lost(worlds(here, AGENT, other, 4)(0, WORST_CASE), zero, other))
    assert most <= bound.epsilon * (1 + 1e-9)
    if algorithm == Cycles():
        np.testing.assert_allclose(most, bound.epsilon, rtol=1e-9)


@dataclass(frozen=True)
class Unequal(Algorithm):
    """Gradients at 0, of all records or of `batch` in turn, `weight` times as large for each record that one has."""

    gaussian: bool
    batch: int = 0
    weight: int = 0
    step: float = 0.0

    async def run(self, node: Node) -> None:
        x, m = node.zeros(), node.records
        for t in range(2):
            batch = [(t * self.batch + k) % m for k in range(self.batch)] if self.batch else None
            if self.step:
                g = (await node.proximal(x, self.step)) / self.step
            else:
                g = await node.gradient(x, batch)
            await node.exchange(g=node.privatize(m**self.weight * g, (Gaussian if self.gaussian else Laplace)(2.0)))
            node.estimate(x)


PARTS = 9, 5, 8
"""Records of the agents."""


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("algorithm", "times", "moved"),
    [
        # by how much a record moves a release of an agent with m of them, if the longest gradient of one is 1
        pytest.param({}, 2, lambda m: 2 / m, id="the mean"),
        pytest.param({"weight": 1}, 2, lambda m: 2.0, id="the sum"),
        pytest.param({"batch": 1}, 1, lambda m: 2.0, id="one record in turn"),
        pytest.param({"batch": 2}, 1, lambda m: 1.0, id="two records in turn"),
        pytest.param({"step": 0.5}, 2, lambda m: 2 / m / (1 + 0.5 * 0.5), id="the proximal point"),
    ],
)
def test_a_record_moves_less_where_there_are_more(
    algorithm: dict[str, Any], times: int, moved: Callable[[int], float], gaussian: bool
) -> None:
    """Composition by hand, of agents with 9, 5 and 8 records; replaced records never lose more."""
    dimension = 4
    data = load("synthetic", records=sum(PARTS), dimension=dimension, seed=3, norm_bound=1.0)
    features, labels = (np.split(a, np.cumsum(PARTS)[:-1]) for a in (data.features, data.labels))
    own = [LogisticLoss(a, b, 0.5) for a, b in zip(features, labels, strict=True)]
    simulation = Simulation(
        Problem(tuple(own), name="logistic", ridge=0.5), complete(3), Unequal(gaussian, **algorithm)
    )
    adjacency = Adjacency(2 / min(PARTS), "one record", 1 / 4 / min(PARTS), record=True, fewest=min(PARTS))
    rng = np.random.default_rng(0)
    for agent, m in enumerate(PARTS):
        size, root = moved(m) / 2.0, 1.0 if gaussian else np.sqrt(dimension)
        expected = gaussian_epsilon(np.sqrt(times) * size, DELTA) if gaussian else times * root * size
        simulate = worlds(simulation, agent, own[agent], 4)
        there = simulate(0, WORST_CASE), simulate(1, WORST_CASE)
        bound = bound_at_door(there, agent, adjacency, DELTA, 0.5)
        np.testing.assert_allclose(bound.epsilon, expected, rtol=1e-9)
        most = 0.0
        for _ in range(4):  # opposite records, which are told apart best
            slope = rng.choice((-1.0, 1.0), dimension) / np.sqrt(dimension)
            worst = [Tilted(own[agent], by * slope / m, record=0 if "batch" in algorithm else None) for by in (-1, 1)]
            here = replace(simulation, problem=simulation.problem.replace(agent, worst[0]))
            most = max(most, lost(worlds(here, agent, worst[1], 4)(0, WORST_CASE), *worst, agent=agent))
            features, labels = own[agent].features.copy(), own[agent].labels.copy()
            features[0], labels[0] = slope, -labels[0]
            other = replace(own[agent], features=features, labels=labels)
            assert lost(worlds(simulation, agent, other, 4)(0, WORST_CASE), own[agent], other, agent=agent) <= most
        assert most <= bound.epsilon * (1 + 1e-9)
        assert most >= 0.75 * bound.epsilon


@dataclass(frozen=True)
class Batched(Algorithm):
    """Clipped gradients of records at 0, one after the other, as `subset` draws `size` of them in each of the rounds;
    `heavier` counts the last record of a batch twice, `again` asks twice, and `looks` tosses them."""

    gaussian: bool
    size: int = 2
    heavier: bool = False
    again: bool = False
    looks: bool = False
    beside: bool = False
    clip: float = 1.0
    rounds: int = 2

    async def run(self, node: Node) -> None:
        for _ in range(self.rounds):
            drawn, total = subset(node.coins, node.records, self.size), node.zeros()
            if self.looks:
                drawn = [int(one) for one in drawn]
            for k, record in enumerate([*drawn, *drawn] if self.again else drawn):
                g = await node.gradient(
                    node.zeros(), [record, choose(node.coins, range(8))] if self.beside else [record]
                )
                total = total + (2 if self.heavier and k else 1) * (Clip(self.clip, "l1")(g) if self.clip else g)
            x = node.privatize(total, (Gaussian if self.gaussian else Laplace)(2.0))
            await node.exchange(x=x)
            node.estimate(x)


@pytest.mark.parametrize("gaussian", [False, True])
@pytest.mark.parametrize(
    ("algorithm", "moved", "queries"),
    [
        # by how much a record moves one of the releases: twice the clip where it is in the batch
        pytest.param({}, 2.0, (2, 4), id="one of a batch"),
        pytest.param({"size": 5}, 2.0, (2, 10), id="one of a larger batch"),
        pytest.param({"heavier": True}, 4.0, (2, 4), id="at the place that counts twice"),
        pytest.param({"again": True}, 4.0, (4, 8), id="it is asked twice"),
        pytest.param({"looks": True, "size": 1, "rounds": 1}, 2.0, None, id="tossed"),
        # its part of the whole gradient moves by 2/8 of its longest one, which is 1 in ℓ2
        pytest.param({"clip": 0.0}, 2.0, (2, 4), id="unclipped"),
        # any may be drawn beside it: it may be in both, or in one twice
        pytest.param({"beside": True}, 4.0, None, id="beside another draw"),
    ],
)
def test_a_record_is_drawn_once_for_a_batch(
    algorithm: dict[str, Any], moved: float, queries: tuple[int, int] | None, gaussian: bool
) -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    simulation = replace(simulation, algorithm=Batched(gaussian, **algorithm))
    bound = bound_of(simulation, adjacency)
    size = moved / 2.0 * (2.0 if not algorithm.get("clip", 1.0) and not gaussian else 1.0)  # √4 in ℓ1
    rounds = algorithm.get("rounds", 2)
    expected = gaussian_epsilon(np.sqrt(rounds) * size, DELTA) if gaussian else rounds * size
    np.testing.assert_allclose(bound.epsilon, expected, rtol=1e-9)
    assert bound.histories == (8 if algorithm.get("looks") else 1)
    if queries is not None:
        assert f"a record is in {queries[0]} of its {queries[1]} queries at most" in bound.conditions


@pytest.mark.parametrize("seed", range(4))
def test_what_a_record_moves_at_most_is_that_of_its_worst_places(seed: int) -> None:
    """Against all choices of a place of each draw; exact where the places of a draw are alike."""
    rng = np.random.default_rng(seed)
    vectors, limits = rng.standard_normal((4, 9)), rng.uniform(0.5, 2, 9)
    always = np.arange(9) == 0
    either = [np.arange(9) == np.array([[k], [k + 1]]) for k in (1, 3, 5)] + [np.arange(9)[None] >= 7]
    for alike in (False, True):
        if alike:
            vectors[:, [2, 4, 6]], limits[[2, 4, 6]] = vectors[:, [1, 3, 5]], limits[[1, 3, 5]]
        for order in (1, 2):
            chosen = [
                Moved(0, always | np.any(places, axis=0)).farthest(vectors, limits, order)
                for places in product(*either)
            ]
            found = Moved(0, always, tuple(either)).farthest(vectors, limits, order)
            assert found >= max(chosen) * (1 - 1e-12)
            if alike or order == 1:
                np.testing.assert_allclose(found, max(chosen), rtol=1e-12)
            everything = Moved(0, np.ones(9, dtype=bool)).farthest(vectors, limits, order)
            assert found < everything
    assert Moved(0, always, tuple(either)).most == 1 + 3 + 2


def test_a_batch_that_follows_what_was_seen_has_no_bound() -> None:
    simulation, adjacency = simulated(PROVEN["descent, released"])
    for algorithm in (Follows(1), Follows(3), Follows(4, 128)):
        with pytest.raises(AttackError, match=r"decides by what is private or was seen"):
            bound_of(replace(simulation, algorithm=algorithm), adjacency)


@dataclass(frozen=True)
class Follows(Algorithm):
    """Which record is next depends on what was sent; or, at one digit in so many, on what was received."""

    rounds: int
    rare: int = 0

    async def run(self, node: Node) -> None:
        x, got = node.zeros(), 0.0
        for t in range(1 + self.rounds):
            which = int(np.sum(x > 0)) % node.records
            if self.rare:
                which = t * (int(abs(got) * 1000) % self.rare < self.rare - 1)
            g = Clip(0.5, "l1")(await node.gradient(x, [which]))
            heard = await node.exchange(x=node.privatize(x - 0.1 * g, Laplace(1.0)))
            x, got = heard.sent("x"), float(heard.values("x")[0][0, 0])


def test_a_bound_is_used_only_below_the_claim_and_after_a_refutation() -> None:
    bound = Bound(1.0, ("one", "two"))
    judged = judge(epsilon_claimed=1.0, delta=0.0, exact_lower=0.5, exact_upper=float("inf"), bound=bound)
    assert judged.verdict is Verdict.PROVEN
    assert "at most" in judged.reason
    for loose, verdict in ((None, Verdict.UNDERPOWERED), ("of who knows", Verdict.CONSISTENT)):
        found = judge(epsilon_claimed=0.9, delta=0.0, exact_lower=0.5, bound=bound, loose=loose)
        assert found.verdict is verdict
    assert judge(epsilon_claimed=1.0, delta=0.0, exact_lower=2.0, bound=bound).verdict is Verdict.REFUTED
    unseen = judge(epsilon_claimed=1.0, delta=0.0, exact_lower=0.5, bound=bound, not_judged="rounding")
    assert unseen.verdict is Verdict.UNDERPOWERED
