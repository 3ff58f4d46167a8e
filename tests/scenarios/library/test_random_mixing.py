"""DPP², DMSP, random mixing and secret shares from a scenario file: defaults that are stable, noise from a target."""

import pytest

from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse

KINDS = {
    "dpp2": "rounds: 300", "dmsp": "rounds: 60, domain: {kind: ball, radius: 5.0}",
    "random_penalty_admm": "rounds: 40, scale: 0", "grouped_descent": "rounds: 3", "neighbor_range": "rounds: 60",
    "secret_sharing": "rounds: 60",
}  # fmt: skip
REACHED = {
    "dpp2": 1e-6, "dmsp": 0.05, "random_penalty_admm": 0.01, "grouped_descent": 0.5, "neighbor_range": 0.1,
    "secret_sharing": 0.05,
}  # fmt: skip
"""Relative errors: only the first is exact by then, the others stop short or take longer."""
TARGETS = dict.fromkeys(KINDS, "epsilon: 2.0") | {"secret_sharing": "epsilon: 2.0, delta: 1e-4"}


def text(kind, fields, topology="complete", problem="logistic"):
    l1 = "\n  l1: 0.1" if problem == "sparse" else ""
    return f"""\
name: one
title: One algorithm
description: Six agents, all links.
seed: 5
replicas: 2
problem:
  kind: logistic{l1}
  data: {{name: digits, norm_bound: 4.0}}
topology: {{kind: {topology}, agents: 6}}
adversary: {{links: all}}
algorithms:
  - {{kind: {kind}, {fields}}}
"""


def built(*arguments, **options):
    return Experiment.of(parse(text(*arguments, **options), "one.yaml").scenario)


@pytest.mark.few("grouped_descent")
@pytest.mark.parametrize("kind", KINDS)
def test_defaults_are_stable(kind):
    run = built(kind, KINDS[kind]).subjects[0].simulation.run()
    errors = run.metrics.worst_by_round(6)[:, 0]
    assert errors[-1] < REACHED[kind]


@pytest.mark.parametrize("kind", KINDS)
def test_a_target_is_met(kind):
    experiment = built(kind, f"{KINDS[kind]}, target: {{{TARGETS[kind]}}}")
    subject = experiment.subjects[0]
    simulation = subject.simulation
    assert simulation.algorithm.noisy
    claim = simulation.claim(experiment.adjacency, simulation.algorithm.rounds, subject.delta)
    assert claim.epsilon == pytest.approx(2.0, rel=1e-9)
    assert claim.delta == (1e-4 if kind == "secret_sharing" else 0.0)


@pytest.mark.parametrize(
    ("kind", "fields", "options", "field", "problem"),
    [
        ("dpp2", "rounds: 9, matrix: laplacian, step: 0.05, beta: 0.05", {}, "algorithms[0].beta", "λ_max(P)"),
        ("dmsp", "rounds: 9, domain: {kind: box, low: 1, high: 0}", {}, "algorithms[0].domain.high", "interval"),
        ("grouped_descent", "rounds: 4", {}, "algorithms[0].rounds", "N >= 2K"),
        ("secret_sharing", "rounds: 4", {"topology": "ring"}, "algorithms[0]", "not complete"),
        ("secret_sharing", "rounds: 4, modulus: 11", {}, "algorithms[0].modulus", "range"),
        ("random_penalty_admm", "rounds: 4, dual_step: 50", {}, "algorithms[0].dual_step", "unstable"),
        *((kind, KINDS[kind], {"problem": "sparse"}, "algorithms[0]", "r ≠ 0") for kind in KINDS),
    ],
)
def test_what_cannot_be_is_refused_at_its_place(kind, fields, options, field, problem):
    with pytest.raises(ScenarioError, match=problem.replace("(", r"\(").replace(")", r"\)")) as caught:
        built(kind, fields, **options)
    assert caught.value.field == field
