"""The three epsilons over time and the parts of a loss, in results, on the page and in a sentence."""

import json
import math
from dataclasses import dataclass

import pytest

from netsim.algorithms import PrivateGradientDescent
from netsim.claims import Adjacency, Clip
from netsim.errors import PrivacyError
from netsim.schedules import Constant
from scenarios.render.page.loss_breakdown import loss_breakdowns
from scenarios.render.page.report import page
from scenarios.render.sentences import Finding
from scenarios.results import loss_breakdown as anatomy
from scenarios.results.former import entry_of, plain
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
audit: {agent: 1, trials: 200, chunk: 100}
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
    return next(a for a in results["algorithms"] if a["name"] == name)


def over_time(algorithm, trials=100, epsilon=1.0):
    simulation, pair = quadratic_world(algorithm, 4)
    found = judged(simulation, pair, claim_of(epsilon, 0.0), trials=trials, attack=None)
    return plain(anatomy.over_time(simulation, PAIRED, 0.0, found)), found


class TestOverTime:
    def test_the_claim_that_skips_the_first_release_is_exceeded_at_once(self):
        """DPP²'s sum begins at k = 1: after one round it claims 0, and z⁰ was released."""
        told, found = over_time(dpp2(rounds=30))
        assert told["claimed"]["count"][0] == 1
        assert told["claimed"]["epsilon"][0] == 0.0
        assert told["exceeds_from"] == 1
        assert told["exceeds"]["claimed"] == 0.0 < told["exceeds"]["exact"]
        assert told["exact"]["count"] == list(range(1, 31))
        assert told["audited"]["count"][-1] == found.activations == 30

    def test_curves_do_not_fall_and_where_they_mean_nothing_is_found(self):
        told, _ = over_time(dpp2(rounds=30))
        for curve in (told["claimed"]["epsilon"], told["exact"]["estimate"]):
            assert curve == sorted(curve)
        for name, curve in (("claimed_vacuous_from", told["claimed"]), ("exact_vacuous_from", told["exact"])):
            values = curve.get("epsilon") or curve["estimate"]
            first = next(k for k, e in zip(curve["count"], values, strict=True) if e > 20)
            assert told[name] == first
        assert told["undefined_from"] is None

    def test_the_exact_curve_grows_as_the_inverse_of_the_noise(self):
        """Terms of r^{−k} sum to as much, but for a constant: 0.9^{−10} = 2.87 times in ten rounds."""
        told, _ = over_time(dpp2(rounds=40))
        curve = dict(zip(told["exact"]["count"], told["exact"]["estimate"], strict=True))
        assert (curve[40] - curve[30]) / (curve[30] - curve[20]) == pytest.approx(0.9**-10, rel=0.02)

    def test_from_where_a_claim_is_undefined_with_the_condition(self):
        algorithm = PrivateGradientDescent(9, Constant(0.2), Until(6), Clip(0.5))
        told, _ = over_time(algorithm)
        assert told["undefined_from"] == 7
        assert told["condition"] == "b_6 = 0: round 6 has no noise"
        defined = [e for e in told["claimed"]["epsilon"] if e is not None]
        assert len(defined) == 6
        assert told["claimed"]["epsilon"][6:] == [None] * 3
        assert told["exact_vacuous_from"] == 7  # the same message is not covered
        assert math.isinf(told["exact"]["lower"][-1])

    def test_a_sound_claim_is_not_exceeded(self):
        told, _ = over_time(PrivateGradientDescent(8, Constant(0.2), Constant(0.5), Clip(0.5)))
        assert told["exceeds_from"] is told["exceeds"] is told["claimed_vacuous_from"] is None
        assert anatomy.loss_sentence(told) is None
        claimed = dict(zip(told["claimed"]["count"], told["claimed"]["epsilon"], strict=True))
        for curve, values in (("exact", "lower"), ("audited", "epsilon")):
            for k, epsilon in zip(told[curve]["count"], told[curve][values], strict=True):
                assert epsilon <= claimed[k] + 1e-12

    def test_many_activations_are_thinned_and_the_first_is_still_found(self, monkeypatch):
        monkeypatch.setattr(anatomy, "POINTS", 5)
        levels = {k: (float(k), float(k)) for k in range(1, 101)}
        assert anatomy._exceeds(levels, lambda _: 41.5) == 42
        assert anatomy._exceeds(levels, lambda _: 0.5) == 1
        assert anatomy._exceeds(levels, lambda _: 99.5) == 100
        assert anatomy._exceeds(levels, lambda _: None) is None
        assert anatomy._undefined_from(100, lambda k: 1.0 if k < 37 else None) == 37
        assert anatomy._undefined_from(100, lambda _: None) == 1
        assert anatomy._thinned(range(100)) == [0, 24, 49, 74, 99]


class TestResults:
    def test_they_have_every_part(self, results):
        for name in ("dying", "random", "bare"):
            audit = entry(results, name)["audit"]
            assert audit["breakdown"]["transcripts"] == 400
            assert audit["breakdown"]["agent"] == 1
            assert {tuple(row["link"]) for row in audit["breakdown"]["links"]} <= {(1, 0), (1, 2)}
        bare = entry(results, "bare")["audit"]
        (uncovered,) = bare["uncovered_fields"]
        assert uncovered["share"] == 1
        assert uncovered["path"] == "1→0, 1→2: field 'x' of exchange 1"
        assert bare["breakdown"]["releases"] == []
        assert entry(results, "dying")["audit"]["uncovered_fields"] == []

    def test_average_and_worst_case_stand_side_by_side(self, results):
        found = entry(results, "random")["audit"]["average_case"]
        low, middle, high = found["gamma_measured"]
        assert low < middle < high < 1
        assert abs(found["gamma_computed"] - middle) < 3 * (high - low)
        assert 0 < found["gamma_formula"] < 1
        releases = entry(results, "random")["audit"]["breakdown"]["releases"]
        assert len(releases) == 6
        assert all(row["average"]["worst"] == pytest.approx(row["price"][1], rel=0.1) for row in releases)
        assert all(row["gamma"][0] <= row["gamma"][2] <= 1 for row in releases)

    def test_they_are_plain_and_the_same_in_the_file(self, results):
        text = json.dumps(results, default=str)
        assert "gamma_measured" in text
        assert entry(results, "dying")["over_time"]["unit"] == "rounds"

    def test_a_sentence_says_where_the_budget_ends(self, results):
        said = anatomy.loss_sentence(entry(results, "dying")["over_time"])
        assert "first exceeds the claim at round 1 (" in said
        assert ", claimed of a run that ends there)" in said
        assert "The claim is vacuous (ε > 20) from round" in said
        assert anatomy.loss_sentence(None) is None


class TestPage:
    def test_it_shows_them(self, results):
        text = page(results)
        assert 'id="loss-breakdown"' in text
        for words in (
            "The three epsilons over time",
            "Unprotected fields",
            "Average against worst case",
            "Link 1 → 0",
        ):
            assert words in text
        assert "it carries the agent&#39;s own gradient" in text
        assert page(results) == text

    def test_what_is_not_there_has_no_section(self, results):
        bare = results | {"algorithms": [a | {"audit": None, "over_time": None} for a in results["algorithms"]]}
        assert 'id="loss-breakdown"' not in page(bare)
        assert "What the loss is made of" not in page(bare)

    def test_without_curves_the_tables_remain(self, results):
        (shown,) = loss_breakdowns([Finding(entry_of(entry(results, "dying") | {"over_time": None}))])
        assert [one.title for one in shown.charts] == ["Where it is spent"]
        assert shown.rows[0].label == "All that was released"
        assert shown.left_out == 80 - 12

    def test_an_infinite_level_is_drawn_in_the_vacuous_region(self, results):
        (shown,) = loss_breakdowns([Finding(entry_of(entry(results, "bare")))])
        assert "vacuous" in shown.charts[0].drawing.svg
        assert "∞" in shown.charts[0].drawing.svg


def test_an_audit_that_is_refused_has_no_parts(tmp_path, monkeypatch):
    def refuse(*_):
        raise PrivacyError("no verdict")

    monkeypatch.setattr("scenarios.stages.audit.audited", refuse)
    found = run_scenario(parse(SMALL.replace("rounds: 40", "rounds: 4")), tmp_path)
    assert all(a["over_time"] is None for a in found["algorithms"])


def test_what_is_sent_after_the_last_round_is_in_none():
    time = {"unit": "rounds", "rounds": 6, "vacuous_above": 20.0, "exceeds_from": 7, "exact_vacuous_from": 7}
    time |= {"exceeds": {"exact": math.inf, "claimed": 5.0}, "claimed_vacuous_from": None, "undefined_from": None}
    said = anatomy.loss_sentence(time)
    assert said == (
        "The exact ε first exceeds the claim after the last round (6) (∞ > 5, claimed of a run that ends there) "
        "and is above 20 after the last round (6)."
    )
    assert "at round 6 (" in anatomy.loss_sentence(time | {"exceeds_from": 6})
    assert "from round 6 on" in anatomy.loss_sentence(time | {"exact_vacuous_from": 6})
