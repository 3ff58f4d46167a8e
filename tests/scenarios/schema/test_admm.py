"""The ADMM family and Walkman in scenario files: every kind builds, and runs from file to verdict."""

from dataclasses import replace

import pytest

from netsim.errors import ScenarioError
from netsim.problems import LogisticLoss
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

HEAD = """\
name: small
replicas: 4
problem:
  kind: logistic
  ridge: 0.5
  data: {{name: synthetic, records: 48, dimension: 3, norm_bound: 1.0}}
topology: {{kind: {graph}, agents: 6}}
adversary: {{links: all}}
algorithms:
{algorithms}
"""
AUDIT = "audit: {agent: 1, trials: 60, chunk: 60, confidence: 0.95}"
RING = [
    "{kind: ic_admm, rounds: 8, scale: {epsilon: 2}}",
    "{kind: d_admm, rounds: 6, noise: gaussian, scale: {epsilon: 2, delta: 1e-2}}",
    "{kind: d_admm, name: dvp, perturbation: dual, rounds: 6, scale: {epsilon: 2}}",
    "{kind: r_admm, rounds: 8, scale: {epsilon: 2}}",
    "{kind: mr_admm, rounds: 8, factors: [1, 1.5, 1, 2, 1, 1], noise: gaussian, scale: {epsilon: 2}}",
    "{kind: rw_admm, per_agent: 6, scale: {epsilon: 2}}",
    "{kind: rw_admm, name: everybody, activation: everybody, per_agent: 6, scale: {epsilon: 2}}",
    "{kind: walkman, per_agent: 6, scale: {epsilon: 2}}",
    "{kind: walkman, name: by-prox, version: prox, per_agent: 6, noise: gaussian, scale: {epsilon: 2}}",
]
STAR = ["{kind: dp_admm, rounds: 6, scale: {epsilon: 2}}"]
pytestmark = pytest.mark.usefixtures("undrawn")
PLAIN = ["{kind: ic_admm, rounds: 200}", "{kind: mr_admm, rounds: 300}", "{kind: walkman, activations: 3500}"]


def scenario(algorithms, graph="ring", audit=AUDIT):
    text = HEAD.format(graph=graph, algorithms="\n".join(f"  - {a}" for a in algorithms))
    return parse(text + audit, "small.yaml")


@pytest.mark.few("star")
@pytest.mark.parametrize(("algorithms", "graph"), [(RING, "ring"), (STAR, "star")], ids=["ring", "star"])
def test_every_kind_runs_from_file_to_verdict(algorithms, graph, tmp_path):
    """Nothing is unprotected or refuted. False alarm: each bound of an audit holds with probability 0.95."""
    results = run_scenario(scenario(algorithms, graph), tmp_path / "out", command="test")
    assert len(results.algorithms) == len(algorithms)
    for entry in results.algorithms:
        assert entry.noise
        assert entry.audit_status == "done"
        assert entry.audit.epsilon_claimed == pytest.approx(2, rel=1e-9)
        assert entry.audit.verdict in ("proven", "consistent", "underpowered")
        assert entry.audit.unprotected is None
    assert (tmp_path / "out" / "report.html").exists()


@pytest.mark.parametrize(("algorithms", "graph"), [(RING, "ring"), (STAR, "star")], ids=["ring", "star"])
def test_auto_leaves_room_for_the_adjacent_world(algorithms, graph):
    """What is made for one problem passes its checks where one agent's is rougher by a twentieth."""
    experiment = Experiment.of(scenario(algorithms, graph).scenario)
    own = experiment.problem.objectives[1]
    features = own.features * (1.2 * max(f.smoothness for f in experiment.problem.objectives) / own.smoothness)
    other = experiment.problem.replace(1, LogisticLoss(features, own.labels, own.ridge))
    assert other.smoothness > 1.05 * experiment.problem.smoothness
    for subject in experiment.subjects:
        replace(subject.simulation, problem=other)


@pytest.mark.slow
def test_auto_penalties_reach_the_optimum():
    for subject in Experiment.of(scenario(PLAIN, audit="").scenario).subjects:
        assert not subject.simulation.algorithm.noisy
        assert subject.simulation.run().metrics.relative_errors()[-6:].max() < 1e-6


@pytest.mark.parametrize(
    ("algorithm", "field", "said"),
    [
        ("{kind: dp_admm, rounds: 6}", "algorithms[0].kind", "a star around 0"),
        ("{kind: walkman, activations: 6, scale: {epsilon: 1}}", "algorithms[0].scale", "not bounded"),
        ("{kind: r_admm, rounds: 60, scale: {epsilon: 1e-3}}", "algorithms[0].scale", "no noise up to"),
        ("{kind: ic_admm, rounds: 6, proximal: 0.01}", "algorithms[0].proximal", "convergence condition"),
        ("{kind: rw_admm, activation: everybody}", "algorithms[0].per_agent", "per_agent"),
    ],
)
def test_what_does_not_fit_is_refused_before_time_0(algorithm, field, said):
    with pytest.raises(ScenarioError, match=said) as caught:
        Experiment.of(scenario([algorithm]).scenario)
    assert caught.value.field == field
