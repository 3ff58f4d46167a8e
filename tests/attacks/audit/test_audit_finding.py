"""What an audit says of itself: a few lines, and a short `repr`."""

import numpy as np
import pytest

from attacks.audit.audit import Pair, audit
from netsim import topology
from netsim.claims import Adjacency
from netsim.gallery import HalfNoise, SecondMessage
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.simulation import Simulation
from scenarios.auditing import worlds

SPENT = {"rounds": 2, "step": 0.5, "bound": 1.0, "scale": 2.0}


def judged(algorithm):
    part = LeastSquares(np.eye(1), np.zeros(1), 0.5)
    one, two = Tilted(part, np.array([1e3])), Tilted(part, np.array([-1e3]))
    simulation = Simulation(Problem((part, one, part)), topology.ring(3), algorithm)
    claim = simulation.claim(Adjacency(np.inf, "all data of one agent replaced"), 2, 0.0)
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


def test_the_repr_is_short(refuted):
    said = repr(refuted)
    assert len(said) < 1200
    assert "turned round" in said
    assert "array" not in said
