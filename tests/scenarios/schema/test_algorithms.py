"""Scenarios that name the algorithms which mix: what a file says is what is built, and its targets are met."""

import json

import pytest

from netsim.algorithms import (
    Cpgt,
    DiaDSP,
    ExactDiffusion,
    Extra,
    GradientTracking,
    Nids,
    PgExtra,
    Ppdc,
    adapted_step,
    ppdc_step,
    stable_step,
    tracking_step,
)
from netsim.codecs import Quantizer, TopK
from netsim.errors import ScenarioError
from netsim.schedules import Constant, Geometric
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.runner import run_scenario
from tests.worlds import refusal

FORM = """\
name: mixing
seed: 3
problem:
  data: {{name: digits, norm_bound: 4.0}}
  {l1}
topology: {{kind: {graph}}}
algorithms:
  - {algorithm}
"""
RING = "ring, agents: 5"


def text(algorithm: str, graph: str = RING, l1: str = "ridge: 1.0") -> str:
    return FORM.format(algorithm=algorithm, graph=graph, l1=l1)


def built(algorithm: str, graph: str = RING, l1: str = "ridge: 1.0"):
    return Experiment.of(parse(text(algorithm, graph, l1), "mixing.yaml").scenario).subjects[0].simulation


FALLING = "{kind: geometric, first: 0.5, ratio: 0.9}"


@pytest.mark.parametrize(
    ("said", "algorithm"),
    [
        (f"{{kind: extra, rounds: 9, step: 0.1, scale: {FALLING}}}", Extra(9, 0.1, scale=Geometric(0.5, 0.9))),
        ("{kind: pg_extra, rounds: 9, step: 0.1, scale: 0.2}", PgExtra(9, 0.1, scale=Constant(0.2))),
        ("{kind: nids, rounds: 9, step: 0.1}", Nids(9, 0.1)),
        ("{kind: exact_diffusion, rounds: 9, step: 0.1}", ExactDiffusion(9, 0.1)),
        (f"{{kind: gradient_tracking, rounds: 9, step: 0.01, scale_x: 0.1, scale_y: {FALLING}, variant: atc}}",
         GradientTracking(9, 0.01, Constant(0.1), Geometric(0.5, 0.9), "atc")),
        ("{kind: diadsp, rounds: 9, step: 0.01, scale_x: 2, ratio: 0.9}", DiaDSP(9, 0.01, 2.0, 1.0, 0.9)),
        ("{kind: cpgt, rounds: 9, step: 0.01, ratio: 0.9, gamma: 0.07, compressor: {kind: top_k, k: 3}}",
         Cpgt(9, 0.01, 1.0, 1.0, 0.9, 0.07, TopK(3))),
        (f"{{kind: ppdc, rounds: 9, step: 0.01, gamma: 2, omega: 1.5, scale_x: 0.1, scale_v: {FALLING}}}",
         Ppdc(9, 0.01, 2.0, 1.5, Constant(0.1), Geometric(0.5, 0.9))),
    ],
)  # fmt: skip
def test_everything_a_file_says_reaches_the_algorithm(said, algorithm):
    simulation = built(said)
    assert simulation.algorithm == algorithm
    if isinstance(algorithm, Cpgt):
        assert simulation.wire_codec == TopK(3)


@pytest.mark.few(1)
@pytest.mark.parametrize("graph", [RING, "complete, agents: 4", "star, agents: 6"])
def test_auto_is_a_step_within_the_conditions(graph):
    """The very conditions are checked when the simulation is made."""
    for said, step in {
        "extra": lambda L, g: stable_step(L, g) / 2,
        "pg_extra": lambda L, g: stable_step(L, g) / 2,
        "nids": lambda L, g: 1 / L,
        "exact_diffusion": lambda L, g: 1 / L,
        "gradient_tracking": lambda L, g: tracking_step(L, g) / 2,
        "gradient_tracking, variant: atc": lambda L, g: adapted_step(L, g) / 2,
        "diadsp, ratio: 0.9": lambda L, g: tracking_step(L, g) / 2,
        "cpgt, ratio: 0.9, gamma: 0.5": lambda L, g: tracking_step(L, g) / 4,
        "ppdc": ppdc_step,
        "ppdc, gamma: 0.1, omega: 3": lambda L, g: ppdc_step(L, g, 0.1, 3.0),
    }.items():
        simulation = built(f"{{kind: {said}, rounds: 9}}", graph)
        assert simulation.algorithm.step == step(simulation.problem.smoothness, simulation.topology)


@pytest.mark.few("diadsp")
@pytest.mark.parametrize("kind", ["diadsp", "cpgt, compressor: {kind: quantizer, bits: 3}"])
def test_a_target_is_what_is_claimed(kind, tmp_path):
    algorithm = f"{{kind: {kind}, name: private, rounds: 3, step: 0.02, ratio: 0.9, target: {{epsilon: 4.0}}}}"
    audit = "audit: {agent: 1, adjacency: {change: 0.1}, search: null, trials: 50, chunk: 50}\n"
    located = parse(text(algorithm) + audit, "mixing.yaml")
    run_scenario(located, tmp_path, page=False)
    entry = json.loads((tmp_path / "results.json").read_text())["algorithms"][0]
    assert entry["noise"] is True
    assert entry["audit"]["epsilon_claimed"] == pytest.approx(4.0, rel=1e-12)
    simulation = Experiment.of(located.scenario).subjects[0].simulation
    assert simulation.algorithm.scale_x == simulation.algorithm.scale_y
    if isinstance(simulation.algorithm, Cpgt):
        assert simulation.wire_codec == Quantizer(3)


@pytest.mark.parametrize(
    ("algorithm", "field", "said"),
    [
        ("{kind: diadsp, rounds: 6, step: 1.0, ratio: 0.9, target: {epsilon: 1.0}}", "target", "is not below 1/2"),
        ("{kind: diadsp, rounds: 6, ratio: 1.0}", "ratio", "< 1"),
        ("{kind: cpgt, rounds: 6, ratio: 0.9, gamma: 2}", "gamma", "<= 1"),
        ("{kind: cpgt, rounds: 6, ratio: 0.9, compressor: {kind: random_k, k: 3}}", "compressor", "not contract"),
        ("{kind: nids, rounds: 6, step: 100}", "step", "0 < α < 2/L"),
    ],
)
def test_one_clear_message(algorithm, field, said):
    error = refusal(built, algorithm)
    assert error.field == f"algorithms[0].{field}"
    assert said in str(error)


def test_a_regularizer_needs_a_proximal_step():
    assert built("{kind: nids, rounds: 6}", l1="l1: 0.01").problem.regularized
    for kind in ("extra", "exact_diffusion"):
        with pytest.raises(ScenarioError, match=r"algorithms\[0\].*no proximal step"):
            built(f"{{kind: {kind}, rounds: 6}}", l1="l1: 0.01")
