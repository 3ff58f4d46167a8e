"""A scenario's audit: stopped and gone on with, or spread over processes, it writes the same bytes."""

import json
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.loss.aimed import WORST_CASE
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.problems import Bent, Tilted
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.render import plain_words, sentences
from scenarios.results.numbers import show
from scenarios.schema.load import parse
from scenarios.stages import study
from scenarios.stages import worlds as auditing
from scenarios.stages.runner import run_scenario

SMALL = """
name: small
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
attacks: {gradients: false}
algorithms:
  - {kind: private_gradient_descent, name: noisy, rounds: 4, step: 0.2, scale: 0.3}
audit: {agent: 1, trials: 300, chunk: 50}
"""
CLAIMED = "scale: 3.0, clip: {bound: 1.0, norm: l1}"


MORE = "scale: 0.3}\n  - {kind: private_gradient_descent, name: more, rounds: 4, step: 0.2, scale: 0.6}"
TWO = SMALL.replace("scale: 0.3}", MORE).replace("trials: 300, chunk: 50", "trials: 60, chunk: 30")


class StopAfter(Silent):
    """Ctrl-C after so many transcripts of each world of an audit."""

    def __init__(self, transcripts):
        self.left, self.auditing = transcripts, False

    def begin(self, stage, *_):
        self.auditing = "auditing" in stage

    def advance(self, steps):
        self.left -= steps * self.auditing
        if self.auditing and self.left <= 0:
            raise KeyboardInterrupt


class Listens(Silent):
    """Keeps what it is told."""

    def __init__(self):
        self.told = []

    def say(self, sentence):
        self.told.append(sentence)


@pytest.fixture(scope="module")
def through(tmp_path_factory):
    folder = tmp_path_factory.mktemp("through")
    results = run_scenario(parse(SMALL), folder, page=False)
    assert results.algorithms[0].audit_status == "done"
    return (folder / "audit-noisy.json").read_bytes()


def noted(monkeypatch):
    """The chunks that an audit simulates, (world, chunk), but those whose noise is aimed; noted as it goes on."""
    simulated = []
    real = auditing.worlds

    def counted(*args):
        simulate = real(*args)

        def one(world, chunk):
            if chunk < WORST_CASE:
                simulated.append((world, chunk))
            return simulate(world, chunk)

        return one

    monkeypatch.setattr(auditing, "worlds", counted)
    return simulated


@pytest.mark.slow
def test_an_audit_that_is_stopped_and_resumed_writes_the_same_bytes(through, tmp_path, monkeypatch):
    stopped = run_scenario(parse(SMALL), tmp_path, progress=StopAfter(100), page=False)
    assert stopped.status == "interrupted"
    assert stopped.algorithms[0].run.computed.unstacked == "somebody watches it"
    assert json.loads(through)["computed"] == {
        "reader": "live", "unstacked": "links acknowledge packets", "backend": "numpy", "device": None,
    }  # fmt: skip
    assert len(list((tmp_path / "audit-noisy").glob("*.npz"))) == 4
    simulated = noted(monkeypatch)
    told = Listens()
    assert run_scenario(parse(SMALL), tmp_path, progress=told, page=False).status == "complete"
    assert len(simulated) == 8
    assert told.told[-1] == "Going on with an interrupted run: 100 of 300 transcripts of each world are kept."
    assert (tmp_path / "audit-noisy.json").read_bytes() == through
    assert not (tmp_path / "audit-noisy").exists()


class FailsAtTheSecond(Silent):
    """An error when the second audit begins."""

    def begin(self, stage, *_):
        if stage == "more: auditing":
            raise ZeroDivisionError


@pytest.mark.parametrize(("part", "kept"), [(True, []), (False, ["audit-noisy"])])
def test_what_audits_of_a_failed_run_have_seen_is_kept_where_it_may_go_on(part, kept, tmp_path):
    with pytest.raises(ZeroDivisionError):
        run_scenario(parse(TWO), tmp_path, progress=FailsAtTheSecond(), page=False, part=part)
    assert [one.name for one in tmp_path.glob("audit-*/")] == kept


def test_the_time_that_is_said_is_without_what_is_kept():
    plan = study.planned(parse(SMALL.replace("trials: 300", "trials: 30000")))
    assert replace(plan, kept={"noisy": 600}).seconds < 0.2 * plan.seconds


def test_a_finished_audit_of_an_interrupted_run_is_not_simulated_again(tmp_path, monkeypatch):
    assert run_scenario(parse(TWO), tmp_path, progress=StopAfter(90), page=False).status == "interrupted"
    first = (tmp_path / "audit-noisy.json").read_bytes()
    plan = study.planned(parse(TWO))
    assert not any(plan.going_on(tmp_path / "other").kept.values())
    assert plan.going_on(tmp_path).kept == {"noisy": 2, "more": 1}
    simulated = noted(monkeypatch)
    told = Listens()
    assert run_scenario(parse(TWO), tmp_path, progress=told, page=False).status == "complete"
    assert simulated == [(0, 1), (1, 1)]  # of the second algorithm
    kept = [one for one in told.told if "kept" in one]
    assert kept[0] == "Going on with an interrupted run: 60 of 60 transcripts of each world are kept."
    assert (tmp_path / "audit-noisy.json").read_bytes() == first
    assert not list(tmp_path.glob("audit-*/"))


@pytest.mark.slow
def test_two_processes_write_the_same_bytes(through, tmp_path):
    run_scenario(parse(SMALL), tmp_path, jobs=2, page=False)
    assert (tmp_path / "audit-noisy.json").read_bytes() == through


CSV = SMALL.replace(
    "{name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}", "{name: csv, path: PATH, label: y}"
)


def table(path, scale):
    """24 records of 3 numbers in a file."""
    rows = np.round(np.random.default_rng(1).uniform(-1, 1, (24, 3)) * scale, 5)
    lines = [",".join(map(str, [*row, 1 if row.sum() > 0 else -1])) for row in rows]
    path.write_text("a,b,c,y\n" + "\n".join(lines) + "\n")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("old", "new"), [("scale: 0.3", "scale: 0.6"), ("trials: 300", "trials: 400"), ("d.csv", "d.csv")],
    ids=["another scenario", "more trials begin with those that are there", "other data in the same file"],
)  # fmt: skip
def test_what_goes_on_with_a_stopped_audit_is_as_if_made_at_once(old, new, tmp_path):
    text = CSV.replace("PATH", str(tmp_path / "d.csv"))
    table(tmp_path / "d.csv", 1.0)
    assert run_scenario(parse(text), tmp_path / "out", progress=StopAfter(100), page=False).status == "interrupted"
    assert list((tmp_path / "out" / "audit-noisy").glob("*.npz"))
    table(tmp_path / "d.csv", 0.05 if old == new else 1.0)
    for folder in ("out", "fresh"):
        assert (
            run_scenario(parse(text.replace(old, new)), tmp_path / folder, page=False).algorithms[0].audit_status
            == "done"
        )
    mixed, fresh = ((tmp_path / f / "audit-noisy.json").read_bytes() for f in ("out", "fresh"))
    assert mixed == fresh


def test_the_print_of_data_is_of_every_bit_and_of_objectives_within():
    one = Experiment.of(parse(SMALL).scenario).problem.objectives[0]
    near = type(one)(one.features * (1 + 2**-50), one.labels, one.ridge)
    tilt = np.full(3, 0.1)
    several = [[one], [near], [type(one)(one.features, one.labels, 0.4)], [one, near], [near, one]]
    several += [[Tilted(one, tilt)], [Tilted(near, tilt)], [Bent(one, tilt, 0.1, 2.0)], [Bent(one, tilt, 0.2, 2.0)]]
    assert len({auditing.data_print(some) for some in several}) == len(several)
    same = type(one)(one.features.copy(), one.labels.copy(), one.ridge)
    assert auditing.data_print([same]) == auditing.data_print([one])


@pytest.mark.slow
def test_no_more_are_simulated_at_once_than_are_asked_for(tmp_path):
    """A chunk above `trials` is one of `trials`."""
    found = [
        run_scenario(parse(SMALL.replace("chunk: 50", chunk)), tmp_path / str(k), page=False).algorithms[0].audit
        for k, chunk in enumerate(("chunk: 1000", "chunk: 300"))
    ]
    assert found[0] == found[1]
    assert found[0].trials == 300


@pytest.mark.slow
@pytest.mark.parametrize("stop", ["never", "refuted"])
def test_the_plan_is_that_of_the_game_that_is_played(stop, tmp_path):
    text = SMALL.replace("chunk: 50", f"chunk: 300, stop: {stop}").replace("scale: 0.3", CLAIMED)
    (entry,) = run_scenario(parse(text), tmp_path, page=False).algorithms
    assert not entry.audit.sequential_test.stopped
    assert entry.plan.ceiling == pytest.approx(entry.audit.white_box.ceiling, rel=1e-12)


@pytest.mark.slow
def test_an_audit_that_ended_early_says_after_how_many_transcripts(tmp_path):
    text = SMALL.replace("chunk: 50", "chunk: 50, stop: refuted").replace("scale: 0.3", CLAIMED)
    results = run_scenario(parse(text), tmp_path, page=False)
    (entry,) = results.algorithms
    assert "ended after" not in plain_words.why(results, entry)
    test = replace(entry.audit.sequential_test, stopped=True)
    early = replace(entry, audit=replace(entry.audit, trials=100, sequential_test=test))
    assert "The audit ended after 100 of 300 transcripts of each world: refuted." in plain_words.why(results, early)


LEARNED = SMALL.replace("chunk: 50}", "chunk: 50, classifier: true}")


@pytest.fixture(scope="module")
def learned(tmp_path_factory):
    folder = tmp_path_factory.mktemp("learned")
    results = run_scenario(parse(LEARNED), folder)
    return folder, results.algorithms[0], " ".join(sentences.about(results, results.algorithms[0]))


class TestTheClassifier:
    """The same scenario with `classifier`: one more game, in the results, on the page and in the terminal."""

    @pytest.mark.slow
    def test_it_is_told_beside_the_others(self, learned):
        folder, entry, told = learned
        game = entry.audit.classifier
        assert game.training == 100
        assert game.model
        assert game.confidence == entry.audit.white_box.confidence == pytest.approx(1 - 0.05 / 4)
        assert entry.audit.classifier_refused is None
        assert "Black box, trained" in (folder / "report.html").read_text(encoding="utf-8")
        assert "white box" in told
        assert f"the trained classifier ε ≥ {show(game.epsilon_audited)}" in told

    def test_the_plan_counts_it(self):
        """The share of the error rate that the games have is the one that was planned with."""
        made = Experiment.of(parse(LEARNED).scenario)
        claim = Claim(1.0, 0.0, "by hand", Adjacency(1.0, "by hand"), "ℓ1")
        plan = auditing.AuditOptions(made.scenario, made.subjects[0], made.pair, claim).plan
        assert plan.confidence == pytest.approx(1 - 0.05 / 4)

    @pytest.mark.slow
    def test_stopped_resumed_and_spread_it_writes_the_same_bytes(self, learned, tmp_path):
        folder, *_ = learned
        assert run_scenario(parse(LEARNED), tmp_path, progress=StopAfter(100), page=False).status == "interrupted"
        run_scenario(parse(LEARNED), tmp_path, jobs=2, page=False)
        assert (tmp_path / "audit-noisy.json").read_bytes() == (folder / "audit-noisy.json").read_bytes()

    @pytest.mark.slow
    def test_refusing_it_says_why(self, tmp_path):
        few = LEARNED.replace("chunk: 50", "chunk: 300")
        results = run_scenario(parse(few), tmp_path)
        entry = results.algorithms[0]
        assert entry.audit.classifier is None
        assert "it needs two chunks or more, and there is 1" in entry.audit.classifier_refused
        assert "the trained classifier nothing (it learns from some" in " ".join(sentences.about(results, entry))
        assert "not played: it learns from some" in (tmp_path / "report.html").read_text(encoding="utf-8")

    @pytest.mark.slow
    def test_without_it_nothing_is_said_of_it(self, tmp_path):
        results = run_scenario(parse(SMALL), tmp_path)
        entry = results.algorithms[0]
        assert entry.audit.classifier is entry.audit.classifier_refused is None
        assert not any(line.startswith("Games: ") for line in sentences.about(results, entry))
        assert "Black box, trained" not in (tmp_path / "report.html").read_text(encoding="utf-8")

    def test_it_cannot_be_had_with_stop(self):
        with pytest.raises(
            ScenarioError, match=r"audit\.classifier = true: classifier and stop cannot be combined: "
        ):
            parse(LEARNED.replace("classifier: true", "classifier: true, stop: refuted"))
