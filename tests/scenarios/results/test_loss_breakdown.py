"""The three epsilons over time and the parts of a loss, in results, on the page and in a sentence."""

import math
from dataclasses import dataclass, replace

import pytest

from netsim.algorithms import PrivateGradientDescent
from netsim.claims import Adjacency, Clip
from netsim.errors import PrivacyError
from netsim.schedules import Constant
from scenarios.render import sentences
from scenarios.render.page.epsilons import loss_charts
from scenarios.render.page.report import page
from scenarios.render.sentences import Finding
from scenarios.results import over_time as curves
from scenarios.results.budgets import OverTime
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.attacks.audit.test_loss_breakdown import dpp2
from tests.attacks.auditing import claim_of, judged, quadratic_world

SMALL = """
name: small
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
attacks: {gradients: false}
algorithms:
  - {kind: dpp2, name: dying, rounds: 40, step: 0.5, beta: 0.2, rho: 0.4,
     scale_w: {kind: geometric, first: 1.0, ratio: 0.9}, scale_e: {kind: geometric, first: 1.0, ratio: 0.9}}
  - {kind: random_penalty_admm, name: random, rounds: 6, scale: 0.05}
  - {kind: private_gradient_descent, name: bare, rounds: 3, step: 0.2}
audit: {agent: 1, trials: 100, chunk: 100}
"""
PAIRED = Adjacency(0.25, "another target")


@dataclass(frozen=True)
class Until:
    """A scale that is 0 from some round on."""

    last: int

    def __call__(self, k: int) -> float:
        return 0.5 if k < self.last else 0.0


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return run_scenario(parse(SMALL), tmp_path_factory.mktemp("small"))


def entry(results, name):
    return next(a for a in results.algorithms if a.name == name)


def over_time(algorithm, trials=100, epsilon=1.0):
    simulation, pair = quadratic_world(algorithm, 4)
    found = judged(simulation, pair, claim_of(epsilon, 0.0), trials=trials, attack=None)
    return curves.over_time(simulation, PAIRED, 0.0, found), found


class TestOverTime:
    @pytest.mark.slow
    def test_the_claim_that_skips_the_first_release_is_exceeded_at_once(self):
        """DPP²'s sum begins at k = 1: after one round it claims 0, and z⁰ was released."""
        time, found = over_time(dpp2(rounds=30))
        assert time.claimed.count[0] == 1
        assert time.claimed.epsilon[0] == 0.0
        assert time.exceeds_from == 1
        assert time.exceeds.claimed == 0.0 < time.exceeds.exact
        assert time.exact.count == tuple(range(1, 31))
        assert time.audited.count[-1] == found.activations == 30

    @pytest.mark.slow
    def test_curves_do_not_fall_and_where_they_mean_nothing_is_found(self):
        time, _ = over_time(dpp2(rounds=30))
        for first, count, values in (
            (time.claimed_vacuous_from, time.claimed.count, time.claimed.epsilon),
            (time.exact_vacuous_from, time.exact.count, time.exact.estimate),
        ):
            assert list(values) == sorted(values)
            assert first == next(k for k, e in zip(count, values, strict=True) if e > 20)
        assert time.undefined_from is None

    @pytest.mark.slow
    def test_the_exact_curve_grows_as_the_inverse_of_the_noise(self):
        """Terms of r^{−k} sum to as much, but for a constant: 0.9^{−10} = 2.87 times in ten rounds."""
        time, _ = over_time(dpp2(rounds=40))
        curve = dict(zip(time.exact.count, time.exact.estimate, strict=True))
        assert (curve[40] - curve[30]) / (curve[30] - curve[20]) == pytest.approx(0.9**-10, rel=0.02)

    @pytest.mark.slow
    def test_from_where_a_claim_is_undefined_with_the_condition(self):
        time, _ = over_time(PrivateGradientDescent(9, Constant(0.2), Until(6), Clip(0.5)))
        assert time.undefined_from == 7
        assert time.condition == "b_6 = 0: round 6 has no noise"
        assert None not in time.claimed.epsilon[:6]
        assert time.claimed.epsilon[6:] == (None,) * 3
        assert time.exact_vacuous_from == 7  # the same message is not protected
        assert math.isinf(time.exact.lower[-1])

    def test_a_sound_claim_is_not_exceeded(self):
        time, _ = over_time(PrivateGradientDescent(8, Constant(0.2), Constant(0.5), Clip(0.5)))
        assert time.exceeds_from is time.exceeds is time.claimed_vacuous_from is None
        assert sentences.over_time(time) is None
        claimed = dict(zip(time.claimed.count, time.claimed.epsilon, strict=True))
        for count, values in ((time.exact.count, time.exact.lower), (time.audited.count, time.audited.epsilon)):
            assert all(epsilon <= claimed[k] + 1e-12 for k, epsilon in zip(count, values, strict=True))

    @pytest.mark.slow
    def test_few_points_are_shown_and_where_curves_cross_is_the_same(self, monkeypatch):
        algorithm = PrivateGradientDescent(9, Constant(0.2), Until(6), Clip(0.5))
        whole, _ = over_time(algorithm, epsilon=0.1)
        monkeypatch.setattr(curves, "POINTS", 4)
        few, _ = over_time(algorithm, epsilon=0.1)
        assert (len(whole.claimed.count), few.claimed.count) == (9, (1, 3, 6, 9))
        for name in ("undefined_from", "exceeds_from", "exact_vacuous_from", "claimed_vacuous_from"):
            assert getattr(few, name) == getattr(whole, name)


@pytest.mark.slow
class TestResults:
    def test_they_have_every_part(self, results):
        for name in ("dying", "random", "bare"):
            parts = entry(results, name).audit.loss_breakdown
            assert (parts.transcripts, parts.agent) == (200, 1)
            assert {row.link for row in parts.links} <= {(1, 0), (1, 2)}
        bare = entry(results, "bare").audit
        (unprotected,) = bare.unprotected_fields
        assert unprotected.share == 1
        assert unprotected.path == "1→0, 1→2: field 'x' of exchange 1"
        assert bare.loss_breakdown.releases == ()
        assert entry(results, "dying").audit.unprotected_fields == ()

    def test_average_and_worst_case_stand_side_by_side(self, results):
        audit = entry(results, "random").audit
        low, middle, high = audit.average_case.share_measured
        assert low < middle < high < 1
        assert abs(audit.average_case.share_computed - middle) < 3 * (high - low)
        assert middle < audit.average_case.gamma[0] < audit.average_case.gamma[2] < 1
        releases = audit.loss_breakdown.releases
        assert len(releases) == 6
        assert all(row.average.worst == pytest.approx(row.cost[1], rel=0.1) for row in releases)
        assert all(row.share[0] <= row.share[2] <= 1 for row in releases)

    def test_a_sentence_says_where_the_budget_ends(self, results):
        sentence = sentences.over_time(entry(results, "dying").over_time)
        assert "The exact ε is from round 1 on above what is claimed of a run that ends there (" in sentence
        assert "The claim is vacuous (ε > 20) from round" in sentence
        assert sentences.over_time(None) is None


@pytest.mark.slow
class TestPage:
    def test_it_shows_them(self, results):
        text = page(results)
        for words in (
            'id="loss-breakdown"',
            "The three epsilons over time",
            "Unprotected fields",
            "Average against worst case",
            "Link 1 → 0",
            "it carries the agent&#39;s own gradient",
        ):
            assert words in text
        assert page(results) == text

    def test_without_audits_there_is_no_section(self, results):
        bare = tuple(replace(one, audit=None, over_time=None) for one in results.algorithms)
        assert 'id="loss-breakdown"' not in page(replace(results, algorithms=bare))

    def test_without_curves_the_tables_remain(self, results):
        dying = replace(entry(results, "dying"), over_time=None)
        assert [one.title for one in loss_charts(Finding(dying), "x")] == ["Where it is spent"]
        text = page(replace(results, algorithms=(dying,)))
        assert "All that was released" in text
        assert f"The costliest releases; {80 - 12} more are not shown." in text

    def test_an_infinite_level_is_drawn_in_the_vacuous_region(self, results):
        shown = loss_charts(Finding(entry(results, "bare")), "x")
        assert "vacuous" in shown[0].drawing.svg
        assert "∞" in shown[0].drawing.svg


@pytest.mark.slow
def test_an_audit_that_is_refused_has_no_parts(tmp_path, monkeypatch):
    def refuse(*_):
        raise PrivacyError("no verdict")

    monkeypatch.setattr("scenarios.stages.audit.audited", refuse)
    found = run_scenario(parse(SMALL.replace("rounds: 40", "rounds: 4")), tmp_path)
    assert all(one.over_time is None and one.audit.refused == "no verdict" for one in found.algorithms)
    assert all(one.plan is not None for one in found.algorithms if one.name == "dying")


@pytest.mark.slow
def test_what_is_sent_after_the_last_round_is_in_none():
    time, _ = over_time(PrivateGradientDescent(6, Constant(0.2), Constant(0.5), Clip(0.5)))
    late = replace(time, exceeds_from=7, exact_vacuous_from=7, exceeds=OverTime.Excess(exact=math.inf, claimed=5.0))
    assert sentences.over_time(late) == (
        "The exact ε is after the last round (6) above what is claimed of a run that ends there (∞ > 5). "
        "The exact ε is above 20 after the last round (6)."
    )
    assert "from round 6 on above" in sentences.over_time(replace(late, exceeds_from=6))
    assert "from round 6 on" in sentences.over_time(replace(late, exact_vacuous_from=6))
