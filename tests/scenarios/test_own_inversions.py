"""A scenario that asks for gradients gets each algorithm's own inversion, and says what it found."""

import pytest

from scenarios.results.folder import read_results
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario

SCENARIO = """
name: own-inversions
title: What each algorithm's own inversion gets from all links
description: Five agents on a ring; everything that is sent is heard.
seed: 3
replicas: 2
problem:
  kind: ridge
  data: {name: synthetic, kind: regression, records: 100, dimension: 6, noise: 0.1}
  ridge: 0.5
topology: {kind: ring, agents: 5}
links: {delay: {kind: constant, seconds: 0.01}}
adversary: {links: all}
attacks: {gradients: true}
algorithms:
  - {kind: recal, activations: 60}
  - {kind: dp_recal, reading: fresh_noise, per_agent: 8, noise: {stddev: 0.01}}
  - kind: dpp2
    rounds: 10
    step: 0.1
    beta: 0.02
    rho: 1.0
    scale_w: {kind: geometric, first: 0.1, ratio: 0.8}
    scale_e: {kind: geometric, first: 0.1, ratio: 0.8}
  - {kind: diadsp, rounds: 10, step: 0.1, scale_x: 0.01, scale_y: 0.01, ratio: 0.8}
  - kind: cpgt
    rounds: 10
    step: 0.1
    scale_x: 0
    scale_y: 0
    ratio: 0.8
    gamma: 0.3
    compressor: {kind: top_k, k: 3}
  - {kind: random_penalty_admm, rounds: 10, penalty: 10, dual_step: 0.5, scale: 0.001}
"""
OWN = [
    ("closed_form.recal.through_duals", 1e-10), ("closed_form.recal.through_iterates", 2.0),
    ("inference.through_probe", 0.2),
    ("inference.through_probe", 0.2), ("closed_form.gradient_tracking.through_tracking", 0.05),
    ("closed_form.random_penalty_admm.through_penalties", 0.1),
]  # fmt: skip


@pytest.fixture(scope="module")
def entries(tmp_path_factory):
    folder = tmp_path_factory.mktemp("own")
    run_scenario(parse(SCENARIO), folder)
    return read_results(folder).algorithms


@pytest.mark.parametrize("index", range(len(OWN)))
def test_the_own_inversion_ran_and_found_nearly_everything(entries, index):
    attack, most = OWN[index]
    found = entries[index].gradients
    assert found.attack == f"attacks.{attack}"
    assert found.estimated >= 0.9 * found.queries
    assert found.median < most
