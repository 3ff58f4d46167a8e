"""What an audit says of itself: a few lines, and a short `repr`."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.audit import audit
from attacks.audit.pair import Pair
from netsim import topology
from netsim.algorithms.planted_faults import HalfNoise, SecondMessage
from netsim.claims import Adjacency
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds

SPENT = {"rounds": 2, "step": 0.5, "bound": 1.0, "scale": 2.0}


def judged(algorithm, epsilon=None):
    part = LeastSquares(np.eye(1), np.zeros(1), 0.5)
    one, two = Tilted(part, np.array([1e3])), Tilted(part, np.array([-1e3]))
    simulation = Simulation(Problem((part, one, part)), topology.ring(3), algorithm)
    claim = simulation.claim(Adjacency(np.inf, "all data of one agent replaced"), 2, 0.0)
    claim = claim if epsilon is None else replace(claim, epsilon=epsilon)
    simulate = worlds(simulation, 1, two, 100)
    options = {"trials": 200, "chunk": 100, "confidence": 0.95, "rng": np.random.default_rng(0)}
    return audit(simulate, Pair(1, (one, two), "turned round"), claim, **options)


@pytest.fixture(scope="module")
def refuted():
    return judged(HalfNoise(**SPENT))


def test_a_summary_has_verdict_epsilons_pair_and_witness(refuted):
    first, claimed, exact, audited, pair, witness = refuted.summary.splitlines()
    assert first == f"refuted: {refuted.judgement.reason}"
    assert claimed == f"ε claimed: {refuted.claim.epsilon:.4g} (δ = 0)"
    assert exact == f"ε exact:   {refuted.epsilon_exact:.4g} ({refuted.exact[0].epsilon.lower:.4g} to ∞)"
    assert audited == f"ε audited: at least {refuted.epsilon_audited:.4g}"
    assert pair == "pair:      agent 1, turned round; 200 transcripts of each world"
    world, chunk, replica = refuted.witness
    assert witness == f"witness:   world {world}, chunk {chunk}, replica {replica}"


def test_what_holds_has_no_witness():
    assert judged(HalfNoise(sound=True, **SPENT)).summary.endswith("witness:   none")


def test_a_message_in_the_clear_costs_infinitely_much():
    said = judged(SecondMessage(**SPENT)).summary
    assert said.startswith("unprotected: ")
    assert "ε exact:   ∞ (∞ to ∞)" in said


def test_a_message_in_the_clear_counts_with_its_own_activation():
    found = judged(SecondMessage(**SPENT))
    assert found.first_violation == 1
    assert [(level.activation, level.release) for level in found.growth] == [(1, 0), (2, 1)]
    assert all(level.lower == level.estimate == math.inf for level in found.growth)
    assert [one.activation for one in found.loss_breakdown.audited] == [1, 2]
    assert found.loss_breakdown.audited[0].epsilon == found.loss_breakdown.audited[1].epsilon > 0


def test_what_is_no_refutation_is_no_violation():
    sound = HalfNoise(sound=True, **SPENT)
    lower = max(e.epsilon.lower for e in judged(sound).exact)
    within, below = judged(sound, lower - 5e-6), judged(sound, lower - 1e-3)
    assert (within.judgement.verdict, within.first_violation) == ("consistent", None)
    assert (below.judgement.verdict, below.first_violation) == ("refuted", 2)


def test_the_budget_is_that_of_the_worse_direction_at_each_point(refuted):
    one, two = refuted.exact
    early, late = replace(two.growth[0], lower=0.6, estimate=0.7), one.growth[1]
    worse = (
        replace(one, growth=(one.growth[0], late)),
        replace(two, growth=(early, replace(late, lower=0.1, estimate=0.2))),
    )
    assert late.estimate > 0.2
    both = replace(refuted, exact=worse)
    assert both.growth == (early, late)
    assert both.claim.epsilon == 0.5
    assert (refuted.first_violation, both.first_violation) == (2, 1)


def test_the_repr_is_short(refuted):
    said = repr(refuted)
    assert len(said) < 1200
    assert "turned round" in said
    assert "array" not in said
