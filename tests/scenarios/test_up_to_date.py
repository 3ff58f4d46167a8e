"""After another audit of a folder everything that is told in it is of the audits that are there now."""

import os
import signal

import pytest

from scenarios.build.progress import Silent, undisturbed
from scenarios.results.folder import RunFolder, read_results
from scenarios.schema.load import parse
from scenarios.stages import reaudit as reauditing
from scenarios.stages.reaudit import Reaudit
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from tests.scenarios.test_auditing import StopAfter
from tests.scenarios.test_several import audit, entry_of, own

CHECKED = """
reproduces:
  paper: A paper
  item: a sentence
  shows: The noise protects.
  missing: []
  checks: [{says: It holds., measure: verdict, of: noisy, equals: consistent}]
"""


def results_of(folder):
    return read_results(folder)


def checked(tmp_path, rest=""):
    return parse(own(tmp_path) + CHECKED + rest)


def test_what_a_paper_shows_is_held_against_the_audit_that_decides(tmp_path):
    run_scenario(checked(tmp_path), tmp_path / "run")
    assert results_of(tmp_path / "run").reproduction.outcome == "agrees"
    code, told = audit(tmp_path / "run", "--trials", 1000)
    assert results_of(tmp_path / "run").reproduction.outcome == "differs"
    assert (code, told["reproduction"]["outcome"]) == (1, "differs")
    assert "differs" in told["exit_reason"]


def test_over_variants_too(tmp_path):
    run_study(checked(tmp_path, "grid: {seed: [0, 1]}\n"), tmp_path / "run")
    before = results_of(tmp_path / "run")
    assert before.reproduction.outcome == "agrees"
    one, two = (variant.name for variant in before.variants)
    audit(tmp_path / "run", "--trials", 1000, "--variant", one)
    after = results_of(tmp_path / "run")
    assert after.reproduction.outcome == "differs"
    answers = {answer.variant: answer.result for answer in after.reproduction.checks[0].answers}
    assert answers == {one: "fails", two: "holds"}
    assert results_of(tmp_path / "run" / one).reproduction is None


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
    verdicts = [one.algorithms[0].verdict for one in results_of(tmp_path / "run").variants]
    assert verdicts == ["refuted", "consistent"]


def test_a_study_whose_interrupted_audits_are_done_is_complete(tmp_path):
    run_study(parse(own(tmp_path) + "grid: {seed: [1]}\n"), tmp_path / "run", progress=StopAfter(0))
    assert results_of(tmp_path / "run").status == "interrupted"
    code, told = audit(tmp_path / "run")
    assert (code, told["status"], told["variants"][0]["status"]) == (0, "complete", "complete")
    assert told["variants"][0]["report"] is not None


def test_a_stop_while_files_are_brought_in_step_comes_after_that(tmp_path, monkeypatch):
    run_scenario(parse(own(tmp_path)), tmp_path / "run")
    run_scenario(parse(own(tmp_path)), tmp_path / "whole")
    real = reauditing._move

    def pressed(file, to):
        os.kill(os.getpid(), signal.SIGINT)
        real(file, to)

    monkeypatch.setattr(reauditing, "_move", pressed)
    with pytest.raises(KeyboardInterrupt):
        Reaudit(RunFolder.open(tmp_path / "run"), {"trials": 1000}, Silent(), lambda _: None).run()
    monkeypatch.undo()
    Reaudit(RunFolder.open(tmp_path / "whole"), {"trials": 1000}, Silent(), lambda _: None).run()
    assert entry_of(tmp_path / "run")["audit"] == entry_of(tmp_path / "whole")["audit"]
    for name in ("audit-noisy.json", "audit-noisy.draw0.json"):
        assert (tmp_path / "run" / name).read_bytes() == (tmp_path / "whole" / name).read_bytes()


def test_without_a_stop_nothing_happens_and_the_handler_is_the_former():
    before = signal.getsignal(signal.SIGINT)
    with undisturbed():
        assert signal.getsignal(signal.SIGINT) is not before
    assert signal.getsignal(signal.SIGINT) is before
    with pytest.raises(ValueError, match="its own"), undisturbed():
        raise ValueError("its own")
    assert signal.getsignal(signal.SIGINT) is before
