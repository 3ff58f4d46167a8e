"""Scenarios with an active adversary: what a file may say, and that no result hides that he was there."""

import math
from dataclasses import replace

import pytest

from netsim.adversary import Around
from netsim.errors import ScenarioError
from netsim.network.active_adversaries import (
    ActiveAdversary,
    AddGaussian,
    Alter,
    Delay,
    Drop,
    FlipSign,
    Replay,
    ScaleBy,
    SetTo,
)
from netsim.network.laws import UniformDelay
from scenarios.build.experiment import Experiment
from scenarios.cli.json_output import document
from scenarios.files.library import library
from scenarios.render.page.report import page
from scenarios.render.verdicts import print_results
from scenarios.results import findings
from scenarios.results.folder import read_manifest, read_results
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.command import cli
from tests.scenarios.filled import filled

FORM = """\
name: meddled
seed: 3
problem: {{data: {{name: digits, norm_bound: 4.0}}}}
topology: {{kind: ring, agents: 5}}
links: {links}
active_adversaries:
  - {meddler}
algorithms:
  - {{kind: recal, activations: 40}}
"""
ALL = """\
name: mallory
    links: {kind: around, agents: [1]}
    start: 1.0
    end: 9.0
    actions:
      - {kind: drop, probability: 0.1}
      - {kind: delay, seconds: 0.5}
      - {kind: delay, seconds: {kind: uniform, low: 0.0, high: 1.0}, probability: 0.5}
      - {kind: replay, after: 0.2, copies: 3}
      - {kind: alter, how: {kind: gaussian, stddev: 1.0}, fields: [x]}
      - {kind: alter, how: {kind: scale, factor: -2.0}}
      - {kind: alter, how: {kind: constant, value: 4.0}}
      - {kind: alter, how: {kind: flip_sign}, probability: 0.25}"""


def built(meddler: str, links: str = "{authenticated: true}") -> Experiment:
    located = parse(FORM.format(links=links, meddler=meddler), "meddled.yaml")
    try:
        return Experiment.of(located.scenario)
    except ScenarioError as error:
        raise located.locate(error) from None


def test_everything_a_file_says_reaches_the_simulation():
    simulation = built(ALL).subjects[0].simulation
    assert simulation.network.links.authenticated
    assert simulation.network.active_adversaries == (
        ActiveAdversary(
            "mallory",
            Around((1,)),
            (
                Drop(0.1), Delay(0.5), Delay(UniformDelay(0.0, 1.0), 0.5), Replay(0.2, copies=3),
                Alter(AddGaussian(1.0), fields=("x",)), Alter(ScaleBy(-2.0)), Alter(SetTo(4.0)),
                Alter(FlipSign(), 0.25),
            ),
            1.0,
            9.0,
        ),
    )  # fmt: skip
    plain = built("{links: [[1, 0]], actions: [{kind: drop}], directed: true}").subjects[0].simulation
    assert plain.network.active_adversaries == (
        ActiveAdversary("meddler", ((1, 0),), (Drop(),), 0.0, math.inf, True),
    )


@pytest.mark.parametrize(
    ("meddler", "links", "field", "said"),
    [
        ("links: all, actions: []", "{}", "actions", "at least one entry"),
        ("links: all, actions: [{kind: drop, probability: 2}]", "{}", "actions[0].probability", "0.0 … 1.0"),
        ("links: all, actions: [{kind: steal}]", "{}", "actions[0].kind", "drop, delay, replay, alter"),
        ("links: all, actions: [{kind: alter, how: {kind: noise}}]", "{}", "actions[0].how.kind", "scale"),
        ("links: [[0, 2]], actions: [{kind: drop}]", "{}", "links[0]", "[0, 1]"),
        ("links: all, actions: [{kind: drop}], directed: true", "{}", "directed", "pairs"),
        ("links: all, actions: [{kind: drop}], start: 3.0, end: 2.0", "{}", "end", "> 3"),
        ("links: all, actions: [{kind: delay, seconds: {kind: uniform, low: 2.0, high: 1.0}}]", "{}",
         "actions[0].seconds.high", ">= 2"),
        ("links: all, actions: [{kind: drop}, {kind: alter, how: {kind: flip_sign}}]", "{encrypted: true}",
         "actions[1]", "it takes the key"),
    ],
)  # fmt: skip
def test_one_clear_message(meddler, links, field, said):
    with pytest.raises(ScenarioError) as caught:
        built(f"{{{meddler}}}", links)
    assert caught.value.field == f"active_adversaries[0].{field}"
    assert said in str(caught.value)
    assert caught.value.line == 7


# ── what results say ────────────────────────────────────────────────────────────────────────────────────
def results_of(text: str, folder, page=True) -> Results:
    return run_scenario(parse(text, "mine.yaml"), folder, command="netsim run mine.yaml", page=page)


def quick() -> str:
    """The shipped scenario, with a quarter of its transcripts and a fifth of its replicas."""
    shipped = library()["man-in-the-middle"]
    return shipped.replace("trials: 400, chunk: 200", "trials: 100, chunk: 100").replace(
        "replicas: 10", "replicas: 2"
    )


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    """The shipped scenario as it is, authenticated, and with nobody in the middle."""
    shipped, folder = quick(), tmp_path_factory.mktemp("meddled")
    unaudited = shipped.partition("\naudit:")[0] + "\n"
    texts = {
        "fooled": shipped,
        "guarded": unaudited.replace("authenticated: false", "authenticated: true"),
        "honest": unaudited.replace("  - name: mallory\n", "  - name: mallory\n    end: 1e-9\n"),
    }
    return {name: results_of(text, folder / name, page=name == "fooled") for name, text in texts.items()}, folder


@pytest.mark.slow
def test_the_shipped_scenario_shows_what_it_promises(found):
    finals = {name: [a.convergence.final for a in one.algorithms] for name, one in found[0].items()}
    assert finals["guarded"] == finals["honest"]
    assert finals["fooled"][0] > 2 * finals["honest"][0]
    for entry in found[0]["fooled"].algorithms:
        assert entry.rejected == 0
        assert entry.active_adversaries[0].altered > 10
    for entry in found[0]["guarded"].algorithms:
        deeds = entry.active_adversaries[0]
        assert deeds.rejected == entry.rejected == deeds.altered + deeds.replayed > 30
    guarded = found[0]["guarded"].algorithms[0].gradients
    assert guarded.worst < 1e-10 < found[0]["fooled"].algorithms[0].gradients.worst


@pytest.mark.slow
def test_results_report_and_terminal_say_that_he_was_there(found, capsys):
    results, folder = found
    stored = read_results(folder / "fooled")
    for entry in stored.algorithms:
        assert entry.outside_model.startswith("outside the paper's threat model: an active adversary meddled with")
        assert "link 0–1 (mallory: dropped 0" in entry.outside_model
    html = (folder / "fooled" / "report.html").read_text()
    assert html.count("Outside the paper&#39;s threat model: an active adversary meddled with link 0–1") == 2
    assert "Outside the papers' threat model." in html
    assert "No privacy claim was audited in its own threat model." in html
    manifest = read_manifest(folder / "fooled")
    assert manifest.scenario.active_adversaries[0].name == "mallory"
    assert results["fooled"].scenario.links.authenticated is False
    print_results(results["fooled"], folder / "fooled")
    text = " ".join(capsys.readouterr().out.split())
    assert text.count("Outside the paper's threat model: an active adversary meddled with link 0–1") == 2
    assert "unprotected*" in text
    assert "* outside the paper's threat model" in text
    assert document(results["fooled"], folder / "fooled").exit_status == 0


@pytest.mark.slow
def test_where_nobody_meddles_nothing_is_said(tmp_path):
    text = "name: quiet\ntopology: {kind: ring, agents: 3}\nalgorithms: [{kind: recal, activations: 6}]\n"
    results = results_of(text, tmp_path, page=False)
    entry = results.algorithms[0]
    assert (entry.outside_model, entry.active_adversaries, entry.rejected) == (None, (), None)
    assert findings.caution(entry) is None
    assert "threat model" not in page(results)


def test_what_an_active_adversary_brings_about_breaks_no_claim_about_listeners():
    audit = {"verdict": "refuted", "epsilon_claimed": 1.0, "reason": "more than claimed"}
    entry = filled(AlgorithmResult, {"audit": audit, "audit_status": "done"})
    assert findings.claim_is_broken(entry)
    met = replace(entry, outside_model="outside the paper's threat model: …")
    assert not findings.claim_is_broken(met)
    assert "neither confirms nor refutes" in findings.caution(met)
    assert findings.caution(filled(AlgorithmResult, {"outside_model": "outside …"})) == "Outside …."


def test_a_cut_link_fails_with_its_name(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    cut = library()["man-in-the-middle"].replace(
        "{kind: alter, how: {kind: flip_sign}, probability: 0.5}", "{kind: drop}"
    )
    (tmp_path / "cut.yaml").write_text(cut)
    cli("run", "cut.yaml", "--out", "out", ends=70, stderr="never acknowledged; active adversary 'mallory'")
    assert (tmp_path / "out" / "report.html").exists()
