"""Whole audits: what they say of themselves, and those that may stop, which say nothing false too often."""

import math
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from attacks.audit.archive import Archive
from attacks.audit.audit import _Audit, _not_judged, _Proof
from attacks.audit.pair import Pair
from attacks.audit.verdict import Bound, Verdict
from netsim import topology
from netsim.algorithms.planted_faults import HalfNoise, SecondMessage
from netsim.claims import Adjacency
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.simulation import Simulation
from scenarios.results.audited import audit_result
from tests.attacks import auditing

ANYTHING = Adjacency(np.inf, "all data of one agent replaced")


def world(algorithm):
    """Agent 1's gradient is clipped in both worlds, in opposite directions."""
    part = LeastSquares(np.eye(1), np.zeros(1), 0.5)
    one, two = Tilted(part, np.array([1e3])), Tilted(part, np.array([-1e3]))
    return Simulation(Problem((part, one, part)), topology.ring(3), algorithm), Pair(1, (one, two), "turned round")


def judged(algorithm, trials=2000, chunk=100, seed=0, simulation_seed=0, stop=True, epsilon=None, **options):
    simulation, pair = world(algorithm)
    simulation = Simulation(simulation.problem, simulation.topology, algorithm, seed=simulation_seed)
    claim = simulation.claim(ANYTHING, 2, 0.0)
    claim = claim if epsilon is None else replace(claim, epsilon=epsilon)
    return auditing.judged(simulation, pair, claim, trials, None, seed, chunk=chunk, stop=stop, **options)


def half(sound):
    return HalfNoise(rounds=2, step=0.25, scale=0.5, bound=1.0, sound=sound)


def test_a_false_claim_ends_it_early():
    found = judged(half(sound=False))
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.stopped
    assert found.trials < 1000
    assert found.anytime.refuted
    assert found.anytime.trials <= 2 * found.trials


@pytest.mark.slow
def test_a_true_one_does_not():
    found = judged(half(sound=True))
    assert not found.stopped
    assert found.trials == 2000
    assert found.judgement.verdict in auditing.HELD
    assert found.epsilon_audited <= 1.0


def test_an_uncovered_message_is_still_named():
    found = judged(SecondMessage(rounds=2, step=0.25, scale=0.5, bound=1.0))
    assert found.stopped
    assert found.judgement.verdict is Verdict.UNPROTECTED
    assert "'z'" in str(found.uncovered)


@pytest.mark.slow
@pytest.mark.parametrize("jobs", [1, 2])
def test_stopped_by_hand_and_gone_on_it_stops_at_the_same_coin(jobs, tmp_path):
    through = judged(half(sound=False), chunk=20)
    archive = Archive.at(tmp_path / "evidence", "it")
    judged(half(sound=False), trials=20, chunk=20, archive=archive)
    resumed = judged(half(sound=False), chunk=20, archive=archive, jobs=jobs)
    assert audit_result(resumed) == audit_result(through)
    assert resumed.witness == through.witness


@pytest.mark.slow
def test_without_it_the_game_is_shown_and_does_not_count():
    found = judged(half(sound=False), trials=400, stop=False)
    assert found.anytime.refuted
    assert not found.stopped
    assert found.trials == 400
    assert found.epsilon_audited == found.white_box.epsilon_audited


SPENT = {"rounds": 2, "step": 0.5, "bound": 1.0, "scale": 2.0}


def whole(algorithm, epsilon=None):
    return judged(algorithm, 200, stop=False, epsilon=epsilon)


@pytest.fixture(scope="module")
def refuted():
    return whole(HalfNoise(**SPENT))


def test_a_summary_has_verdict_epsilons_pair_and_witness(refuted):
    first, claimed, exact, audited, pair, witness = refuted.summary.splitlines()
    assert first == f"refuted: {refuted.judgement.reason}"
    assert claimed == f"ε claimed: {refuted.claim.epsilon:.4g} (δ = 0)"
    lower, upper = refuted.exact[0].epsilon.lower, refuted.bound.epsilon
    assert exact == f"ε exact:   {refuted.epsilon_exact:.4g} ({lower:.4g} to {upper:.4g})"
    assert audited == f"ε audited: at least {refuted.epsilon_audited:.4g}"
    assert pair == "pair:      agent 1, turned round; 200 transcripts of each world"
    world, chunk, replica = refuted.witness
    assert witness == f"witness:   world {world}, chunk {chunk}, replica {replica}"


def test_what_holds_has_no_witness():
    assert whole(HalfNoise(sound=True, **SPENT)).summary.endswith("witness:   none")


def test_a_message_in_the_clear_costs_infinitely_much():
    said = whole(SecondMessage(**SPENT)).summary
    assert said.startswith("unprotected: ")
    assert "ε exact:   ∞ (∞ to ∞)" in said


def test_a_message_in_the_clear_counts_with_its_own_activation():
    found = whole(SecondMessage(**SPENT))
    assert found.first_violation == 1
    assert [(level.activation, level.release) for level in found.growth] == [(1, 0), (2, 1)]
    assert all(level.lower == level.estimate == math.inf for level in found.growth)
    assert [one.activation for one in found.loss_breakdown.audited] == [1, 2]
    assert found.loss_breakdown.audited[0].epsilon == found.loss_breakdown.audited[1].epsilon > 0


@pytest.mark.slow
def test_what_is_no_refutation_is_no_violation():
    sound = HalfNoise(sound=True, **SPENT)
    lower = max(e.epsilon.lower for e in whole(sound).exact)
    within, below = whole(sound, lower - 5e-6), whole(sound, lower - 1e-3)
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


def test_a_release_that_is_hidden_is_judged_by_a_bound_that_grants_it():
    fine = {"silent": False, "unreliable_from": None, "uncovered": None, "faint": None}
    hidden = SimpleNamespace(**fine, epsilon=SimpleNamespace(upper=math.inf), dearest=math.inf, granted_from=1.0)

    def why(bound, **other):
        one = SimpleNamespace(**{**vars(hidden), **other})
        return _not_judged((one, one), 1.0, True, "", False, bound)

    assert "is sent inside something else" in why(None)
    assert "is sent inside something else" in why(Bound(1.1, ()))
    assert why(Bound(0.9, ())) is None
    assert why(Bound(0.9, ()), silent=True) == "the agent sent nothing"
    for step, mend in (("activation", "A walk ends at `estimate`"), ("round", "Leave that noise out")):
        assert mend in _not_judged((hidden, hidden), 1.0, True, "", True, step=step)


def test_a_pair_that_loses_more_than_a_bound_over_any_data_is_noted():
    """What the code did is then not what was read: it is consistent with nothing."""
    under_way = object.__new__(_Audit)
    under_way.claim = SimpleNamespace(adjacency=ANYTHING, coins="known", delta=0.0)
    under_way.pair, under_way.doors = SimpleNamespace(doubt=None, claimed_of_any=False), {}
    under_way._bound_over = lambda *_: Bound(1.0, ())
    assert under_way._proof(0.5) == _Proof(Bound(1.0, ()))
    found = under_way._proof(2.0)
    assert found.bound is None
    assert not found.repeats
