"""Lessons on privacy budgets: composition of many releases, and noise for the wrong norm."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import count
from typing import Literal, NamedTuple

import numpy as np

from attacks.audit.accounting.products import Product, product_epsilon
from attacks.audit.audit import audit
from attacks.audit.pair import Pair
from attacks.audit.result import AuditResult
from netsim import topology
from netsim.algorithms import Algorithm, DiaDSP, PrivateGradientDescent
from netsim.algorithms.algorithm import InRounds
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim, Clip, length
from netsim.mechanisms import Gaussian, Laplace
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.randomness import Streams
from netsim.schedules import Constant, Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation
from scenarios.certificate.worlds import OneRelease, gaussian_mu, turned
from scenarios.lab.live import REMEMBERED
from scenarios.stages.worlds import worlds

AGENTS, AGENT = 3, 1
APART = 10.0
"""So far apart are the points that the agents pull towards, in every coordinate; no budget depends on it."""
STEEP = 1e6
"""A gradient so large is clipped whatever the point."""
STEP, BOUND = 0.2, 0.5
"""η and C of the descent: a clipped gradient moves the next release by 2Cη = 0.2 in ℓ1 at most."""


def pulling(target: float, dimension: int) -> LeastSquares:
    """x ↦ ½‖x − (target, …, target)‖²: every agent pulls towards its own point, with curvature L = 1."""
    return LeastSquares(np.eye(dimension), np.full(dimension, target), 0.0, 2.0)


def _audited(simulation: Simulation, other: Tilted, claim: Claim, words: str, trials: int = 400) -> AuditResult:
    """Agent 1's claim audited on `trials` transcripts of each world, in two chunks, at 95 % confidence."""
    pair = Pair(AGENT, (simulation.problem.objectives[AGENT], other), words)
    simulate, rng = worlds(simulation, AGENT, other, trials // 2, delta=claim.delta), np.random.default_rng(0)
    return audit(simulate, pair, claim, trials=trials, chunk=trials // 2, confidence=0.95, rng=rng)


# ── budgets by round ────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class _Course:
    """ε of all that agent 1 has sent by the end of each round k = 1, 2, …, arrays of shape (rounds,).

    From the round on in which noise drowns in the rounding of what it covers, nothing is judged: NaN.

    `claimed` is what is claimed by then, NaN where the formula's conditions fail; `exact` the exact ε of this pair;
    `cost` what round k alone adds, ‖Δ‖₁/b. `found` is the audit of the whole run.
    """

    claimed: Array
    exact: Array
    cost: Array
    found: AuditResult

    @property
    def rounds(self) -> list[int]:
        return list(range(1, len(self.exact) + 1))

    @property
    def judged(self) -> int:
        return int(np.isfinite(self.exact).sum())

    @property
    def final(self) -> float:
        """The exact ε of all rounds that are judged."""
        return float(self.exact[self.judged - 1])

    @property
    def broken_in(self) -> int | None:
        """The first round by which the exact ε exceeds what is claimed by then; None if none does."""
        over = np.flatnonzero(self.exact > self.claimed * (1 + 1e-9) + 1e-5)
        return int(over[0]) + 1 if over.size else None


@lru_cache(REMEMBERED)
def descent(
    ratio: float, scale: float, rounds: int, *, counted: Literal["by release", "as if it stayed"] = "by release"
) -> _Course:
    """Clipped gradient descent under Laplace noise of scale b·q^k in round k: the budget is Σ_k 2Cη/b_k.

    `counted` "as if it stayed" claims 2Cη/b for each release, whatever the noise has become. The pair turns agent 1's
    clipped gradient round, so that each release costs all that it can.
    """
    part, slope = pulling(APART * AGENT, 1), np.array([STEEP])
    one, two = Tilted(part, slope), Tilted(part, -slope)
    algorithm = PrivateGradientDescent(rounds, Constant(STEP), Geometric(scale, ratio), Clip(BOUND, "l1"))
    as_claimed = algorithm if counted == "by release" else replace(algorithm, scale=Constant(scale))
    anything = Adjacency(math.inf, "all data of one agent replaced")
    return _course(algorithm, as_claimed, (one, two), anything, "the clipped gradient of agent 1 turned round")


@lru_cache(REMEMBERED)
def tracking(ratio: float, step: float, scale_x: float, scale_y: float, rounds: int) -> _Course:
    """DiaDSP: Laplace noise of scales d_x q^k and d_y q^k, claimed by CPGT's eq. 23; agent 1's gradient moves by 1.

    On quadratics of curvature L = 1 the worlds' differences decay by `decay(step)` a round; the budget stays finite
    exactly where the noise decays slower.
    """
    algorithm = DiaDSP(rounds, step, scale_x, scale_y, ratio)
    adjacency = Adjacency.within(1.0, "l2", 1, "the gradient of one agent moved by a constant of at most 1")
    mine = pulling(APART * AGENT, 1)
    pair = (mine, Tilted(mine, np.array([1.0])))
    return _course(algorithm, algorithm, pair, adjacency, "the gradient of agent 1 moved by 1")


def decay(step: float) -> float:
    """(α + √(α² + 4α))/2, by which the difference of two worlds of DiaDSP shrinks (or grows) in each round, L = 1.

    It is the larger root of z² = αz + α: x^{k+1} differs by α times what y^k does, y^{k+1} by what x^{k+1} and x^k do
    together.
    """
    return (step + math.sqrt(step**2 + 4 * step)) / 2


def spent(first: float, ratio: float, budget: float) -> list[float]:
    """Σ_{k<T} first·ratio^−k of T = 1, 2, … releases, the first of which costs `first` and each later one 1/ratio
    times more (`ratio` ≤ 1): up to the first sum that exceeds the budget."""
    sums = [first]
    while sums[-1] <= budget * (1 + 1e-12):
        sums.append(sums[-1] + first * ratio ** -len(sums))
    return sums


def _simulation(algorithm: Algorithm, mine: object) -> Simulation:
    parts = [pulling(APART * i, 1) for i in range(AGENTS)]
    parts[AGENT] = mine  # pyright: ignore[reportArgumentType, reportCallIssue]  # any objective
    return Simulation(Problem(tuple(parts)), topology.ring(AGENTS), algorithm)


def _course(
    algorithm: InRounds, as_claimed: InRounds, pair: tuple[object, Tilted], adjacency: Adjacency, words: str
) -> _Course:
    """The algorithm's run audited on a pair, under the claims that `as_claimed` makes of its first 1, 2, … rounds."""
    claims: list[Claim] = []
    for k in range(1, algorithm.rounds + 1):
        claim = _simulation(replace(as_claimed, rounds=k), pair[0]).claim(adjacency, k, 0.0)
        assert claim is not None
        claims.append(claim)
    found = _audited(_simulation(algorithm, pair[0]), pair[1], claims[-1], words)
    by_round: dict[int, float] = {}
    for level in (level for world in found.exact for level in world.growth):
        by_round[level.activation] = max(by_round.get(level.activation, 0.0), level.estimate)
    activations = found.loss_breakdown.breakdown.activations
    cost = np.array([activations[k].spent.most for k in range(1, len(claims) + 1)])
    exact = np.maximum.accumulate([by_round[k] for k in range(1, len(claims) + 1)])
    drowned = min((e.unreliable_from for e in found.exact if e.unreliable_from is not None), default=None)
    if drowned is not None:
        cost[drowned - 1 :], exact[drowned - 1 :] = math.nan, math.nan
    claimed = np.array([math.nan if claim.epsilon is None else claim.epsilon for claim in claims])
    return _Course(claimed, np.asarray(exact, dtype=np.float64), cost, found)


# ── the same budget, spent in two ways ──────────────────────────────────────────────────────────────────
class _Paths(NamedTuple):
    """Relative error by round, (rounds,): median over replicas of the worst agent, 10 % and 90 % quantiles."""

    steady: tuple[Array, Array, Array]
    fading: tuple[Array, Array, Array]


@lru_cache(REMEMBERED)
def same_budget(epsilon: float, ratio: float, rounds: int, *, replicas: int = 100) -> _Paths:
    """Gradient descent under noise that stays, and DiaDSP under noise that decays, at the same exact ε for an agent
    whose gradient is moved by 1.

    The noise of each is scaled by what an audit says that it costs: ε is inverse to the scale.
    """
    mine = pulling(APART * AGENT, 1)
    words, other = "the gradient of agent 1 moved by 1", Tilted(mine, np.array([1.0]))
    claim = Claim(1.0, 0.0, "to be measured", Adjacency.within(1.0, "l2", 1, "moved by 1"), "ℓ1")

    def path(algorithm: PrivateGradientDescent | DiaDSP) -> tuple[Array, Array, Array]:
        simulation = _simulation(algorithm, mine)
        cost = _audited(simulation, other, claim, words, trials=100).epsilon_exact
        priced = replace(simulation, algorithm=algorithm.scaled(cost / epsilon), replicas=replicas, seed=0)
        metrics = replace(priced, recording=Recording(private="nothing")).run().metrics
        assert metrics is not None
        low, median, high = np.quantile(metrics.worst_by_round(AGENTS), (0.1, 0.5, 0.9), axis=1)
        return median, low, high

    steady = PrivateGradientDescent(rounds, Constant(STEP), Constant(1.0), state="released")
    return _Paths(path(steady), path(DiaDSP(rounds, 0.1, 1.0, 1.0, ratio)))


# ── three ways to add up ────────────────────────────────────────────────────────────────────────────────
class _Accounts(NamedTuple):
    """ε at δ of so many releases, arrays like these.

    `basic`: T·ε₀, at δ = 0 even. `advanced`: Dwork, Rothblum, Vadhan 2010, the smaller of it and `basic`. `exact`: by
    netsim's quadrature of the loss's law. `pld`: by `dp_accounting` (an upper bound within its discretization), None
    where that is not installed.
    """

    basic: Array
    advanced: Array
    exact: Array
    pld: Array | None


@lru_cache(REMEMBERED)
def accounts(each: float, delta: float, releases: tuple[int, ...]) -> _Accounts:
    """Releases of `each` (ε at δ = 0), Laplace noise over one number, added up in each of the ways."""
    basic = np.array(releases) * each
    smaller = np.minimum(basic, [advanced(each, many, delta) for many in releases])
    exact = np.array([product_epsilon(Product(0.0, (each,) * many), delta) for many in releases])
    try:
        from dp_accounting.pld import privacy_loss_distribution as distributions
    except ImportError:
        return _Accounts(basic, smaller, exact, None)
    one = distributions.from_laplace_mechanism(1 / each, value_discretization_interval=each / 200)
    pld = [float(one.self_compose(many).get_epsilon_for_delta(delta)) for many in releases]
    return _Accounts(basic, smaller, exact, np.array(pld))


def advanced(each: float, releases: int, delta: float) -> float:
    """ε₀√(2T ln 1/δ) + Tε₀(e^ε₀ − 1), for T releases that are ε₀-private each; below T·ε₀ for many small ones only.

    Dwork, Rothblum, Vadhan 2010, Theorem III.3.
    """
    return each * math.sqrt(2 * releases * math.log(1 / delta)) + releases * each * math.expm1(each)


# ── noise for the wrong norm ────────────────────────────────────────────────────────────────────────────
Way = Literal["even", "coordinate", "random"]
"""Where the change points: all coordinates alike, one alone, or anywhere."""
DELTA = 1e-2
"""Of audits with δ > 0: one that a few thousand transcripts can resolve."""


@dataclass(frozen=True)
class _Found:
    """One audit: the change's ℓ1 and ℓ2 norms, the claim of the noise, and the audit of it."""

    l1: float
    l2: float
    claimed: float
    found: AuditResult

    @classmethod
    def of(cls, change: Array, claimed: float, found: AuditResult) -> "_Found":
        return cls(float(length(change, "l1")), float(length(change, "l2")), claimed, found)

    @property
    def exact(self) -> float:
        return self.found.epsilon_exact

    @property
    def verdict(self) -> str:
        return str(self.found.judgement.verdict)

    @property
    def ratio(self) -> float:
        return self.exact / self.claimed


@lru_cache(REMEMBERED)
def released(
    dimension: int,
    epsilon: float,
    way: Way,
    noise: Literal["Laplace", "Laplace for ℓ1", "Gaussian"],
    trials: int = 1000,
) -> _Found:
    """One release under noise for a claim of ε for every change of ℓ2 norm 1, of which this one is audited.

    "Laplace" is scaled to the largest change in ℓ2, 1: wrong, the exact ε is ‖Δ‖₁/b. "Laplace for ℓ1" is scaled to
    the largest in ℓ1, √d: right. "Gaussian" at (ε, `DELTA`) is right in every direction.
    """
    change, delta = direction(way, dimension, 0), DELTA if noise == "Gaussian" else 0.0
    mechanism = Laplace((math.sqrt(dimension) if noise == "Laplace for ℓ1" else 1.0) / epsilon)
    mechanism = Gaussian(1 / gaussian_mu(epsilon, DELTA)) if noise == "Gaussian" else mechanism
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    claim = Claim(epsilon, delta, "one release", adjacency, "ℓ2")
    world = turned(OneRelease(mechanism), (0 * change, change), claim, math.nan)
    return _Found.of(change, epsilon, world.audited(trials, Streams(0)))


@lru_cache(REMEMBERED)
def published(dimension: int, way: Way) -> _Found:
    """DiaDSP with the noise for which CPGT's eq. 23 claims ε = 1, for a change of a gradient of ℓ2 norm 1 at most."""
    change, mine, rounds = direction(way, dimension), pulling(10.0, dimension), 10
    problem = Problem(tuple(mine if i == AGENT else pulling(float(i), dimension) for i in range(AGENTS)))
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    plain = Simulation(problem, topology.ring(AGENTS), DiaDSP(rounds, 0.02, 1.0, 1.0, 0.9))
    algorithm = plain.algorithm.calibrated(1.0, 0.0, adjacency, plain.setting(rounds))
    simulation = Simulation(problem, topology.ring(AGENTS), algorithm)
    claim = simulation.claim(adjacency, rounds, 0.0)
    assert claim is not None
    assert claim.epsilon is not None
    found = _audited(simulation, Tilted(mine, change), claim, f"the gradient of agent {AGENT} moved ({way})")
    return _Found.of(change, claim.epsilon, found)


def epsilon_at(dimension: int, epsilon: float, delta: float) -> float:
    """ε(δ) of that noise and an even change: d Laplace numbers, each shifted by ε/√d of its scale."""
    return product_epsilon(Product(0.0, (epsilon / math.sqrt(dimension),) * dimension), delta)


def noise_sizes(dimension: int, epsilon: float, delta: float) -> dict[str, float]:
    """√E‖noise‖₂² that protects a change of ℓ2 norm 1: of Laplace noise for ℓ1 at ε, of Gaussian noise at (ε, δ).

    Laplace noise of scale b has the variance 2b² per coordinate, and needs b = √d/ε; of Gaussian noise it is the
    least σ (Balle, Wang 2018).
    """
    return {
        "Laplace for ℓ1": math.sqrt(2 * dimension) * math.sqrt(dimension) / epsilon,
        "Gaussian for ℓ2": math.sqrt(dimension) / gaussian_mu(epsilon, delta),
    }


def crossover(epsilon: float, delta: float) -> int:
    """The least dimension from which on the Gaussian noise is smaller."""
    sizes = ((dimension, noise_sizes(dimension, epsilon, delta)) for dimension in count(1))
    return next(d for d, size in sizes if size["Gaussian for ℓ2"] < size["Laplace for ℓ1"])
