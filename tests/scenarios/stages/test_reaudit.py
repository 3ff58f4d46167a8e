"""A results folder audited further: what was stopped goes on to the same bytes, what was read is never added to, a
refutation stays, error is spent once, and all that the folder says is of the audits that are there now."""

import json
import os
import shutil
import signal

import numpy as np
import pytest

from netsim.interrupts import undisturbed
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.results.audit import OtherAudit
from scenarios.results.folder import RunFolder, read_results
from scenarios.schema.load import parse
from scenarios.stages import reaudit as several
from scenarios.stages import worlds as auditing
from scenarios.stages.reaudit import Reaudit
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from scenarios.stages.witness import confirm
from scenarios.stages.witness_file import WitnessFile
from tests.kills import tree
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.stages.test_audit import SMALL, StopAfter

TWO = SMALL.replace(
    "algorithms:\n",
    "algorithms:\n  - {kind: private_gradient_descent, name: louder, rounds: 4, step: 0.2, scale: 3.0, "
    "clip: {bound: 1.0, norm: l1}}\n",
)


@pytest.fixture(autouse=True)
def drawn(request, monkeypatch):
    """Only tests of the page draw it."""
    if "page" not in request.node.name:
        monkeypatch.setattr("scenarios.render.page.report.render", lambda _, path: path.touch())


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    """The folder of a run that nobody writes to."""
    place = tmp_path_factory.mktemp("finished") / "run"
    run_scenario(parse(SMALL), place)
    return place


@pytest.fixture
def folder(finished, tmp_path):
    return shutil.copytree(finished, tmp_path / "run")


def entry_of(folder):
    return json.loads((folder / "results.json").read_text())["algorithms"][0]


def again(folder, settings, progress=None, **options):
    sentences = []
    done = Reaudit(RunFolder.open(folder), settings, progress or Silent(), sentences.append, **options).run()
    return done, sentences


def test_an_audit_that_was_stopped_goes_on_and_may_get_more_transcripts(tmp_path, monkeypatch):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 400")), whole)
    run_scenario(parse(SMALL), stopped, progress=StopAfter(100))
    begun = entry_of(stopped)
    assert (begun["audit_status"], begun["audit_begun"]) == ("interrupted", {"transcripts": 100, "trials": 300})
    simulated = []
    real = auditing._Worlds._sample
    monkeypatch.setattr(
        auditing._Worlds, "_sample", lambda self, w, k, *rest: (simulated.append((w, k)), real(self, w, k, *rest))[1]
    )
    done, sentences = again(stopped, {"trials": 400})
    assert done
    assert sentences == []
    assert len([k for _, k in simulated if k < 8]) == 16 - 4  # what was there already is not simulated again
    one, two = entry_of(whole)["audit"], entry_of(stopped)["audit"]
    assert (one.pop("options"), two.pop("options")["draw"]) == (None, 0)
    assert one == two
    assert json.loads((stopped / "results.json").read_text())["status"] == "complete"
    assert (stopped / "report.html").exists()


@pytest.mark.slow
def test_an_audit_that_was_read_is_followed_by_another_with_noise_of_its_own(folder):
    before = entry_of(folder)["audit"]
    done, sentences = again(folder, {"trials": 400, "confidence": 0.9})
    after = entry_of(folder)["audit"]
    assert done
    assert "nothing may be added to it" in sentences[0]
    assert (after["options"]["draw"], after["trials"], after["options"]["confidence"]) == (1, 400, 0.9)
    assert after["confidence"] == pytest.approx(1 - 0.1 / 2)
    (earlier,) = after["earlier"]
    assert earlier["epsilon_audited"] == before["epsilon_audited"]
    assert (earlier["draw"], earlier["trials"], earlier["verdict"]) == (0, 300, before["verdict"])
    assert after["joint_confidence"] == pytest.approx(1 - 0.05 - 0.1 / 2)
    assert "The claim was audited once before" in after["besides"]
    assert after["average_loss"]["estimate"] != before["average_loss"]["estimate"]
    assert json.loads((folder / "audit-noisy.json").read_text()) == after


@pytest.mark.slow
def test_a_smaller_audit_does_not_take_the_place_of_a_larger_one(folder):
    before = entry_of(folder)["audit"]
    again(folder, {"trials": 100})
    shown = entry_of(folder)["audit"]
    assert [shown[name] for name in ("trials", "epsilon_audited", "confidence")] == [
        before[name] for name in ("trials", "epsilon_audited", "confidence")
    ]
    assert [(one["trials"], one["draw"]) for one in shown["later"]] == [(100, 1)]
    assert "Shown is the one with the most transcripts" in shown["besides"]
    again(folder, {"trials": 400})
    shown = entry_of(folder)["audit"]
    assert (shown["trials"], [one["trials"] for one in shown["earlier"]], shown["later"]) == (400, [300, 100], [])


def test_the_same_order_twice_is_done_once_and_again_is_a_third(folder):
    assert again(folder, {"trials": 400})[0]
    done, sentences = again(folder, {"trials": 400})
    assert not done
    assert sentences == [
        "noisy: the audit is there (400 transcripts of each world); --trials N or --again makes another one."
    ]
    assert again(folder, {}, again=True)[0]
    assert [one["draw"] for one in entry_of(folder)["audit"]["earlier"]] == [0, 1]


def test_what_a_killed_command_wrote_to_results_alone_comes_to_page_and_file(folder):
    again(folder, {})
    files = [folder / "report.html", folder / "audit-noisy.json"]
    whole = [one.read_bytes() for one in files]
    files[0].write_text("of the audit before")
    os.utime(files[0], (1, 1))
    files[1].unlink()
    again(folder, {})
    assert [one.read_bytes() for one in files] == whole
    assert not again(folder, {})[0]


class Killed(BaseException):
    """Nobody has time to clean up."""


def test_killed_when_a_verdict_is_in_the_results_alone_while_another_audit_is_due(tmp_path, monkeypatch):
    for name in ("run", "whole"):
        run_scenario(parse(TWO.replace("audit: {agent: 1, trials: 300, chunk: 50}", "")), tmp_path / name)

    def write(path, _):
        raise Killed(path)

    with monkeypatch.context() as patched:
        patched.setattr(several, "write_text", write)
        with pytest.raises(Killed, match="audit-louder"):
            again(tmp_path / "run", {"trials": 50})
    assert entry_of(tmp_path / "run")["audit"]
    for name in ("run", "whole"):
        again(tmp_path / name, {"trials": 50})
    assert tree(tmp_path / "run") == tree(tmp_path / "whole")


@pytest.mark.slow
def test_a_new_draw_that_is_stopped_keeps_what_was_said_and_goes_on_to_the_same_bytes(folder, tmp_path):
    run_scenario(parse(SMALL), tmp_path / "other", page=False)
    before = (folder / "results.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        again(folder, {"trials": 400}, StopAfter(100))
    assert (folder / "results.json").read_bytes() == before
    assert len(list((folder / "audit-noisy").glob("*.npz"))) == 4
    assert again(folder, {"trials": 400})[0]
    assert again(tmp_path / "other", {"trials": 400})[0]
    assert (folder / "audit-noisy.json").read_bytes() == (tmp_path / "other" / "audit-noisy.json").read_bytes()


def test_the_scenario_says_a_draw_too_and_draws_share_no_noise():
    experiment = Experiment.of(parse(SMALL).scenario)
    subject, other = experiment.subjects[0], experiment.pair.hypotheses[1]
    first, same, second = (
        auditing.worlds(subject.simulation, 1, other, 5, draw)(0, 0).view.transcript.records for draw in (0, 0, 1)
    )
    name = next(iter(first[0].values))
    assert np.array_equal(first[0].values[name], same[0].values[name])
    assert not np.array_equal(first[0].values[name], second[0].values[name])


@pytest.mark.slow
def test_a_witness_of_a_later_draw_is_confirmed(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    own = f"  - {{kind: python, path: '{tmp_path}/mine.py', name: noisy, parameters: {{rounds: 2}}}}\n"
    leaky = SMALL[: SMALL.index("  - {kind")] + own + "audit: {agent: 1, trials: 50}\n"
    run_scenario(parse(leaky), tmp_path / "run", page=False)
    assert WitnessFile.read(tmp_path / "run" / "witness-noisy.json").place.endswith("of seed 0")
    again(tmp_path / "run", {"trials": 100})
    file = WitnessFile.read(tmp_path / "run" / "witness-noisy.json")
    assert file.scenario["audit"]["draw"] == 1
    assert file.place.endswith("of seed 0, draw 1")
    assert confirm(file).verdict is not None


@pytest.mark.slow
def test_one_of_several_algorithms_by_the_command(tmp_path):
    run_scenario(parse(TWO), tmp_path / "run", page=False)
    asked = ["audit", str(tmp_path / "run"), "--algorithm", "louder", "--trials", "100", "--jobs", "1"]
    done = cli(*asked)
    entries = json.loads((tmp_path / "run" / "results.json").read_text())["algorithms"]
    assert [entry["audit"]["options"] is not None for entry in entries] == [True, False]
    assert "audited before (draw 0)" in done.output
    cli("audit", tmp_path / "run", "--algorithm", "x", ends=2, stderr="louder, noisy")


@pytest.mark.slow
def test_a_folder_without_an_audit_gets_one(tmp_path):
    run_scenario(parse(SMALL.replace("audit: {", "#")), tmp_path / "run", page=False)
    done = cli("audit", tmp_path / "run", "--trials", "100", "--jobs", "1")
    assert entry_of(tmp_path / "run")["audit"]["options"]["trials"] == 100
    assert done.exit_code in (0, 1)


@pytest.mark.slow
def test_a_scenario_is_audited_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(TWO.replace("gradients: false", "gradients: true"))
    done = cli("audit", "small.yaml", "--algorithm", "noisy", "--trials", "100", "--jobs", "1", "--out", "o")
    (entry,) = json.loads((tmp_path / "o" / "results.json").read_text())["algorithms"]
    assert (entry["name"], entry["gradients"], entry["audit"]["trials"]) == ("noisy", None, 100)
    assert done.exit_code in (0, 1)


def test_other_data_are_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["problem"]["smoothness"] *= 1.01
    (folder / "manifest.json").write_text(json.dumps(manifest))
    cli("audit", folder, "--again", ends=2, stderr="other data here")


# ── netsim report ───────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_page_is_made_again_from_the_results_alone_to_the_last_byte(folder, tmp_path):
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    (folder / "manifest.json").unlink()
    cli("report", folder, ends=0)
    assert (folder / "report.html").read_bytes() == page
    cli("report", folder / "results.json", "--out", tmp_path / "x.html", ends=0)
    assert (tmp_path / "x.html").read_bytes() == page
    cli("report", tmp_path / "nothing", ends=2)


@pytest.mark.slow
def test_the_page_of_a_killed_run_says_what_is_missing(tmp_path):
    run_scenario(parse(TWO), tmp_path, progress=StopAfter(100))
    results = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps(results | {"status": "running"}))
    cli("report", tmp_path, ends=0)
    assert "noisy: not begun" in (tmp_path / "report.html").read_text()


@pytest.mark.slow
def test_a_folder_of_variants_is_audited_variant_by_variant_and_summed_up_anew(tmp_path):
    text = SMALL.replace("trials: 300", "trials: 50") + "grid: {seed: [1, 2]}\n"
    run_study(parse(text), tmp_path / "run", page=False)
    before = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    one, two = (variant["name"] for variant in before)
    done = cli("audit", tmp_path / "run", "--variant", two, "--again", "--jobs", "1")
    assert done.exit_code in (0, 1)
    audits = [json.loads((tmp_path / "run" / name / "audit-noisy.json").read_text()) for name in (one, two)]
    assert [bool(audit["earlier"]) for audit in audits] == [False, True]
    after = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    assert [variant["algorithms"][0]["verdict"] for variant in after] == [audit["verdict"] for audit in audits]
    cli("report", tmp_path / "run", ends=0)


# ── several audits of one folder ───────────────────────────────────────────────────────────────────────
GAUSS = """
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.claims import Clip
from netsim.mechanisms import Gaussian
from netsim.node import Node


@dataclass(frozen=True)
class Gauss(Algorithm):
    rounds: int = 6

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            heard = await node.exchange(x=node.privatize(x, Gaussian(0.1)))
            x = heard.mix("x") - 0.2 * Clip(1.0, "l2")(await node.gradient(x))
            node.estimate(x)
"""
OWN = SMALL[: SMALL.index("  - {kind")] + (
    "  - {kind: python, path: 'PATH', name: noisy, claim: {epsilon: EPSILON, delta: 0.01}}\n"
    "audit: {agent: 1, search: null, trials: 50, chunk: 500}\n"
)
EPSILON = 1.21


def made_at(confidence):
    return OtherAudit(draw=0, confidence=confidence)


def audit(*asked):
    done = cli("audit", *asked, "--jobs", "1", "--json")
    return done.exit_code, (json.loads(done.stdout) if done.exit_code in (0, 1) else done)


def own(tmp_path, epsilon=EPSILON):
    (tmp_path / "own.py").write_text(GAUSS)
    return OWN.replace("PATH", str(tmp_path / "own.py")).replace("EPSILON", str(epsilon))


@pytest.fixture(scope="module")
def three(tmp_path_factory):
    """Audited with 50 transcripts, which find nothing, and with 1,000, which refute the claim; then with 50 again."""
    place = tmp_path_factory.mktemp("several")
    run_scenario(parse(own(place)), place / "run")
    codes, stages = [0], [entry_of(place / "run")]
    for trials in (1000, 50):
        code, _ = audit(place / "run", "--trials", trials)
        codes.append(code)
        stages.append(entry_of(place / "run"))
    return place / "run", codes, stages


# ── what stays ──────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_a_refutation_that_holds_is_not_taken_back_by_a_smaller_audit(three):
    place, codes, (first, second, third) = three
    assert codes == [0, 1, 1]
    assert [one["audit"]["verdict"] for one in (first, second, third)] == ["underpowered", "refuted", "refuted"]
    (later,) = third["audit"]["later"]
    assert (later["verdict"], later["trials"], later["draw"]) == ("underpowered", 50, 2)
    assert json.loads((place / "audit-noisy.draw2.json").read_text())["verdict"] == "underpowered"
    assert json.loads((place / "audit-noisy.draw0.json").read_text()) == first["audit"]
    assert json.loads((place / "audit-noisy.json").read_text()) == third["audit"]
    assert {key: value for key, value in third.items() if key not in ("audit", "views")} == {
        key: value for key, value in second.items() if key not in ("audit", "views")
    }
    assert "No later audit takes a refutation back" in third["audit"]["besides"]


@pytest.mark.slow
def test_json_tells_of_all_audits_and_at_which_confidence_they_hold(three):
    place = three[0]
    code, sentences = audit(place, "--trials", 50)  # there already
    (row,) = sentences["algorithms"]
    assert (code, row["verdict"], row["claim_broken"]) == (1, "refuted", True)
    assert [one["verdict"] for one in row["earlier"]] == ["underpowered"]
    assert [one["verdict"] for one in row["later"]] == ["underpowered"]
    assert row["joint_confidence"] == pytest.approx(1 - 0.05 - 0.05 / 2)
    assert row["epsilon_audited"]["confidence"] == pytest.approx(0.975)
    assert row["later"][0]["confidence"] == pytest.approx(1 - 0.05 / 6)
    assert row["later"][0]["joint_confidence"] == pytest.approx(1 - 0.05 - 0.05 / 2 - 0.05 / 6)


@pytest.mark.slow
def test_the_page_over_variants_has_the_verdict_of_all_audits(tmp_path):
    run_study(parse(own(tmp_path).replace("trials: 50", "trials: 1000") + "grid: {seed: [0]}\n"), tmp_path / "run")
    code, _ = audit(tmp_path / "run", "--trials", 50)
    (variant,) = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    assert (code, variant["algorithms"][0]["verdict"]) == (1, "refuted")


@pytest.mark.slow
def test_the_timeline_is_that_of_the_audit_that_is_shown(three):
    _, _, (first, second, _) = three
    one, two = first["timeline"], second["timeline"]
    assert one["break"] is None
    assert two["break"]["activation"] == second["audit"]["first_violation"]
    assert two["budget"]["epsilon"] == second["over_time"]["exact"]["estimate"]
    assert one["budget"]["epsilon"] != two["budget"]["epsilon"]
    kept = [name for name in one if name not in ("break", "budget")]
    assert {name: one[name] for name in kept} == {name: two[name] for name in kept}


# ── what is spent ───────────────────────────────────────────────────────────────────────────────────────
def test_who_asks_until_an_audit_refutes_is_wrong_no_more_often_than_is_said():
    """20,000 folders of a sound mechanism, each asked up to 400 times at confidence 0.9; an audit errs as often as
    it may. Unshared, 0.1 each time, almost every folder would end refuted."""
    rng, folders, asked = np.random.default_rng(7), 20_000, 0.9
    wrong, made = np.zeros(folders, bool), []
    for before in range(400):
        made.append(made_at(several.confidence_share(asked, before)))
        wrong |= rng.random(folders) < 1 - made[-1].confidence
    spent = several.error_spent(made)
    assert spent <= 2 * (1 - asked)
    assert wrong.mean() <= spent + 4 * np.sqrt(spent * (1 - spent) / folders)
    assert wrong.mean() > 0.15  # the bound is not idle


@pytest.mark.slow
def test_pressing_again_at_a_small_confidence_ends_before_anything_can_be_decided_by_chance(tmp_path):
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 50")), tmp_path / "run")
    for n in range(1, 4):
        code, sentences = audit(tmp_path / "run", "--again", "--confidence", "0.55")
        (row,) = sentences["algorithms"]
        assert code == 0 or row["claim_broken"]
        shown = read_results(tmp_path / "run").algorithms[0].audit
        made = [*shown.earlier, shown, *shown.later]
        assert made[-1].confidence == pytest.approx(1 - 0.45 / (n * (n + 1)))
        assert several.error_spent(made) == pytest.approx(0.05 + 0.45 * (1 - 1 / (n + 1)))
        assert made[-1].joint_confidence == pytest.approx(1 - several.error_spent(made))


@pytest.mark.slow
def test_no_audit_is_made_that_would_leave_less_than_a_half_together(tmp_path):
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 50, confidence: 0.6")), tmp_path / "run")
    before = (tmp_path / "run" / "results.json").read_bytes()
    code, done = audit(tmp_path / "run", "--again")
    assert code == 2
    assert "spent 0.4 of error probability" in done.stderr
    assert (tmp_path / "run" / "results.json").read_bytes() == before


# ── what is no part of it ───────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_other_code_is_not_audited_in_the_folder_of_the_old(tmp_path):
    (tmp_path / "own.py").write_text(MINE)
    text = own(tmp_path).replace("}, delta", ", delta").replace(", claim", ", parameters: {rounds: 2}, claim")
    (tmp_path / "own.py").write_text(MINE)
    run_scenario(parse(text), tmp_path / "run")
    files = {file: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()}
    assert (tmp_path / "run" / "witness-noisy.json") in files
    (tmp_path / "own.py").write_text(MINE.replace("careful: bool = False", "careful: bool = True"))
    code, done = audit(tmp_path / "run", "--again")
    assert code == 2
    assert "the code of noisy is another one" in done.stderr
    assert "own.py --out OTHER" in done.stderr
    assert {file: file.read_bytes() for file in files} == files


class StopAtViews(Silent):
    def begin(self, stage, *_):
        if "looking" in stage:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_a_new_audit_that_is_stopped_at_its_views_is_done_and_its_draw_counts(tmp_path):
    for name in ("run", "whole"):
        run_scenario(parse(SMALL.replace("trials: 300", "trials: 50")), tmp_path / name)
    asked = {"trials": 60, "views": "links"}
    with pytest.raises(KeyboardInterrupt):
        again(tmp_path / "run", asked, StopAtViews())
    stopped = entry_of(tmp_path / "run")
    assert (stopped["audit"]["options"]["draw"], stopped["views"]) == (1, None)
    assert json.loads((tmp_path / "run" / "audit-noisy.json").read_text()) == stopped["audit"]
    _, sentences = again(tmp_path / "run", asked)
    again(tmp_path / "whole", asked)
    assert any("from elsewhere follows" in one for one in sentences)
    after = entry_of(tmp_path / "run")
    assert after["views"] is not None
    assert after == entry_of(tmp_path / "whole")
    assert len(again(tmp_path / "run", asked)[1]) == 1


# ── what is said after another audit ───────────────────────────────────────────────────────────────────
CHECKED = """
reproduces:
  paper: A paper
  item: a sentence
  shows: The noise protects.
  missing: []
  checks: [{says: It holds., measure: verdict, of: noisy, equals: underpowered}]
"""


def checked(tmp_path, rest=""):
    return parse(own(tmp_path) + CHECKED + rest)


@pytest.mark.slow
def test_what_a_paper_shows_is_held_against_the_audit_that_decides(tmp_path):
    run_scenario(checked(tmp_path), tmp_path / "run")
    assert read_results(tmp_path / "run").reproduction.outcome == "agrees"
    code, sentences = audit(tmp_path / "run", "--trials", 1000)
    assert read_results(tmp_path / "run").reproduction.outcome == "differs"
    assert (code, sentences["reproduction"]["outcome"]) == (1, "differs")
    assert "differs" in sentences["exit_reason"]


@pytest.mark.slow
def test_over_variants_too(tmp_path):
    run_study(checked(tmp_path, "grid: {seed: [0, 1]}\n"), tmp_path / "run")
    before = read_results(tmp_path / "run")
    assert before.reproduction.outcome == "agrees"
    one, two = (variant.name for variant in before.variants)
    audit(tmp_path / "run", "--trials", 1000, "--variant", one)
    after = read_results(tmp_path / "run")
    assert after.reproduction.outcome == "differs"
    answers = {answer.variant: answer.result for answer in after.reproduction.checks[0].answers}
    assert answers == {one: "fails", two: "holds"}
    assert read_results(tmp_path / "run" / one).reproduction is None


@pytest.mark.slow
def test_what_was_found_before_an_audit_of_variants_was_stopped_is_told_over_all(tmp_path, monkeypatch):
    run_study(parse(own(tmp_path) + "grid: {seed: [0, 1]}\n"), tmp_path / "run")
    real, begun = Reaudit.run, []

    def once(self, algorithm=None):
        begun.append(self.kept.folder)
        if len(begun) == 2:
            raise KeyboardInterrupt
        return real(self, algorithm)

    monkeypatch.setattr(Reaudit, "run", once)
    audit(tmp_path / "run", "--trials", 1000)
    verdicts = [one.algorithms[0].verdict for one in read_results(tmp_path / "run").variants]
    assert verdicts == ["refuted", "underpowered"]


@pytest.mark.slow
def test_a_study_whose_interrupted_audits_are_done_is_complete(tmp_path):
    run_study(parse(own(tmp_path) + "grid: {seed: [1]}\n"), tmp_path / "run", progress=StopAfter(0))
    assert read_results(tmp_path / "run").status == "interrupted"
    code, sentences = audit(tmp_path / "run")
    assert (code, sentences["status"], sentences["variants"][0]["status"]) == (0, "complete", "complete")
    assert sentences["variants"][0]["report"] is not None


@pytest.mark.slow
def test_a_stop_while_files_are_brought_in_step_comes_after_that(tmp_path, monkeypatch):
    run_scenario(parse(own(tmp_path)), tmp_path / "run")
    run_scenario(parse(own(tmp_path)), tmp_path / "whole")
    real = several._move

    def pressed(file, to):
        os.kill(os.getpid(), signal.SIGINT)
        real(file, to)

    monkeypatch.setattr(several, "_move", pressed)
    with pytest.raises(KeyboardInterrupt):
        again(tmp_path / "run", {"trials": 1000})
    monkeypatch.undo()
    again(tmp_path / "whole", {"trials": 1000})
    assert entry_of(tmp_path / "run")["audit"] == entry_of(tmp_path / "whole")["audit"]
    for name in ("audit-noisy.json", "audit-noisy.draw0.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_without_a_stop_nothing_happens_and_the_handler_is_the_former():
    inherited = signal.signal(signal.SIGINT, signal.default_int_handler)  # a job in the background ignores it
    try:
        before = signal.getsignal(signal.SIGINT)
        with undisturbed():
            assert signal.getsignal(signal.SIGINT) is not before
        assert signal.getsignal(signal.SIGINT) is before
        with pytest.raises(ValueError, match="its own"), undisturbed():
            raise ValueError("its own")
        assert signal.getsignal(signal.SIGINT) is before
    finally:
        signal.signal(signal.SIGINT, inherited)
