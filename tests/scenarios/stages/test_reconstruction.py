"""Attacks that a scenario names: run, scored, shown, and refused where they cannot be had."""

import math
from dataclasses import replace
from types import SimpleNamespace
from typing import get_args

import numpy as np
import pytest

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.reconstruction import Prior
from attacks.reconstruction.posterior import PosteriorMode
from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.render.page.charts import mark
from scenarios.render.page.report import page
from scenarios.results import attacked as defences
from scenarios.results.attacks import ReconstructionResult, RecordAttack
from scenarios.results.folder import read_results
from scenarios.schema.attacks import KINDS, RebuildModel, RebuildSpec
from scenarios.schema.load import parse
from scenarios.stages import reconstruction as robustness
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import planned, run_study
from tests.scenarios.filled import filled

SMALL = """\
name: small
seed: 5
replicas: 4
problem:
  kind: logistic
  data: {name: digits}
topology: {kind: ring, agents: 6}
algorithms:
  - {kind: recal, name: plain, per_agent: 12}
  - {kind: dp_recal, name: leaky, per_agent: 12, ratio: 1.05}
  - {kind: dp_recal, name: told, reading: sent_state, per_agent: 12, ratio: 1.05}
attacks:
  gradients: false
  rounds: first
  reconstruct:
    - {kind: posterior, name: strong}
    - {kind: posterior, name: weak, inversion: published}
    - {kind: pure_matching, name: straw, inversion: published, labels: public}
"""


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rebuilt")
    return folder, run_scenario(parse(SMALL, "small.yaml"), folder)


def attack(results, algorithm, name):
    entry = next(e for e in results.algorithms if e.name == algorithm)
    return next(a for a in entry.reconstructions.attacks if a.attack == name)


def sentence(results, algorithm):
    return next(e for e in results.algorithms if e.name == algorithm).reconstructions.sentence


# ── what is found ───────────────────────────────────────────────────────────────────────────────────────
def test_a_defence_against_its_own_papers_attacker_falls_to_a_better_one(finished):
    results = finished[1]
    assert attack(results, "plain", "strong").verdict == attack(results, "plain", "weak").verdict == "recovered"
    assert attack(results, "leaky", "strong").verdict == "recovered"
    assert attack(results, "leaky", "strong").skill > 1 - 1e-9
    assert attack(results, "leaky", "weak").verdict == "defended"
    assert attack(results, "told", "strong").verdict == attack(results, "told", "weak").verdict == "defended"
    assert sentence(results, "leaky").startswith("Not recovered by weak (0 of 24 rebuilt, PSNR")
    assert "recovered by strong (24 of 24 rebuilt" in sentence(results, "leaky")
    assert defences.WEAK in sentence(results, "leaky")
    assert sentence(results, "plain").startswith("Not defended: ")
    assert sentence(results, "told").startswith("Defended against all that was tried: ")


def test_the_numbers_are_those_of_the_pictures(finished):
    """The least error of a record, computed here again from what is kept of it."""
    found = next(e for e in finished[1].algorithms if e.name == "told").reconstructions
    alone = run_scenario(parse(SMALL.replace("replicas: 4", "replicas: 1")), finished[0] / "alone", page=False)
    originals = {one.agent: np.array(one.records) for one in found.originals}
    for own in attack(alone, "told", "strong").agents:
        mse = np.mean((np.array(own.rebuilt) - originals[own.agent]) ** 2)
        guess = np.mean((np.array(own.guess) - originals[own.agent]) ** 2)
        assert own.mse == pytest.approx(mse, rel=1e-3)
        assert own.psnr == pytest.approx(-10 * math.log10(mse), abs=0.01)
        assert own.skill == pytest.approx(1 - mse / guess, abs=1e-3)


def test_a_success_rate_above_the_bound_is_a_reason_to_audit(finished):
    bound = attack(finished[1], "leaky", "strong").success.bound
    assert bound.epsilon == pytest.approx(1.0)
    assert bound.bound == pytest.approx(min(math.e * bound.kappa + 1e-3, 1 - (1 - 1e-3 - bound.kappa) / math.e))
    assert bound.above == (attack(finished[1], "leaky", "strong").success.low > bound.bound)
    assert not attack(finished[1], "told", "strong").success.bound.above
    assert attack(finished[1], "plain", "strong").success.bound is None  # it claims nothing
    text = (finished[0] / "report.html").read_text()
    assert "refuted" not in text[text.index('<section id="reconstructions"') :].split("</section>")[0]
    assert "no proof against it" in text


@pytest.mark.slow
def test_the_same_file_gives_the_same_results_and_page(finished, tmp_path):
    again = run_scenario(parse(SMALL, "small.yaml"), tmp_path, page=False)
    assert again == finished[1]
    assert page(read_results(finished[0])) == page(read_results(tmp_path))


@pytest.mark.slow
def test_another_attack_in_the_list_changes_no_other(finished, tmp_path):
    text = SMALL.replace("    - {kind: posterior, name: weak, inversion: published}\n", "")
    assert attack(run_scenario(parse(text), tmp_path, page=False), "told", "straw") == attack(
        finished[1], "told", "straw"
    )


# ── refused, interrupted ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_what_the_wire_does_not_tell_is_refused_in_results(tmp_path):
    text = SMALL.replace("topology:", "messages: {codec: {kind: float32}}\ntopology:")
    results = run_scenario(parse(text), tmp_path)
    refused = attack(results, "plain", "strong")
    assert "changes what is sent" in refused.refused
    assert refused.verdict is None
    assert not refused.agents
    assert sentence(results, "plain") == ""
    assert "refused: " in (tmp_path / "report.html").read_text()


def test_nothing_heard_is_refused_too(tmp_path):
    text = SMALL.replace("topology:", "adversary: {links: [], nodes: []}\ntopology:")
    assert (
        "no gradient could be inferred"
        in attack(run_scenario(parse(text), tmp_path, page=False), "told", "strong").refused
    )


def test_an_interruption_keeps_the_attacks_that_were_done(tmp_path, monkeypatch):
    calls = []
    true = PosteriorMode.reconstruct

    def stopped(self, cases, rng):
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return true(self, cases, rng)

    monkeypatch.setattr(PosteriorMode, "reconstruct", stopped)
    results = run_scenario(parse(SMALL, "small.yaml"), tmp_path, page=False)
    assert results.status == "interrupted"
    kept = read_results(tmp_path).algorithms[0].reconstructions
    assert [one.attack for one in kept.attacks] == ["strong"]
    assert kept.sentence.startswith("Not defended: strong")


# ── several records, checks, the page ───────────────────────────────────────────────────────────────────
def test_agents_hold_as_many_records_as_it_says():
    text = SMALL.replace("rounds: first", "rounds: first\n  holding: 3")
    text = text.split("  reconstruct:")[0] + "  reconstruct: [{kind: dlg}]\n"
    holding = Experiment.of(parse(text).scenario).holding
    assert [part.records for part in holding.parts] == [3] * 6
    held = {tuple(row) for part in holding.parts for row in part.features}
    public = [rows for group in holding.prior.records.values() for rows in group]
    assert len(held) == 18
    assert not held & {tuple(row) for row in public}
    assert len(held) + len(public) == 360


CHECKED = (
    SMALL
    + """\
variants:
  - {name: quiet, set: {"algorithms[1].noise": {stddev: 0.0}}}
  - {name: loud, set: {"algorithms[1].noise": {epsilon: 1.0}}}
figures:
  - {title: PSNR, x: "algorithms[1].noise", y: psnr, attack: weak, log: false}
reproduces:
  paper: somebody
  item: a figure
  shows: Something.
  checks:
    - {says: A., measure: psnr, of: leaky, attack: weak, variant: quiet, above: 60}
    - {says: B., measure: psnr, of: leaky, attack: weak, variant: loud, below: 15}
    - {says: C., measure: skill, of: leaky, attack: strong, above: 0.9}
    - {says: D., measure: success, of: leaky, attack: strong, variant: loud, equals: 1}
    - {says: E., measure: label_accuracy, of: leaky, attack: strong, above: 0.9}
    - {says: F., measure: attack_verdict, of: leaky, attack: weak, variant: loud, equals: defended}
    - {says: G., measure: attack_verdict, of: leaky, attack: weak, equals: [defended, not identifiable]}
    - {says: H., measure: ssim, of: leaky, attack: weak, variant: loud, below_of: told}
"""
)


@pytest.mark.slow
def test_checks_and_figures_of_what_attacks_get(tmp_path):
    results = run_study(parse(CHECKED, "small.yaml"), tmp_path)
    answers = {c.statement: [a.result for a in c.answers] for c in results.reproduction.checks}
    assert answers["A."] == answers["B."] == answers["D."] == answers["F."] == ["holds"]
    assert answers["C."] == answers["E."] == ["holds", "holds"]
    assert answers["G."] == ["fails", "holds"]
    asks = [c.criterion for c in results.reproduction.checks]
    assert asks[1] == "PSNR in dB of weak of leaky in loud below 15"
    assert asks[5] == "weak on leaky in loud: defended"
    assert [len(curve.y) for curve in results.figures[0].curves] == [2, 2, 2]
    shown = (tmp_path / "report.html").read_text()
    assert "Records that attacks rebuild" in shown
    assert defences.WEAK in shown
    brief = results.variants[1].algorithms[1].reconstructions
    assert [one.agent for one in brief.originals] == [0]
    assert all(len(one.agents) == 1 for one in brief.attacks)


def test_the_page_has_a_table_and_pictures_and_stays_small(finished):
    text = (finished[0] / "report.html").read_text()
    start = text.index('<section id="reconstructions"')
    section = text[start : text.index("</section>", start)]
    assert section.count("<table") == 3
    assert "recovered" in section
    assert "defended" in section
    assert "at most, by the claim" in section
    assert section.count("data:image/png") == 3 * 6 * 5  # original, three attacks and the guess
    assert 'href="#reconstructions"' in text
    assert len(text) < 500_000


# ── the sentence ────────────────────────────────────────────────────────────────────────────────────────
def one(name, words, count=0, of=12, skill=0.0, guess=0.0, **more):
    rate = clopper_pearson(count, of, 0.95)
    success = {"count": count, "of": of, "rate": rate.estimate, "low": rate.lower, "high": rate.upper, "guess": guess}
    verdict = max(words, key=words.get)
    found = {"attack": name, "verdict": verdict, "verdicts": words, "psnr": 8.0, "skill": skill, "noise": True,
             "success": success} | more  # fmt: skip
    return filled(RecordAttack, found)


def test_the_sentence_follows_from_rates_and_skills():
    a = one("A", {"defended": 12})
    b = one("B", {"recovered": 12}, 12, skill=1.0)
    c = one("C", {"failed to optimize": 12})
    held, broken = "A (0 of 12 rebuilt, PSNR 8.0 dB)", "B (12 of 12 rebuilt, PSNR 8.0 dB)"
    assert defences.sentence([]) == ""
    assert defences.sentence([filled(RecordAttack, {"attack": "A", "refused": "no"})]) == ""
    assert defences.sentence([a]) == f"Defended against all that was tried: {held}."
    assert defences.sentence([b]) == f"Not defended: {broken} recovers the records."
    assert defences.sentence([a, b]) == f"Not recovered by {held}; recovered by {broken}: {defences.WEAK}."
    failed = "C: failed to optimize (0 of 12 rebuilt, PSNR 8.0 dB)"
    assert defences.sentence([a, c]).startswith("What came of it, by attack: A: defended")
    assert defences.sentence([c]) == f"What came of it, by attack: {failed}."
    exact = [one("C", {"failed to optimize": 12}, noise=False), b]
    assert defences.sentence(exact) == f"Not defended: {broken} recovers the records. Beside it {failed}."


def test_a_bare_majority_says_nothing():
    """Half a per cent apart, and a strong attack that recovers every other record."""
    a = one("A", {"defended": 51, "recovered": 49}, 49, 100, 0.05)
    b = one("B", {"recovered": 51, "defended": 49}, 51, 100, 0.95)
    assert not defences.only_against_weak([a, b])
    assert defences.sentence([a, b]).startswith(
        "What came of it, by attack: A: defended in 51 of 100, recovered in 49"
    )
    assert not defences.only_against_weak([one("A", {"defended": 12}), one("B", {"recovered": 12}, 12, skill=0.5)])
    assert not defences.clearly(one("A", {"defended": 7, "recovered": 5}), "defended")


def test_it_is_not_defended_where_success_is_above_a_guess():
    entries = [one("A", {"defended": 100}, 40, 100, guess=0.2)]
    assert "Defended" not in defences.sentence(entries)
    assert defences.sentence([one("A", {"defended": 100}, 40, 100, guess=0.4)]).startswith("Defended against all")


def test_agents_of_whom_nothing_was_inferred_are_counted_and_named(finished):
    found = attack(finished[1], "leaky", "strong")
    assert (found.agents_reached, found.agents_in_all, defences.missing(found)) == (6, 6, "")
    less = replace(found, agents_reached=4)
    assert "2 of 6 agents: nothing inferred" in defences.sentence([less])
    entry = replace(finished[1].algorithms[0], reconstructions=filled(ReconstructionResult, {"attacks": [less]}))
    assert "2 of 6 agents: nothing inferred." in defences.lines(entry)[0]


@pytest.mark.slow
def test_silent_agents_count_as_not_rebuilt(tmp_path):
    text = SMALL.replace("topology:", "adversary: {links: [[0, 1]], nodes: []}\ntopology:")
    success = [
        (one.agents_reached, one.success.of)
        for entry in run_scenario(parse(text), tmp_path).algorithms
        for one in entry.reconstructions.attacks
        if not one.refused
    ]
    assert {of for _, of in success} <= {6, 24}
    assert any(reached < 6 for reached, _ in success)
    assert "agents: nothing inferred" in (tmp_path / "report.html").read_text()


# ── wrong files ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("old", "new", "field", "value", "said"),
    [
        ("kind: posterior, name: strong", "kind: posteriori", "attacks.reconstruct[0].kind", "posteriori", "unknown"),
        ("name: strong", "nane: strong", "attacks.reconstruct[0].nane", "strong", "did you mean 'name'"),
        ("name: strong", "name: weak", "attacks.reconstruct", None, "two attacks of the name 'weak'"),
        ("rounds: first", "rounds: second", "attacks.rounds", "second", "'first', 'last', 'clearest' or 'all'"),
        ("inversion: published}", "inversion: best}", "attacks.reconstruct[1].inversion", "best", "'strongest'"),
        ("gradients: false", "success: 0", "attacks.success", 0, "> 0"),
        ("gradients: false", "holding: 0", "attacks.holding", 0, "1 … "),
        ("gradients: false", "holding: 3", "attacks.reconstruct[0]", "strong",
         "it rebuilds one record, and agents hold 3; allowed: holding: 1"),
        ("gradients: false", "holding: 100", "attacks.holding", 100, "6 agents cannot hold so many each"),
        ("gradients: false", "images: true\n  holding: 2", "attacks.images", True, "agents hold 2"),
        ("kind: posterior, name: strong", "kind: inverting_gradients, name: strong}\n    - {kind: idlg, restarts: 0",
         "attacks.reconstruct[1].restarts", 0, "1 … "),
        ("kind: logistic\n  data: {name: digits}", "kind: logistic\n  data: {name: synthetic, norm_bound: 2.0}", None,
         None, ""),
    ],
)  # fmt: skip
def test_one_clear_message(old, new, field, value, said):
    assert old in SMALL
    text = SMALL.replace(old, new, 1)
    if field is None:
        Experiment.of(parse(text).scenario)  # records that are no images can be rebuilt too
        return
    with pytest.raises(ScenarioError) as caught:
        planned(parse(text, "small.yaml"))
    assert caught.value.field == field
    assert value is None or caught.value.value == value
    assert said in str(caught.value)
    assert caught.value.line is not None


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("attack: weak, variant: quiet", "attack: week, variant: quiet",
         "reproduces.checks[0].attack = 'week': no such attack; allowed: strong, weak, straw"),
        ("y: psnr, attack: weak", "y: psnr", "figures[0].attack = null: needed for what an attack gets"),
        ("y: psnr, attack: weak", "y: relative_error, attack: weak", "goes with what an attack gets"),
        ('x: "algorithms[1].noise", y: psnr', "x: rounds, y: psnr", "figures[0].y = 'psnr': no curve over rounds"),
    ],
)  # fmt: skip
def test_names_in_checks_and_figures(old, new, said):
    assert old in CHECKED
    with pytest.raises(ScenarioError) as caught:
        planned(parse(CHECKED.replace(old, new, 1), "small.yaml"))
    assert said in str(caught.value)


def test_nothing_to_rebuild_needs_no_records():
    text = SMALL.split("  rounds: first")[0] + "  holding: 2\n"
    with pytest.raises(ScenarioError, match="no record is rebuilt"):
        Experiment.of(parse(text).scenario)


def test_every_attack_that_rebuilds_records_can_be_named():
    members = get_args(get_args(RebuildSpec)[0])
    named = {kind: member for member in members for kind in get_args(member.model_fields["kind"].annotation)}
    assert named.pop("informed")(kind="informed").build() == KINDS["informed_finite_prior"]()  # told all but one
    assert set(named) == {kind for kind in KINDS if not KINDS[kind]().needs.others}
    for kind, member in named.items():
        assert member(kind=kind).build() == KINDS[kind]()
        for field in set(member.model_fields) - set(RebuildModel.model_fields):
            assert member(kind=kind, **{field: 7}).build() != KINDS[kind](), field


def test_several_records_have_no_bound(tmp_path):
    """A matching gives as many guesses as records, and κ counts one."""
    text = SMALL.replace("rounds: first", "rounds: first\n  holding: 2").split("  reconstruct:")[0]
    text = text.replace("  - {kind: recal, name: plain, per_agent: 12}\n", "").replace(
        "  - {kind: dp_recal, name: told, reading: sent_state, per_agent: 12, ratio: 1.05}\n", ""
    )
    results = run_scenario(parse(f"{text}  reconstruct: [{{kind: dlg, iterations: 5}}]\n"), tmp_path, page=False)
    assert attack(results, "leaky", "dlg").success.bound is None


def test_half_of_the_time_is_not_marked_as_a_defence():
    half, whole = one("A", {"defended": 7, "failed to optimize": 5}), one("A", {"defended": 12})
    assert (mark(half)[0], mark(whole)[0]) == ("open", "good")
    assert defences.shares(half) == "defended in 7 of 12, failed to optimize in 5 of 12"


# ── the bound beside a success rate ─────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("holding", [1, 2])
def test_kappa_is_that_of_the_class_that_is_guessed_best(monkeypatch, holding):
    """Of a class that is one record κ is 1, and so is the bound; all records together are far apart."""
    rng = np.random.default_rng(0)
    features = np.concatenate([rng.uniform(0, 100, (300, 4)), np.zeros((40, 4))])
    prior = Prior.of(features, np.repeat([-1.0, 1.0], [300, 40]))
    experiment = SimpleNamespace(
        scenario=SimpleNamespace(seed=1, audit=None),
        dataset=None,
        holding=SimpleNamespace(prior=prior, records=holding, problem=None),
    )
    monkeypatch.setattr(robustness, "adjacency_of", lambda *_: None)
    claim = SimpleNamespace(epsilon=0.1, delta=0.0)
    subject = SimpleNamespace(attacked=SimpleNamespace(claim=lambda *_: claim), delta=None)
    run = SimpleNamespace(largest_activations=1)
    found = robustness.bound_of(experiment, subject, run)(0.05, 0.9)  # type: ignore[arg-type]
    if holding == 2:
        assert found is None
    else:
        assert found is not None
        assert found.kappa > 0.99
        assert found.bound > 0.99
        assert not found.above
