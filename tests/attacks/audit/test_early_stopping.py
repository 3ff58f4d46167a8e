"""An audit that may stop: it ends early on what is false, and says nothing false more often than it may."""

import numpy as np
import pytest

from attacks.audit.archive import Archive
from attacks.audit.audit import audit
from attacks.audit.pair import Pair
from attacks.audit.verdict import Verdict
from netsim import topology
from netsim.algorithms.planted_faults import HalfNoise, SecondMessage
from netsim.claims import Adjacency
from netsim.problems import LeastSquares, Problem, Tilted
from netsim.simulation import Simulation
from scenarios.results.audited import audit_result
from scenarios.stages.worlds import worlds

ANYTHING = Adjacency(np.inf, "all data of one agent replaced")


def world(algorithm):
    """Agent 1's gradient is clipped in both worlds, in opposite directions."""
    part = LeastSquares(np.eye(1), np.zeros(1), 0.5)
    one, two = Tilted(part, np.array([1e3])), Tilted(part, np.array([-1e3]))
    return Simulation(Problem((part, one, part)), topology.ring(3), algorithm), Pair(1, (one, two), "turned round")


def judged(algorithm, trials=2000, chunk=100, seed=0, simulation_seed=0, stop=True, **options):
    simulation, pair = world(algorithm)
    simulation = Simulation(simulation.problem, simulation.topology, algorithm, seed=simulation_seed)
    claim = simulation.claim(ANYTHING, 2, 0.0)
    return audit(
        worlds(simulation, 1, pair.hypotheses[1], chunk),
        pair,
        claim,
        trials=trials,
        chunk=chunk,
        confidence=0.95,
        rng=np.random.default_rng(seed),
        stop=stop,
        **options,
    )


def half(sound):
    return HalfNoise(rounds=2, step=0.25, scale=0.5, bound=1.0, sound=sound)


def test_a_false_claim_ends_it_early():
    found = judged(half(sound=False))
    assert found.judgement.verdict is Verdict.REFUTED
    assert found.stopped
    assert found.trials < 1000
    assert found.anytime.refuted
    assert found.anytime.trials <= 2 * found.trials


def test_a_true_one_does_not():
    found = judged(half(sound=True))
    assert not found.stopped
    assert found.trials == 2000
    assert found.judgement.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED)
    assert found.epsilon_audited <= 1.0


def test_an_uncovered_message_is_still_named():
    found = judged(SecondMessage(rounds=2, step=0.25, scale=0.5, bound=1.0))
    assert found.stopped
    assert found.judgement.verdict is Verdict.UNPROTECTED
    assert "'z'" in str(found.uncovered)


@pytest.mark.parametrize("jobs", [1, 2])
def test_stopped_by_hand_and_gone_on_it_stops_at_the_same_coin(jobs, tmp_path):
    through = audit_result(judged(half(sound=False), chunk=20))
    archive = Archive.at(tmp_path / "evidence", "it")
    judged(half(sound=False), trials=20, chunk=20, archive=archive)
    assert audit_result(judged(half(sound=False), chunk=20, archive=archive, jobs=jobs)) == through


def test_sound_claims_are_refuted_no_more_often_than_allowed():
    """The claim is what is spent, to the last bit. Each of the 30 audits errs with at most 5 %: 7 or
    more do with probability below 0.001."""
    wrong = 0
    for seed in range(30):
        found = judged(half(sound=True), trials=200, chunk=100, seed=seed, simulation_seed=seed)
        wrong += found.judgement.verdict is Verdict.REFUTED
    assert wrong < 7


def test_without_it_the_game_is_shown_and_does_not_count():
    found = judged(half(sound=False), trials=400, stop=False)
    assert found.anytime.refuted
    assert not found.stopped
    assert found.trials == 400
    assert found.epsilon_audited == found.white_box.epsilon_audited
