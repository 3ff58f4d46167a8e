"""What the ADMM family claims: golden numbers by hand, conditions, calibration, and bounds no pair may exceed."""

import math
from dataclasses import replace

import numpy as np
import pytest
from scipy import integrate

from attacks.audit.accounting.formulas import gaussian_epsilon
from netsim.algorithms import DAdmm, DpAdmm, Extra, IcAdmm, MrAdmm, Nids, PgExtra, RAdmm, RwAdmm, Walkman
from netsim.algorithms.composition import perturbed_objective, zcdp_epsilon
from netsim.claims import Adjacency
from netsim.errors import PrivacyError
from netsim.problems import LeastSquares, LogisticLoss
from netsim.schedules import Constant, Geometric, Polynomial
from netsim.simulation import setting_of
from netsim.topology import grid, ring, star
from tests.attacks.auditing import replayed
from tests.netsim.algorithms.admm_family import GRAPHS, MEMBERS, noisy, problem_of, tapped
from tests.worlds import synthetic_problem

G, C, DELTA = 0.25, 1 / 32, 1e-3
RECORD = Adjacency(G, "one record of one agent replaced", C)
PROBLEM = problem_of("logistic")  # six agents, d = 4, ridge 1/2: every μ_i is 1/2
L = PROBLEM.smoothness
SCALES = [0.5 * 0.9**k for k in range(3)]
NOISE = Geometric(0.5, 0.9)


def setting(topology=None, releases=3):
    return setting_of(PROBLEM, topology or ring(6), releases)


def laplace(moves):
    """d = 4, so √d = 2."""
    return sum(2 * m / b for m, b in zip(moves, SCALES, strict=True))


def gaussian(moves):
    rho = sum(m**2 / (2 * s**2) for m, s in zip(moves, SCALES, strict=True))
    return rho + 2 * math.sqrt(rho * math.log(1e3))


def ic_moves():
    """Δ¹ = G/γ, Δ^{k+1} = (qΔ^k + G)/γ, γ = L + 4c on a ring, q = L − ½."""
    gamma, q = L + 4 * 0.3, L - 0.5
    first = G / gamma
    second = (q * first + G) / gamma
    return [first, second, (q * second + G) / gamma]


def walkman_moves():
    """β = 3, ‖Δg_1‖ ≤ G, ‖Δg_2‖ ≤ G + (L/β)‖Δg_1‖, …, for the agent of largest L_i."""
    one = G
    two = G + L / 3 * one
    three = G + L / 3 * (two + one)
    return [2 * one / 18, (2 * two + 3 * one) / 18, (2 * three + 3 * two + one) / 18]


def proximal_walkman_moves():
    """β = 3, μ = ½: z_1 = 3G/3.5, reflections 2G/3.5, z_1/3 + 2G/3.5, …"""
    z1 = 3 * G / 3.5
    z2 = L / (L + 3) * z1 + z1
    s1, s2, s3 = (2 * G / 3.5 + z / 3 for z in (0.0, z1, z2))
    return [s1 / 6, (s2 + s1) / 6, (s3 + s2) / 6]


STAR_STEP = Polynomial(1 / L, 0.5)
ADDITIVE = [
    (IcAdmm(3, 0.3, L), ring(6), ic_moves()),
    (DAdmm(3, 0.3), ring(6), [G / (4 * 0.3 + 0.5)] * 3),
    (DAdmm(3, 0.3), grid(2, 3), [G / (4 * 0.3 + 0.5)] * 3),  # its corners have two neighbors
    (DAdmm(3, 0.6, "primal", 0.1, 1.5, divided=True), grid(2, 3), [G / (1.2 * 1.5**k + 0.5) for k in range(3)]),
    (DpAdmm(3, 0.7, STAR_STEP), star(6), [G / (0.7 + L * math.sqrt(k + 1)) for k in range(3)]),
    (RwAdmm(0.3, activations=50), ring(6), [G / (4 * 0.3 + 0.5)] * 3),
    (RwAdmm(0.3, "everybody", per_agent=3), ring(6), [G / (4 * 0.3 + 0.5)] * 3),
    (RwAdmm(0.3, "bernoulli", rounds=9, per_agent=3), ring(6), [G / (4 * 0.3 + 0.5)] * 3),
    (Walkman(3.0, activations=50), ring(6), walkman_moves()),
    (Walkman(3.0, "prox", activations=50), ring(6), proximal_walkman_moves()),
]
BY_FREQUENCY = [(kind(3, 0.2), ring(6), [0.2 * G] * 3) for kind in (Extra, PgExtra, Nids)]
"""Theorem 1 of the DP-RECAL paper: a release by itself moves by αG."""


@pytest.mark.parametrize(("algorithm", "topology", "moves"), [*ADDITIVE, *BY_FREQUENCY])
def test_noise_on_what_is_sent_by_hand(algorithm, topology, moves):
    pure = replace(algorithm, scale=NOISE, noise="laplace").claim(RECORD, setting(topology), DELTA)
    rho = replace(algorithm, scale=NOISE, noise="gaussian").claim(RECORD, setting(topology), DELTA)
    assert pure.epsilon == pytest.approx(laplace(moves), rel=1e-12)
    assert (pure.delta, pure.norm) == (0.0, "ℓ1")
    assert rho.epsilon == pytest.approx(gaussian(moves), rel=1e-12)
    assert (rho.delta, rho.norm) == (DELTA, "ℓ2")


PERTURBED = [
    (DAdmm(3, 0.3, "dual"), [1.2] * 3, [2.0] * 3),
    (DAdmm(3, 0.3, "penalty", growth=1.5), [1.2, 1.8, 2.7], [1.2, 1.8, 2.7]),
    (RAdmm(5, penalty=0.3, linearization=L), [1.2] * 3, [1.0] * 3),
    (RAdmm(6, penalty=0.3, linearization=L), [1.2] * 3, [1.0] * 3),
    (MrAdmm(6, L, Geometric(0.3, 1.5), 0.3, most=0.6), [1.2, 1.8, 2.4], [1.0] * 3),
]


@pytest.mark.parametrize(("algorithm", "curvatures", "factors"), PERTURBED)
def test_objective_perturbation_by_hand(algorithm, curvatures, factors):
    """Every other round of R-ADMM costs nothing: 5 and 6 rounds are 3 releases."""
    determinants = sum(4 * math.log(1 + C / (4 * kappa)) for kappa in curvatures)
    pure = replace(algorithm, scale=NOISE, noise="laplace").claim(RECORD, setting(), DELTA)
    scales = [factor * b for factor, b in zip(factors, SCALES, strict=True)]
    assert pure.epsilon == pytest.approx(determinants + sum(2 * G / b for b in scales), rel=1e-12)
    assert pure.delta == 0.0
    found = replace(algorithm, scale=NOISE, noise="gaussian").claim(RECORD, setting(), DELTA)

    def tail(t):  # P(‖b‖ > t) of four standard normal numbers
        return integrate.quad(lambda r: r**3 * math.exp(-(r**2) / 2) / 2, t, np.inf)[0]

    longest = 1.0
    for _ in range(60):  # Newton on log P = log(δ/3)
        slope = -(longest**3) * math.exp(-(longest**2) / 2) / 2
        longest -= (tail(longest) - DELTA / 3) / slope if longest > 2 else -0.5
    ratios = [G / s for s in scales]
    expected = determinants + sum(t**2 / 2 + t * longest for t in ratios)
    assert found.epsilon == pytest.approx(expected, rel=1e-6)
    assert found.delta == DELTA


ALL = [a for a, _, _ in ADDITIVE] + [a for a, _, _ in PERTURBED]


def test_no_noise_buys_less_than_the_determinants():
    algorithm = RAdmm(6, penalty=0.3, linearization=L, scale=Constant(1.0))
    with pytest.raises(PrivacyError, match="no noise up to"):
        algorithm.calibrated(0.99 * 3 * 4 * math.log(1 + C / 4.8), 0.0, RECORD, setting())


@pytest.mark.parametrize("algorithm", ALL)
@pytest.mark.parametrize(
    ("change", "adjacency", "where", "delta", "reason"),
    [
        ({"scale": Constant(0.0)}, RECORD, setting(), DELTA, "release 0 has no noise"),
        ({"noise": "gaussian"}, RECORD, setting(), 0.0, "δ = 0"),
        ({}, Adjacency(math.inf, "any", C), setting(), DELTA, "no finite bound"),
        ({}, RECORD, replace(setting(), topology=None), DELTA, "no topology"),
    ],
)
def test_a_condition_that_fails_leaves_no_number(algorithm, change, adjacency, where, delta, reason):
    claim = replace(algorithm, **({"scale": NOISE} | change)).claim(adjacency, where, delta)
    assert claim.epsilon is None
    assert any(reason in condition for condition in claim.failed_conditions)


@pytest.mark.parametrize("algorithm", ALL)
def test_only_objective_perturbation_asks_for_the_hessian(algorithm):
    claim = replace(algorithm, scale=NOISE).claim(Adjacency(G, "a record"), setting(), DELTA)
    asked = any("Hessian" in condition for condition in claim.failed_conditions)
    assert asked == (algorithm in [a for a, _, _ in PERTURBED]) == (claim.epsilon is None)


# ── bounds against numbers ──────────────────────────────────────────────────────────────────────────────
def determinant_loss(change, kappa, d):
    """What noise without end leaves."""
    adjacency = Adjacency(1.0, "a shift", change)
    return perturbed_objective("laplace", adjacency, [kappa], [math.inf], d, 0.0)


def test_no_determinant_moves_more_than_its_bound():
    """1,000 random logistic pairs, one record or all of them replaced, at random points; some come near."""
    rng, largest = np.random.default_rng(4), 0.0
    for trial in range(1000):
        d, m = int(rng.integers(1, 6)), int(rng.integers(1, 5))
        rows = rng.normal(size=(2, m, d))
        rows /= np.maximum(1, np.linalg.norm(rows, axis=-1, keepdims=True))
        signs = rng.choice((-1.0, 1.0), size=(2, m))
        one = LogisticLoss(rows[0], signs[0], 0.1)
        all_of_it = trial % 2
        two = LogisticLoss(rows[1], signs[1], 0.1) if all_of_it else one.with_record(0, rows[1, 0], signs[1, 0])
        change = 0.25 if all_of_it else 0.25 / m
        kappa, x = float(10 ** rng.uniform(-2, 1)), rng.normal(size=d) * rng.choice((0.0, 0.3, 3.0))
        logs = [np.linalg.slogdet(kappa * np.eye(d) + f.hessian(x))[1] for f in (one, two)]
        bound = determinant_loss(change, kappa, d)
        largest = max(largest, abs(logs[0] - logs[1]) / bound)
        assert abs(logs[0] - logs[1]) <= bound
    assert largest > 0.5


def test_the_determinant_bound_is_attained():
    """Least squares whose Hessian grows by the same in every direction."""
    d, kappa = 3, 0.4
    one, two = LeastSquares(np.eye(d), np.zeros(d)), LeastSquares(2 * np.eye(d), np.zeros(d))
    change = np.trace(two.hessian(np.zeros(d)) - one.hessian(np.zeros(d)))
    logs = [np.linalg.slogdet(kappa * np.eye(d) + f.hessian(np.zeros(d)))[1] for f in (one, two)]
    # H grows from I/3 to 4I/3: only the bound with κ + 1/3 in κ's place is tight
    assert logs[1] - logs[0] == pytest.approx(determinant_loss(change, kappa + 1 / 3, d), rel=1e-12)
    assert logs[1] - logs[0] < determinant_loss(change, kappa, d)


def test_the_gaussian_bound_holds_with_its_probability():
    """One release in d = 2 with Δ as bad as G allows: a shift along the noise itself. P(loss > ε) = δ then."""
    rng, move, delta = np.random.default_rng(0), 0.3, 0.02
    noise = rng.standard_normal((200_000, 2))
    length = np.linalg.norm(noise, axis=1)
    losses = (move**2 + 2 * move * length) / 2
    epsilon = perturbed_objective("gaussian", Adjacency(move, "a shift", 0.0), [1.0], [1.0], 2, delta)
    assert np.mean(losses > epsilon) == pytest.approx(delta, rel=0.1)


MOVING = ["ic_admm", "pvp", "dp_admm", "everybody", "rw_admm", "walkman_gradient", "walkman_prox"]


@pytest.mark.few(11)
@pytest.mark.parametrize("kind", ["logistic", "ridge"])
@pytest.mark.parametrize("scale", [0.05, 1.0])
@pytest.mark.parametrize("name", MOVING)
def test_no_release_moves_more_than_its_bound(name, scale, kind):
    """Both worlds replayed on the same 150 transcripts: ‖Δ_k‖₂ against the bound, G being exact for the pair.

    A label flips, or a target moves along the direction of least curvature (the gradients differ by a constant).
    """
    member, problem = MEMBERS[name], problem_of(kind)
    graph, own = GRAPHS[member.graphs[0]], problem.objectives[1]
    if kind == "logistic":
        other = own.with_record(0, own.features[0], -float(own.labels[0]))
    else:
        flat = np.linalg.eigh(own.hessian(np.zeros(own.dimension)))[1][:, 0]
        other = LeastSquares(own.features, own.targets + np.linalg.pinv(own.features.T) @ flat, own.ridge)
    change = own.gradient_difference_bound(other)
    algorithm = noisy(member.make(problem, 60 if member.walk else 10), scale, 1.0)
    run = tapped(problem, graph, algorithm, replicas=150)
    a, b = (replayed(run, f).releases for f in (own, other))
    moves = np.array(bounds(algorithm, change, setting_of(problem, graph, len(a))))[: len(a)]
    seen = [np.linalg.norm(one.value - two.value, axis=1).max() for one, two in zip(a, b, strict=True)]
    assert len(seen) >= 4
    assert np.all(seen <= moves * (1 + 1e-9))
    assert seen[0] / moves[0] > 0.95
    if not name.startswith("walkman"):  # whose bound lets Δ∇f turn about between activations
        assert np.min(seen / moves) > 0.95


def moved_by_a_constant(kind, rounds=40, sigma=1.0):
    """‖Δ_k‖₂ of every release of agent 1 where a target moves its gradient by a constant vector in a direction in
    which its Hessian is no more than the ridge, over what Theorem 1 of the DP-RECAL paper counts, αG."""
    problem = problem_of("ridge")
    thin = LeastSquares(problem.objectives[1].features * [1.0, 1.0, 1.0, 0.01], problem.objectives[1].targets, 0.01)
    problem = problem.replace(1, thin)
    flat = np.linalg.eigh(thin.hessian(np.zeros(4)))[1][:, 0]
    other = LeastSquares(thin.features, thin.targets + np.linalg.pinv(thin.features.T) @ flat, thin.ridge)
    algorithm = kind(rounds, 0.3, noise="gaussian", scale=Constant(sigma))
    run = tapped(problem, GRAPHS["ring"], algorithm, replicas=20)
    a, b = (replayed(run, f).releases for f in (thin, other))
    change = thin.gradient_difference_bound(other)
    seen = [np.linalg.norm(one.value - two.value, axis=1).max() for one, two in zip(a, b, strict=True)]
    return np.array(seen) / (0.3 * change), 0.3 * change / sigma


def test_an_agents_state_makes_nids_exceed_the_budget_by_frequency():
    """Given the transcript NIDS's x has integrated every gradient: release k moves by about kαG, and what the pair
    really loses is above both readings of "Σ ε_j": ρ_j added up, and ε_j added up."""
    ratios, unit = moved_by_a_constant(Nids)
    assert ratios[0] == pytest.approx(2, rel=0.02)  # two gradients are in the first release
    assert ratios[-1] > 30
    true = gaussian_epsilon(unit * math.sqrt(np.sum(ratios**2)), 1e-3)
    rho = unit**2 / 2
    added = zcdp_epsilon(40 * rho, 1e-3), 40 * zcdp_epsilon(rho, 1e-3)
    assert true > max(added)


def test_what_is_mixed_anew_in_every_round_makes_extra_keep_it_for_a_constant_change():
    ratios, _ = moved_by_a_constant(Extra)
    assert ratios[0] == 0  # x⁰, before any gradient
    assert np.all(ratios <= 1 + 1e-9)
    assert ratios[1] == pytest.approx(1, rel=1e-9)


def bounds(algorithm, change, where):
    """How far each release of agent 1 may move."""
    if isinstance(algorithm, IcAdmm | Walkman):
        return algorithm.moves(change, where, 1)
    degree = len(where.topology.neighbors(1))
    if isinstance(algorithm, DpAdmm):
        return [change / (algorithm.penalty + 1 / algorithm.step(k)) for k in range(algorithm.rounds)]
    return [change / (2 * algorithm.penalty * degree + where.strong_convexity[1])] * where.releases


def test_the_agent_that_pays_most_is_the_one_that_counts():
    """On a path the ends have one neighbor: their minimizers move most."""
    problem = synthetic_problem(agents=6)
    claim = DAdmm(1, 0.3, scale=Constant(1.0)).claim(RECORD, setting_of(problem, grid(1, 6)), DELTA)
    assert claim.epsilon == pytest.approx(math.sqrt(6) * G / (2 * 0.3 + 0.5), rel=1e-12)
