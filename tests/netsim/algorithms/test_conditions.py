"""Conditions of every algorithm: a value that cannot be is refused before time 0 at its own field, and only then."""

import math
from dataclasses import replace

import pytest

from netsim import topology
from netsim.algorithms import (
    Cpgt,
    DAdmm,
    Decor,
    DiaDSP,
    Dmsp,
    DpAdmm,
    Dpp2,
    DPRecal,
    Extra,
    GradientTracking,
    GroupedDescent,
    IcAdmm,
    LaplacianConsensus,
    MrAdmm,
    Muffliato,
    MuffliatoDescent,
    NeighborRange,
    Nids,
    PgExtra,
    Ppdc,
    PrivateGradientDescent,
    RAdmm,
    RandomPenaltyAdmm,
    RwAdmm,
    SecretSharing,
    StateDecomposition,
    Walkman,
    ZeroSumNoise,
    ZipDL,
)
from netsim.claims import Clip
from netsim.errors import ScenarioError
from netsim.models.model import L1, Ball
from netsim.schedules import Constant, Geometric
from netsim.simulation import Simulation
from tests.netsim.algorithms.admm_family import MEMBERS
from tests.netsim.algorithms.mixing import ALGORITHMS
from tests.worlds import refusal, synthetic_problem

SIX = synthetic_problem(agents=6, dimension=4)
S, RING = SIX.smoothness, topology.ring(6)
APART = 1 - RING.least_eigenvalue
BELOW, ENDLESS, NAN = Constant(-1.0), Constant(math.inf), math.nan
DPP2 = Dpp2(5, 0.5 / S, 0.25 / S / APART, 2 * S / APART)
WRONG = [
    (PrivateGradientDescent(5, Constant(0.3)), {"rounds": [0], "step": [Constant(50.0)], "scale": [BELOW]}),
    (Dmsp(5, Constant(0.5), Ball(1.0)), {"rounds": [0], "step": [Constant(50.0)], "scale": [BELOW]}),
    (
        DPRecal(step=0.3, activations=10, stddev=1.0),
        {"step": [0.0, 1.9], "activations": [0, None], "first": [6], "ratio": [0.5], "stddev": [-1.0]},
    ),
    (
        IcAdmm(5, 0.3, S),
        {"rounds": [0], "penalty": [0.0], "proximal": [0.5 * S], "scale": [BELOW], "noise": ["uniform"]},
    ),
    (
        DAdmm(5, 0.3),
        {"penalty": [-0.3], "perturbation": ["both"], "shares": [-1], "growth": [0.9], "dual_step": [0.0]},
    ),
    (RAdmm(5, penalty=0.3, linearization=S), {"penalty": [0.0], "linearization": [0.5 * S]}),
    (
        MrAdmm(5, S, Constant(0.3), 0.1),
        {"penalty": [Geometric(0.3, 0.9)], "dual_step": [0.0], "factors": [(1.0, 2.0)]},
    ),
    (RwAdmm(0.3, activations=3), {"activations": [None], "activation": ["some"], "first": [9]}),
    (RwAdmm(0.3, "everybody", per_agent=3), {"per_agent": [None]}),
    (Walkman(3 * S, activations=3), {"penalty": [1.9 * S], "version": ["newton"], "activations": [None]}),
    (Walkman(3 * S, "prox", activations=3), {"penalty": [0.0]}),
    (LaplacianConsensus(3, 0.8), {"fed": [2.0]}),
    (StateDecomposition(3, 0.2), {"step": [0.5]}),
    (ZeroSumNoise(3, 0.9), {"ratio": [1.0]}),
    (Muffliato(3, 1.0), {"stddev": [-1.0], "momentum": [1.0]}),
    (MuffliatoDescent(3, 0.1, 0.3), {"step": [9.0]}),
    (Extra(5, 0.1), {"rounds": [0], "step": [9.0]}),
    (PgExtra(5, 0.1), {"step": [-0.1], "scale": [BELOW]}),
    (Nids(5, 0.1), {"step": [9.0]}),
    (GradientTracking(5, 0.1), {"scale_x": [BELOW], "scale_y": [ENDLESS], "variant": ["other"]}),
    (
        DiaDSP(5, 0.1, 1.0, 1.0, 0.9),
        {
            "step": [-0.1], "scale_x": [-1.0], "scale_y": [NAN], "ratio": [1.0], "start": [-1.0],
            "agent_scale_x": [(1.0, 2.0)], "agent_scale_y": [(1.0,) * 5 + (0.0,)],
            "agent_ratio": [(1.2,) + (0.9,) * 5, (NAN,) + (0.9,) * 5],
        },
    ),
    (Cpgt(5, 0.1, 0.3, 0.2, 0.95, 0.4), {"gamma": [0.0, 1.5, NAN]}),
    (Ppdc(5, 0.1), {"step": [0.45], "omega": [9.0], "gamma": [-1.0], "scale_v": [BELOW]}),
    (
        DPP2,
        {
            "rounds": [0], "step": [0.0, 40.0], "beta": [-1.0], "rho": [0.0, 1e9], "scale_w": [ENDLESS],
            "scale_e": [BELOW], "eta": [Constant(NAN)], "start": [math.inf], "agent_scale_w": [(1.0, 2.0)],
            "agent_scale_e": [(1.0,) * 5 + (0.0,)], "agent_ratio": [(1.0,) * 5 + (math.inf,)],
        },
    ),
    (RandomPenaltyAdmm(5), {"dual_step": [-1.0], "scale": [BELOW]}),
    (
        SecretSharing(5, Constant(0.5)),
        {
            "modulus": [10, 2**53 + 1], "resolution": [0.0], "step": [Constant(5.0)], "stddev": [BELOW],
            "honest": [7],
        },
    ),
    (
        Decor(5, Constant(0.1)),
        {"step": [Constant(50.0)], "stddev": [-1.0], "colluders": [(1, 1), (6,), tuple(range(6))]},
    ),
    (Decor(5, Constant(50.0), clip=Clip(1.0)), {"correlated": [-1.0]}),
    (ZipDL(5, Constant(0.1)), {"rounds": [0], "step": [Constant(50.0)], "stddev": [-1.0]}),
    (ZipDL(5, Constant(50.0), clip=Clip(1.0)), {"stddev": [NAN]}),
    (DpAdmm(5, 0.3, Constant(1 / S)), {"step": [Constant(2.0 / S)], "penalty": [0.0]}),
]  # fmt: skip
"""Algorithms, and of each what its fields may not be."""
SAID = [
    (DAdmm(5, 0.3, divided=True), None, ".dual_step", None),
    (MrAdmm(5, S, Constant(0.3), 0.4), None, ".penalty", None),
    (MrAdmm(2.5, S, Constant(0.3), 0.1), None, ".rounds", "not an integer"),
    (RandomPenaltyAdmm(5, penalty=0.1), None, ".penalty", "L/2"),
    (RandomPenaltyAdmm(5, factors=(1.0, 2.0)), None, ".factors", "not one for each"),
    (RandomPenaltyAdmm(5, factors=(1.0,) * 5 + (0.01,)), None, ".penalty", "L/2"),
    (NeighborRange(5, Constant(9.0)), None, ".step", "2/L"),
    (NeighborRange(5, Constant(0.1), ENDLESS), None, ".scale", "of release 0"),
    (GroupedDescent(4, Constant(0.1)), None, ".rounds", "N >= 2K"),
    (GroupedDescent(3, Constant(0.1), low=NAN), None, ".low", "finite"),
    (GroupedDescent(3, Constant(0.1)), "ring", "", "not complete"),
    (SecretSharing(5, Constant(0.5)), "ring", "", None),
    (DpAdmm(5, 0.3, Constant(1 / S)), "ring", ".kind", None),
]
"""What one field alone does not tell, or what is said."""


def run_on(algorithm, graph=None, problem=SIX):
    needed = {DpAdmm: "star", GroupedDescent: "complete", SecretSharing: "complete"}
    return Simulation(problem, getattr(topology, graph or needed.get(type(algorithm), "ring"))(6), algorithm)


@pytest.mark.parametrize(
    ("algorithm", "field", "value"),
    [(one, field, value) for one, fields in WRONG for field, values in fields.items() for value in values],
)
def test_what_cannot_be_is_refused_at_its_field(algorithm, field, value):
    run_on(algorithm)
    assert refusal(run_on, replace(algorithm, **{field: value})).field == f"algorithm.{field}"


@pytest.mark.parametrize(("algorithm", "graph", "field", "why"), SAID)
def test_what_does_not_go_together_is_refused(algorithm, graph, field, why):
    with pytest.raises(ScenarioError, match=why) as caught:
        run_on(algorithm, graph)
    assert caught.value.field == f"algorithm{field}"


WITHOUT_R = [DPP2, Dmsp(5, Constant(0.5), Ball(1.0)), Decor(5, Constant(0.1)), ZipDL(5, Constant(0.1))]
WITHOUT_R += [make(5) for name, make in ALGORITHMS.items() if name not in ("pg_extra", "nids")]
PERTURBED = [MEMBERS[name].make(SIX, 5) for name in ("dvp", "r_admm", "mr_admm")]


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [*((one, "no proximal step") for one in WITHOUT_R), *((one, "needs a smooth one") for one in PERTURBED)],
)
def test_those_that_cannot_bear_a_regularizer_refuse_it(algorithm, why):
    with pytest.raises(ScenarioError, match=why):
        run_on(algorithm, problem=replace(SIX, regularizer=L1(0.02)))
