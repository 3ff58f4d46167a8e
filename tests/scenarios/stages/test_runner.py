"""A scenario from file to folder: what it finds, what it writes, and what survives a Ctrl-C."""

import json

import pandas as pd
import pytest

from netsim.errors import ScenarioError
from netsim.readers.live import LiveNode
from netsim.transcript import Transcript
from scenarios.build.duration import Silent
from scenarios.render import sentences
from scenarios.render.verdicts import print_results
from scenarios.results import findings as findings
from scenarios.results import header as describe
from scenarios.results.folder import read_manifest, read_results
from scenarios.results.tree import RunError
from scenarios.schema.load import parse
from scenarios.stages import study
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from tests.scenarios.small import SMALL, TINY


@pytest.fixture(scope="module")
def finished(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run") / "small"
    return folder, run_scenario(parse(SMALL, "small.yaml"), folder, command="netsim run small.yaml")


def entry(results, name):
    return next(e for e in results.algorithms if e.name == name)


class TestFindings:
    def test_recal_tells_everything(self, finished):
        plain = entry(finished[1], "plain")
        assert plain.audit is None
        assert plain.audit_status == "no claim"
        assert plain.gradients.estimated == plain.gradients.queries == 240
        assert plain.gradients.worst < 1e-10
        assert all(image.largest_error < 1e-6 for image in plain.images.agents)
        assert all(image.label_correct == 1 for image in plain.images.agents)

    def test_dp_recal_is_unprotected_and_its_claim_is_of_the_activations_that_happened(self, finished):
        leaky = entry(finished[1], "leaky")
        audit = leaky.audit
        assert leaky.audit_status == "done"
        assert audit.verdict == "unprotected"
        assert audit.first_violation == 2
        assert "'x'" in audit.unprotected
        assert audit.epsilon_claimed < 1.01 < audit.epsilon_audited
        assert leaky.gradients.hidden == (1,) * 6
        assert all(image.skill > 1 - 1e-9 for image in leaky.images.agents)
        # The noise was calibrated for per_agent; the claim counts what was really released.
        assert leaky.run.largest_activations == 6
        assert leaky.audit.epsilon_claimed == pytest.approx(1.0)

    def test_the_repair_is_not(self, finished):
        told = entry(finished[1], "told")
        assert (
            told.audit.verdict == "underpowered"
        )  # of an agent that was active twice; who was so most was so six times
        assert told.audit.bound.epsilon <= told.audit.epsilon_claimed
        assert told.audit.epsilon_audited <= told.audit.epsilon_claimed
        assert told.gradients.median > 1
        assert max(image.skill for image in told.images.agents) < 0.05


class TestFolder:
    def test_everything_is_there(self, finished):
        names = {path.name for path in finished[0].iterdir()}
        assert names == {
            "manifest.json", "results.json", "report.html", "audit-leaky.json", "audit-told.json",
            "witness-leaky.json", "algorithms.parquet",
            *(
                f"{kind}-{slug}.parquet"
                for kind in ("transcript", "second", "metrics")
                for slug in ("plain", "leaky", "told")
            ),
        }  # fmt: skip

    def test_the_manifest_has_every_default_and_version(self, finished):
        manifest = read_manifest(finished[0])
        assert manifest.scenario.links.timeout is None
        assert manifest.scenario.audit.confidence == 0.95
        assert manifest.versions["numpy"]
        assert manifest.command == "netsim run small.yaml"
        resolved = manifest.resolved[1]
        assert resolved["stddev"] > 0
        assert (resolved["reading"], resolved["per_agent"], resolved["activations"]) == ("as_deployable", 6, None)

    def test_transcripts_open_in_pandas_and_here(self, finished):
        path = finished[0] / "transcript-leaky.parquet"
        frame = pd.read_parquet(path)
        assert {"time", "sender", "receiver", "kind", "size", "value.x", "value.u_noisy"} <= set(frame.columns)
        assert (frame.kind == "ack").any()  # reliable links: acknowledgements are on the air
        assert len(Transcript.read(path)) == len(frame)
        assert len(frame["value.x"].dropna().iloc[0]) == 64


@pytest.mark.slow
def test_the_same_file_gives_the_same_results(tmp_path):
    text = SMALL.replace("per_agent: 6", "per_agent: 2").replace("activations: 240", "activations: 60")
    one, again = (run_scenario(parse(text), tmp_path / name, page=False) for name in ("one", "again"))
    assert again == one
    first, second = ((tmp_path / name / "transcript-told.parquet").read_bytes() for name in ("one", "again"))
    assert first == second


def test_schedules_and_clips_are_resolved_to_numbers(tmp_path):
    descent = "{kind: private_gradient_descent, rounds: 3, scale: {epsilon: 1.0}, clip: {bound: 2.0}}"
    text = f"name: descent\ntopology: {{kind: ring, agents: 3}}\nalgorithms: [{descent}]\n"
    run_scenario(parse(text), tmp_path, page=False)
    resolved = read_manifest(tmp_path).resolved[0]
    assert resolved["clip"] == {"kind": "clip", "bound": 2.0, "norm": "l1"}
    assert resolved["scale"]["kind"] == "constant"
    assert all(isinstance(resolved[name]["value"], float) for name in ("step", "scale"))


class StopAt(Silent):
    """Ctrl-C as soon as a stage begins."""

    def __init__(self, stage):
        self.stage = stage

    def begin(self, stage, *_):
        if stage == self.stage:
            raise KeyboardInterrupt


@pytest.mark.slow
def test_an_interrupted_run_keeps_what_it_had(tmp_path):
    results = run_scenario(parse(SMALL), tmp_path, progress=StopAt("leaky: auditing"))
    assert results.status == "interrupted"
    written = read_results(tmp_path)
    assert written.status == "interrupted"
    assert entry(written, "plain").gradients.estimated == 240
    assert entry(written, "leaky").images is not None
    assert entry(written, "leaky").audit is None
    assert entry(written, "leaky").audit_status == "interrupted"
    assert entry(written, "plain").audit_status == "no claim"
    assert (tmp_path / "transcript-leaky.parquet").exists()
    assert "interrupted" in (tmp_path / "report.html").read_text().lower()


def test_an_early_interruption_is_no_finding(tmp_path, capsys):
    results = run_scenario(parse(SMALL), tmp_path, progress=StopAt("plain: running"))
    assert [one.audit_status for one in results.algorithms] == ["no claim"]
    print_results(results, tmp_path)
    told = " ".join(capsys.readouterr().out.split())
    page = (tmp_path / "report.html").read_text()
    assert "plain: convergence, run, gradients, images leaky: not begun" in told
    assert "listener records" not in told + page
    assert "No images were rebuilt" not in page
    assert "before this audit" not in told + page


class Heard(Silent):
    def __init__(self):
        self.said = []

    def say(self, sentence):
        self.said.append(sentence)


def test_a_plan_that_two_audits_share_is_said_once(tmp_path):
    heard = Heard()
    twice = TINY.replace("  - {kind", "  - &one {kind").replace("attacks:", "  - {<<: *one, name: yours}\nattacks:")
    results = run_scenario(parse(twice), tmp_path, progress=heard)
    assert [one.audit_status for one in results.algorithms] == ["done", "done"]
    assert sum("guesses can prove" in one for one in heard.said) == 1


class FailAt(StopAt):
    """An error of an algorithm's own as soon as a stage begins."""

    def begin(self, stage, *_):
        if stage == self.stage:
            raise ZeroDivisionError("of its own")


@pytest.mark.slow
def test_a_run_that_fails_keeps_what_it_had_and_raises(tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_scenario(parse(SMALL), tmp_path, progress=FailAt("leaky: running"))
    written = read_results(tmp_path)
    assert written.status == "failed"
    assert written.error == RunError(type="ZeroDivisionError", message="of its own", hint="")
    assert [e.audit_status for e in written.algorithms] == ["no claim", "not reached"]
    page = (tmp_path / "report.html").read_text()
    assert "ZeroDivisionError: of its own" in page
    assert "told: not begun" in page


def test_a_scenario_that_does_not_fit_writes_nothing(tmp_path):
    with pytest.raises(ScenarioError) as caught:
        run_scenario(parse(SMALL.replace("{kind: ring, agents: 6}", "{kind: path, agents: 6}"), "small.yaml"),
                     tmp_path / "none", page=False)  # fmt: skip
    assert caught.value.field == "adversary.links[2]"
    assert caught.value.file == "small.yaml"
    assert not (tmp_path / "none").exists()


@pytest.mark.slow
def test_a_run_that_diverges_is_called_so(tmp_path):
    """DiaDSP has no bound on its step; 90 is far beyond what is stable."""
    head = SMALL.split("algorithms:")[0]
    text = head + "algorithms:\n  - {kind: diadsp, rounds: 40, step: 90, ratio: 0.9}\n"
    one = run_scenario(parse(text, "small.yaml"), tmp_path).algorithms[0]
    assert findings.diverged(one)
    results = read_results(tmp_path)
    lines = sentences.about(results, results.algorithms[0])
    assert any(line.startswith("Diverged: the relative error") for line in lines)
    page = (tmp_path / "report.html").read_text()
    assert "; DiaDSP diverged." in page
    assert "<span>diverged, final relative error " in page


PLAIN = """\
name: small
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
topology: {kind: ring, agents: 4}
attacks: {gradients: false}
algorithms:
  - {kind: private_gradient_descent, name: one, rounds: 2, step: 0.2, scale: 0.3}
  - {kind: private_gradient_descent, name: two, rounds: 2, step: 0.2, scale: 0.3}
"""


class StopsAtOnce(Silent):
    """Ctrl-C as soon as anything begins but the checks before time 0 and the report."""

    def begin(self, stage, *_):
        if "checking" not in stage and "report" not in stage:
            raise KeyboardInterrupt


class TestWhatAFormerRunLeft:
    """A folder that is written over holds what its last run made, and evidence that an audit may go on with."""

    def test_is_removed_before_anything_runs(self, tmp_path):
        run_scenario(parse(PLAIN), tmp_path)
        gone = [f"{kind}-{slug}.json" for kind in ("witness", "audit") for slug in ("one", "three")]
        gone.append("transcript-two.x.parquet")
        for name in (*gone, "notes.txt"):
            (tmp_path / name).write_text("{}")
        for slug in ("one", "two", "three"):
            (tmp_path / f"audit-{slug}").mkdir()
            (tmp_path / f"audit-{slug}" / "of.json").write_text("evidence")
        (tmp_path / "audit-mine").mkdir()
        (tmp_path / "transcript-three").mkdir()
        (tmp_path / "transcript-three" / "eavesdropper.spool").write_text("")
        stopped = run_scenario(parse(PLAIN.replace("name: two", "name: other")), tmp_path, progress=StopsAtOnce())
        assert stopped.status == "interrupted"
        assert sorted(one.name for one in tmp_path.iterdir()) == [
            "algorithms.parquet", "audit-mine", "audit-one", "manifest.json", "notes.txt", "report.html",
            "results.json",
        ]  # fmt: skip

    def test_is_removed_from_a_folder_of_variants_too(self, tmp_path):
        text = PLAIN + "variants:\n  - {name: a, set: {seed: 1}}\n  - {name: b, set: {seed: 2}}\n"
        run_study(parse(text), tmp_path, page=False)
        (tmp_path / "witness-one.json").write_text("{}")
        stopped = run_study(parse(text), tmp_path, progress=StopsAtOnce(), page=False)
        assert stopped.status == "interrupted"
        assert not (tmp_path / "witness-one.json").exists()
        assert not (tmp_path / "b" / "results.json").exists()


def test_a_run_stopped_before_anybody_estimates_is_interrupted_not_failed(tmp_path, monkeypatch):
    def stop(self, x):
        raise KeyboardInterrupt

    monkeypatch.setattr(LiveNode, "estimate", stop)
    results = run_scenario(parse(PLAIN), tmp_path)
    assert (results.status, results.error) == ("interrupted", None)
    (only,) = results.algorithms
    assert (only.convergence.count, only.convergence.final) == ((), None)
    assert only.convergence.unit == "rounds"  # as of a run that goes on: comparison finds no difference
    assert "interrupted" in (tmp_path / "report.html").read_text()


def test_names_however_long_make_names_of_files():
    slugs = []
    for name in ("x" * 300, "x" * 400, "é" * 5, "y" * 79 + " z"):
        slugs.append(describe.slug(name, slugs))
    assert slugs == ["x" * 80, "x" * 80 + "-2", "algorithm", "y" * 79]


def files_of(folder):
    return {path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


VARIANTS = "variants:\n  - {name: a, set: {seed: 1}}\n  - {name: b, set: {seed: 2}}\n"


class TestAFolderOfAnotherScenario:
    @pytest.mark.parametrize("before", [PLAIN, PLAIN + VARIANTS], ids=["one before", "variants before"])
    @pytest.mark.parametrize(
        ("runs", "after"), [(run_scenario, PLAIN), (run_study, PLAIN), (run_study, PLAIN + VARIANTS)]
    )
    def test_is_refused_before_anything_is_touched(self, tmp_path, monkeypatch, before, runs, after):
        run_study(parse(before), tmp_path, progress=StopsAtOnce(), page=False)
        monkeypatch.delattr(study, "planned")  # which takes long
        (tmp_path / "witness-one.json").write_text("{}")
        held = files_of(tmp_path)
        with pytest.raises(ScenarioError) as error:
            runs(parse(after.replace("name: small", "name: other")), tmp_path)
        assert (error.value.field, error.value.value) == ("folder", str(tmp_path))
        assert error.value.problem == "holds the results of another scenario, 'small'"
        assert error.value.allowed == "a new or empty folder, or remove that one first"
        assert files_of(tmp_path) == held

    def test_of_the_same_name_it_is_written_over(self, tmp_path):
        text = PLAIN + VARIANTS
        run_study(parse(text), tmp_path, page=False)
        edited = run_study(parse(text.replace("rounds: 2", "rounds: 3")), tmp_path, page=False)
        assert edited.status == "complete"
        assert [one.status for one in edited.variants] == ["complete"] * 2

    def test_variants_that_were_done_are_kept_when_it_goes_on(self, tmp_path):
        text = PLAIN + VARIANTS + "  - {name: c, set: {seed: 3}}\n"
        stopped = run_study(parse(text), tmp_path, progress=StopAt("b: one: running"))
        assert [one.status for one in stopped.variants] == ["complete", "interrupted", "not reached"]
        before = (tmp_path / "a" / "results.json").stat().st_mtime_ns
        heard = Heard()
        whole = run_study(parse(text), tmp_path, progress=heard)
        assert whole.status == "complete"
        assert [one.status for one in whole.variants] == ["complete"] * 3
        assert whole.variants[0].algorithms == stopped.variants[0].algorithms
        assert (tmp_path / "a" / "results.json").stat().st_mtime_ns == before
        assert "Variants that are done and kept (1 of 3): a" in heard.said
        run_study(parse(text), tmp_path, progress=StopAt("b: one: running"))
        assert (tmp_path / "a" / "results.json").stat().st_mtime_ns != before, "a finished one is run again"
        heard.said.clear()
        run_study(parse(text.replace("rounds: 2", "rounds: 3")), tmp_path, progress=heard)
        assert not any("kept" in one for one in heard.said), "another scenario"

    @pytest.mark.parametrize("manifest", ["", "[]", '{"scenario": null}', '{"scenario": {"name": 3}}'])
    def test_whose_manifest_nobody_can_read_is_written_over(self, tmp_path, manifest):
        (tmp_path / "manifest.json").write_text(manifest)
        assert run_scenario(parse(PLAIN), tmp_path, page=False).status == "complete"


# ── what `outputs` asks for ─────────────────────────────────────────────────────────────────────────────
DRAWN = """\
name: small
problem: {data: {name: synthetic, records: 40, dimension: 3}, ridge: 0.5}
topology: {kind: ring, agents: 4}
algorithms: [{kind: recal, name: walk, activations: 24}]
outputs: {figures: [svg, png], width: 4.0, dpi: 60}
"""
BARE = DRAWN.replace("figures: [svg, png], width: 4.0, dpi: 60", "metrics: false, tables: false")


def names(folder):
    return {path.name for path in folder.iterdir()}


@pytest.mark.slow
def test_figures_are_written_at_their_width(tmp_path):
    run_scenario(parse(DRAWN), tmp_path)
    listed = json.loads((tmp_path / "figures" / "figures.json").read_text())
    assert {"Does it converge?", "Network"} <= {one["title"] for one in listed}
    for one in listed:
        assert sorted(one["files"]) == [f"{one['name']}.png", f"{one['name']}.svg"]
        png = (tmp_path / "figures" / f"{one['name']}.png").read_bytes()
        assert int.from_bytes(png[16:20]) == pytest.approx(4.0 * 60, abs=1.5)


@pytest.mark.slow
def test_what_is_not_asked_for_is_not_written_and_what_is_of_a_former_run_goes(tmp_path):
    run_scenario(parse(DRAWN), tmp_path)
    assert {"metrics-walk.parquet", "algorithms.parquet", "figures"} <= names(tmp_path)
    own = tmp_path / "figures" / "mine.txt"
    own.write_text("not netsim's")
    run_scenario(parse(BARE), tmp_path)
    assert not {"metrics-walk.parquet", "algorithms.parquet"} & names(tmp_path)
    assert names(tmp_path / "figures") == {"mine.txt"}
    assert {"report.html", "results.json", "manifest.json", "transcript-walk.parquet"} <= names(tmp_path)


@pytest.mark.slow
def test_variants_and_what_is_over_them(tmp_path):
    varied = DRAWN.replace("[svg, png]", "[svg]") + "grid: {links.loss: [0.0, 0.1]}\nlinks: {reliable: true}\n"
    results = run_study(parse(varied), tmp_path)
    for variant in results.variants:
        assert (tmp_path / variant.name / "figures" / "figures.json").is_file()
    assert "algorithms.parquet" in names(tmp_path)


def test_what_cannot_be_is_told_before_anything_runs():
    with pytest.raises(ScenarioError, match=r"outputs\.figures\[0\]"):
        parse(DRAWN.replace("svg, png", "gif"))
