"""A results folder audited further: what is stopped goes on to the same bytes, what was read is never added to."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from scenarios.build.experiment import Experiment
from scenarios.build.progress import Silent
from scenarios.cli.app import app
from scenarios.results.folder import RunFolder
from scenarios.schema.load import parse
from scenarios.stages import worlds as auditing
from scenarios.stages.reaudit import Reaudit
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from scenarios.stages.witness import WitnessFile, confirm
from scenarios.stages.worlds import number_of
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.test_auditing import SMALL, StopAfter

runner = CliRunner()
TWO = SMALL.replace(
    "algorithms:\n",
    "algorithms:\n  - {kind: private_gradient_descent, name: louder, rounds: 4, step: 0.2, scale: 3.0, "
    "clip: {bound: 1.0, norm: l1}}\n",
)


@pytest.fixture
def folder(tmp_path):
    run_scenario(parse(SMALL), tmp_path / "run")
    return tmp_path / "run"


def entry_of(folder):
    return json.loads((folder / "results.json").read_text())["algorithms"][0]


def again(folder, settings, progress=None, **options):
    told = []
    done = Reaudit(RunFolder.open(folder), settings, progress or Silent(), told.append, **options).run()
    return done, told


def test_an_audit_that_was_stopped_goes_on_and_may_get_more_transcripts(tmp_path, monkeypatch):
    whole, stopped = tmp_path / "whole", tmp_path / "stopped"
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 400")), whole)
    run_scenario(parse(SMALL), stopped, progress=StopAfter(200))
    assert entry_of(stopped)["audit_status"] == "not reached"
    simulated = []
    real = auditing._Worlds._sample
    monkeypatch.setattr(
        auditing._Worlds, "_sample", lambda self, w, k, *rest: (simulated.append((w, k)), real(self, w, k, *rest))[1]
    )
    done, told = again(stopped, {"trials": 400})
    assert done
    assert told == []
    assert len([k for _, k in simulated if k < 8]) == 16 - 4  # what was there already is not simulated again
    one, two = entry_of(whole)["audit"], entry_of(stopped)["audit"]
    assert (one.pop("options"), two.pop("options")["draw"]) == (None, 0)
    assert one == two
    assert json.loads((stopped / "results.json").read_text())["status"] == "complete"
    assert (stopped / "report.html").exists()


def test_an_audit_that_was_read_is_followed_by_another_with_noise_of_its_own(folder):
    before = entry_of(folder)["audit"]
    done, told = again(folder, {"trials": 400, "confidence": 0.9})
    after = entry_of(folder)["audit"]
    assert done
    assert "nothing may be added to it" in told[0]
    assert (after["options"]["draw"], after["trials"], after["options"]["confidence"]) == (1, 400, 0.9)
    assert after["confidence"] == pytest.approx(1 - 0.1 / 2)
    (earlier,) = after["earlier"]
    assert earlier["epsilon_audited"] == before["epsilon_audited"]
    assert (earlier["draw"], earlier["trials"], earlier["verdict"]) == (0, 300, before["verdict"])
    assert after["joint_confidence"] == pytest.approx(1 - 0.05 - 0.1 / 2)
    assert "The claim was audited once before" in after["besides"]
    assert after["average_loss"]["estimate"] != before["average_loss"]["estimate"]
    assert json.loads((folder / "audit-noisy.json").read_text()) == after


def test_the_same_order_twice_is_done_once_and_again_is_a_third(folder):
    assert again(folder, {"trials": 400})[0]
    done, told = again(folder, {"trials": 400})
    assert not done
    assert told == [
        "noisy: the audit is there (400 transcripts of each world); --trials N or --again makes another one."
    ]
    assert again(folder, {}, again=True)[0]
    assert [one["draw"] for one in entry_of(folder)["audit"]["earlier"]] == [0, 1]


def test_a_new_draw_that_is_stopped_keeps_what_was_said_and_goes_on_to_the_same_bytes(folder, tmp_path):
    run_scenario(parse(SMALL), tmp_path / "other")
    before = (folder / "results.json").read_bytes()
    with pytest.raises(KeyboardInterrupt):
        again(folder, {"trials": 400}, StopAfter(200))
    assert (folder / "results.json").read_bytes() == before
    assert len(list((folder / "audit-noisy").glob("*.npz"))) == 4
    assert again(folder, {"trials": 400})[0]
    assert again(tmp_path / "other", {"trials": 400})[0]
    assert (folder / "audit-noisy.json").read_bytes() == (tmp_path / "other" / "audit-noisy.json").read_bytes()


def test_the_scenario_says_a_draw_too_and_draws_share_no_noise():
    numbers = [number_of(w, k, d) for w in (0, 1) for k in range(50) for d in range(3)]
    assert len(set(numbers)) == len(numbers)
    assert number_of(1, 7) == 1 + 2 * 7 + 1
    experiment = Experiment.of(parse(SMALL).scenario)
    subject, other = experiment.subjects[0], experiment.pair.hypotheses[1]
    first, same, second = (
        auditing.worlds(subject.simulation, 1, other, 5, draw)(0, 0).view.transcript.records for draw in (0, 0, 1)
    )
    name = next(iter(first[0].values))
    assert np.array_equal(first[0].values[name], same[0].values[name])
    assert not np.array_equal(first[0].values[name], second[0].values[name])


def test_a_witness_of_a_later_draw_is_confirmed(tmp_path):
    (tmp_path / "mine.py").write_text(MINE)
    own = f"  - {{kind: python, path: '{tmp_path}/mine.py', name: noisy, parameters: {{rounds: 2}}}}\n"
    leaky = SMALL[: SMALL.index("  - {kind")] + own + "audit: {agent: 1, trials: 50}\n"
    run_scenario(parse(leaky), tmp_path / "run")
    assert WitnessFile.read(tmp_path / "run" / "witness-noisy.json").place.endswith("of seed 0")
    again(tmp_path / "run", {"trials": 100})
    file = WitnessFile.read(tmp_path / "run" / "witness-noisy.json")
    assert file.scenario["audit"]["draw"] == 1
    assert file.place.endswith("of seed 0, draw 1")
    assert confirm(file).verdict is not None


def test_one_of_several_algorithms_by_the_command(tmp_path):
    run_scenario(parse(TWO), tmp_path / "run")
    asked = ["audit", str(tmp_path / "run"), "--algorithm", "louder", "--trials", "100", "--jobs", "1"]
    done = runner.invoke(app, asked)
    entries = json.loads((tmp_path / "run" / "results.json").read_text())["algorithms"]
    assert [entry["audit"]["options"] is not None for entry in entries] == [True, False]
    assert "audited before (draw 0)" in done.output
    wrong = runner.invoke(app, ["audit", str(tmp_path / "run"), "--algorithm", "x"])
    assert wrong.exit_code == 2
    assert "louder, noisy" in wrong.stderr


def test_a_folder_without_an_audit_gets_one(tmp_path):
    run_scenario(parse(SMALL.replace("audit: {", "#")), tmp_path / "run")
    done = runner.invoke(app, ["audit", str(tmp_path / "run"), "--trials", "100", "--jobs", "1"])
    assert entry_of(tmp_path / "run")["audit"]["options"]["trials"] == 100
    assert done.exit_code in (0, 1)


def test_a_scenario_is_audited_alone(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(TWO.replace("gradients: false", "gradients: true"))
    done = runner.invoke(
        app, ["audit", "small.yaml", "--algorithm", "noisy", "--trials", "100", "--jobs", "1", "--out", "o"]
    )
    (entry,) = json.loads((tmp_path / "o" / "results.json").read_text())["algorithms"]
    assert (entry["name"], entry["gradients"], entry["audit"]["trials"]) == ("noisy", None, 100)
    assert done.exit_code in (0, 1)


def test_other_data_are_refused(folder):
    manifest = json.loads((folder / "manifest.json").read_text())
    manifest["problem"]["smoothness"] *= 1.01
    (folder / "manifest.json").write_text(json.dumps(manifest))
    done = runner.invoke(app, ["audit", str(folder), "--again"])
    assert done.exit_code == 2
    assert "other data here" in done.stderr


# ── netsim report ───────────────────────────────────────────────────────────────────────────────────────
def test_the_page_is_made_again_from_the_results_alone_to_the_last_byte(folder, tmp_path):
    page = (folder / "report.html").read_bytes()
    (folder / "report.html").unlink()
    (folder / "manifest.json").unlink()
    assert runner.invoke(app, ["report", str(folder)]).exit_code == 0
    assert (folder / "report.html").read_bytes() == page
    assert (
        runner.invoke(app, ["report", str(folder / "results.json"), "--out", str(tmp_path / "x.html")]).exit_code == 0
    )
    assert (tmp_path / "x.html").read_bytes() == page
    assert runner.invoke(app, ["report", str(tmp_path / "nothing")]).exit_code == 2


def test_the_page_of_a_killed_run_says_what_is_missing(tmp_path):
    run_scenario(parse(TWO), tmp_path, progress=StopAfter(200))
    results = json.loads((tmp_path / "results.json").read_text())
    (tmp_path / "results.json").write_text(json.dumps(results | {"status": "running"}))
    assert runner.invoke(app, ["report", str(tmp_path)]).exit_code == 0
    assert "noisy: everything" in (tmp_path / "report.html").read_text()


def test_a_folder_of_variants_is_audited_variant_by_variant_and_summed_up_anew(tmp_path):
    text = SMALL.replace("trials: 300", "trials: 50") + "grid: {seed: [1, 2]}\n"
    run_study(parse(text), tmp_path / "run")
    before = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    one, two = (variant["name"] for variant in before)
    done = runner.invoke(app, ["audit", str(tmp_path / "run"), "--variant", two, "--again", "--jobs", "1"])
    assert done.exit_code in (0, 1)
    audits = [json.loads((tmp_path / "run" / name / "audit-noisy.json").read_text()) for name in (one, two)]
    assert [bool(audit["earlier"]) for audit in audits] == [False, True]
    after = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    assert [variant["algorithms"][0]["verdict"] for variant in after] == [audit["verdict"] for audit in audits]
    assert runner.invoke(app, ["report", str(tmp_path / "run")]).exit_code == 0
