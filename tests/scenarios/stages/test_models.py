"""Scenarios of softmax regression and of a network, from file to folder, and what of a scenario is not for them."""

import numpy as np
import pytest

from netsim.errors import ScenarioError
from netsim.models import MLP, Softmax
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

SOFTMAX = """\
name: classes
title: Three digits
description: Five agents on a ring.
seed: 2
problem: {kind: softmax, ridge: 0.1, held_out: 0.2, data: {name: digits, classes: [0, 1, 7], norm_bound: 4.0}}
topology: {kind: ring, agents: 5}
adversary: {links: all}
algorithms:
  - {kind: private_gradient_descent, name: descent, rounds: 12, step: 0.1}
  - {kind: recal, name: walk, activations: 40}
  - {kind: dp_recal, name: silent, per_agent: 6, noise: {stddev: 0.0}}
attacks: {gradients: true}
"""
NETWORK = SOFTMAX.replace("kind: softmax, ridge: 0.1", "kind: mlp, hidden: [6], activation: tanh, start: 3")
RELU = NETWORK.replace("activation: tanh", "activation: relu").replace("step: 0.1", "step: 0.02")


def read(text):
    return parse(text, "classes.yaml").scenario


@pytest.mark.slow
@pytest.mark.parametrize("text", [SOFTMAX, NETWORK, RELU], ids=["softmax", "tanh", "relu"])
def test_a_run_from_file_to_folder(tmp_path, text):
    results = run_scenario(parse(text, "classes.yaml"), tmp_path / "run", command="netsim run classes.yaml")
    network = "mlp" in text
    problem = results.problem
    assert problem.dimension == (6 * 65 + 3 * 7 if network else 3 * 65)
    assert problem.optimum_is_stationary_only == network
    for entry in results.algorithms:
        gradients = entry.gradients
        assert gradients.estimated >= gradients.queries - 6  # what is asked last is never sent
        assert gradients.worst < 1e-9
        curves = entry.measures.curves
        for name in ("training_accuracy", "held_out_accuracy"):
            shares = np.array(curves[name].median, dtype=float)
            assert shares[-1] > 0.5
            assert ((shares >= 0) & (shares <= 1)).all()
        gap = np.array(curves["objective_gap"].median, dtype=float)
        assert gap[-1] < gap[0]
    page = (tmp_path / "run" / "report.html").read_text()
    assert "descent" in page


def test_everybody_knows_the_model_and_nothing_more():
    softmax = Experiment.of(read(SOFTMAX))
    network = Experiment.of(read(NETWORK))
    for experiment, model in ((softmax, Softmax(64, 3)), (network, MLP((64, 6, 3), "tanh", 3))):
        public = experiment.subjects[0].simulation.public()
        assert public.model == model
        assert public.penalty.ridge == public.ridge == experiment.problem.ridge
        assert public.records == experiment.problem.records


def test_a_record_of_softmax_moves_a_gradient_no_farther_than_claimed():
    experiment = Experiment.of(read(SOFTMAX))
    bound = experiment.adjacency.gradient_change
    assert bound == pytest.approx(2 * np.sqrt(2 * 17) / min(experiment.problem.records))
    own = experiment.problem.objectives[0]
    rng, largest = np.random.default_rng(0), 0.0
    for _ in range(40):
        row = rng.standard_normal(64)
        other = own.with_record(0, 4 * row / np.linalg.norm(row), float(rng.integers(3)))
        x = 100 * rng.standard_normal((20, own.dimension))
        largest = max(largest, np.linalg.norm(own.gradient(x) - other.gradient(x), axis=1).max())
    assert 0.3 * bound < largest <= bound
    curvature = experiment.adjacency.curvature_change
    x = rng.standard_normal(own.dimension) / 10
    other = own.with_record(0, 4 * row / np.linalg.norm(row), 1.0)
    moved = np.linalg.eigvalsh(own.hessian(x) - other.hessian(x))
    assert 0 < max(moved[moved > 0].sum(), -moved[moved < 0].sum()) <= curvature
    assert Experiment.of(read(NETWORK)).adjacency.gradient_change == np.inf


@pytest.mark.few(4)
@pytest.mark.parametrize("text", [SOFTMAX, NETWORK], ids=["softmax", "network"])
@pytest.mark.parametrize(
    ("old", "new", "field"),
    [
        ("attacks: {gradients: true}", "audit: {agent: 1, adjacency: agent}", "audit.adjacency"),
        ("attacks: {gradients: true}", "audit: {agent: 1}", "audit.adjacency"),
        ("attacks: {gradients: true}", "attacks: {images: true}", "attacks.images"),
        ("classes: [0, 1, 7]", "classes: [0, 1, 0]", "problem.data.classes"),
        ("classes: [0, 1, 7]", "classes: [0]", "problem.data.classes"),
        ("name: digits, classes: [0, 1, 7]", "name: synthetic, kind: regression", "problem.data"),
    ],
)
def test_what_is_not_for_them_is_refused_before_time_0(text, old, new, field):
    assert old in text
    with pytest.raises(ScenarioError) as caught:
        Experiment.of(read(text.replace(old, new)))
    assert caught.value.field == field


@pytest.mark.few(1)
@pytest.mark.parametrize(
    ("algorithm", "field"),
    [
        ("{kind: walkman, name: a, penalty: 50.0, version: prox, per_agent: 3}", "algorithms[0].penalty"),
        ("{kind: d_admm, name: a, rounds: 3}", "algorithms[0].penalty"),
        ("{kind: rw_admm, name: a, per_agent: 3}", "algorithms[0].penalty"),
        ("{kind: dp_recal, name: a, per_agent: 3, noise: {epsilon: 1.0, delta: 0.001}}", "algorithms[0].noise"),
    ],
)
def test_a_network_has_no_proximal_map_and_no_bound_to_calibrate_noise_with(algorithm, field):
    head, tail = NETWORK.split("algorithms:\n")
    text = f"{head}algorithms:\n  - {algorithm}\nattacks{tail.split('attacks')[1]}"
    with pytest.raises(ScenarioError) as caught:
        Experiment.of(read(text))
    assert caught.value.field == field
    Experiment.of(read(text.replace("mlp, hidden: [6], activation: tanh, start: 3", "softmax")))


def test_a_claim_that_needs_a_lipschitz_constant_is_none_of_a_network():
    text = NETWORK.replace("attacks: {gradients: true}", "audit: {agent: 1, adjacency: {change: 0.1, norm: l1}}")
    head, tail = text.split("algorithms:\n")
    algorithms = """\
  - {kind: dpp2, name: needs, rounds: 4, scale_w: 0.1, scale_e: 0.1}
  - {kind: private_gradient_descent, name: does not, rounds: 4, step: 0.1, scale: 0.1, clip: {bound: 1.0}}
"""
    experiment = Experiment.of(read(f"{head}algorithms:\n{algorithms}audit{tail.split('audit')[1]}"))
    needs, does_not = (s.simulation.claim(experiment.adjacency, 4, 1e-3) for s in experiment.subjects)
    assert needs.epsilon is None
    assert "that of a network is measured" in needs.failed_conditions[-1]
    assert does_not.epsilon > 0


def test_features_are_scaled_to_a_smoothness_for_softmax_alone():
    text = SOFTMAX.replace(", norm_bound: 4.0", "").replace("ridge: 0.1", "ridge: 0.1, smoothness: 3.0")
    assert Experiment.of(read(text)).problem.smoothness == pytest.approx(3.0, rel=1e-9)
    text = NETWORK.replace(", norm_bound: 4.0", "").replace("start: 3", "start: 3, smoothness: 3.0")
    with pytest.raises(ScenarioError, match=r"problem\.smoothness.*no Lipschitz constant"):
        Experiment.of(read(text))
