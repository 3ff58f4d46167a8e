"""Lessons on privacy budgets: composition of many releases, and noise for the wrong norm."""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from attacks.audit.accounting.products import Product
from attacks.audit.accounting.quadrature import product_epsilon
from attacks.audit.audit import AuditResult, audit
from attacks.audit.pair import Pair
from netsim import topology
from netsim.algorithms import Algorithm, DiaDSP, PrivateGradientDescent
from netsim.algorithms.algorithm import InRounds
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim, Clip, length
from netsim.mechanisms import Gaussian, Laplace, Mechanism
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.problems.objective import direction
from netsim.randomness import Streams
from netsim.schedules import Constant, Geometric
from netsim.settings import Recording
from netsim.simulation import Simulation
from scenarios.certificate.worlds import OneRelease, World, gaussian_mu, turned
from scenarios.stages.worlds import worlds

REMEMBERED = 32
"""Results that are kept: a slider that is moved back costs nothing."""
AGENTS, AGENT, CURVATURE = 3, 1, 1.0
APART = 10.0
"""So far apart are the points that the agents pull towards, in every coordinate; no budget depends on it."""
STEEP = 1e6
"""A gradient so large is clipped whatever the point."""
STEP, BOUND = 0.2, 0.5
"""η and C of the descent: a clipped gradient moves the next release by 2Cη = 0.2 in ℓ1 at most."""


def pulling(target: float, dimension: int, curvature: float = CURVATURE) -> LeastSquares:
    """x ↦ L/2·‖x − (target, …, target)‖²: every agent pulls towards its own point, with the same curvature L."""
    root = math.sqrt(curvature)
    return LeastSquares(root * np.eye(dimension), np.full(dimension, root * target), 0.0, 2.0)


def _audited(
    simulation: Simulation, other: Tilted, claim: Claim, words: str, *, trials: int = 400, seed: int = 0
) -> AuditResult:
    """Agent 1's claim audited on `trials` transcripts of each world, in two chunks, at 95 % confidence."""
    pair = Pair(AGENT, (simulation.problem.objectives[AGENT], other), words)
    return audit(
        worlds(simulation, AGENT, other, trials // 2),
        pair,
        claim,
        trials=trials,
        chunk=trials // 2,
        confidence=0.95,
        rng=np.random.default_rng(seed),
    )


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
    def rounds(self) -> int:
        return len(self.exact)

    @property
    def judged(self) -> int:
        """So many rounds are judged."""
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
    noise = Geometric(scale, ratio)
    algorithm = PrivateGradientDescent(rounds, Constant(STEP), noise, Clip(BOUND, "l1"))
    simulation = _simulation(algorithm, one)
    anything = Adjacency(math.inf, "all data of one agent replaced")
    own = _claims(replace(algorithm, scale=noise if counted == "by release" else Constant(scale)), one, anything)
    return _course(simulation, two, own, "the clipped gradient of agent 1 turned round")


@lru_cache(REMEMBERED)
def tracking(ratio: float, step: float, scale_x: float, scale_y: float, rounds: int) -> _Course:
    """DiaDSP: Laplace noise of scales d_x q^k and d_y q^k, claimed by CPGT's eq. 23; agent 1's gradient moves by 1.

    On quadratics of curvature L = 1 the worlds' differences decay by `decay(step)` a round; the budget stays finite
    exactly where the noise decays slower.
    """
    algorithm = DiaDSP(rounds, step, scale_x, scale_y, ratio)
    other = Tilted(pulling(APART * AGENT, 1), np.array([1.0]))
    adjacency = Adjacency.within(1.0, "l2", 1, "the gradient of one agent moved by a constant of at most 1")
    own = _claims(algorithm, other.objective, adjacency)
    return _course(_simulation(algorithm, other.objective), other, own, "the gradient of agent 1 moved by 1")


def decay(step: float, curvature: float = CURVATURE) -> float:
    """(αL + √(α²L² + 4αL))/2, by which the difference of two worlds of DiaDSP shrinks (or grows) in each round.

    It is the larger root of z² = αLz + αL: x^{k+1} differs by α times what y^k does, y^{k+1} by L times what x^{k+1}
    and x^k do together.
    """
    slope = step * curvature
    return (slope + math.sqrt(slope**2 + 4 * slope)) / 2


def geometric_budget(first: float, ratio: float, releases: int) -> float:
    """Σ_{k<T} first·ratio^−k: T releases, of which the first costs `first` and each later one 1/ratio times more."""
    return math.fsum(first * ratio**-k for k in range(releases))


def first_above(first: float, ratio: float, budget: float, most: int = 10_000) -> int | None:
    """The fewest releases that together cost more than `budget`; None if `most` do not."""
    spent = 0.0
    for k in range(most):
        spent += first * ratio**-k
        if spent > budget * (1 + 1e-12):
            return k + 1
    return None


def _simulation(algorithm: Algorithm, mine: object, agents: int = AGENTS, dimension: int = 1) -> Simulation:
    parts = [pulling(APART * i, dimension) for i in range(agents)]
    parts[AGENT] = mine  # pyright: ignore[reportArgumentType, reportCallIssue]  # any objective
    return Simulation(Problem(tuple(parts)), topology.ring(agents), algorithm)


def _claims(algorithm: InRounds, mine: object, adjacency: Adjacency) -> list[Claim]:
    """Claims of the first 1, 2, … rounds."""
    found: list[Claim] = []
    for k in range(1, algorithm.rounds + 1):
        claim = _simulation(replace(algorithm, rounds=k), mine).claim(adjacency, k, 0.0)
        assert claim is not None
        found.append(claim)
    return found


def _course(simulation: Simulation, other: Tilted, own: list[Claim], words: str) -> _Course:
    found = _audited(simulation, other, own[-1], words)
    first, second = found.exact
    by_round: dict[int, float] = {}
    for level in (*first.growth, *second.growth):
        by_round[level.activation] = max(by_round.get(level.activation, 0.0), level.estimate)
    spent = found.loss_breakdown.breakdown.activations
    cost = np.array([spent[k].spent.most for k in range(1, len(own) + 1)])
    exact = np.maximum.accumulate([by_round[k] for k in range(1, len(own) + 1)])
    drowned = min((e.unreliable_from for e in found.exact if e.unreliable_from is not None), default=None)
    if drowned is not None:
        cost[drowned - 1 :], exact[drowned - 1 :] = math.nan, math.nan
    claimed = np.array([math.nan if claim.epsilon is None else claim.epsilon for claim in own])
    return _Course(claimed, np.asarray(exact, dtype=np.float64), cost, found)


# ── the same budget, spent in two ways ──────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Paths:
    """Relative error by round, (rounds,): medians over replicas of the worst agent, with 10 % and 90 % quantiles.

    Both runs cost `epsilon` exactly, for an agent whose gradient is moved by 1.
    """

    epsilon: float
    steady: tuple[Array, Array, Array]
    fading: tuple[Array, Array, Array]


@lru_cache(REMEMBERED)
def same_budget(epsilon: float, ratio: float, rounds: int, *, replicas: int = 100, seed: int = 0) -> _Paths:
    """Gradient descent under noise that stays, and DiaDSP under noise that decays, at the same exact ε.

    The noise of each is scaled by what an audit says that it costs: ε is inverse to the scale.
    """
    target = Tilted(pulling(APART * AGENT, 1), np.array([1.0]))
    steady = PrivateGradientDescent(rounds, Constant(STEP), Constant(1.0), state="released")
    fading = DiaDSP(rounds, 0.1, 1.0, 1.0, ratio)
    return _Paths(epsilon, *(_path(one, target, epsilon, replicas, seed) for one in (steady, fading)))


def _path(
    algorithm: PrivateGradientDescent | DiaDSP, other: Tilted, epsilon: float, replicas: int, seed: int
) -> tuple[Array, Array, Array]:
    adjacency = Adjacency.within(1.0, "l2", 1, "moved by 1")
    simulation = _simulation(algorithm, other.objective)
    claim = Claim(1.0, 0.0, "to be measured", adjacency, "ℓ1")
    cost = _audited(simulation, other, claim, "the gradient of agent 1 moved by 1", trials=100).epsilon_exact
    priced = replace(simulation, algorithm=algorithm.scaled(cost / epsilon), replicas=replicas, seed=seed)
    metrics = replace(priced, recording=Recording(private="nothing")).run().metrics
    assert metrics is not None
    errors = metrics.worst_by_round(AGENTS)
    low, median, high = np.quantile(errors, (0.1, 0.5, 0.9), axis=1)
    return median, low, high


# ── three ways to add up ────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class _Accounts:
    """ε at δ of 1, 2, … releases of `each` (ε at δ = 0), Laplace noise over one number; arrays like `releases`.

    `basic`: T·ε₀, at δ = 0 even. `advanced`: Dwork, Rothblum, Vadhan 2010, the smaller of it and `basic`. `exact`: by
    netsim's quadrature of the loss's law. `pld`: by `dp_accounting`, None where that is not installed.
    """

    each: float
    delta: float
    releases: Array
    basic: Array
    advanced: Array
    exact: Array
    pld: Array | None


@lru_cache(REMEMBERED)
def accounts(each: float, delta: float, releases: tuple[int, ...]) -> _Accounts:
    """The same releases, added up in each of the ways."""
    counts = np.array(releases)
    basic = counts * each
    pld = _pld_epsilons(each, delta, releases)
    return _Accounts(
        each,
        delta,
        counts,
        basic,
        np.minimum(basic, [advanced(each, count, delta) for count in releases]),
        np.array([_exact_epsilon(each, count, delta) for count in releases]),
        None if pld is None else np.array(pld),
    )


def advanced(each: float, releases: int, delta: float) -> float:
    """ε₀√(2T ln 1/δ) + Tε₀(e^ε₀ − 1), for T releases that are ε₀-private each; below T·ε₀ for many small ones only.

    Dwork, Rothblum, Vadhan 2010, Theorem III.3.
    """
    return each * math.sqrt(2 * releases * math.log(1 / delta)) + releases * each * math.expm1(each)


def _exact_epsilon(each: float, releases: int, delta: float) -> float:
    """ε(δ) of T Laplace releases over one number with Δ/b = ε₀ each."""
    return product_epsilon(Product(0.0, (each,) * releases), delta)


def advanced_wins_from(each: float, delta: float, most: int = 100_000) -> int | None:
    """The fewest releases at which advanced composition promises less than T·ε₀; None if not for `most`."""
    return next((t for t in range(1, most) if advanced(each, t, delta) < t * each), None)


def _pld_epsilons(each: float, delta: float, releases: tuple[int, ...]) -> list[float] | None:
    """The same by Google's `dp_accounting` (an upper bound within its discretization); None without the package."""
    try:
        from dp_accounting.pld import privacy_loss_distribution as distributions
    except ImportError:
        return None
    one = distributions.from_laplace_mechanism(1 / each, value_discretization_interval=each / 200)
    return [float(one.self_compose(count).get_epsilon_for_delta(delta)) for count in releases]


Way = Literal["even", "coordinate", "random"]
"""Where the change points: all coordinates alike, one alone, or anywhere."""
DELTA = 1e-2
"""Of audits with δ > 0: one that a few thousand transcripts can resolve."""


@dataclass(frozen=True)
class _Found:
    """One audit: the change's ℓ1 and ℓ2 norms, the noise's claim, and the audit of it."""

    dimension: int
    l1: float
    l2: float
    claimed: float
    found: AuditResult

    @property
    def exact(self) -> float:
        return self.found.epsilon_exact

    @property
    def ratio(self) -> float:
        """ε exact over ε claimed."""
        return self.exact / self.claimed


@lru_cache(REMEMBERED)
def laplace(
    dimension: int, epsilon: float, way: Way, *, calibrated: Literal["l1", "l2"], trials: int = 1000, seed: int = 0
) -> _Found:
    """Laplace noise for a claim of ε, its scale from the largest change in ℓ2 (1: wrong) or in ℓ1 (√d: right).

    The exact ε of the pair is ‖Δ‖₁/b, the claim is ε for every change of ℓ2 norm 1.
    """
    sensitivity = math.sqrt(dimension) if calibrated == "l1" else 1.0
    return _released(Laplace(sensitivity / epsilon), dimension, epsilon, 0.0, way, trials, seed)


@lru_cache(REMEMBERED)
def gaussian(dimension: int, epsilon: float, way: Way, *, trials: int = 1000, seed: int = 0) -> _Found:
    """Gaussian noise for a claim of (ε, `DELTA`), its deviation from the change in ℓ2: right in every direction."""
    return _released(Gaussian(deviation(epsilon, DELTA)), dimension, epsilon, DELTA, way, trials, seed)


def deviation(epsilon: float, delta: float) -> float:
    """The least σ at which one Gaussian release of a change of ℓ2 norm 1 is (ε, δ)-private (Balle, Wang 2018)."""
    return 1 / gaussian_mu(epsilon, delta)


def _released(
    mechanism: Mechanism, dimension: int, epsilon: float, delta: float, way: Way, trials: int, seed: int
) -> _Found:
    change = direction(way, dimension, seed)
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    claim = Claim(epsilon, delta, "one release", adjacency, "ℓ2")
    world: World = turned(OneRelease(mechanism), (0 * change, change), claim, math.nan)
    found = world.audited(trials, Streams(seed))
    return _Found(dimension, float(length(change, "l1")), float(length(change, "l2")), epsilon, found)


@lru_cache(REMEMBERED)
def published(dimension: int, way: Way, *, epsilon: float = 1.0, rounds: int = 10) -> _Found:
    """DiaDSP with the noise for which CPGT's eq. 23 claims ε, for a change of a gradient of ℓ2 norm 1 at most."""
    change = direction(way, dimension)
    mine = pulling(10.0, dimension)
    problem = Problem(tuple(mine if i == AGENT else pulling(float(i), dimension) for i in range(AGENTS)))
    adjacency = Adjacency.within(1.0, "l2", dimension, "the gradient of one agent moved by at most 1 in ℓ2")
    plain = Simulation(problem, topology.ring(AGENTS), DiaDSP(rounds, 0.02, 1.0, 1.0, 0.9))
    setting = plain.setting(rounds)
    algorithm = plain.algorithm.calibrated(epsilon, 0.0, adjacency, setting)
    simulation = Simulation(problem, topology.ring(AGENTS), algorithm)
    claim = simulation.claim(adjacency, rounds, 0.0)
    assert claim is not None
    assert claim.epsilon is not None
    words = f"the gradient of agent {AGENT} moved ({way})"
    found = _audited(simulation, Tilted(mine, change), claim, words)
    return _Found(dimension, float(length(change, "l1")), float(length(change, "l2")), claim.epsilon, found)


# ── formulas ────────────────────────────────────────────────────────────────────────────────────────────


def true_epsilon(dimension: int, epsilon: float) -> float:
    """√d·ε: what Laplace noise of scale 1/ε gives where the change has ℓ2 norm 1 and the largest ℓ1 norm, √d."""
    return math.sqrt(dimension) * epsilon


def epsilon_at(dimension: int, epsilon: float, delta: float) -> float:
    """ε(δ) of that noise and change: d Laplace numbers, each shifted by ε/√d of its scale."""
    return product_epsilon(Product(0.0, (epsilon / math.sqrt(dimension),) * dimension), delta)


def noise_sizes(dimension: int, epsilon: float, delta: float) -> dict[str, float]:
    """√E‖noise‖₂² that protects a change of ℓ2 norm 1: of Laplace noise for ℓ1 at ε, of Gaussian noise at (ε, δ).

    Laplace noise of scale b has the variance 2b² per coordinate, and needs b = √d/ε.
    """
    return {
        "Laplace for ℓ1": math.sqrt(2 * dimension) * math.sqrt(dimension) / epsilon,
        "Gaussian for ℓ2": math.sqrt(dimension) * deviation(epsilon, delta),
    }


def crossover(epsilon: float, delta: float, most: int = 10_000) -> int | None:
    """The least dimension from which on the Gaussian noise is smaller; None if not up to `most`."""
    for dimension in range(1, most + 1):
        sizes = noise_sizes(dimension, epsilon, delta)
        if sizes["Gaussian for ℓ2"] < sizes["Laplace for ℓ1"]:
            return dimension
    return None
