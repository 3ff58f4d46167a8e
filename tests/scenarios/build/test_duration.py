"""What a scenario asks for is said before it is allocated; what is too much is refused at its field."""

import re
from pathlib import Path

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.problems import LeastSquares
from scenarios.build.duration import COMPARED, Silent, cost, duration
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.scenarios.own_algorithm import MINE

SCENARIO = """\
name: large
replicas: 4
problem: {kind: ridge, ridge: 0.5, data: {name: synthetic, kind: regression, records: 60, dimension: 8}}
topology: {kind: ring, agents: 6}
algorithms:
  - {kind: private_gradient_descent, rounds: 50, clip: {bound: 1.0}, scale: {epsilon: 4.0}}
attacks: {gradients: false}
"""
TOO_MUCH = {
    "problem.data.records=10000000": ("problem.data.dimension=1000", "problem.data.records", "480 GB"),
    "problem.data.dimension=1000000": ("seed=1", "problem.data.dimension", "80 TB"),
    "problem.data.dimension=9000": ("seed=1", "problem.data.dimension", "before anything runs"),
    "algorithms[0].rounds=1000000": ("replicas=1000", "algorithms[0]", "TB"),
    "algorithms[0].rounds=999999": (
        "audit={adjacency: {change: 1.0}, trials: 5000, chunk: 5000}", "audit.chunk", "TB",
    ),
    "problem={kind: sensors, data: {name: sensors, records: 10000000, dimension: 10000}}": (
        "seed=1", "problem.data.records", "4.8 TB",
    ),
}  # fmt: skip


class _Kept(Silent):
    def __init__(self) -> None:
        self.said: list[str] = []

    def say(self, sentence: str) -> None:
        self.said.append(sentence)


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("until = time.monotonic() + 0.3\n        while time.monotonic() < until: pass", "own.py:22, in run: "),
        ("for _ in range(900): await node.exchange(x=node.zeros())", "no estimate yet after "),
    ],
)
def test_a_run_that_closes_no_round_says_what_it_does(line, says, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scenarios.build.duration.QUIET", 0.05)
    text = MINE.replace("x = node.zeros()\n", f"x = node.zeros()\n        {line}\n")
    Path("own.py").write_text(text.replace("\nfrom data", "import time\nfrom data"))
    own = ["algorithms=[{kind: python, path: 'own.py:TwoExchanges', parameters: {rounds: 2}}]", "replicas=1"]
    kept = _Kept()
    run_scenario(parse(SCENARIO, settings=own).scenario, Path("out"), progress=kept, page=False)
    assert len([one for one in kept.said if one.startswith(says)]) >= 1, kept.said
    assert not [one for one in kept.said if "no estimate" not in says and "no estimate" in one]


def test_a_run_beyond_every_end_that_its_code_states_says_how_far_it_is(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("scenarios.build.duration.QUIET", 0.005)
    again = "for _ in range(900): node.estimate((await node.exchange(x=x)).mix('x'))"
    for rounds, text in ((2, f"x = node.zeros()\n        {again}\n"), (900, "x = node.zeros()\n")):
        Path("own.py").write_text(MINE.replace("x = node.zeros()\n", text))
        own = [f"algorithms=[{{kind: python, path: 'own.py:TwoExchanges', parameters: {{rounds: {rounds}}}}}]"]
        kept = _Kept()
        run_scenario(parse(SCENARIO, settings=[*own, "replicas=1"]).scenario, Path("out"), progress=kept, page=False)
        said = [one for one in kept.said if "does this end? Rounds need a bound; a walk ends where its `stopp" in one]
        assert len(said) == (rounds == 2), kept.said  # once, however often it is said how far it is
        assert all(re.match(r"[\d,]+ packets, agent \d at activation \d+: ", one) for one in said), said


@pytest.mark.parametrize("setting", TOO_MUCH)
def test_too_much_is_refused_where_it_is_asked_for(setting, monkeypatch):
    monkeypatch.setenv("NETSIM_MEMORY", str(20 * 10**9))
    other, field, words = TOO_MUCH[setting]
    located = parse(SCENARIO, settings=[setting, other])
    with pytest.raises(ScenarioError, match=words) as caught:
        Experiment.of(located.scenario)
    assert caught.value.field == field
    if "before" not in words:
        assert "20 GB here" in caught.value.allowed


def test_residuals_of_many_records_and_transcripts_count_and_are_not_allocated(monkeypatch):
    """20,000 records of 6 agents, 1,000 transcripts: 80 MB for one gradient alone."""
    monkeypatch.setenv("NETSIM_MEMORY", str(4 * 10**7))
    taken = list[int]()

    def gradient(objective, x):
        taken.append(len(x) * objective.records)
        return np.zeros_like(x)

    more = ["problem.data.records=20000", "algorithms[0].rounds=2", "audit={adjacency: {change: 1.0}, chunk: 1000}"]
    monkeypatch.setattr(LeastSquares, "gradient", gradient)
    monkeypatch.setattr("scenarios.build.duration._PROBED", 10**5)
    with pytest.raises(ScenarioError, match="asks for") as caught:
        Experiment.of(parse(SCENARIO, settings=more).scenario)
    assert caught.value.field == "audit.chunk"
    assert 0 < max(taken) <= 10**5
    monkeypatch.setenv("NETSIM_MEMORY", str(2 * 10**8))
    Experiment.of(parse(SCENARIO, settings=more).scenario)


def test_memory_that_is_allowed_is_enough(monkeypatch):
    monkeypatch.setenv("NETSIM_MEMORY", "100000")
    with pytest.raises(ScenarioError, match="asks for"):
        Experiment.of(parse(SCENARIO).scenario)
    monkeypatch.setenv("NETSIM_MEMORY", "10000000")
    Experiment.of(parse(SCENARIO).scenario)


def test_a_run_of_twice_the_rounds_or_replicas_takes_twice_the_memory():
    one, rounds, replicas = (
        cost(Experiment.of(parse(SCENARIO, settings=list(more)).scenario).subjects[0].simulation).memory
        for more in ((), ["algorithms[0].rounds=100"], ["replicas=8"])
    )
    assert replicas == 2 * one
    assert rounds == pytest.approx(2 * one, rel=0.1)


def test_the_search_for_the_pair_and_views_count_in_an_estimate(monkeypatch):
    monkeypatch.setattr("scenarios.build.duration._gradient_seconds", lambda *_: 1e-5)

    def seconds(audit):
        settings = [f"audit={{adjacency: {{change: 1.0}}, trials: 200, {audit}}}"]
        return Experiment.of(parse(SCENARIO, settings=settings).scenario).costs()["audit"].seconds

    alone, few, many = (seconds(f"search: {one}") for one in ("null", "{candidates: 10}", "{candidates: 100}"))
    assert few - alone > 10 * COMPARED * 50  # each candidate is a replay of 50 rounds
    assert many - alone == pytest.approx(10 * (few - alone))
    assert seconds("search: null, views: nodes") > 1.5 * alone


@pytest.mark.parametrize(("seconds", "words"), [(0.1, "1 s"), (300, "5 min"), (7200, "2 h"), (1e6, "12 days")])
def test_durations(seconds, words):
    assert duration(seconds) == words
