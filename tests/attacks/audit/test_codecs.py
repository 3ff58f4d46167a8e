"""Replays and audits of runs under codecs: nothing is called unprotected or refuted that is not."""

import math
from dataclasses import dataclass, replace
from itertools import product

import numpy as np
import pytest
from scipy import stats

from attacks.audit.loss.codes import product_form
from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from attacks.inference import infer
from attacks.replay import replay
from netsim.algorithms import Algorithm, Clip, PrivateGradientDescent, Recal
from netsim.claims import Adjacency
from netsim.codecs import FixedPoint, Float16, Float32, Float64, Quantizer, RandomK, ScaledSign, TopK
from netsim.errors import AttackError, TranscriptError
from netsim.mechanisms import Gaussian, Laplace
from netsim.problems import LeastSquares, Tilted
from netsim.schedules import Constant
from scenarios.build.experiment import Experiment
from scenarios.certificate.ledger import chosen
from scenarios.stages.worlds import worlds
from tests.attacks.audit.test_end_to_end import Averaging
from tests.attacks.auditing import HELD, audited, claim_of, explained, judged, quadratic_world, record_pair
from tests.worlds import READINGS, ROUGH, changed, digits_problem, dp_recal, synthetic_problem, tapped_ring

ROUNDING = [Float32(), Float16(), FixedPoint(8, 4.0), FixedPoint(3, 2.0)]
"""Deterministic, coordinate by coordinate: their releases are priced as they are on the wire."""
OTHERS = [
    FixedPoint(8, 4.0, "stochastic"),
    TopK(2),
    RandomK(2),
    Quantizer(4),
    Quantizer(2, "linf", unbiased=True),
    ScaledSign(),
]


def private_world(codec, scale=1.0):
    algorithm = PrivateGradientDescent(5, Constant(0.3), Constant(scale), Clip(0.5))
    simulation, pair = quadratic_world(algorithm)
    claim = algorithm.claim(Adjacency(0.25, "another target"), simulation.setting(5), 0.0)
    return changed(simulation, codec=codec), pair, claim


def sample_of(simulation, pair, world=0, chunk=200):
    return worlds(simulation, pair.agent, pair.hypotheses[1], chunk)(world, 0)


# ── replay ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.few(11)
@pytest.mark.parametrize("codec", [*ROUNDING, *OTHERS], ids=repr)
@pytest.mark.parametrize("reading", READINGS)
def test_the_truth_reproduces_every_message_to_the_last_bit(reading, codec):
    problem = digits_problem()
    simulation = changed(tapped_ring(problem, dp_recal(problem, reading, 12), links=ROUGH), codec=codec)
    sample = sample_of(simulation, record_pair(problem), chunk=7)
    found = replay(sample.view, 1, problem.objectives[1], sample.coins(), sample.releases, sample.dither)
    assert found.identical
    sent = [row for row in sample.view.at_node(1) if row.event == "sent"]
    assert len(found.sendings) == len(sent) > 3
    assert all(release.sent_in is None for release in found.releases)


@pytest.mark.parametrize("codec", OTHERS, ids=repr)
def test_what_cannot_be_taken_from_the_wire_has_to_be_granted(codec):
    simulation, pair, _ = private_world(codec)
    sample = sample_of(simulation, pair)
    with pytest.raises(TranscriptError, match=r"grant the replay its value|give the agent's dither"):
        replay(sample.view, 1, pair.hypotheses[0], sample.coins())
    if codec.random:
        with pytest.raises(TranscriptError, match="give the agent's dither"):
            replay(sample.view, 1, pair.hypotheses[0], sample.coins(), sample.releases)


def test_another_dither_is_noticed():
    simulation, pair, _ = private_world(FixedPoint(4, 4.0, "stochastic"))
    sample = sample_of(simulation, pair)
    wrong = replace(sample.dither, generator=lambda: np.random.default_rng(0))
    assert not replay(sample.view, 1, pair.hypotheses[0], sample.coins(), sample.releases, wrong).identical


# ── audits ──────────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.few("Float16()")
@pytest.mark.parametrize("codec", [Float64(), *ROUNDING, *OTHERS], ids=repr)
def test_a_coded_descent_is_as_private_as_it_claims(codec):
    """And with a quarter of the noise it is not: what is on the wire has a law, whatever the codec."""
    simulation, pair, claim = private_world(codec)
    found = judged(simulation, pair, claim, trials=200)
    assert found.judgement.verdict in HELD
    for e in found.exact:
        assert math.isinf(e.granted_from)
        assert (0 < e.epsilon.lower <= claim.epsilon) or not product_form(codec)
        assert e.passed
    assert (found.refused is None) == codec.lossless
    if product_form(codec):
        less, planted = replace(claim, epsilon=claim.epsilon / 4), private_world(codec, 0.25)[0]
        assert judged(planted, pair, less, trials=200, attack=None).judgement.verdict is Verdict.REFUTED


@pytest.mark.slow
@pytest.mark.parametrize(("codec", "noise"), [(Quantizer(2), 1.0), (Quantizer(2, "linf"), 0.5)], ids=repr)
def test_cpgt_goes_on_with_what_it_does_not_send(codec, noise):
    """Its first message is priced, what follows is not: nearly all that it loses is in the first. A change in one
    coordinate loses what is claimed; half of the noise twice that."""
    (entry,) = chosen(["cpgt-one-coordinate"])
    subject = next(s for s in Experiment.of(entry.located.scenario).subjects if s.spec.kind == "cpgt")
    simulation = subject.simulation
    scales = {name: noise * getattr(simulation.algorithm, name) for name in ("scale_x", "scale_y")}
    adjacency = Adjacency(1.0, "a coordinate of the gradient moved by 1", norm="l2", change=1.0)
    claim = claim_of(1.0, 0.0)
    own = simulation.problem.objectives[0]
    pair = Pair(0, (own, Tilted(own, np.eye(10)[0])), adjacency.relation, change_used=1.0)
    coded = replace(simulation, algorithm=replace(simulation.algorithm, compressor=codec, gamma=0.5, **scales))
    found = judged(coded, pair, claim, trials=30, attack=None)
    if noise == 1:
        assert found.judgement.verdict is Verdict.CONSISTENT
        assert max(e.epsilon.lower for e in found.exact) <= 1
        assert found.judgement.proven_share > 0.5
    else:
        assert found.judgement.verdict is Verdict.REFUTED
        assert 1 < max(e.epsilon.lower for e in found.exact) < 2
    assert all(e.granted_from == 2 for e in found.exact)


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("codec", "target"), [*product(ROUNDING, (0.5, 0.8)), *((codec, 0.8) for codec in OTHERS)], ids=repr
)
def test_without_noise_the_verdict_is_what_the_bytes_say(codec, target):
    """Both worlds are run. Bytes that differ by more than rounding and any dither: unprotected. Equal bytes: not."""
    simulation, pair, _ = private_world(codec, scale=0.0)
    pair = replace(pair, hypotheses=(pair.hypotheses[0], LeastSquares(np.eye(4), np.arange(4) * target, 0.5)))
    found = audited((simulation, pair), 1.0, 0.0, trials=100)
    views = [sample_of(simulation, pair, world, 2).view for world in (0, 1)]
    zero, one = (np.array([r.values["x"][0] for r in view.at_node(1) if r.event == "sent"]) for view in views)
    gap = np.max(np.abs(zero - one))
    if not codec.random:
        assert gap == 0 or gap > 1e-3
        assert (found.judgement.verdict is Verdict.UNPROTECTED) == (gap > 0)
    elif codec == FixedPoint(8, 4.0, "stochastic"):
        assert gap > 2 * codec.step
        assert found.judgement.verdict is Verdict.UNPROTECTED
    else:
        assert found.judgement.verdict in (Verdict.UNPROTECTED, Verdict.UNDERPOWERED)


@dataclass(frozen=True)
class Nudge(Algorithm):
    """Sends its gradient, so small a part of it that a coarse grid's point is the same in both worlds."""

    factor: float

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=self.factor * gradient + 0.3)
        node.estimate(gradient)


def test_what_the_codec_rounds_away_is_not_held_against_anybody():
    """Both worlds send the very same bytes; under a dither that is not known, perhaps."""
    simulation, pair = quadratic_world(Nudge(1e-3))
    coarse = audited((changed(simulation, codec=FixedPoint(4, 1.0)), pair), 1.0, 0.0)
    assert coarse.uncovered is None
    assert coarse.epsilon_exact == 0.0
    assert coarse.judgement.verdict is Verdict.UNDERPOWERED  # for other data the bytes may differ
    dithered = FixedPoint(4, 1.0, "stochastic")
    found = audited((changed(simulation, codec=dithered), pair), 1.0, 0.0, trials=4000)
    assert found.uncovered is None
    assert all(e.epsilon.lower == 0 for e in found.exact)
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    lucky = audited((changed(simulation, codec=dithered), pair), 1.0, 0.0, trials=60)
    assert lucky.judgement.verdict is Verdict.UNDERPOWERED  # no transcript of these shows a difference
    assert "the codec made the same of both" in lucky.judgement.reason
    exact = audited((simulation, pair), 1.0, 0.0)
    assert exact.judgement.verdict is Verdict.UNPROTECTED


def test_rounding_errors_that_a_codec_enlarges_are_no_leak():
    """Half a step plus what cancels but for rounding: the grid makes a whole step of it."""

    class Edge(Algorithm):
        async def run(self, node):
            gradient = await node.gradient(node.zeros())
            node.broadcast(x=(333.3 * gradient + 0.1) - 333.3 * gradient)
            node.estimate(gradient)

    simulation, pair = quadratic_world(Edge())
    here, there = ((333.3 * g + 0.1) - 333.3 * g for g in (-0.25, -0.125))
    codec = FixedPoint(2, here + there)  # its step, and the two on different sides of half of it
    sample = sample_of(changed(simulation, codec=codec), pair, chunk=4)
    foil = replay(sample.view, 1, pair.hypotheses[1], sample.coins(), sample.releases, sample.dither)
    assert any(c.differs.any() for c in foil.comparisons)
    found = audited((changed(simulation, codec=codec), pair), 1.0, 0.0, trials=100)
    assert found.uncovered is None
    assert found.judgement.verdict is Verdict.UNDERPOWERED
    assert "may be rounding" in found.judgement.reason


# ── the exact loss of a rounded release ─────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Once(Algorithm):
    """One noisy release of the gradient at 0."""

    mechanism: Laplace | Gaussian

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient, self.mechanism))
        node.estimate(gradient)


@pytest.mark.parametrize("mechanism", [Laplace(0.2), Gaussian(0.2)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("codec", [FixedPoint(3, 0.5), FixedPoint(4, 2.0), Float16()], ids=repr)
def test_the_loss_is_that_of_a_table_of_probabilities(mechanism, codec):
    """Oracle: every point of the grid with its probability in either world, by the distribution function."""
    simulation, pair = quadratic_world(Once(mechanism))
    sample = sample_of(changed(simulation, codec=codec), pair)
    found = explained((changed(simulation, codec=codec), pair), 200)
    assert found.rounded
    assert found.coded is None
    means = [h.gradient(np.zeros((1, 4)))[0] for h in pair.hypotheses]
    told = sample.view.at_node(1)[0].values["x"]
    law = stats.laplace(scale=0.2) if isinstance(mechanism, Laplace) else stats.norm(scale=0.2)
    low, high = codec.cells(told)
    tables = [np.log(law.cdf(high - mean) - law.cdf(low - mean)).sum(axis=1) for mean in means]
    np.testing.assert_allclose(found.steps[0], tables[0] - tables[1], rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("mechanism", [Laplace(0.2), Gaussian(0.2)], ids=["laplace", "gaussian"])
@pytest.mark.parametrize("codec", ROUNDING, ids=repr)
def test_rounding_never_adds_to_the_loss(mechanism, codec):
    """Data processing: over many transcripts the mean loss (a divergence) of the rounded release is at most that of
    the release itself; and little less where the grid is fine."""
    simulation, pair = quadratic_world(Once(mechanism))
    losses = []
    for one in (codec, Float64()):
        losses.append(explained((changed(simulation, codec=one), pair), 4000).steps[0])
    rounded, exact = losses
    error = np.std(rounded - exact) / math.sqrt(rounded.size)
    assert np.mean(rounded) <= np.mean(exact) + 4.5 * error + 1e-12
    if codec == Float32():
        np.testing.assert_allclose(rounded, exact, atol=1e-5)
    assert abs(np.mean(np.exp(-rounded)) - 1) < 4.5 * np.std(np.exp(-rounded)) / math.sqrt(rounded.size)


def test_gaussian_formulas_bound_a_rounded_release_from_above_only():
    """A grid of three points behind clipping values tells less than N(0, σ²) does."""
    simulation, pair = quadratic_world(Once(Gaussian(0.2)))
    claim = claim_of(4.0, 1e-2)
    fine, coarse = (
        judged(changed(simulation, codec=codec), pair, claim, attack=None, trials=2000)
        for codec in (Float64(), FixedPoint(2, 2.0))
    )
    assert all(e.by_formula for e in fine.exact)
    assert not any(e.by_formula for e in coarse.exact)
    assert coarse.epsilon_exact < 0.5 * fine.epsilon_exact
    assert coarse.judgement.verdict in HELD


def test_pure_epsilon_of_a_gaussian_on_a_bounded_grid_is_finite():
    simulation, pair = quadratic_world(Once(Gaussian(0.2)))
    found = audited((changed(simulation, codec=FixedPoint(2, 0.5)), pair), 50.0, 0.0)
    assert found.epsilon_exact < 10
    assert audited((simulation, pair), 50.0, 0.0).epsilon_exact == math.inf


class Remembers(Algorithm):
    """Goes on with its release as it was before it was rounded."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            x = node.privatize(x + await node.gradient(x), Laplace(1.0))
            await node.exchange(x=x)
            node.estimate(x)


def test_an_agent_that_goes_on_with_more_than_it_told_is_not_taken_at_its_word():
    """The wire does not say what it went on with, so the release is granted, and the loss an upper bound."""
    simulation, pair = quadratic_world(Remembers())
    for codec, rounded in ((Float16(), False), (Float64(), False)):
        found = explained((changed(simulation, codec=codec), pair))
        assert found.rounded is rounded
        assert math.isinf(found.granted_from) is codec.lossless
    told_only = explained((changed(simulation, algorithm=Averaging(Laplace(1.0)), codec=Float16()), pair))
    assert told_only.rounded
    assert math.isinf(told_only.granted_from)


# ── gradients ───────────────────────────────────────────────────────────────────────────────────────────


@pytest.mark.parametrize(
    "algorithm", [Recal(0.3, activations=40), PrivateGradientDescent(4, Constant(0.3), Constant(0.1))]
)
def test_inversions_refuse_what_they_cannot_be_exact_about(algorithm):
    run = tapped_ring(synthetic_problem(), algorithm, codec=Float32()).run()
    with pytest.raises(AttackError, match=r"Float32\(\) changes what is sent"):
        infer(run.views[0])
    assert infer(tapped_ring(synthetic_problem(), algorithm, codec=Float64()).run().views[0])
