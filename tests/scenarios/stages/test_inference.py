"""Membership and properties in a scenario: right by closed forms, checked before time 0, told everywhere."""

import math

import numpy as np
import pandas as pd
import pytest
from scipy import special

from netsim.errors import ScenarioError
from netsim.problems import load
from scenarios.build.experiment import Experiment
from scenarios.build.inference import Staging
from scenarios.render.page.charts import _borders
from scenarios.render.page.drawing import INK, Series
from scenarios.results.attacks import MembershipResult
from scenarios.schema.attacks import HypothesisSpec, MembershipSpec, PropertySpec
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario
from tests.scenarios.filled import filled

SURE = 0.9999
SCALAR = """\
name: scalar
seed: 11
problem: {kind: logistic, data: {name: synthetic, records: 60, dimension: 1}, ridge: 0.0}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: private_gradient_descent, name: one, rounds: 2, step: 0.8, scale: 0.1}
attacks:
  gradients: false
  holding: 3
  membership: {adjacency: ADJACENCY, trials: 3000, chunk: 3000, confidence: 0.9999, levels: [0.4]}
"""
DIGITS = """\
name: digits
seed: 3
problem: {kind: logistic, data: {name: digits, norm_bound: 4.0}, ridge: 0.1}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: private_gradient_descent, name: noisy, rounds: 3, step: 0.1, scale: 0.02, state: released}
  - {kind: private_gradient_descent, name: plain, rounds: 3, step: 0.1}
attacks:
  gradients: false
  holding: 5
  MORE
"""
BOTH = """membership: {adjacency: replace, trials: 40}
  property:
    trials: 20
    draws: 100
    hypotheses: [{name: zeros, shares: [0.9, 0.1]}, {name: ones, shares: [0.1, 0.9]}]
"""


def of(text, more=""):
    return parse(text.replace("MORE", more), "mine.yaml")


def played(text, folder, what="membership", page=False):
    return [getattr(entry, what) for entry in run_scenario(of(text), folder, page=page).algorithms]


# ── against closed forms, through the whole run ─────────────────────────────────────────────────────────
def slope(part):
    """The mean logistic gradient of scalar records at x = 0, from its definition."""
    return float(np.mean(-part.labels * part.features[:, 0] / 2))


@pytest.mark.few("remove")
@pytest.mark.parametrize("adjacency", ["remove", "zero_out", "replace"])
def test_advantage_and_power_of_one_laplace_release_are_those_of_the_formula(adjacency, tmp_path):
    """Two rounds of scalar descent from the public 0: the second message is −ηg(0) + Lap(b), but for what others
    sent, which is known: one Laplace release that the worlds move by s = η|g − g'|/b in units of b. Its total
    variation is 1 − e^{−s/2}; at a level α from e^{−s}/2 to 1/2 the best test has power 1 − e^{−s}/(4α)."""
    text = SCALAR.replace("ADJACENCY", adjacency)
    (found,) = played(text, tmp_path)
    experiment = Experiment.of(of(text).scenario)
    both = Staging(experiment.scenario, experiment.holding).fixed(experiment.scenario.attacks.membership)
    s = 0.8 * abs(slope(both.inside) - slope(both.out)) / 0.1
    assert (found.trials, found.estimates) == (3000, 1)
    assert math.exp(-s) / 2 < 0.4
    assert found.advantage.low <= 1 - math.exp(-s / 2) <= found.advantage.high
    assert found.advantage.high - found.advantage.low < 0.2
    (level,) = found.levels
    best = 1 - math.exp(-s) / (4 * 0.4)
    assert level.power == pytest.approx(best, abs=5e-3)
    assert level.found.low <= best <= level.found.high
    assert level.alarms.low <= 0.4 <= level.alarms.high


def test_the_gaussian_game_is_that_of_its_exponent(tmp_path):
    """DP-RECAL, sent state, is Gaussian: the promised power at α is Φ(Φ⁻¹(α) + μ) of one μ for all levels, and what
    is counted agrees with it, as does the advantage with 2Φ(μ/2) − 1."""
    text = """\
name: told
seed: 5
problem: {kind: logistic, data: {name: digits, norm_bound: 4.0}}
topology: {kind: ring, agents: 4}
algorithms:
  - {kind: dp_recal, name: told, reading: sent_state, per_agent: 6, noise: {stddev: 0.15}, ratio: 1.0}
attacks:
  gradients: false
  membership: {adjacency: replace, instead: 3, trials: 300, chunk: 300, confidence: 0.9999, levels: [0.02, 0.1, 0.3]}
"""
    (found,) = played(text, tmp_path)
    exponents = [special.ndtri(one.power) - special.ndtri(one.level) for one in found.levels]
    mu = float(np.mean(exponents))
    assert np.ptp(exponents) < 0.02 * mu + 0.02
    assert mu > 0.3
    advantage = 2 * special.ndtr(mu / 2) - 1
    assert found.advantage.low <= advantage <= found.advantage.high
    area = special.ndtr(mu / math.sqrt(2))
    assert found.auc.low <= area <= found.auc.high
    for one in found.levels:
        assert one.found.low <= one.power <= one.found.high
        assert one.alarms.low <= one.level <= one.alarms.high


@pytest.mark.slow
def test_who_knows_no_record_has_false_alarms_at_the_level_and_finds_more(tmp_path):
    more = (
        "membership: {informed: false, adjacency: replace, trials: 20, draws: 20, levels: [0.2], confidence: 0.9999}"
    )
    noisy, plain = played(DIGITS.replace("MORE", more), tmp_path)
    for found in (noisy, plain):
        (level,) = found.levels
        assert found.record is None
        assert found.trials == 20
        assert level.alarms.low <= 0.2
        assert level.found.low <= level.power <= level.found.high  # stated by runs with public records
        assert found.auc.estimate > 0.55


@pytest.mark.slow
def test_a_model_of_two_outputs_counts_its_classes_itself(tmp_path):
    """Data say −1 and 1, softmax 0 and 1: the likelihoods are those of the right labels, as what is counted agrees
    with what the law promises, and without noise nothing is taken for anything else."""
    noisy, plain = run_scenario(of(SOFTMAX, BOTH), tmp_path, page=False).algorithms
    assert plain.membership.advantage.estimate == 1
    for one in noisy.membership.levels:
        assert one.found.low <= one.power <= one.found.high
    for entry in (noisy, plain):
        assert entry.property.right.low > 0.5


@pytest.mark.slow
def test_without_noise_each_world_has_one_transcript(tmp_path):
    _, plain = played(DIGITS.replace("MORE", "membership: {}"), tmp_path)
    assert (plain.trials, plain.noise, plain.exact) == (1, False, True)
    assert plain.advantage.estimate == plain.auc.estimate == 1
    assert "certain; without noise each world has one transcript" in plain.sentence


# ── what a claim allows ─────────────────────────────────────────────────────────────────────────────────
CLAIMED = """\
name: claimed
seed: 3
problem: {kind: logistic, data: {name: digits, norm_bound: 4.0}}
topology: {kind: ring, agents: 4}
algorithms: [{kind: dp_recal, name: one, reading: READING, per_agent: 12, noise: {epsilon: 1.0, delta: 1e-3}}]
attacks: {gradients: false, membership: {adjacency: replace, trials: 100}}
"""


@pytest.mark.slow
def test_the_claim_is_beside_the_rates_and_a_broken_one_is_named(tmp_path):
    (broken,) = played(CLAIMED.replace("READING", "as_deployable"), tmp_path / "a", page=True)
    (holds,) = played(CLAIMED.replace("READING", "sent_state"), tmp_path / "b")
    for found in (broken, holds):
        assert found.claim.epsilon == pytest.approx(1.0)
        assert found.claim.steps == 1
        for one in found.levels:
            a = one.level
            assert one.allowed == pytest.approx(min(math.e * a + 1e-3, 1 - (1 - 1e-3 - a) / math.e))
        assert found.advantage.allowed == pytest.approx((math.e - 1 + 2e-3) / (math.e + 1))
    assert broken.claim.broken is True
    assert "The claim does not hold." in broken.sentence
    assert holds.claim.broken is False
    assert all(one.power <= one.allowed for one in holds.levels)
    head = (tmp_path / "a" / "report.html").read_text().partition('id="network"')[0]
    assert "Membership is inferred better than the claim allows: one." in head
    assert "The claim does not hold." in head
    assert 'href="#membership"' in head


def test_a_border_is_in_the_colour_of_who_claims_it_where_others_claim_something_else():
    def entry(epsilon, delta=0.0):
        claim = {"epsilon": epsilon, "delta": None if epsilon is None else delta}
        return filled(MembershipResult, {"claim": claim})

    first, second = Series(0), Series(1)
    same = [("a", entry(1.0), first), ("b", entry(1.0), second)]
    assert _borders(same) == [(1.0, 0.0, INK)]
    for other in (None, 32.0, 3.0):
        found = _borders([("a", entry(other), first), ("b", entry(1.0), second)])
        assert (1.0, 0.0, second.colour) in found
        assert [one for one in found if one[0] != 1.0] == ([(3.0, 0.0, first.colour)] if other == 3.0 else [])


@pytest.mark.slow
def test_a_claim_about_something_else_is_not_set_beside_the_rates(tmp_path):
    text = CLAIMED.replace("READING", "sent_state").replace("per_agent: 12", "per_agent: 2")
    (found,) = played(text + "audit: {adjacency: {change: 1.0}, trials: 50}\n", tmp_path)
    assert found.claim.epsilon is None
    assert "a change of the gradient" in found.claim.why_not
    assert all(one.allowed is None for one in found.levels)


# ── before time 0 ───────────────────────────────────────────────────────────────────────────────────────
SOFTMAX = DIGITS.replace("kind: logistic", "kind: softmax").replace("step: 0.1", "step: 0.05")
NUMBERS = SCALAR.replace("kind: logistic", "kind: ridge").replace("adjacency: ADJACENCY", "informed: false")
NUMBERS = NUMBERS.replace("records: 60", "kind: regression, records: 300").replace("step: 0.8", "step: 0.1")
ZEROS = "{name: zeros, shares: [0.9, 0.1]}"
WRONG = {
    "membership: {agent: 4}": ("attacks.membership.agent", "no such agent", "0 … 3"),
    "membership: {record: 5}": ("attacks.membership.record", "attacks.holding is 5: no such record", "0 … 4"),
    "membership: {adjacency: replace, instead: 5000}": ("attacks.membership.instead", "no such record", "0 … "),
    "membership: {instead: 3}": ("attacks.membership.instead", "nothing is there instead", "adjacency: replace"),
    "membership: {levels: [0.1, 0.1]}": ("attacks.membership.levels", "a level stands there twice", ""),
    "membership: {levels: [0.7]}": ("attacks.membership.levels[0]", "out of range", "<= 0.5"),
    "membership: {adjacency: gone}": ("attacks.membership.adjacency", "not one of", "'zero_out' or 'replace'"),
    "membership: {inversion: published}": ("attacks.membership.inversion", "no paper of these algorithms", "recal"),
    "membership: {informed: false}": ("attacks.membership.levels", "they cannot tell so small a level", ">= 0.0123"),
    f"property: {{hypotheses: [{ZEROS}]}}": ("attacks.property.hypotheses", "out of range", "at least 2 entries"),
    f"property: {{hypotheses: [{ZEROS}, {{name: b, shares: [0.2, 0.2]}}]}}":
        ("attacks.property.hypotheses[1].shares", "shares come to 0.4, and not to 1", ""),
    f"property: {{hypotheses: [{ZEROS}, {{name: b, shares: [0.9, 0.1]}}]}}":
        ("attacks.property.hypotheses", "nothing to choose between", ""),
    f"property: {{hypotheses: [{ZEROS}, {{name: b, shares: [0.2, 0.2, 0.6]}}]}}":
        ("attacks.property.hypotheses[1].shares", "3 shares, and the data have 2 classes", "of -1, 1"),
}  # fmt: skip


RULED_OUT = [
    (DIGITS.replace("holding: 5", "holding: 1"), "membership: {}", "attacks.membership.adjacency",
     "would be left with none", ""),
    (DIGITS + "adversary: {insiders: [0]}\n", "membership: {}", "attacks.membership.agent",
     "the adversary itself", ""),
    (SOFTMAX, "membership: {adjacency: zero_out}", "attacks.membership.adjacency",
     "a record of zeros has a gradient", ""),
    (NUMBERS, "", "attacks.membership.informed", "labels are numbers", ""),
]  # fmt: skip
"""By what the rest of the scenario says."""


@pytest.mark.parametrize(
    ("text", "more", "field", "problem", "allowed"),
    [*((DIGITS, more, *said) for more, said in WRONG.items()), *RULED_OUT],
)
def test_what_cannot_be_is_said_before_time_0(text, more, field, problem, allowed):
    with pytest.raises(ScenarioError) as caught:
        checked(of(text, more))
    said = str(caught.value)
    assert said.startswith("mine.yaml:")
    for words in (field, problem, allowed):
        assert words in said


def test_python_says_the_same_words():
    scenario = of(DIGITS, BOTH).scenario
    assert scenario.attacks.membership == MembershipSpec(adjacency="replace", trials=40)
    made = PropertySpec(
        trials=20,
        draws=100,
        hypotheses=[HypothesisSpec(name="zeros", shares=[0.9, 0.1]), HypothesisSpec(name="ones", shares=[0.1, 0.9])],
    )
    assert scenario.attacks.property == made
    assert eval(repr(made), {"Property": PropertySpec, "Hypothesis": HypothesisSpec}) == made


# ── told everywhere ─────────────────────────────────────────────────────────────────────────────────────
@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("decided")
    return folder, run_scenario(of(DIGITS, BOTH), folder)


def test_the_right_hypothesis_is_named_and_the_numbers_agree(finished):
    for entry in finished[1].algorithms:
        found = entry.property
        assert found.trials == 20
        assert found.right.low > 0.5
        confusion = np.array(found.confusion)
        assert confusion.sum(axis=1).tolist() == [10, 10]
        assert np.trace(confusion) == found.right.count
        assert 0 < found.bits <= 1
        assert found.claim.epsilon is None or found.claim.steps == 5


def test_the_page_the_tables_and_the_terminal_have_them(finished, capsys):
    folder, results = finished
    page = (folder / "report.html").read_text()
    assert page.count('id="membership-title"') == page.count('id="property-title"') == 1
    assert 'data-figure="roc"' in page
    rows = pd.read_parquet(folder / "attacks.parquet")
    assert rows.attack.tolist() == ["membership", "property"] * 2
    assert rows.advantage.notna().tolist() == [True, False] * 2
    levels = results.algorithms[0].membership.levels
    assert rows["success_rate"][0] == levels[1].found.rate
    assert rows["guess_rate"].tolist()[:2] == [0.05, 0.5]
    from scenarios.render.verdicts import print_results

    print_results(results, folder)
    said = " ".join(capsys.readouterr().out.split())
    for entry in results.algorithms:
        for what in ("membership", "property"):
            assert " ".join(getattr(entry, what).sentence.split()) in said


@pytest.mark.slow
def test_the_same_seed_plays_the_same_game_and_another_algorithm_changes_nothing(finished, tmp_path):
    first = finished[1].algorithms[0]
    lines = DIGITS.replace("MORE", BOTH).splitlines(keepends=True)
    alone = parse("".join(line for line in lines if "name: plain" not in line), "mine.yaml")
    (again,) = run_scenario(alone, tmp_path, page=False).algorithms
    assert again.membership == first.membership
    assert again.property == first.property


def test_who_does_not_ask_gets_nothing_and_no_bit_changes(finished, tmp_path):
    lines = DIGITS.replace("  holding: 5\n", "")
    plain = run_scenario(of(lines), tmp_path).algorithms
    for one, other in zip(plain, finished[1].algorithms, strict=True):
        assert one.membership is one.property is None
        assert one.convergence == other.convergence
        name = f"transcript-{one.slug}.parquet"
        assert pd.read_parquet(tmp_path / name).equals(pd.read_parquet(finished[0] / name)) or (
            (tmp_path / name).read_bytes() == (finished[0] / name).read_bytes()
        )
    page = (tmp_path / "report.html").read_text()
    assert "membership-title" not in page
    assert "property-title" not in page


def test_others_draw_from_what_nobody_holds():
    """Records that are drawn are neither held by an agent nor among the public ones."""
    experiment = Experiment.of(of(DIGITS, BOTH).scenario)
    staging = Staging(experiment.scenario, experiment.holding)
    held = np.concatenate([part.features for part in experiment.holding.parts])
    drawn = staging.drawn(experiment.scenario.attacks.membership, 0)
    part = staging.like(experiment.scenario.attacks.property, 0, 1)
    assert part.records == 5
    everything = load("digits", norm_bound=4.0)
    public = {row.tobytes() for row in staging.public.features}
    unknown = {row.tobytes() for row in staging.unknown.features}
    assert not {row.tobytes() for row in held} & (public | unknown)
    for row in (*drawn.inside.features, *part.features):
        assert row.tobytes() in unknown
    assert len(staging.public.features) + len(staging.unknown.features) + len(held) == everything.records
