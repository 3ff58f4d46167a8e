"""Transcripts whose noise is aimed: possible, as dear as they can be, and no sample of anything."""

import math
from dataclasses import dataclass, replace

import numpy as np
import pytest
from scipy import stats

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.aimed import TILTED, WORST_CASE, Aim, Tilt, TiltedNoise, WorstCaseNoise
from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from attacks.replay import Release
from netsim.algorithms import Algorithm, PrivateGradientDescent
from netsim.algorithms.random_mixing import RandomPenaltyAdmm
from netsim.claims import Clip
from netsim.codecs import Quantizer
from netsim.mechanisms import DiscreteLaplace, Gaussian, Laplace, UniformLaplace
from netsim.problems import LeastSquares, LogisticLoss, Problem, Tilted, load, logistic
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation
from netsim.topology import path, ring
from netsim.transcript import Transcript
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import HELD, Releases, audited, claim_of, explained, judged, quadratic_world

LONG = PrivateGradientDescent(12, Constant(0.1), Geometric(2.0, 0.95))
"""Twelve releases of four numbers each: that all 44 that differ point one way has probability 2^-44."""


def spent(simulation, pair):
    """Σ‖Δ‖₁/b, which is the same in all transcripts of a quadratic world."""
    found = explained((simulation, pair), 5)
    total = found.cost.sum(axis=0)
    np.testing.assert_allclose(total, total[0], rtol=1e-9)
    return float(total[0])


@pytest.mark.slow
def test_a_few_transcripts_show_the_whole_loss_a_claim_of_it_stands_and_above_delta_zero_nothing_is_aimed():
    simulation, pair = quadratic_world(LONG)
    supremum = spent(simulation, pair)
    found = audited((simulation, pair), 0.98 * supremum, 0.0, trials=100)
    assert found.judgement.verdict is Verdict.REFUTED
    assert all(direction.aimed for direction in found.exact)
    for direction in found.exact:
        assert direction.epsilon.lower == pytest.approx(supremum, rel=1e-9)
        assert float(np.max(direction.losses)) < 0.9 * supremum
    assert found.witness.chunk == WORST_CASE
    found = audited((simulation, pair), spent(simulation, pair), 0.0, trials=100)
    assert found.judgement.verdict is not Verdict.REFUTED
    assert found.witness is None
    found = audited((simulation, pair), 1.0, 1e-3, trials=40)
    assert not any(direction.aimed for direction in found.exact)


@pytest.mark.few("laws3")
@pytest.mark.parametrize(
    "laws",
    [
        (UniformLaplace(1.5, 0.3),) * 8, (UniformLaplace(-1.5, 0.3),) * 8, (DiscreteLaplace(0.3, 0.01),) * 8,
        (UniformLaplace(0.02, 0.3), Laplace(0.2), DiscreteLaplace(0.3, 0.01), UniformLaplace(2.0, 0.3)),
    ],
)  # fmt: skip
def test_noise_of_every_bounded_loss_is_aimed(laws):
    simulation, pair = quadratic_world(Releases(laws))
    supremum = spent(simulation, pair)
    found = audited((simulation, pair), 0.98 * supremum, 0.0, trials=40)
    for direction in found.exact:
        assert direction.epsilon.lower == pytest.approx(supremum, rel=1e-9)


def scaled(law, gradient):
    """A law whose scale is larger by up to a third, the larger what it hides is."""
    size = 1 + 0.1 * np.abs(gradient[:, :1])
    match law:
        case UniformLaplace():
            return UniformLaplace(1.0, 3 * size)
        case DiscreteLaplace():
            return DiscreteLaplace(3 * float(size[0, 0]), 0.01)
        case _:
            return type(law)(3 * size)


@dataclass(frozen=True)
class Scaled(Algorithm):
    """Noise whose scale is made of what it hides; or of what was released before, where `public`."""

    law: object
    public: bool = False

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        seen = node.privatize(gradient, Laplace(3.0))
        node.broadcast(x=seen)
        node.broadcast(y=node.privatize(gradient, scaled(self.law, seen if self.public else gradient)))
        node.estimate(gradient)


@pytest.mark.parametrize("law", [Laplace(1.0), UniformLaplace(1.0, 1.0), DiscreteLaplace(1.0, 0.01), Gaussian(1.0)])
def test_noise_whose_scale_is_made_of_private_data_refutes_any_claim_at_delta_zero(law):
    found = audited(Scaled(law), 15.0, 0.0, trials=40, chunk=20)
    assert found.judgement.verdict is Verdict.REFUTED
    assert "The noise of release 1 has another scale" in found.judgement.reason
    assert found.epsilon_exact > 100


def test_a_scale_that_is_known_from_what_was_seen_is_none_of_these():
    for law in (Laplace(1.0), UniformLaplace(1.0, 1.0)):
        found = explained(Scaled(law, public=True), 40, chunk=WORST_CASE)
        spent = found.steps.sum(axis=0)
        np.testing.assert_allclose(np.max(spent), np.max(found.cost.sum(axis=0)), rtol=1e-6)
    found = audited(Scaled(Laplace(1.0), public=True), 1.4, 0.0, trials=40, chunk=20)
    assert found.judgement.verdict in HELD


@pytest.mark.slow
def test_random_penalties_are_aimed():
    """Their uniform part hides most of the loss of what is drawn."""
    simulation, pair = quadratic_world(RandomPenaltyAdmm(rounds=12, scale=Constant(0.5), penalty=2.0, dual_step=0.1))
    supremum = spent(simulation, pair)
    found = audited((simulation, pair), 0.98 * supremum, 0.0, trials=40)
    assert found.judgement.verdict is Verdict.REFUTED
    assert max(float(np.max(direction.losses)) for direction in found.exact) < supremum / 2


@pytest.mark.slow
def test_the_first_activation_above_the_claim_is_that_of_the_supremum():
    simulation, pair = quadratic_world(LONG)
    by = np.cumsum(explained((simulation, pair), 5).cost[:, 0])
    claim = float(by[6] + by[7]) / 2
    found = audited((simulation, pair), claim, 0.0, trials=100)
    assert found.first_violation == 8


def test_where_differences_depend_on_the_noise_it_stays_below_the_price():
    data = load("synthetic", records=40, dimension=6, seed=3, norm_bound=1.0)
    algorithm = PrivateGradientDescent(6, Constant(0.3), Constant(0.4), Clip(1.0))
    simulation = Simulation(logistic(data.split(5), ridge=0.5), ring(5), algorithm)
    own = simulation.problem.objectives[1]
    pair = Pair(1, (own, LogisticLoss(own.features, -own.labels, own.ridge)), "labels flipped")
    sampled, aimed = (explained((simulation, pair), 200, chunk=index) for index in (0, WORST_CASE))
    dearest = max(float(part.cost.sum(axis=0).max()) for part in (sampled, aimed))
    best = float(aimed.steps.sum(axis=0).max())
    assert float(sampled.steps.sum(axis=0).max()) < best <= dearest * (1 + 1e-12)
    assert best > 0.95 * float(aimed.cost.sum(axis=0).max())


def test_the_noise_keeps_its_size():
    drawn = WorstCaseNoise(np.random.default_rng(1), [Aim(-np.ones((50, 3)))])
    one = Laplace(2.0).release(np.zeros((50, 3)), drawn)
    other = Laplace(2.0).release(np.zeros((50, 3)), np.random.default_rng(1))
    np.testing.assert_array_equal(one, -np.abs(other))
    rest = Laplace(2.0).release(np.zeros((50, 3)), drawn)
    assert np.any(rest > 0)
    assert np.any(rest < 0)


def test_noise_on_a_grid_keeps_its_size_and_has_the_sign_it_was_given():
    signs = np.where(np.arange(150).reshape(50, 3) % 2, 1.0, -1.0)
    aimed = DiscreteLaplace(2.0, 0.5).release(
        np.zeros((50, 3)), WorstCaseNoise(np.random.default_rng(1), [Aim(signs)])
    )
    plain = DiscreteLaplace(2.0, 0.5).release(np.zeros((50, 3)), np.random.default_rng(1))
    assert np.any(plain != 0)
    np.testing.assert_array_equal(aimed, signs * np.abs(plain))


@pytest.mark.parametrize("width", [0.5, -0.5])
@pytest.mark.parametrize("moved", [0.1, -0.1])
def test_a_uniform_number_is_put_at_the_end_away_from_the_other_world(width, moved):
    """It is a number that the law can draw: with no Laplace noise beside it, an end of the interval of means."""
    law, value, judged = UniformLaplace(width, 0.0), np.full((5, 2), 3.0), np.ones(5, dtype=bool)
    true, other = (Release(0, law, value, v, judged) for v in (value, value + moved))
    drawn = law.release(value, WorstCaseNoise(np.random.default_rng(0), [Aim.of(true, other)]))
    ends = sorted((3.0, 3.0 + width))
    np.testing.assert_array_equal(drawn, ends[0] if moved > 0 else ends[1])


def test_half_of_what_a_random_codec_rounds_goes_away_from_zero():
    """Oracle: the codec given draws of 0, which round up whatever has a fraction. They show more of what is spent."""
    codec = Quantizer(2)
    simulation, pair = quadratic_world(Releases((Laplace(0.5),)))
    own = pair.hypotheses[0]
    pair = replace(pair, hypotheses=(own, Tilted(own, np.full(4, 0.3))))
    coded = replace(simulation, network=replace(simulation.network, codec=codec))
    sample = worlds(coded, 1, pair.hypotheses[1], 40)(0, WORST_CASE)
    sent = [row for row in sample.view.at_node(1) if row.event == "sent"]
    values = next(iter(sent[0].values.values()))
    np.testing.assert_array_equal(values[:20], codec.encode(sample.releases[0][:20], np.zeros((20, 4))))
    assert np.any(values[20:] != codec.encode(sample.releases[0][20:], np.zeros((20, 4))))
    found = compare_worlds(sample, 1, *pair.hypotheses)
    losses = found.on_wire(found.granted_from).losses()
    assert np.max(losses[20:]) < np.max(losses[:20]) <= spent(simulation, pair)


def test_what_had_to_be_granted_in_them_is_no_lower_end():
    sampled, aimed = (explained(LONG, chunk=index) for index in (0, WORST_CASE))
    found = ExactLoss.of([sampled], 0.0, 0.95)
    assert found.with_worst_case(aimed, math.inf).epsilon.lower > found.epsilon.lower
    granted = replace(aimed, granted_from=0.0)
    assert found.with_worst_case(granted, math.inf) is found


# ── tilted ──────────────────────────────────────────────────────────────────────────────────────────────
DRAWS = 200_000


@pytest.mark.parametrize("law", [Gaussian, Laplace])
@pytest.mark.parametrize("theta", [0.3, 2.0])
@pytest.mark.parametrize("shift", [-1.5, 0.2, 0.0])
def test_weighted_noise_follows_its_law(law, theta, shift):
    noise = TiltedNoise(np.random.default_rng(0), [Tilt(0, law, np.array([[shift, 0.5]]))], theta)
    drawn = law(1.0).release(np.zeros((DRAWS, 2)), noise)
    weights = np.exp(noise.log_weights[0])
    exact = stats.norm if law is Gaussian else stats.laplace
    for q in (-2.0, -0.5, 0.0, 0.7, 2.0):
        for c in (0, 1):
            hits = weights * (drawn[:, c] <= q)
            # 5 deviations: a false alarm in 10⁻⁶ of such tests
            assert abs(hits.mean() - exact.cdf(q)) < 5 * hits.std() / math.sqrt(DRAWS) + 1e-12


def test_a_draw_that_does_not_fit_its_aim_is_as_always():
    noise = TiltedNoise(np.random.default_rng(0), [Tilt(0, Gaussian, np.ones((1, 3)))] * 2, 1.0)
    plain = np.random.default_rng(0)
    for law, shape in ((Laplace(1.0), (5, 3)), (Gaussian(1.0), (5, 3))):
        np.testing.assert_array_equal(law.release(np.zeros(shape), noise), law.release(np.zeros(shape), plain))
    assert not noise.log_weights


@dataclass(frozen=True)
class Adaptive(Algorithm):
    """Releases its gradient, and then three times or half as much of it, as the first release was above 0 or not."""

    law: type = Gaussian

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        first = node.privatize(gradient, self.law(1.0))
        node.broadcast(x=first)
        factor = np.where(first[:, :1] > 0, 1.5, 0.5)
        node.broadcast(x=node.privatize(gradient * factor, self.law(1.0)))
        node.estimate(gradient)


def adaptive(law, seed, delta, count):
    parts = [LeastSquares(np.eye(1), np.zeros(1), 0.5)] * 2
    one, two = (Tilted(parts[1], np.array([slope])) for slope in (0.4, -0.4))
    simulation = Simulation(Problem((parts[0], one)), path(2), Adaptive(law), seed=seed)
    return Pair(1, (one, two), "one number"), worlds(simulation, 1, two, count, 0, delta)


def truly(law, epsilon):
    """δ(ε) by integrating over the first release and, given it, over the second."""
    exact = stats.norm if law is Gaussian else stats.laplace

    def loss(y, factor):
        return exact.logpdf(y - 0.4 * factor) - exact.logpdf(y + 0.4 * factor)

    grid = np.linspace(-14, 14, 4001)
    dy = grid[1] - grid[0]
    first, here = loss(grid, 1.0), exact.pdf(grid - 0.4)
    second = {factor: (loss(grid, factor), exact.pdf(grid - 0.4 * factor)) for factor in (0.5, 1.5)}
    total = 0.0
    for k, y in enumerate(grid):
        losses, density = second[1.5 if y > 0 else 0.5]
        total += here[k] * np.maximum(-np.expm1(epsilon - first[k] - losses), 0) @ density * dy**2
    return total


@pytest.mark.few(1)
@pytest.mark.parametrize(("law", "delta", "epsilon"), [(Gaussian, 1e-4, 4.0), (Laplace, 1e-2, 1.95)])
def test_differences_that_depend_on_the_noise_bias_nothing(law, delta, epsilon):
    exact = truly(law, epsilon)
    values = []
    for seed in range(8):
        pair, simulate = adaptive(law, seed, delta, 250)
        found = compare_worlds(simulate(0, TILTED), 1, *pair.hypotheses)
        assert found.log_weights.shape == (2, 250)
        assert not np.any(found.noise)
        weights = np.exp(found.log_weights.sum(axis=0))
        values.append(weights * np.maximum(-np.expm1(epsilon - found.losses()), 0))
    values = np.concatenate(values)
    error = values.std() / math.sqrt(values.size)
    assert error < 0.1 * exact
    assert abs(values.mean() - exact) < 4.5 * error  # a false alarm in 10⁻⁵ of such tests


TEN = Releases(tuple(Gaussian(math.sqrt(10)) for _ in range(10)))
"""Ten releases that make one of deviation 1."""


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_a_few_transcripts_refute_a_claim_ten_percent_too_small_at_a_small_delta(seed):
    parts = [LeastSquares(np.eye(2), np.zeros(2), 0.5)] * 2
    one, two = (Tilted(parts[1], np.array([slope, 0.0])) for slope in (0.0, 0.5))
    simulation = Simulation(Problem((parts[0], one)), path(2), TEN, seed=seed)
    pair, truth = Pair(1, (one, two), "one number"), gaussian_epsilon(0.5, 1e-5)
    broken = audited((simulation, pair), 0.9 * truth, 1e-5, trials=100, chunk=100)
    assert broken.judgement.verdict is Verdict.REFUTED
    # 2.5 % of audits prove more than the truth at most: each of the seeds is fixed
    sound = audited((simulation, pair), truth, 1e-5, trials=100, chunk=100)
    assert sound.judgement.verdict is not Verdict.REFUTED
    assert all(0.85 * truth < e.epsilon.lower <= truth for e in sound.exact)
    assert all(math.isinf(e.epsilon.upper) for e in sound.exact)


@dataclass(frozen=True)
class Gate(Algorithm):
    """A noisy value, and the gradient in the clear where that is far from it on one side: once in 10⁵ times."""

    law: Laplace | Gaussian
    far: float

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        noisy = node.privatize(gradient, self.law)
        gate = np.max(noisy, axis=-1, keepdims=True) > self.far
        await node.exchange(x=noisy, y=np.where(gate, gradient, 0.0))
        node.estimate(noisy)


@pytest.mark.parametrize(("law", "far", "delta"), [(Laplace(1.0), 11.5, 0.0), (Gaussian(1.0), 4.5, 1e-5)])
def test_what_only_aimed_noise_has_shown_is_noted_and_not_called_consistent(law, far, delta):
    """Of 100 transcripts none opens the gate (p = 4e-3); given one that does, among those that were aimed."""
    simulation, pair = quadratic_world(Gate(law, far))
    simulate = worlds(simulation, 1, pair.hypotheses[1], 50, 0, delta)
    aim = WORST_CASE if delta == 0 else TILTED
    bare = simulate(0, aim)
    noisy = bare.releases[0].copy()
    noisy[:1] = far + 1.0

    def aimed(world, index):
        found = simulate(world, index)
        if (world, index) != (0, aim):
            return found
        gradient = pair.hypotheses[0].gradient(np.zeros((len(noisy), 4)))
        opened = np.where(np.max(noisy, axis=-1, keepdims=True) > far, gradient, 0.0)
        rows = [
            row._replace(values={"x": noisy, "y": opened} if row.sender == 1 else row.values)
            for row in found.view.transcript.records
        ]
        view = replace(found.view, transcript=Transcript(rows, found.view.replicas))
        return replace(found, view=view, releases=[noisy])

    claim = claim_of(1.0 if delta == 0 else gaussian_epsilon(0.5, delta) * 1.01, delta)
    found = judged(aimed, pair, claim, trials=100, attack=None)
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    assert "sends 'y'" in found.judgement.reason
    assert "one whose noise was aimed" in found.judgement.reason
    assert not any(one.unprotected for one in found.exact)
