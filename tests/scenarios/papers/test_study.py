"""A scenario with variants from end to end: folders, one page, one results.json, what fails and what is absent."""

from dataclasses import replace

import pytest

from netsim.errors import AbsentDataError, ScenarioError
from netsim.simulation import Simulation
from scenarios.build import problem as building
from scenarios.files.document import setting as flow
from scenarios.files.library import library
from scenarios.render.page import report
from scenarios.results.folder import read_results
from scenarios.results.tree import dumps
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from tests.scenarios.command import cli

SMALL = (
    library()["private-descent-noise-floor"]
    .replace("rounds: 60", "rounds: 20")
    .replace("replicas: 20", "replicas: 4")
)
VARIANTS = ["scale-0.001", "scale-0.01", "scale-0.1"]
LOSSY = """\
name: lossy
topology: {kind: ring, agents: 4}
algorithms: [{kind: recal, name: R, activations: 300}]
variants:
  - {name: bad, set: {links.loss: 0.5, links.reliable: false}}
  - {name: good, set: {seed: 1}}
figures: [{x: activations}]
reproduces:
  paper: P
  item: Table 1
  shows: It converges.
  checks: [{says: It does., measure: final_error, of: R, below: 1.0, VARIANT}]
"""


@pytest.fixture(scope="module")
def ran(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    return run_study(parse(SMALL, "small.yaml"), folder), folder


def test_every_variant_has_a_folder_and_the_page_says_what_was_found_in_them(ran):
    results, folder = ran
    assert results.status == "complete"
    assert [v.name for v in results.variants] == VARIANTS
    for name in VARIANTS:
        assert {"report.html", "results.json", "manifest.json"} <= {f.name for f in (folder / name).iterdir()}
        assert read_results(folder / name).reproduction is None
        assert f'<a href="{name}/report.html">' in (folder / "report.html").read_text()
    assert {"report.html", "results.json", "manifest.json"} <= {f.name for f in folder.iterdir()}
    assert read_results(folder) == results
    assert results.reproduction.outcome == "agrees in shape"
    finals = {name: read_results(folder / name).algorithms[1].convergence.final for name in VARIANTS}
    assert finals["scale-0.1"] > 3 * finals["scale-0.001"]
    where = results.figures[1].curves[1]
    assert (where.x, where.y) == ((0.001, 0.01, 0.1), tuple(finals[name] for name in VARIANTS))
    page = (folder / "report.html").read_text()
    assert page == report.page(read_results(folder))
    for check in results.reproduction.checks:
        assert check.statement in page
        assert check.answers[0].found in page
    assert "≈</span>agrees in shape" in page
    assert page.count("<svg viewBox") == 3
    assert "http://" not in page
    assert "https://" not in page
    assert [c.label for c in results.figures[0].curves] == [
        "plain descent", *(f"private descent, {name}" for name in VARIANTS)
    ]  # fmt: skip


def test_a_variant_is_run_as_it_would_be_alone(ran, tmp_path):
    _, folder = ran
    alone = SMALL[: SMALL.index("grid:")].replace("scale: 0.01", "scale: 0.1")
    run_scenario(parse(alone, "alone.yaml"), tmp_path / "alone", page=False)
    parts = [read_results(one).algorithms for one in (folder / "scale-0.1", tmp_path / "alone")]
    assert all(one.measures.exact for one in parts[0])  # for the checks, which are of all variants together
    assert tuple(replace(one, measures=replace(one.measures, exact=None)) for one in parts[0]) == parts[1]


def test_processes_change_no_number(ran, tmp_path):
    results, _ = ran
    spread = run_study(parse(SMALL, "small.yaml"), tmp_path / "two", jobs=2)
    assert dumps(replace(spread, command=results.command)) == dumps(results)


@pytest.mark.slow
def test_a_variant_that_fails_does_not_sink_the_others(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = LOSSY.replace("VARIANT", "variant: good").replace("name: bad", "name: a-bad")
    (tmp_path / "lossy.yaml").write_text(text)
    done = cli("run", "lossy.yaml", "--out", "out", "--jobs", "1", ends=70, stderr="a-bad: failed: DeadlockError")
    assert "P, Table 1: agrees. 1 check holds." in done.output.replace("\n", " ")
    results = read_results(tmp_path / "out")
    assert [v.status for v in results.variants] == ["failed", "complete"]
    assert results.status == "failed"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Not every variant ran." in page
    assert (tmp_path / "out" / "a-bad" / "report.html").exists()


def test_a_check_of_a_variant_that_fails_is_not_decided(tmp_path):
    results = run_study(parse(LOSSY.replace(", VARIANT", ""), "f.yaml"), tmp_path / "out", page=False)
    assert results.reproduction.outcome == "cannot be run"
    assert results.reproduction.sentence == "Variant bad failed: DeadlockError."


@pytest.mark.slow
def test_a_check_that_fails_is_exit_status_1(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = LOSSY.replace("VARIANT", "variant: good").replace("links.loss: 0.5", "seed: 2").replace("below", "above")
    (tmp_path / "lossy.yaml").write_text(text)
    done = cli("run", "lossy.yaml", "--out", "out", "--jobs", "1", ends=1)
    said = " ".join(done.output.split())
    assert "P, Table 1: differs. Criterion: final relative error of R in good above 1; found:" in said


@pytest.mark.slow
def test_an_interrupted_study_keeps_what_was_done(tmp_path, monkeypatch):
    whole, count = Simulation.run, []

    def run(self, *arguments, **more):
        count.append(1)
        if len(count) == 2:
            raise KeyboardInterrupt
        return whole(self, *arguments, **more)

    monkeypatch.setattr(Simulation, "run", run)
    text = LOSSY.replace(", VARIANT", "").replace("links.loss: 0.5", "seed: 2")
    text = text.replace("variants:\n", "variants:\n  - {name: first, set: {seed: 3}}\n")
    results = run_study(parse(text, "f.yaml"), tmp_path / "out")
    assert results.status == "interrupted"
    assert [v.status for v in results.variants] == ["complete", "interrupted", "not reached"]
    assert results.reproduction.outcome == "not finished"
    assert "This scenario was interrupted." in (tmp_path / "out" / "report.html").read_text()


def test_data_that_are_not_here_are_an_outcome(tmp_path, monkeypatch):
    whole = building.load

    def load(name, **options):
        if options.get("seed") == 9:
            raise AbsentDataError("name", "covtype", "not on this machine", "a download")
        return whole(name, **options)

    monkeypatch.setattr(building, "load", load)
    data = "problem: {data: {name: synthetic}}\n"
    text = LOSSY.replace(", VARIANT", "").replace("links.loss: 0.5", "problem.data.seed: 9")
    results = run_study(parse(data + text, "f.yaml"), tmp_path / "out", page=False)
    assert [v.status for v in results.variants] == ["data not present", "complete"]
    assert results.reproduction.outcome == "cannot be run"
    assert "Variant bad cannot be run, its data set is not present: " in results.reproduction.sentence
    alone = data.replace("synthetic", "synthetic, seed: 9") + text[: text.index("variants:")]
    block = text[text.index("reproduces:") :]
    single = run_study(parse(alone + block, "f.yaml"), tmp_path / "single", page=False)
    assert single.reproduction.outcome == "cannot be run"
    with pytest.raises(AbsentDataError):
        run_study(parse(alone, "f.yaml"), tmp_path / "none")


def test_wrong_input_writes_nothing(tmp_path):
    with pytest.raises(ScenarioError, match=r"variant bad: links\.loss"):
        run_study(parse(LOSSY.replace(", VARIANT", "").replace("0.5", "1.5"), "f.yaml"), tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.slow
def test_a_scenario_without_variants_has_its_outcome_on_its_own_page(tmp_path):
    start, end = LOSSY.index("variants:"), LOSSY.index("figures:")
    text = LOSSY[:start] + LOSSY[end:].replace(", VARIANT", "")
    results = run_study(parse(text, "f.yaml"), tmp_path / "out")
    assert results.reproduction.outcome == "agrees"
    page = (tmp_path / "out" / "report.html").read_text()
    assert "P, Table 1" in page
    assert 'id="verdicts"' in page


def test_check_and_list_count_the_variants():
    cli("check", "private-descent-noise-floor", env={"COLUMNS": "200"}, output=f"3 variants ({', '.join(VARIANTS)})")
    assert "(3 variants)" in cli("list").output
    assert f"# 3 variants: {', '.join(VARIANTS)}\n" in cli("show", "private-descent-noise-floor").output


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"name": "mnist", "records": [1, 2.5], "labels": None}, "{name: mnist, records: [1, 2.5], labels: null}"),
        ("ring", "ring"),
        (False, "false"),
    ],
)
def test_a_field_reads_on_the_page_as_in_the_file(value, text):
    assert flow(value) == text


@pytest.mark.parametrize("checks", [1, 20])
def test_every_figure_is_drawn_once_however_many_stand_beside_the_checks(ran, checks):
    results, _ = ran
    block = results.reproduction
    many = replace(results, reproduction=replace(block, checks=block.checks[:1] * checks))
    page = report.page(many)
    assert page.count("<figure>") == len(results.figures)
    stack = page[page.index('<div class="stack">') : page.index('<div class="scroll checks"')]
    assert stack.count("<figure>") == (1 if checks == 1 else len(results.figures))
