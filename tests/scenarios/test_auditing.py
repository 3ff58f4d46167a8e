"""A scenario's audit: stopped and gone on with, or spread over processes, it writes the same bytes."""

import json

import pytest

from attacks.audit.aimed import AIMED
from scenarios import auditing
from scenarios.loader import parse
from scenarios.runner import run_scenario

SMALL = """
name: small
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
attacks: {gradients: false}
algorithms:
  - {kind: private_gradient_descent, name: noisy, rounds: 4, step: 0.2, scale: 0.3}
audit: {agent: 1, trials: 300, chunk: 50}
"""


class StopAfter:
    """Ctrl-C after so many transcripts of an audit."""

    def __init__(self, transcripts):
        self.left, self.auditing = transcripts, False

    def begin(self, stage, total):
        self.auditing = "auditing" in stage

    def advance(self, steps):
        if self.auditing:
            self.left -= steps
            if self.left <= 0:
                raise KeyboardInterrupt

    def say(self, sentence):
        pass


@pytest.fixture(scope="module")
def through(tmp_path_factory):
    folder = tmp_path_factory.mktemp("through")
    results = run_scenario(parse(SMALL), folder)
    assert results["algorithms"][0]["audit_status"] == "done"
    return (folder / "audit-noisy.json").read_bytes()


def test_an_audit_that_is_stopped_and_resumed_writes_the_same_bytes(through, tmp_path, monkeypatch):
    stopped = run_scenario(parse(SMALL), tmp_path, progress=StopAfter(200))
    assert stopped["status"] == "interrupted"
    assert len(list((tmp_path / "audit-noisy").glob("*.npz"))) == 4
    simulated = []
    real = auditing.worlds

    def counted(*args):
        simulate = real(*args)

        def one(world, chunk):
            if chunk != AIMED:
                simulated.append((world, chunk))
            return simulate(world, chunk)

        return one

    monkeypatch.setattr(auditing, "worlds", counted)
    assert run_scenario(parse(SMALL), tmp_path)["status"] == "complete"
    assert len(simulated) == 8
    assert (tmp_path / "audit-noisy.json").read_bytes() == through
    assert not (tmp_path / "audit-noisy").exists()


def test_two_processes_write_the_same_bytes(through, tmp_path):
    run_scenario(parse(SMALL), tmp_path, jobs=2)
    assert (tmp_path / "audit-noisy.json").read_bytes() == through


def test_another_scenario_does_not_go_on_with_what_is_there(tmp_path):
    run_scenario(parse(SMALL), tmp_path, progress=StopAfter(200))
    other = SMALL.replace("scale: 0.3", "scale: 0.6")
    run_scenario(parse(other), tmp_path)
    run_scenario(parse(other), tmp_path / "fresh")
    mixed, fresh = ((f / "audit-noisy.json").read_bytes() for f in (tmp_path, tmp_path / "fresh"))
    assert mixed == fresh


def test_more_trials_begin_with_those_that_are_there(tmp_path):
    run_scenario(parse(SMALL), tmp_path, progress=StopAfter(200))
    more = SMALL.replace("trials: 300", "trials: 400")
    found = run_scenario(parse(more), tmp_path)
    assert found["algorithms"][0]["audit"]["trials"] == 400
    run_scenario(parse(more), tmp_path / "fresh")
    mixed, fresh = (json.loads((f / "audit-noisy.json").read_text()) for f in (tmp_path, tmp_path / "fresh"))
    assert mixed == fresh
