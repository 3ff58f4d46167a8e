"""Parts of a loss: they add up, whoever sums them; and games on the way, never above the true ε."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit import loss_breakdown as module
from attacks.audit.games.game import play
from attacks.audit.loss.exact import ExactLoss
from attacks.audit.loss.wire_fields import UnprotectedField
from attacks.audit.loss_breakdown import MOST_LEVELS, Breakdown
from netsim.algorithms import Dpp2, PrivateGradientDescent, SecretSharing
from netsim.algorithms.planted_faults import SentBefore
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation
from netsim.topology import complete, ring
from scenarios.results import audited as results
from scenarios.results.audited import MOST_PARTS
from tests.attacks.auditing import audited, explained, quadratic_world, record_pair
from tests.worlds import digits_problem, dp_recal

REPLICAS = 40


def dpp2(rounds=8, ratio=0.9):
    decay = Geometric(1.0, ratio)
    return Dpp2(rounds, step=0.8, beta=0.3, rho=0.9, eta=Constant(0.3), scale_w=decay, scale_e=decay)


def samples(algorithm, agents=4, topology=None, chunks=2, holders=None):
    """Explained transcripts of both worlds."""
    simulation, pair = quadratic_world(algorithm, agents)
    if topology is not None:
        simulation = replace(simulation, topology=topology)
    each = [(world, chunk) for chunk in range(chunks) for world in (0, 1)]
    return [explained((simulation, pair), REPLICAS, *one, holders=holders) for one in each]


@pytest.fixture(scope="module")
def broadcast():
    return samples(dpp2(), topology=complete(4))


@pytest.fixture(scope="module")
def walk():
    """DP-RECAL sends each release to one neighbor; differences depend on the noise."""
    problem = digits_problem(agents=4)
    pair = record_pair(problem)
    simulation = Simulation(problem, ring(4), dp_recal(problem, "sent_state", 25))
    return pair.agent, [explained((simulation, pair), REPLICAS, world) for world in (0, 1)]


def test_a_broadcast_is_on_every_link_in_full(broadcast):
    found = Breakdown.of(1, broadcast)
    assert list(found.links) == [(1, 0), (1, 2), (1, 3)]
    assert found.hidden is None
    assert all(part == found.total for part in found.links.values())
    assert found.total.releases == len(found.releases) == 16
    assert found.total.spent.mean > 0


def test_direct_messages_are_on_one_link_each_and_links_add_up(walk):
    agent, parts = walk
    found = Breakdown.of(agent, parts)
    assert len(found.links) == 2
    assert sum(part.releases for part in found.links.values()) == found.total.releases
    assert math.fsum(p.spent.mean for p in found.links.values()) == pytest.approx(found.total.spent.mean, rel=1e-12)
    assert found.total.spent.least < found.total.spent.mean < found.total.spent.most
    assert found.total.spent.share(0.95) is None  # Gaussian noise has no worst case


@pytest.mark.few("walk")
@pytest.mark.parametrize("which", ["broadcast", "walk"])
def test_the_parts_are_those_of_the_loss(which, request):
    """A naive sum over all transcripts at once; and in all it is the very loss that ε is computed from."""
    given = request.getfixturevalue(which)
    agent, parts = given if which == "walk" else (1, given)
    found = Breakdown.of(agent, parts)
    steps, prices = (np.concatenate([getattr(p, key) for p in parts], axis=1) for key in ("steps", "cost"))
    losses = np.concatenate([ExactLoss.of([p], 1e-3, 0.95).losses for p in parts])
    np.testing.assert_array_equal(np.cumsum(steps, axis=0)[-1], losses)
    assert found.total.spent.step_mean == pytest.approx(losses.mean(), rel=1e-12)
    assert (found.total.spent.step_least, found.total.spent.step_most) == (losses.min(), losses.max())
    for t, part in enumerate(found.releases):
        assert part.spent.mean == pytest.approx(prices[t].mean(), rel=1e-12)
        assert (part.spent.least, part.spent.most) == (prices[t].min(), prices[t].max())
        assert part.spent.step_size == pytest.approx(np.abs(steps[t]).mean(), rel=1e-12)
        assert part.spent.step_error == pytest.approx(np.abs(steps[t]).std() / math.sqrt(losses.size), rel=1e-6)
    for key in ("mean", "step_mean"):
        whole = getattr(found.total.spent, key)
        assert math.fsum(getattr(p.spent, key) for p in found.releases) == pytest.approx(whole, rel=1e-9)
        assert math.fsum(getattr(p.spent, key) for p in found.activations.values()) == pytest.approx(whole, rel=1e-9)


def test_it_does_not_matter_how_transcripts_are_cut_into_samples(broadcast):
    def cut(part, rows):
        taken = {key: getattr(part, key)[..., rows] for key in ("steps", "cost", "leaked", "bare")}
        return replace(part, **taken)

    halves = [cut(p, rows) for p in broadcast for rows in (slice(0, 7), slice(7, None))]
    whole, other = Breakdown.of(1, broadcast), Breakdown.of(1, halves)
    assert whole.where == other.where
    for a, b in zip(whole.releases, other.releases, strict=True):
        assert (a.spent.least, a.spent.most) == (b.spent.least, b.spent.most)
        assert a.spent.mean == pytest.approx(b.spent.mean, rel=1e-12)
        assert a.spent.step_error == pytest.approx(b.spent.step_error, rel=1e-9)


def test_a_transcript_without_a_release_spent_nothing_there(broadcast):
    """Samples of fewer releases count with zeros."""
    short = [replace(p, steps=p.steps[:2], cost=p.cost[:2], laws=p.laws[:2]) for p in broadcast[:1]]
    found, full = Breakdown.of(1, [*short, *broadcast[1:]]), Breakdown.of(1, broadcast[1:])
    share = 1 - short[0].replicas / found.transcripts
    assert found.releases[-1].spent.mean == pytest.approx(share * full.releases[-1].spent.mean, rel=1e-12)
    assert found.releases[-1].spent.least == 0.0 < full.releases[-1].spent.least


def test_where_a_release_went_is_known():
    """y and z of each round, in exchanges 0, 1, 2, …, and DPP² noise of scale 0.9^k."""
    found = Breakdown.of(1, samples(dpp2(), chunks=1))
    for t, where in enumerate(found.where):
        assert where.activation == 1 + t // 2
        assert where.mechanism == "Laplace"
        assert where.scale == (0.9 ** (t // 2), 0.9 ** (t // 2))
        (carrier,) = where.carriers
        assert (carrier.kind, carrier.number, carrier.name) == ("exchange", t, "yz"[t % 2])
        assert carrier.receivers == (0, 2)


def test_releases_that_are_only_inside_others_are_on_no_link():
    """A secret-sharing agent adds its own noise to a sum of shares: it is nowhere as it was made."""
    found = Breakdown.of(1, samples(SecretSharing(2, Constant(0.2), Constant(0.3)), agents=3, chunks=1, holders=()))
    hidden = [where for where in found.where if not where.carriers]
    assert hidden
    assert all(one.links == () for one in hidden)
    assert found.hidden.releases == len(hidden)
    assert [one.place("round") for one in hidden] == [
        f"inside 'sum' of exchange {k} (round {k + 1})" for k in range(2)
    ]
    assert all(one.inside.receivers == (0, 2) for one in hidden)
    assert found.hidden.releases + len([w for w in found.where if w.carriers]) == found.total.releases


@pytest.mark.slow
def test_the_price_of_noise_that_dies_out_grows_as_its_inverse():
    """DPP² of r = 0.9 against a constant change of the gradient: z's price at round k is ‖Δz‖₁ r^{−k}."""
    found = Breakdown.of(1, samples(dpp2(rounds=30), chunks=1))
    prices = np.array([found.activations[k].spent.mean for k in range(12, 31)])
    np.testing.assert_allclose(prices[1:] / prices[:-1], 1 / 0.9, rtol=0.02)


def test_a_release_that_costs_nothing_has_no_gamma_and_others_are_at_most_one():
    found = Breakdown.of(1, samples(PrivateGradientDescent(5, Constant(0.2), Constant(0.3)), chunks=1))
    assert found.releases[0].spent.share(0.95) is None  # the public start
    for part in found.releases[1:]:
        assert 0 < part.spent.share(0.95).estimate <= 1
    assert found.total.spent.share(0.95).estimate < found.releases[1].spent.share(0.95).estimate  # signs cancel


@pytest.mark.slow
def test_many_releases_are_thinned_to_the_dearest_and_sums_are_of_all():
    parts = samples(dpp2(rounds=MOST_PARTS), chunks=1)
    found = results._loss_breakdown(Breakdown.of(1, parts), 0.95)
    assert len(found.releases) == MOST_PARTS < found.counts.releases == 2 * MOST_PARTS
    assert found.total.count == 2 * MOST_PARTS
    kept = [row.release for row in found.releases]
    assert kept == sorted(kept)
    assert max(kept) == 2 * MOST_PARTS - 1  # the last rounds are the dearest


CONFIDENCE = 0.999


@pytest.fixture(scope="module")
def whole():
    return audited(quadratic_world(dpp2(rounds=30), 4), 1.0, 0.0, trials=300)


def test_it_proves_no_more_than_is_true_at_any_activation(whole):
    """The differences are constant, so the true pure ε by the end of round k is the sum of prices until then."""
    prices = {k: part.spent.most for k, part in whole.loss_breakdown.breakdown.activations.items()}
    levels = whole.loss_breakdown.audited
    for level in levels:
        true = sum(price for k, price in prices.items() if k <= level.activation)
        assert 0 <= level.epsilon <= min(true, level.ceiling)
    assert levels[-1].epsilon > 2  # and it does prove something


def test_it_is_played_at_some_activations_up_to_the_last(whole):
    levels = whole.loss_breakdown.audited
    at = [level.activation for level in levels]
    assert len(levels) == MOST_LEVELS
    assert at[0] == 1
    assert at[-1] == whole.activations == 30
    assert at == sorted(set(at))
    assert levels[-1].trials == whole.white_box.trials


def test_the_scores_are_those_of_the_exact_loss(whole):
    """At δ = 0 what is known of ε on the way grows, and the estimate is the sum of prices."""
    prices = np.cumsum([part.spent.mean for part in whole.loss_breakdown.breakdown.activations.values()])
    estimates = {level.activation: level.estimate for level in whole.exact[0].growth}
    np.testing.assert_allclose([estimates[k] for k in sorted(estimates)], prices, rtol=1e-9)


def test_it_changes_no_number_of_the_audit(whole):
    """The games on the way are played after the others, so these have the first coins."""
    first, second = whole.exact
    alone = play(-first.losses, second.losses, delta=0.0, confidence=1 - 0.05 / 2, rng=np.random.default_rng(0))
    assert whole.white_box == alone


@pytest.mark.slow
def test_after_an_uncovered_message_only_the_trials_limit_it():
    levels = audited(
        SentBefore(rounds=4, step=0.2, scale=0.8, bound=0.5), 1.0, 0.0, trials=200
    ).loss_breakdown.audited
    assert levels[0].epsilon < 0.5
    assert all(level.epsilon == pytest.approx(level.ceiling) for level in levels[1:])


def test_an_agent_whose_data_never_left_it_has_lost_nothing():
    levels = audited(PrivateGradientDescent(1, Constant(0.2), Constant(0.5)), 1.0, 0.0).loss_breakdown.audited
    assert [level.epsilon for level in levels] == [0.0]


@pytest.mark.slow
def test_few_transcripts_prove_nothing_and_do_no_harm():
    found = audited(dpp2(rounds=3), 1.0, 0.0, trials=50)
    assert all(level.epsilon <= level.ceiling for level in found.loss_breakdown.audited)


def taken_apart(parts):
    exact = ExactLoss.of(parts[::2], 0.0, 0.95), ExactLoss.of(parts[1::2], 0.0, 0.95)
    return module.LossBreakdown.of(1, iter(parts), exact, 0.0, 0.95, np.random.default_rng(0))


def test_one_pass_is_enough_and_every_sample_counts():
    parts = samples(SentBefore(rounds=3, step=0.2, scale=0.8, bound=0.5), chunks=3)
    found = taken_apart(parts)
    assert found.breakdown.transcripts == 6 * REPLICAS
    assert found.uncovered == UnprotectedField.pooled((p.details.uncovered, p.replicas) for p in parts)
    assert found.uncovered[0].distinguishing == found.uncovered[0].transcripts == 6 * REPLICAS
    assert found.average.transcripts == sum(p.details.averages.shape[2] for p in parts)


@pytest.mark.slow
def test_averages_are_kept_of_the_first_samples_only(monkeypatch):
    parts = samples(dpp2(), chunks=3)
    monkeypatch.setattr(module, "AVERAGED", parts[0].details.averages.size + 1)
    found = taken_apart(parts)
    assert found.average.transcripts == 2 * parts[0].details.averages.shape[2]
    assert found.breakdown.transcripts == 6 * REPLICAS
    assert len(found.averages) == len(found.breakdown.releases) == 16
