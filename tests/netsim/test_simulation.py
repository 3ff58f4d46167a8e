"""Whole runs: what determines them, what changes nothing, and what is refused before time 0."""

import gc
import hashlib
import os
import subprocess
import sys
import weakref
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import pytest

from netsim.adversary import Adversary
from netsim.algorithms import Algorithm, DPRecal, PrivateGradientDescent, Recal
from netsim.claims import Adjacency, Clip, Standpoint
from netsim.errors import DeadlockError, ScenarioError, SimulationError
from netsim.network.laws import ConstantDelay, LognormalDelay
from netsim.network.links import LinkLaw
from netsim.node import Node
from netsim.problems import L1, Problem, least_squares, load, logistic
from netsim.schedules import Constant, Geometric
from netsim.simulation import Run, Simulation
from netsim.topology import complete, ring
from netsim.transcript import Transcript
from netsim.transcript.stored import StreamedTranscript
from tests.worlds import changed, interrupted, refusal, regression_problem, simulated

ROUNDS = 12
PERFECT = LinkLaw()
ROUGH = LinkLaw(LognormalDelay(0.2, 1.0), loss=0.3, bandwidth=400.0, reliable=True)
REORDERED = replace(ROUGH, reordering=True, loss=0.5)


def problem(agents: int = 6, kind: str = "logistic") -> Problem:
    data = load("synthetic", records=60, dimension=4, kind="regression" if kind == "ridge" else "classification")
    return least_squares(data.split(agents), 0.1) if kind == "ridge" else logistic(data.split(agents), 0.1, L1(0.01))


def descent(scale: float = 0.5) -> PrivateGradientDescent:
    return PrivateGradientDescent(ROUNDS, Geometric(0.4, 0.97), Constant(scale))


def walk(**options) -> Recal:
    return Recal(0.3, activations=80, **options)


def simulation(algorithm: Algorithm, links: LinkLaw = PERFECT, *, kind="logistic", **options) -> Simulation:
    return simulated(problem(kind=kind), options.pop("topology", ring(6)), algorithm, links, **options)


def queries(run: Run) -> list[list[tuple[bytes, bytes]]]:
    """Every point an agent asked about and the gradient it got, to the last bit."""
    assert run.truth is not None
    return [[(q.point.tobytes(), q.gradient.tobytes()) for q in agent] for agent in run.truth.queries]


def releases(run: Run) -> list[list[bytes]]:
    assert run.truth is not None
    return [[release.tobytes() for release in agent] for agent in run.truth.releases]


def errors(run: Run) -> dict[int, list[bytes]]:
    """Each agent's own estimates' errors in its order."""
    assert run.metrics is not None
    by_agent: dict[int, list[bytes]] = {}
    for agent, error in zip(run.metrics.agents, run.metrics.errors, strict=True):
        by_agent.setdefault(agent, []).append(error.tobytes())
    return by_agent


def fingerprint(transcript: Transcript) -> str:
    digest = hashlib.sha256()
    for record in transcript:
        digest.update(repr(record[:-1]).encode())
        for name, value in record.values.items():
            digest.update(name.encode() + value.tobytes())
    return digest.hexdigest()


def everything(run: Run) -> tuple:
    """All that a run says, its views apart."""
    return queries(run), releases(run), errors(run), run.metrics.times, run.activations, run.time, dict(run.traffic)


# ── the network changes when, never what ────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("algorithm", [descent(), walk()], ids=["descent", "recal"])
def test_the_time_that_gradients_take_changes_times_and_no_values(algorithm):
    links = LinkLaw(ConstantDelay(0.1))
    at_once = simulation(algorithm, links, seed=3).run()
    working = simulation(algorithm, links, seed=3, compute=LognormalDelay(1.0, 1.0)).run()
    assert working.time > 5 * at_once.time
    assert queries(working) == queries(at_once)
    assert releases(working) == releases(at_once)
    assert errors(working) == errors(at_once)


def test_a_constant_compute_time_adds_up():
    """Every round waits for one delay and one gradient."""
    run = simulation(descent(), LinkLaw(ConstantDelay(0.25)), compute=ConstantDelay(2.0)).run()
    assert run.time == pytest.approx(ROUNDS * 2.25)
    assert run.metrics.times == pytest.approx(np.repeat(2.25 * np.arange(1, ROUNDS + 1), 6))


# ── the same seed, the same run ─────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("algorithm", [descent(), DPRecal(0.3, activations=60, stddev=0.2)], ids=["descent", "walk"])
def test_the_same_seed_gives_the_same_run_and_another_seed_another(algorithm):
    make = simulation(
        algorithm, REORDERED, adversaries=(Adversary(nodes=(1,), capture_loss=0.2),), replicas=3, seed=5
    )
    first, again, other = make.run(), make.run(), replace(make, seed=6).run()
    assert everything(first) == everything(again)
    prints = [fingerprint(run.views[0].transcript) for run in (first, again, other)]
    assert prints[0] == prints[1] != prints[2]
    assert releases(other) != releases(first)


HASHED = """
from netsim.topology import erdos_renyi
from tests.netsim.test_simulation import *
taps = (Adversary("a", capture_loss=0.3), Adversary("b", nodes=(0, 3)))
compute = LognormalDelay(0.1, 0.5)
run = simulation(descent(), REORDERED, topology=erdos_renyi(6, 0.6, seed=1), adversaries=taps, compute=compute).run()
print(len(run.views[0].transcript), *(fingerprint(view.transcript) for view in run.views))
"""


@pytest.mark.slow
def test_the_transcript_does_not_depend_on_the_process():
    printed = [
        subprocess.run(
            [sys.executable, "-c", HASHED], cwd=Path(__file__).parents[2], env=os.environ | {"PYTHONHASHSEED": seed},
            capture_output=True, text=True, check=True, timeout=120,
        ).stdout
        for seed in ("1", "2")
    ]  # fmt: skip
    assert int(printed[0].split()[0]) > 100
    assert printed[0] == printed[1]


# ── what changes nothing else ───────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("algorithm", [descent(), DPRecal(0.3, activations=60, stddev=0.2)], ids=["descent", "walk"])
def test_another_adversary_changes_nothing_else(algorithm):
    mine = Adversary("mine", links=((0, 1),), nodes=(2,), capture_loss=0.3)
    alone = simulation(algorithm, ROUGH, adversaries=(mine,), seed=8).run()
    crowd = simulation(
        algorithm, ROUGH, adversaries=(Adversary("all", nodes=tuple(range(6)), capture_loss=0.5), mine), seed=8
    ).run()
    assert everything(crowd) == everything(alone)
    assert fingerprint(crowd.views[1].transcript) == fingerprint(alone.views[0].transcript)
    silent = simulation(algorithm, ROUGH, seed=8).run()
    assert everything(silent) == everything(alone)


def test_measuring_and_recording_the_truth_change_nothing():
    make = simulation(descent(), ROUGH, adversaries=(Adversary(),), seed=8)
    full = make.run()
    bare = changed(make, measure=False, private="nothing").run()
    assert bare.metrics is None
    assert bare.truth is None
    assert fingerprint(bare.views[0].transcript) == fingerprint(full.views[0].transcript)
    some = changed(make, private="releases").run()
    assert queries(some) == [[]] * 6
    assert releases(some) == releases(full)
    assert fingerprint(some.views[0].transcript) == fingerprint(full.views[0].transcript)


def test_replicas_share_routes_delays_and_losses_and_no_noise():
    make = simulation(DPRecal(0.3, activations=60, stddev=0.2), ROUGH, adversaries=(Adversary(),), seed=2)
    one, many = make.run(), replace(make, replicas=5).run()
    rows = [[r[:-1] for r in run.views[0].transcript] for run in (one, many)]
    assert rows[0] == rows[1]
    assert many.metrics.agents == one.metrics.agents
    assert (many.metrics.times, dict(many.traffic)) == (one.metrics.times, dict(one.traffic))
    final = many.views[0].transcript.records[-1].values or many.views[0].transcript.on_links()[-1].values
    assert len({row.tobytes() for row in final["u_noisy"]}) == 5


def test_a_chunk_changes_the_noise_and_only_the_noise():
    make = simulation(DPRecal(0.3, activations=60, stddev=0.2), ROUGH, adversaries=(Adversary(),), replicas=2, seed=2)
    one, two = make.run(), replace(make, chunk=1).run()
    rows = [[r[:-1] for r in run.views[0].transcript] for run in (one, two)]
    assert rows[0] == rows[1]
    assert two.metrics.agents == one.metrics.agents
    first, second = ([v for agent in releases(run) for v in agent] for run in (one, two))
    assert not set(first) & set(second)
    assert everything(replace(make, chunk=1).run()) == everything(two)


# ── laws ────────────────────────────────────────────────────────────────────────────────────────────────
def test_descent_without_noise_is_plain_decentralized_gradient_descent():
    """x_i ← prox_{η_k r}(Σ_j w_ij x_j − η_k ∇f_i(x_i)), written out for all agents at once."""
    run = simulation(descent(0.0), adversaries=(Adversary(),)).run()
    objectives, W = problem().objectives, ring(6).weights
    x = np.zeros((6, 4))
    for k in range(ROUNDS):
        asked = np.array([run.truth.queries[i][k].point[0] for i in range(6)])
        assert np.allclose(asked, x, rtol=1e-12, atol=1e-14)
        gradients = np.array([f.gradient(x[i : i + 1])[0] for i, f in enumerate(objectives)])
        x = problem().regularizer.proximal(W @ x - 0.4 * 0.97**k * gradients, 0.4 * 0.97**k)
    assert releases(run) == [[]] * 6


@pytest.mark.parametrize(
    ("options", "total", "largest"), [({"activations": 37}, 37, None), ({"per_agent": 9}, None, 9)]
)
def test_a_walk_stops_exactly_where_it_should(options, total, largest):
    run = simulation(Recal(0.3, **options), LinkLaw(ConstantDelay(1.0)), topology=complete(6)).run()
    assert total is None or sum(run.activations) == total
    assert largest is None or run.largest_activations == largest
    assert run.activations.count(run.largest_activations) >= 1
    assert len(run.metrics.times) == sum(run.activations)
    assert run.time == sum(run.activations) - 1.0


@pytest.mark.parametrize(
    "stated", [{"gradient_change": 0.15}, {"change": 0.1, "norm": "l1"}, {"curvature_change": 0.0}, {"fewest": 5}]
)
def test_a_claim_of_fewer_pairs_than_it_was_asked_about_is_held_to_all_of_them(stated):
    """Its author has worked out by himself how far adjacent gradients are apart."""

    class Stated(PrivateGradientDescent):
        def claim(self, adjacency, setting, delta):
            return replace(super().claim(adjacency, setting, delta), adjacency=replace(adjacency, **stated))

    asked = Adjacency(0.25, "one record")
    claim = simulation(Stated(4, Constant(0.1), Constant(0.5))).claim(asked, 4, 0.0)
    assert claim.adjacency == asked
    wider = replace(asked, **stated)
    assert simulation(descent()).claim(wider, 4, 0.0).adjacency == wider
    larger = simulation(Stated(4, Constant(0.1), Constant(0.5))).claim(wider, 4, 0.0)
    assert larger.adjacency == wider


@pytest.mark.parametrize(("change", "kept"), [(0.25, True), (0.3, False)])
def test_bounds_of_a_claims_author_are_the_same_of_every_agent(change, kept):
    """By how much a record moves a gradient is the less, the more records there are; what else an author has worked
    out need not be."""

    class Stated(PrivateGradientDescent):
        def claim(self, adjacency, setting, delta):
            found = super().claim(adjacency, setting, delta)
            return replace(found, adjacency=replace(adjacency, gradient_change=change))

    asked = Adjacency(0.25, "one record", 0.1, record=True, fewest=8)
    found = simulation(Stated(4, Constant(0.1), Constant(0.5))).claim(asked, 4, 0.0).adjacency
    for records, less in ((5, 1.0), (8, 1.0), (16, 0.5)):
        expected = (change, 0.1) if not kept else (less * change, less * 0.1)
        assert (found.at(records).gradient_change, found.at(records).curvature_change) == expected
    assert asked.allows(replace(asked, fewest=7), 2)
    assert not replace(asked, fewest=7).allows(asked, 2)


def test_a_diverging_run_is_a_result():
    class Exploding(Algorithm):
        async def run(self, node: Node) -> None:
            x = node.zeros() + 1.0
            for _ in range(10):
                heard = await node.exchange(x=x)
                x = heard.mix("x") * 1e200
                node.estimate(x)

    with np.errstate(all="raise"):
        run = simulation(Exploding(), private="nothing").run()
    assert not np.isfinite(run.metrics.errors[-1]).any()


# ── Ctrl-C ──────────────────────────────────────────────────────────────────────────────────────────────
INTERRUPTED = """
from netsim.adversary import Adversary
from netsim.algorithms import Recal
from netsim.problems import least_squares, load
from netsim.simulation import Simulation
from netsim.topology import ring
def watch(running):
    if running.estimates == 50:
        print("ready", flush=True)
parts = load("synthetic", kind="regression", records=40, dimension=3).split(4)
sim = Simulation(least_squares(parts, 0.1), ring(4), Recal(0.1, activations=10**9), adversaries=(Adversary(),))
run = sim.run(watch)
print(run.interrupted, sum(run.activations) >= 50, len(run.views[0].transcript) >= 50)
"""


@pytest.mark.slow
def test_ctrl_c_ends_a_simulation_early_with_what_it_has():
    assert interrupted(INTERRUPTED) == "True True True\n"


# ── bad input ───────────────────────────────────────────────────────────────────────────────────────────
BAD = {
    "agents": (lambda: simulation(descent(), topology=ring(5)), "problem"),
    "replicas": (lambda: simulation(descent(), replicas=0), "replicas"),
    "seed": (lambda: simulation(descent(), seed=-1), "seed"),
    "link law": (lambda: simulation(descent(), link_laws={(0, 3): LinkLaw()}), "link_laws"),
    "link law to itself": (lambda: simulation(descent(), link_laws={(0, 0): LinkLaw()}), "link_laws"),
    "step too long at the end": (lambda: simulation(PrivateGradientDescent(50, Geometric(0.1, 2))), "algorithm.step"),
    "walk of nothing per agent": (lambda: simulation(Recal(0.3, per_agent=0)), "algorithm.per_agent"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_a_scenario_error_before_time_0(name):
    make, field = BAD[name]
    error = refusal(make)
    assert error.field == field
    assert not isinstance(error, SimulationError)
    assert str(error).startswith(f"{field} = ")


class TestSpool:
    """The transcript on disk is the transcript in memory."""

    def simulation(self, **options):
        ears = (Adversary("keen", nodes=(2,)), Adversary("deaf", capture_loss=0.3, clock_error=0.1))
        algorithm = PrivateGradientDescent(6, Constant(0.1), Constant(1.0))
        link = LinkLaw(ConstantDelay(0.1), loss=0.2, reliable=True)
        return simulated(
            regression_problem(), ring(5), algorithm, link, adversaries=ears, replicas=2, measure=False, **options
        )

    def test_a_run_that_fails_leaves_what_was_heard(self, tmp_path):
        simulation = self.simulation(spool=tmp_path)
        with pytest.raises(DeadlockError):
            changed(simulation, links=LinkLaw(loss=0.5), seed=2).run()
        rows = Transcript.stored(StreamedTranscript.open(tmp_path / "keen.spool"))
        assert 0 < len(rows) < 100
        assert rows.at_node(2)

    def test_a_name_that_is_no_file_is_refused(self, tmp_path):
        with pytest.raises(ScenarioError, match="file name"):
            replace(self.simulation(spool=tmp_path), adversaries=(Adversary("../up"),))


@pytest.mark.slow
def test_nothing_keeps_a_run_alive_that_nobody_holds():
    """Without the collector: audits make many runs, and their arrays must go with them."""
    noisy = simulation(descent(), adversaries=(Adversary(),))
    gc.collect()
    gc.disable()
    try:
        run = noisy.run()
        watched = [weakref.ref(array) for array in run.truth.releases[0]]
        watched += [weakref.ref(record.values["x"]) for record in run.views[0].transcript.records]
        assert all(ref() is not None for ref in watched)
        del run
        assert not any(ref() is not None for ref in watched)
    finally:
        gc.enable()


class ClaimsByDistance(PrivateGradientDescent):
    """Claims more of listeners further away."""

    def claim_from(self, standpoint, adjacency, setting, delta):
        hops = setting.topology.hops(standpoint.victim)
        nearest = min(hops[i] for i in standpoint.listeners)
        whole = self.claim(adjacency, setting, delta)
        return replace(whole, epsilon=whole.epsilon / nearest, standpoint=standpoint)


def test_a_claim_from_a_standpoint_is_made_by_who_states_one() -> None:
    adjacency = Adjacency(1.0, "its gradient", constant=True)
    near, far = Standpoint(0, (1, 3)), Standpoint(0, (3,))
    states = simulation(ClaimsByDistance(ROUNDS, Geometric(0.4, 0.97), Constant(0.5), Clip(1.0)))
    whole, one, other = (states.claim(adjacency, ROUNDS, 0.0, at) for at in (None, near, far))
    assert (whole.standpoint, one.standpoint) == (None, near)
    assert one.epsilon == whole.epsilon == 3 * other.epsilon
    assert simulation(descent()).claim(adjacency, ROUNDS, 0.0, near) is None


@dataclass(frozen=True)
class Leaves(Algorithm):
    """Agent 0 is done before its last exchange."""

    async def run(self, node: Node) -> None:
        for k in range(3):
            if not (k == 2 and node.id == 0):
                await node.exchange(x=node.zeros())


def test_who_returned_too_early_is_named_where_others_wait():
    with pytest.raises(DeadlockError, match=r"agent 0 has returned from run\(\);\nagent 1 waits for exchange 2 from"):
        simulation(Leaves()).run()
