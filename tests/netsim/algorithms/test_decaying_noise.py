"""DiaDSP and CPGT: where they end, what goes on the wire, and what eq. 23 is worth."""

import math
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from attacks.closed_form.descent import through_tracking
from attacks.replay import replay
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Cpgt, DiaDSP, GradientTracking, Setting
from netsim.claims import Adjacency
from netsim.codecs import Dither, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import AttackError, PrivacyError, ScenarioError, TranscriptError
from netsim.problems import LeastSquares, Problem
from netsim.randomness import Streams, dither_of
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from scenarios.build.experiment import Experiment
from scenarios.schema.load import load_scenario
from tests.attacks.auditing import judged
from tests.netsim.algorithms.mixing import (
    AGENTS,
    DIMENSION,
    GRAPHS,
    gradients,
    noises,
    points,
    problem,
    shifted,
    simulate,
)
from tests.oracles.cpgt import b_bit, cpgt, distances, identity, lemma_1, top
from tests.worlds import ROUGH, coins

COMPRESSORS = [Float64(), TopK(2), TopK(fraction=0.5), RandomK(2, unbiased=False), Quantizer(3), ScaledSign()]
DIADSP = DiaDSP(30, 0.1, 0.3, 0.2, 0.95)
CPGT = Cpgt(30, 0.1, 0.3, 0.2, 0.95, 0.4)


# ── where they end ──────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def limits():
    """Of both kinds of loss: the point that the noise of 350 rounds, drawn with seed 7, moves the optimum to."""
    found = {}
    for kind in ("ridge", "logistic"):
        here = problem(kind)
        algorithm = replace(DIADSP, rounds=350, ratio=0.9)
        quick = Simulation(here, GRAPHS["ring"], algorithm, seed=7, recording=Recording(private="nothing")).run()
        found[kind] = shifted(here, -noises(quick)[1, :, :, 0].sum(axis=(0, 1)))
        assert np.abs(found[kind] - here.optimum().point).max() > 0.1
    return found


CASES = [
    (DIADSP, {}), (DIADSP, {"step": 0.13}), (CPGT, {"gamma": 1.0}), (CPGT, {"gamma": 0.5}),
    *((CPGT, {"compressor": compressor}) for compressor in COMPRESSORS[1:]),
    (CPGT, {"compressor": RandomK(3), "step": 0.08}), (CPGT, {"compressor": Quantizer(2), "gamma": 0.3}),
]  # fmt: skip


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("base", "change", "kind"), [*((*case, "ridge") for case in CASES), *((*case, "logistic") for case in CASES[1:3])]
)
def test_the_limit_depends_on_the_noise_on_y_alone(limits, base, change, kind):
    """Σ ∇f_i(x^∞) = −ΣΣ η_y for the same noise, whatever the compressor, γ and α."""
    algorithm = replace(base, rounds=350, ratio=0.9, **change)
    run = Simulation(problem(kind), GRAPHS["ring"], algorithm, seed=7, recording=Recording(measure=False)).run()
    ends = points(run)[0][-1, :, 0]
    np.testing.assert_allclose(ends, np.tile(limits[kind], (AGENTS, 1)), rtol=0, atol=1e-5)


@pytest.mark.few(2)
@pytest.mark.parametrize("compressor", COMPRESSORS, ids=repr)
def test_without_noise_compression_costs_no_accuracy(compressor):
    here = problem()
    algorithm = Cpgt(500, 0.15, 0.0, 0.0, 0.9, 0.5, compressor)
    run = Simulation(here, GRAPHS["ring"], algorithm, recording=Recording(private="nothing")).run()
    assert run.metrics.worst_by_round(AGENTS)[-1, 0] < 1e-8


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("factor", [0.0, 1.0])
def test_cpgt_without_compression_is_diadsp_to_rounding(graph, factor):
    first = points(simulate(problem(), graph, DIADSP.scaled(factor), seed=3))[0]
    second = points(simulate(problem(), graph, replace(CPGT, gamma=1.0).scaled(factor), seed=3))[0]
    np.testing.assert_allclose(first, second, rtol=0, atol=1e-13)


def test_compressors_that_do_not_contract_are_refused_and_would_run_away():
    """RandomK times d/k, d = 4: at k = 2 the error is as large as what is sent, at k = 3 a third of it."""
    here, escaping = problem(), replace(CPGT, rounds=200, compressor=RandomK(2))
    with pytest.raises(ScenarioError, match=r"does not contract.*\(d/k − 1\).*unbiased: false, or 2k > d") as caught:
        Simulation(here, GRAPHS["ring"], escaping)
    assert caught.value.field == "algorithm.compressor"
    Simulation(here, GRAPHS["ring"], replace(escaping, compressor=RandomK(3)))

    class Unchecked(Cpgt):
        def check(self, setting):
            pass

    unchecked = Unchecked(**vars(escaping))
    with np.errstate(all="ignore"):
        run = Simulation(here, GRAPHS["ring"], unchecked, recording=Recording(private="nothing")).run()
    assert run.metrics.worst_by_round(AGENTS)[-1, 0] > 1e3


# ── on the wire ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("compressor", COMPRESSORS, ids=repr)
def test_a_message_weighs_what_the_compressor_says(compressor):
    run = simulate(problem(), "ring", replace(CPGT, rounds=6, compressor=compressor), header_bytes=20)
    size = 20 + 2 * compressor.size(4)
    rows = run.views[0].transcript.on_links()
    assert {row.size for row in rows} == {size}
    assert run.traffic["bytes_sent"] == 6 * 12 * size
    for row in rows:
        for value in row.values.values():
            np.testing.assert_array_equal(compressor.unpack(compressor.pack(value[0]), 4), value[0])


def test_the_network_has_no_codec_besides():
    with pytest.raises(ScenarioError, match="Cpgt brings a compressor of its own"):
        Simulation(problem(), GRAPHS["ring"], CPGT, NetworkSettings(codec=Float32()))


@pytest.mark.parametrize("compressor", [c for c in (*COMPRESSORS, RandomK(3)) if not c.lossless], ids=repr)
def test_the_truth_reproduces_every_message_once_the_releases_are_granted(compressor):
    """Neither x^a nor y^a is on the wire; what a random compressor drew has to be given too."""
    run = simulate(problem(), "ring", replace(CPGT, compressor=compressor), replicas=3, links=ROUGH, seed=2)
    view, objective = run.views[0], run.simulation.problem.objectives[1]
    with pytest.raises(TranscriptError, match=r"grant the replay its value|give the agent's dither"):
        replay(view, 1, objective, coins(run, 1))
    dither = Dither(partial(dither_of, Streams(2), 0, 1), 3)
    found = replay(view, 1, objective, coins(run, 1), run.truth.releases[1], dither)
    assert found.identical
    assert len(found.releases) == 60
    assert all(release.sent_in is None for release in found.releases)
    if compressor.random:
        with pytest.raises(TranscriptError, match="give the agent's dither"):
            replay(view, 1, objective, coins(run, 1), run.truth.releases[1])
        wrong = replace(dither, generator=lambda: np.random.default_rng(0))
        assert not replay(view, 1, objective, coins(run, 1), run.truth.releases[1], wrong).identical


# ── the claim ───────────────────────────────────────────────────────────────────────────────────────────
CHANGE, CURVATURE = 0.4, 0.5
CONSTANT = Adjacency(CHANGE, "another target: the gradients differ by a constant vector", constant=True)


def equal_agents(dimension):
    """f_i = ¼‖x − b_i‖², so L = ½, on three agents; for agent 1 another target, all coordinates moved alike."""
    features = math.sqrt(CURVATURE * dimension) * np.eye(dimension)
    objectives = tuple(LeastSquares(features, np.full(dimension, float(i))) for i in range(3))
    moved = objectives[1].targets + CHANGE / math.sqrt(CURVATURE)
    return Problem(objectives), Pair(1, (objectives[1], LeastSquares(features, moved)), CONSTANT.relation)


def setting(algorithm, dimension=1):
    return Simulation(equal_agents(dimension)[0], topology.ring(3), algorithm).setting(30)


@pytest.mark.parametrize("algorithm", [DIADSP, CPGT, replace(CPGT, compressor=TopK(1))], ids=repr)
def test_eq_23_by_hand(algorithm):
    """α = .2, L = ½, d_x = .3, d_y = 1, q = .8, δ = .4: τ = 5/3, q² − αL − qαL = .46, ε = (5/3)(.64)(.4)/.46."""
    algorithm = replace(algorithm, step=0.2, scale_x=0.3, scale_y=1.0, ratio=0.8)
    claim = algorithm.claim(CONSTANT, setting(algorithm), 0.0)
    assert claim.epsilon == pytest.approx(0.9275362318840580, rel=1e-14)
    assert (claim.delta, claim.norm, claim.failed_conditions) == (0.0, "ℓ2", ())
    assert "eq. 23" in claim.source


@pytest.mark.parametrize(
    ("change", "adjacency", "failed"),
    [
        ({"scale_x": 0.0}, CONSTANT, "d_x = 0"),
        ({"scale_y": 0.0}, CONSTANT, "d_y = 0"),
        ({"step": 1.0, "ratio": 0.9999}, CONSTANT, r"αL = 0.5 is not below 1/2"),
        ({"step": 0.2, "ratio": 0.37}, CONSTANT, r"q = 0.37 is not above .* = 0.370156"),
        ({}, Adjacency(math.inf, "anything"), "no finite bound δ"),
        ({}, replace(CONSTANT, constant=False), "Assumption 4"),
        ({"agent_ratio": (1.0, 0.37 / 0.8, 1.0)}, CONSTANT, "q = 0.37 is not above"),
    ],
)
def test_outside_its_conditions_it_is_undefined(change, adjacency, failed):
    algorithm = replace(CPGT, step=0.2, ratio=0.8)
    assert algorithm.claim(CONSTANT, setting(algorithm), 0.0).epsilon is not None
    algorithm = replace(algorithm, **change)
    claim = algorithm.claim(adjacency, setting(algorithm), 0.0)
    assert claim.epsilon is None
    with pytest.raises(PrivacyError, match=failed):
        algorithm.calibrated(1.0, 0.0, adjacency, setting(algorithm))


def test_just_inside_its_conditions_it_is_large():
    """The bound on q is the zero of the denominator; αL < ½ is where that zero is below 1."""
    algorithm = replace(DIADSP, step=0.2, ratio=(0.1 + math.sqrt(0.01 + 0.4)) / 2 * (1 + 1e-9))
    assert algorithm.claim(CONSTANT, setting(algorithm), 0.0).epsilon > 1e7
    algorithm = replace(DIADSP, step=1.0 - 1e-9, ratio=1 - 1e-12)
    assert algorithm.claim(CONSTANT, setting(algorithm), 0.0).epsilon > 1e7


def test_where_some_f_is_not_strongly_convex_nothing_is_claimed():
    algorithm = replace(CPGT, step=0.2, ratio=0.8)
    facts = replace(setting(algorithm), strong_convexity=(0.5, 0.0, 0.5))
    claim = algorithm.claim(CONSTANT, facts, 0.0)
    assert claim.epsilon is None
    assert claim.failed_conditions == ("Assumption 1: f_i of 1 is not strongly convex",)
    nowhere = algorithm.claim(CONSTANT, replace(facts, strong_convexity=(0.0,) * 3), 0.0)
    assert nowhere.failed_conditions == ("Assumption 1: no f_i is strongly convex",)


@pytest.mark.parametrize("base", [DIADSP, CPGT], ids=repr)
def test_with_noise_of_their_own_the_agent_with_least_privacy_is_claimed_for(base):
    """α = .2, L = ½; (d_x, d_y, q) = (.3, 1, .8), (.6, .5, .8), (.3, 2, .9): ε = .92754, 1.29855, .66575."""
    own = {"agent_scale_x": (1.0, 2.0, 1.0), "agent_scale_y": (1.0, 0.5, 2.0), "agent_ratio": (1.6, 1.6, 1.8)}
    algorithm = replace(base, step=0.2, scale_x=0.3, scale_y=1.0, ratio=0.5, **own)
    each = [
        (0.2 / x + 1 / y) * q**2 * CHANGE / (q**2 - 0.1 - q * 0.1)
        for x, y, q in ((0.3, 1.0, 0.8), (0.6, 0.5, 0.8), (0.3, 2.0, 0.9))
    ]
    found = algorithm.claim(CONSTANT, setting(algorithm), 0.0)
    assert found.epsilon == pytest.approx(max(each), rel=1e-14)
    assert each.index(max(each)) == 1
    calibrated = algorithm.calibrated(0.5, 0.0, CONSTANT, setting(algorithm))
    assert calibrated.claim(CONSTANT, setting(algorithm), 0.0).epsilon == pytest.approx(0.5, rel=1e-9)


def test_a_drawn_start_is_known_to_an_audit_and_not_to_the_closed_form():
    """Uniform on [0, 2], the same in all replicas, another of each agent; with its coins a replay is exact."""
    run = simulate(problem(), "ring", replace(DIADSP, start=2.0), replicas=3, seed=2)
    first = points(run)[0][0]
    assert np.ptp(first, axis=1).max() == 0
    assert 0 <= first.min() < 0.3 < 1.7 < first.max() <= 2
    assert np.unique(first[:, 0]).size == first[:, 0].size
    view, objective = run.views[0], run.simulation.problem.objectives[1]
    assert replay(view, 1, objective, coins(run, 1)).identical
    with pytest.raises(AttackError, match=r"x\(0\) is drawn"):
        through_tracking(view)


# ── the limit, measured ─────────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(1)
@pytest.mark.parametrize(
    "algorithm",
    [DIADSP, replace(CPGT, compressor=TopK(2)), replace(CPGT, start=1.0, agent_ratio=(1.125,) * 5 + (1.0,))],
    ids=repr,
)
def test_the_distance_to_the_limit_is_that_of_the_oracles_iterates(algorithm):
    """Mean over the replicas of ‖x(k) − x^∞‖_F and ‖x^∞ − x*‖_F, x^∞ from the noise of a run ten times as long."""
    here, algorithm = problem(), replace(algorithm, rounds=60, ratio=0.8)
    run = simulate(here, "ring", algorithm, replicas=3, seed=4, measure_every=1)
    drawn = noises(simulate(here, "ring", replace(algorithm, rounds=600), replicas=3, seed=4))[1].sum(axis=(0, 1))
    ends = np.array([shifted(here, -one) for one in drawn])
    found = run.measures.values("limit_residual")
    assert found.shape == (60, 1)
    asked = points(run)[0]  # x(0), …, x(60)
    apart = np.linalg.norm(np.swapaxes(asked - ends, 1, 2).reshape(61, 3, -1), axis=-1).mean(axis=1)
    np.testing.assert_allclose(found[:, 0], apart[1:], rtol=1e-9, atol=1e-9)
    moved = math.sqrt(AGENTS) * np.linalg.norm(ends - here.optimum().point, axis=1).mean()
    np.testing.assert_allclose(run.measures.values("limit_shift"), np.full((60, 1), moved), rtol=1e-9)


@pytest.mark.slow
def test_the_spread_of_the_limit_has_the_variance_of_laplace_noise_which_is_twice_its_scale_squared():
    """E‖x^∞ − x*‖_F² = n tr(H⁻²) Σ_k n·2(d_y q^k)². The CPGT paper has E(x²) = θ² for Lap(θ), half of it."""
    here, algorithm = problem(), replace(DIADSP, rounds=3, ratio=0.7)
    simulation = Simulation(here, GRAPHS["ring"], algorithm, replicas=20_000, seed=1)
    hessian = sum(f.hessian(np.zeros(here.dimension)) for f in here.objectives)
    moved = np.linalg.solve(hessian, simulation.limit_offset().T)
    measured = AGENTS * np.mean(np.sum(moved**2, axis=0))
    inverse = np.linalg.inv(hessian)
    expected = AGENTS * np.trace(inverse @ inverse) * AGENTS * 2 * 0.2**2 / (1 - 0.7**2)
    assert measured == pytest.approx(expected, rel=0.05)
    assert measured > 1.8 * expected / 2


def test_a_limit_is_measured_only_where_the_noise_decides_it():
    quick = Recording(private="nothing")
    for kind, algorithm in (("logistic", DIADSP), ("ridge", GradientTracking(30, 0.1))):
        run = Simulation(problem(kind), GRAPHS["ring"], algorithm, recording=quick).run()
        assert "limit_residual" not in run.measures.names


# ── Theorem 1 ───────────────────────────────────────────────────────────────────────────────────────────
FACTS = Setting(3, 10, (0.9, 0.7, 0.8), topology=topology.ring(3), strong_convexity=(0.5, 0.4, 0.45))


def test_theorem_1_by_hand():
    """Complete graph of 3, W = 11ᵀ/3: ρ = 0, λ̄ = 1; μ = .4, L = .9, no compression. (21): α ≤ mμγ/(s₂L), and m near 1
    bears α = .02: s₂ = 6mμ + 2m²μ + 4L + 2mμ(2 + m)."""
    algorithm = Cpgt(30, 0.02, 1.0, 1.0, 0.9)
    m = 0.999
    s2 = 6 * m * 0.4 + 2 * m**2 * 0.4 + 4 * 0.9 + 2 * m * 0.4 * (2 + m)
    assert m * 0.4 / (s2 * 0.9) > 0.02
    assert algorithm.unproven(FACTS) == ()
    assert algorithm.rate(FACTS) == pytest.approx(1 - m * 0.02 * 0.4 / 2, abs=1e-15)
    late = replace(algorithm, ratio=0.99)  # λ̄(1 − q̄)/2 = .005
    assert late.rate(FACTS) is None
    assert late.unproven(FACTS) == ("(21): α = 0.02 is above 0.00555556 for all m",)


def test_theorem_1_with_a_compressor_asks_for_a_small_gamma():
    """Top 5 of 10: φ = ½, κ = 1 − √½; (20)'s first bound at m: κmμ/(4√½ s₁), s₁ = 11mμ + 2L."""
    m = 0.999
    s1 = 4 * m * 0.4 + m * 0.4 + 6 * m * 0.4 + 2 * 0.9
    bound = (1 - math.sqrt(0.5)) * m * 0.4 / (4 * math.sqrt(0.5) * s1)
    algorithm = Cpgt(30, 1e-5, 1.0, 1.0, 0.9, bound * (1 - 1e-6), TopK(5))
    assert algorithm.rate(FACTS) == pytest.approx(1 - m * 1e-5 * 0.4 / 2, abs=1e-15)
    beyond = replace(algorithm, gamma=bound * (1 + 1e-6))
    assert beyond.rate(FACTS) is None
    assert beyond.unproven(FACTS)[0].startswith("(20): γ = ")


@pytest.mark.parametrize(
    ("change", "facts", "failed"),
    [
        ({}, {"strong_convexity": (0.5, 0.0, 0.4)}, "Assumption 1"),
        ({}, {"strong_convexity": ()}, "Assumption 1: no f_i"),
        ({"compressor": Float32()}, {}, "Assumption 3"),
        ({}, {"topology": None}, "Assumption 2"),
    ],
)
def test_theorem_1_outside_its_assumptions(change, facts, failed):
    algorithm, facts = replace(Cpgt(30, 0.001, 1.0, 1.0, 0.9), **change), replace(FACTS, **facts)
    assert algorithm.rate(facts) is None
    assert failed in algorithm.unproven(facts)[0]


@pytest.mark.parametrize("graph", GRAPHS)
def test_lemmas_3_and_4_contract(graph):
    """A step α ≤ 1/(μ + L) along the mean gradient by 1 − αμ, W_γ off the mean by 1 − γ(1 − ρ_w)."""
    rng, W, n = np.random.default_rng(3), GRAPHS[graph].weights, AGENTS
    hessians = [f.hessian(np.zeros(DIMENSION)) for f in problem().objectives]
    ends = [np.linalg.eigvalsh(one)[[0, -1]] for one in hessians]
    mu, L = min(low for low, _ in ends), max(high for _, high in ends)
    rho = np.abs(np.linalg.eigvalsh(W - np.ones((n, n)) / n)).max()
    for share in (0.1, 0.5, 1.0):
        step, off, w = share / (mu + L), rng.standard_normal(DIMENSION), rng.standard_normal((n, DIMENSION))
        moved = off - step * np.mean(hessians, axis=0) @ off
        assert np.linalg.norm(moved) <= (1 - step * mu) * np.linalg.norm(off)
        mixed = (1 - share) * w + share * W @ w - w.mean(axis=0)
        allowed = (1 - share * (1 - rho)) * np.linalg.norm(w - w.mean(axis=0))
        assert np.linalg.norm(mixed) <= allowed * (1 + 1e-12)


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("compressor", [Float64(), TopK(5), Quantizer(3)], ids=repr)
def test_lemma_2_bounds_the_spectral_radius_within_theorem_1(graph, compressor):
    """λ̄_G ≤ 1 − mαμ/2 for the G of Lemma 1, at the largest γ and α that (20) and (21) bear with m near 1."""
    facts = replace(FACTS, agents=AGENTS, smoothness=(0.9,) * AGENTS, strong_convexity=(0.4,) * AGENTS)
    facts = replace(facts, topology=GRAPHS[graph])
    algorithm = Cpgt(30, 1e-9, 1.0, 1.0, 0.9, 1e-9, compressor)
    for name, other in (("gamma", "step"), ("step", "gamma")):  # the other is out of the way meanwhile
        tries = [replace(algorithm, **{name: value}) for value in np.geomspace(1e-8, 1, 400)]
        borne = [one for one in tries if one.rate(facts) is not None]
        algorithm = borne[-1]
        assert getattr(algorithm, other) == getattr(borne[0], other)
    phi = compressor.contraction(10)
    G, _ = lemma_1(GRAPHS[graph].weights, algorithm.step, algorithm.gamma, phi, 0.4, 0.9, 0.9)
    assert np.abs(np.linalg.eigvals(G)).max() <= algorithm.rate(facts) < 1


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("compress", "codec", "gamma"),
    [(identity, Float64(), 1.0), (top(2), TopK(2), 0.2), (b_bit(2), Quantizer(2), 0.2)],
)
def test_lemma_1_bounds_the_next_distances(compress, codec, gamma):
    """E[Θ(k+1)] ⪯ G E[Θ(k)] + ϑ q̄^k d̄_η on a ring of six in four dimensions, over 30 draws of the noise."""
    here, W, rng = problem(), GRAPHS["ring"].weights, np.random.default_rng(1)
    ends = [np.linalg.eigvalsh(f.hessian(np.zeros(DIMENSION)))[[0, -1]] for f in here.objectives]
    mu, L = min(low for low, _ in ends), max(high for _, high in ends)
    rounds, ratio, scale, step = 25, 0.8, 0.5, 0.5 / (mu + L)
    G, theta = lemma_1(W, step, gamma, codec.contraction(DIMENSION), mu, L, ratio)
    found = []
    for _ in range(30):
        scales = scale * ratio ** np.arange(150)[:, None, None]
        noise = rng.laplace(size=(2, 150, AGENTS, DIMENSION)) * scales
        dither = rng.random((2, rounds, AGENTS, DIMENSION))
        start = np.zeros((AGENTS, DIMENSION))
        history = cpgt(gradients(here), W, step, gamma, compress, start, rounds, *noise[:, :rounds], *dither)
        found.append(distances(history, shifted(here, -noise[1].sum(axis=(0, 1)))))
    mean = np.mean(found, axis=0)
    bound = mean[:-1] @ G.T + theta * scale * ratio ** np.arange(rounds - 1)[:, None]
    assert (mean[1:] <= bound + 1e-12).all()


def test_lemma_1_has_too_little_noise_where_there_are_many_more_dimensions_than_agents():
    """(A.13) has n² where E‖η‖_F is near √(2nd)d̄: with n = 2, d = 100 and x(0) = x^∞ = 0 the mean moves by
    √(2d) = 14.1 in the first round, and ϑ₂ = n²(1 + α/(1 − q̄)) = 4.8 is all that Lemma 1 leaves for it."""
    rng, W, start = np.random.default_rng(2), np.full((2, 2), 0.5), np.zeros((2, 100))
    G, theta = lemma_1(W, 0.1, 1.0, 0.0, 1.0, 1.0, 0.5)
    found = []
    for _ in range(50):
        noise = np.array([rng.laplace(size=(2, *start.shape)), np.zeros((2, *start.shape))])
        history = cpgt([lambda x: x] * 2, W, 0.1, 1.0, identity, start, 2, *noise)
        found.append(distances(history, np.zeros(100)))
    mean = np.mean(found, axis=0)
    assert (G @ mean[0] + theta)[1] == pytest.approx(4.8)
    assert mean[1, 1] == pytest.approx(math.sqrt(200), rel=0.05)


@pytest.mark.parametrize("dimension", [4, 10, 40])
@pytest.mark.parametrize(
    "compressor", [Float64(), TopK(2), TopK(fraction=0.5), RandomK(2, unbiased=False), RandomK(3), Quantizer(2),
                   Quantizer(3), Quantizer(3, "linf"), Quantizer(4, unbiased=True), ScaledSign()], ids=repr
)  # fmt: skip
def test_compressors_are_as_near_as_assumption_3_says(compressor, dimension):
    """E‖C(v) − v‖² ≤ φ‖v‖², for random v, equal coordinates, and one coordinate alone; φ of top-k is attained."""
    rng, copies = np.random.default_rng(3), 4000
    allowed = compressor.contraction(dimension)
    shapes = [*rng.standard_normal((3, dimension)), np.ones(dimension), np.eye(dimension)[0]]
    for v in shapes:
        many = np.tile(v, (copies, 1))
        lost = np.sum((compressor.encode(many, rng.random(many.shape)) - many) ** 2, axis=1).mean() / (v @ v)
        assert lost <= allowed * 1.05 + 1e-12
    if isinstance(compressor, TopK):
        sent = compressor.encode(np.ones((1, dimension)), None)
        assert np.sum((sent - 1) ** 2) / dimension == pytest.approx(allowed)


@pytest.mark.parametrize("dimension", [1, 4])
@pytest.mark.parametrize("algorithm", [DIADSP, CPGT, replace(CPGT, compressor=TopK(1))], ids=repr)
def test_the_loss_of_a_pair_is_above_eq_23_even_in_one_dimension(algorithm, dimension):
    """Σ ‖Δ‖₁/b over all releases, from two replays: what the noise of the right signs attains. It is √d times
    (α/(q d_x) + 1/d_y)/(α/d_x + 1/d_y) times the claim."""
    algorithm = replace(algorithm, rounds=45, step=0.2, scale_x=0.3, scale_y=1.0, ratio=0.8)
    world, pair = equal_agents(dimension)
    simulation = Simulation(world, topology.ring(3), algorithm, adversaries=(Adversary("ears", "all", nodes=(1,)),))
    run = simulation.run()
    releases = run.truth.releases[1]
    zero, one = (replay(run.views[0], 1, h, coins(run, 1), releases).releases for h in pair.hypotheses)
    moved = [np.abs(a.value - b.value).sum() / a.mechanism.scale for a, b in zip(zero, one, strict=True)]
    claim = simulation.claim(CONSTANT, 45, 0.0).epsilon
    excess = (0.2 / (0.8 * 0.3) + 1) / (0.2 / 0.3 + 1)
    assert math.fsum(moved) / claim == pytest.approx(math.sqrt(dimension) * excess, rel=1e-9)


def test_eq_23_fails_in_one_coordinate_of_the_scenarios_data_too():
    """Δx⁺ = −αΔy, Δy⁺ = H(Δx⁺ − Δx) from Δx = 0, Δy = a unit vector: .979 for the first one of agent 0, above the
    claimed 1 for five of sixty."""
    simulation = Experiment.of(load_scenario("cpgt-eq-23").scenario).subjects[0].simulation
    run, unit, lost = simulation.algorithm, np.eye(10), np.zeros((6, 10))
    assert isinstance(run, DiaDSP)
    for agent, f in enumerate(simulation.problem.objectives):
        H = np.vstack([f.gradient(one[None]) - f.gradient(np.zeros((1, 10))) for one in unit])
        x, y = np.zeros((10, 10)), unit  # a row for each coordinate that the gradient changes in
        for k in range(run.rounds):
            lost[agent] += (np.abs(x) / run.scale_x + np.abs(y) / run.scale_y).sum(axis=1) / run.ratio**k
            x, y = -run.step * y, (-run.step * y - x) @ H
    assert lost[0, 0] == pytest.approx(0.9789, abs=1e-4)
    assert lost.max() == pytest.approx(1.0306, abs=1e-4)
    assert (lost > 1).sum() == 5


@pytest.mark.slow
@pytest.mark.parametrize("algorithm", [DIADSP, CPGT], ids=repr)
def test_an_audit_refutes_eq_23(algorithm):
    """d = 4: the exact loss of the pair is 2.04 where 0.93 is claimed, and transcripts show more than 1.4 of it."""
    algorithm = replace(algorithm, step=0.2, scale_x=0.3, scale_y=1.0, ratio=0.8)
    world, pair = equal_agents(4)
    simulation = Simulation(world, topology.ring(3), algorithm)
    found = judged(simulation, pair, simulation.claim(CONSTANT, 30, 0.0), attack=None, trials=600)
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.epsilon_exact == pytest.approx(0.9275362318840580 * 2 * 1.1, rel=1e-9)
    assert max(e.epsilon.lower for e in found.exact) > 1.4


@pytest.mark.slow
def test_with_releases_off_the_wire_the_same_loss_is_an_upper_bound():
    algorithm = replace(CPGT, step=0.2, scale_x=0.3, scale_y=1.0, ratio=0.8, compressor=Quantizer(3))
    world, pair = equal_agents(4)
    simulation = Simulation(world, topology.ring(3), algorithm)
    found = judged(simulation, pair, simulation.claim(CONSTANT, 30, 0.0), attack=None, trials=200)
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    assert "not on the wire as they were released" in found.judgement.reason
    assert found.uncovered is None
    assert found.epsilon_exact < 0.9275362318840580 * 2 * 1.1 * (1 + 1e-9)
