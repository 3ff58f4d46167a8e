"""The inversions: exact where the algebra says so, blind where it says so."""

from dataclasses import replace

import numpy as np
import pytest

from attacks.closed_form.descent import through_differences
from attacks.closed_form.recal import through_duals, through_iterates
from attacks.closed_form.token_walk import unbroken_visits
from attacks.inference import evidence, infer, inversions_of
from attacks.score import score_gradients
from netsim import topology
from netsim.adversary import Adversary
from netsim.algorithms import Cpgt, DiaDSP, Dpp2, DPRecal, PrivateGradientDescent, RandomPenaltyAdmm, Recal
from netsim.claims import Clip
from netsim.codecs import TopK
from netsim.errors import AttackError
from netsim.network.laws import UniformDelay
from netsim.network.links import LinkLaw
from netsim.problems import L1, Problem
from netsim.schedules import Constant
from netsim.settings import NetworkSettings, Recording
from netsim.simulation import Simulation
from netsim.transcript import Transcript
from netsim.transcript.message import Record
from tests.worlds import ROUGH, digits_problem, dp_recal, synthetic_problem, tapped_ring

DIGITS = digits_problem()


@pytest.mark.few("algorithm4-through_iterates-1-law4")
@pytest.mark.parametrize(
    ("algorithm", "attack", "hidden", "law"),
    [
        (Recal(step=0.2, activations=1000), through_duals, 0, ROUGH),
        (dp_recal(DIGITS, "as_analysed", 30), through_duals, 0, LinkLaw()),  # the exact u beside the noisy one
        (dp_recal(DIGITS, "as_analysed", 30, 0.01), through_iterates, 1, ROUGH),
        (dp_recal(DIGITS, "as_deployable", 30, 0.01), through_iterates, 1, LinkLaw()),
        (dp_recal(DIGITS, "as_deployable", 30, 1.0), through_iterates, 1, ROUGH),
    ],
)
def test_recal_gives_every_gradient_and_dp_recal_hides_each_agents_last_alone(algorithm, attack, hidden, law):
    """At any ε: the noise covers ũ, and x⁺ tells all the same."""
    run = tapped_ring(DIGITS, algorithm, links=law, replicas=1 if isinstance(algorithm, Recal) else 5).run()
    score = score_gradients(attack(run.views[0]), run.truth)
    assert score.hidden == (hidden,) * 8
    assert score.estimated == score.asked - 8 * hidden
    assert score.worst < (1e-10 if isinstance(algorithm, Recal) else 1e-8)


@pytest.mark.few("sent_state")
@pytest.mark.parametrize("reading", ["fresh_noise", "sent_state"])
def test_the_repairs_are_not_caught_by_the_same_attack(reading):
    run = tapped_ring(DIGITS, dp_recal(DIGITS, reading, 60), replicas=20).run()
    estimates = through_iterates(run.views[0])
    assert score_gradients(estimates, run.truth).median > 1  # as large as the gradients themselves


def test_the_stated_deviation_is_that_of_the_error():
    """sent_state: the errors of all estimates, divided by the stated deviation, have variance 1.

    44 estimates × 200 replicas × 6 coordinates: a 5 % error in the deviation is 8 standard errors off.
    """
    problem = synthetic_problem()
    algorithm = replace(dp_recal(problem, "sent_state", 15), step=0.5)
    run = tapped_ring(problem, algorithm, replicas=200).run()
    estimates = through_iterates(run.views[0])
    whitened = [(e.gradient - run.truth.queries[e.agent][e.query].gradient) / e.stddev for e in estimates]
    assert np.var(whitened) == pytest.approx(1, rel=0.02)
    assert abs(np.mean(whitened)) < 0.02
    for e in estimates:
        np.testing.assert_allclose(e.point, run.truth.queries[e.agent][e.query].point, atol=1e-9)


def test_descent_is_inverted_exactly_without_noise_and_honestly_with_it():
    problem = synthetic_problem()
    plain = tapped_ring(problem, PrivateGradientDescent(12, Constant(0.3)), links=ROUGH).run()
    score = score_gradients(through_differences(plain.views[0]), plain.truth)
    assert score.worst < 1e-12
    assert score.hidden == (1,) * 5
    noisy = tapped_ring(
        problem, PrivateGradientDescent(12, Constant(0.3), Constant(0.05), Clip(1e6)), replicas=300
    ).run()
    errors = [
        (e.gradient - noisy.truth.queries[e.agent][e.query].gradient) / e.stddev
        for e in through_differences(noisy.views[0])
    ]
    # the mix holds x̃_j, which is told; only x̃_i^{k+1}'s own noise is unknown: b√2/η
    assert np.var(errors) == pytest.approx(1, rel=0.03)


def overheard(algorithm, *adversaries, links=LinkLaw(), **options):  # noqa: B008
    return Simulation(
        synthetic_problem(), topology.ring(5), algorithm, NetworkSettings(links), adversaries=adversaries, **options
    ).run()


def test_a_lossy_tap_costs_nothing_where_the_next_visits_say_it_again():
    run = overheard(Recal(step=0.5, activations=600), Adversary("deaf", "all", capture_loss=0.02), Adversary("ears"))
    partial, full = (score_gradients(through_duals(view), run.truth) for view in run.views)
    assert full.estimated == full.asked
    assert partial.estimated == full.asked
    assert partial.worst < 1e-10  # what is still estimated is exact


@pytest.mark.few(7)
@pytest.mark.parametrize("law", [LinkLaw(), ROUGH], ids=["perfect", "rough"])
@pytest.mark.parametrize("agent", [0, 1])  # 0 is the first holder: no baton comes in before its first visit
@pytest.mark.parametrize("name", ["recal", "dp_recal", "descent"])
def test_a_tap_at_an_agents_door_hears_as_much_of_it_as_taps_on_all_links(name, agent, law):
    algorithm = {
        "recal": Recal(step=0.5, activations=100),
        "dp_recal": dp_recal(synthetic_problem(), "as_deployable"),
        "descent": PrivateGradientDescent(12, Constant(0.3)),
    }[name]
    door, ears = Adversary("door", (), nodes=(agent,)), Adversary("ears")
    run = overheard(algorithm, door, ears, links=law)
    near, far = (score_gradients(infer(view), run.truth) for view in run.views)
    assert near.worst < 1e-9
    assert near.hidden[agent] == far.hidden[agent] <= 1
    assert near.estimated == len(run.truth.queries[agent]) - near.hidden[agent]  # of the others, nothing


def test_a_door_tells_what_a_lossy_tap_on_the_links_missed():
    both = Adversary("both", "all", nodes=(1, 3), capture_loss=0.3)
    run = overheard(Recal(step=0.5, activations=300), both, links=ROUGH)
    score = score_gradients(infer(run.views[0]), run.truth)
    assert score.hidden[1] == score.hidden[3] == 0 < min(score.hidden[i] for i in (0, 2, 4))
    assert score.worst < 1e-9


def test_two_batons_that_wait_at_a_door_are_passed_on_in_turn():
    """A baton may come in while its holder still works on the one before."""
    view = overheard(Recal(step=0.5, activations=5), Adversary("door", (), nodes=(1,))).views[0]
    values = [{"u": np.full((1, 6), float(k)), "x": np.zeros((1, 6))} for k in range(4)]
    events = [("received", 0, 1, 0), ("received", 2, 1, 0), ("sent", 1, 2, 0), ("sent", 1, 0, 1)]
    rows = [
        Record(float(k), "node", event, sender, receiver, "direct", number, -1, 0, 96, values[k])
        for k, (event, sender, receiver, number) in enumerate(events)
    ]
    visits = list(
        unbroken_visits(replace(view, transcript=Transcript(rows, 1)), 0, "u", np.zeros(view.public.dimension))
    )
    assert [(v.number, v.incoming["u"][0, 0], v.outgoing["u"][0, 0]) for v in visits] == [
        (0, 0.0, 2.0),
        (1, 1.0, 3.0),
    ]


def test_attacks_refuse_what_they_cannot_invert():
    problem = synthetic_problem()
    descent = tapped_ring(problem, PrivateGradientDescent(3, Constant(0.3))).run().views[0]
    walk = tapped_ring(problem, Recal(step=0.5, activations=5)).run().views[0]
    sparse = Problem(problem.objectives, L1(0.1), "logistic")
    lasso = tapped_ring(sparse, dp_recal(problem, "as_deployable")).run().views[0]
    for attack, view in (
        (through_duals, descent),
        (through_iterates, walk),
        (through_duals, lasso),
        (through_differences, walk),
    ):
        with pytest.raises(AttackError):
            attack(view)


def test_infer_picks_the_strongest_inversion():
    problem = digits_problem()
    assert inversions_of(Recal(step=0.1, activations=1))[0] is through_duals
    assert inversions_of(dp_recal(problem, "as_analysed"))[0] is through_duals
    assert inversions_of(dp_recal(problem, "sent_state"))[0] is through_iterates
    view = tapped_ring(problem, dp_recal(problem, "as_deployable")).run().views[0]
    assert len(infer(view)) == len(through_iterates(view))


@pytest.mark.few("0.3-0.02")
@pytest.mark.parametrize(("loss", "missed"), [(0.1, 0.1), (0.3, 0.02), (0.0, 0.4)])
def test_a_tap_that_misses_packets_loses_estimates_and_never_invents_one(loss, missed):
    """A repetition heard without its first transmission comes after the next holder's baton."""
    law, some = LinkLaw(UniformDelay(0.01, 0.03), loss=loss, reliable=True), 0
    for seed in range(12):
        adversary, recording = Adversary(capture_loss=missed), Recording(measure=False)
        run = overheard(Recal(step=0.5, activations=100), adversary, links=law, seed=seed, recording=recording)
        score = score_gradients(infer(run.views[0]), run.truth)
        some += score.estimated
        assert not score.errors.size or score.worst < 1e-9
    assert some > 20
    assert missed < 0.3 or some < 12 * 100


def test_the_baseline_is_the_error_of_who_knows_the_ridge_alone():
    problem = synthetic_problem()
    run = tapped_ring(problem, Recal(step=0.5, activations=40)).run()
    score = score_gradients(infer(run.views[0]), run.truth)
    errors = [
        np.linalg.norm(0.5 * q.point - q.gradient) / max(1, np.linalg.norm(q.gradient))
        for queries in run.truth.queries
        for q in queries
    ]
    assert score.baseline == pytest.approx(np.median(errors))
    assert 0.01 < score.baseline < 1


FADING = Constant(0.1)
ALGORITHMS = {
    "recal": Recal(0.5, activations=60), "as_analysed": DPRecal(0.5, per_agent=8, stddev=0.1, reading="as_analysed"),
    "as_deployable": DPRecal(0.5, per_agent=8, stddev=0.1),
    "fresh_noise": DPRecal(0.5, per_agent=8, stddev=0.1, reading="fresh_noise"),
    "sent_state": DPRecal(0.5, per_agent=8, stddev=0.1, reading="sent_state"),
    "dpp2": Dpp2(8, 0.3, 0.1, 1.0, scale_w=FADING, scale_e=FADING), "diadsp": DiaDSP(8, 0.1, 0.1, 0.1, 0.9),
    "cpgt": Cpgt(8, 0.1, 0.1, 0.1, 0.9),
    "cpgt, compressed": Cpgt(8, 0.1, 0.0, 0.0, 0.9, gamma=0.3, compressor=TopK(3)),
    "random_penalty_admm": RandomPenaltyAdmm(8), "descent": PrivateGradientDescent(8, Constant(0.3), FADING),
}  # fmt: skip
CORRELATED = {"fresh_noise", "diadsp", "cpgt"}


@pytest.mark.few(5)
@pytest.mark.parametrize("name", ALGORITHMS)
def test_evidence_is_what_was_inferred_with_its_covariance(name):
    view = overheard(replace(ALGORITHMS[name]), Adversary(), replicas=2).views[0]
    estimates = infer(view)
    found = evidence(view)
    assert sum(f.rounds for f in found) == len(estimates) > 20
    off_diagonal = 0.0
    for one in found:
        own = [e for e in estimates if e.agent == one.agent]
        assert one.queries == tuple(e.query for e in own)
        np.testing.assert_array_equal(one.gradients, [e.gradient for e in own])
        np.testing.assert_array_equal(one.points, [e.point for e in own])
        np.testing.assert_allclose(np.sqrt(np.mean(one.stddev**2, axis=1)), [e.stddev for e in own], atol=1e-12)
        first = one.covariance[..., 0]
        np.testing.assert_allclose(first, first.T)
        assert np.linalg.eigvalsh(first).min() > -1e-9 * max(1.0, np.abs(first).max())
        off_diagonal = max(off_diagonal, np.abs(first - np.diag(np.diag(first))).max())
    assert (off_diagonal > 0) == (name in CORRELATED)


def test_what_was_clipped_is_no_evidence_of_a_gradient():
    def ran(bound, scale):
        algorithm = PrivateGradientDescent(6, Constant(0.3), Constant(scale), clip=Clip(bound, "l2"))
        return overheard(algorithm, Adversary(), recording=Recording(measure=False))

    plain = ran(1e9, 1e-6)
    sizes = np.array([[np.linalg.norm(q.gradient) for q in plain.truth.queries[i][:5]] for i in range(5)])
    for scale in (0.0, 1e-6):
        run = ran(float(np.median(sizes)), scale)
        found = evidence(run.views[0])
        assert sum(one.hidden for one in found) > 0
        for one in found:
            for t, gradient in zip(one.queries, one.gradients, strict=True):
                np.testing.assert_allclose(gradient, run.truth.queries[one.agent][t].gradient, atol=1e-4)
        with pytest.raises(AttackError, match="the clip may have acted on every gradient"):
            evidence(ran(0.5 * float(sizes.min()), scale).views[0])
