"""Witnesses as a library makes them: cut out, written as plain data, read again, replayed to the same bits."""

import json
import math
import struct
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from attacks.audit import witness_values as plain
from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.verdict import exceeds
from attacks.audit.witness import best, candidate, find, itemize
from attacks.audit.witness_values import Witness
from attacks.replay import Hypothesis
from netsim import topology
from netsim.algorithms import PrivateGradientDescent, RAdmm, SecretSharing
from netsim.algorithms.planted_faults import (
    FAULTS,
    HalfNoise,
    OneScalar,
    ReusedSeed,
    SecondMessage,
    SentBefore,
    WrongClip,
)
from netsim.claims import Adjacency, Clip
from netsim.codecs import Float16, RandomK
from netsim.errors import PrivacyError, TranscriptError
from netsim.schedules import Constant, Geometric
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import quadratic_world, record_pair, turned_world
from tests.worlds import ROUGH, changed, digits_problem, dp_recal, synthetic_problem

CHUNK = 30
ANYTHING = Adjacency(float("inf"), "all data of one agent replaced")
BARE = (OneScalar, SentBefore, ReusedSeed, SecondMessage)


def walk(reading="as_deployable"):
    """The baton of DP-RECAL on links that lose a fifth of the packets and repeat them."""
    problem = digits_problem()
    return Simulation(problem, topology.ring(8), dp_recal(problem, reading, 12), NetworkSettings(ROUGH)), record_pair(
        problem
    )


def descent(codec):
    simulation, pair = quadratic_world(PrivateGradientDescent(5, Constant(0.3), Constant(1.0), Clip(0.5)))
    return changed(simulation, codec=codec), pair


def perturbed():
    problem = synthetic_problem(3, 2)
    algorithm = RAdmm(5, penalty=0.3, linearization=problem.smoothness, scale=Geometric(0.3, 0.9))
    return Simulation(problem, topology.ring(3), algorithm), record_pair(problem)


def shared():
    problem = synthetic_problem(4, 3)
    simulation = Simulation(problem, topology.complete(4), SecretSharing(3, Constant(0.3), Constant(0.3)))
    return simulation, record_pair(problem)


def planted(fault, sound=False):
    """Agent 1's gradient is clipped in both worlds, in opposite directions."""
    algorithm = fault(rounds=4, step=0.2, scale=0.8, bound=0.5, sound=sound)
    return turned_world(algorithm, 9, fault.shows)


KINDS = {
    "walk": walk, "float16": lambda: descent(Float16()), "random_k": lambda: descent(RandomK(2)),
    "perturbed": perturbed, "shared": shared, "half_noise": lambda: planted(HalfNoise),
    "one_scalar": lambda: planted(OneScalar), "reused_seed": lambda: planted(ReusedSeed),
}  # fmt: skip


@cache
def world(kind):
    """How it is simulated, the pair, and what the first chunk of either world says."""
    simulation, pair = KINDS[kind]() if isinstance(kind, str) else planted(*kind)
    simulate = worlds(simulation, pair.agent, pair.hypotheses[1], CHUNK, holders=())
    ways = (pair.hypotheses, pair.hypotheses[::-1])
    return simulation, simulate, pair, [compare_worlds(simulate(w, 0), pair.agent, *ways[w]) for w in (0, 1)]


def witness_of(kind):
    """The witness and its account, and the claim at the rounds that were run."""
    simulation, simulate, pair, explained = world(kind)
    return *find(simulate, pair, best([e] for e in explained).place), simulation.claim(ANYTHING, 4, 1e-3)


# ── to plain data and back ──────────────────────────────────────────────────────────────────────────────
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("side", [0, 1])
def test_written_and_read_a_transcript_is_priced_to_the_same_bits(kind, side):
    """As it was in its chunk, replayed together with all others."""
    _, simulate, pair, explained = world(kind)
    chunk, whole = explained[side], simulate(side, 0)
    public = whole.view.public
    for r in (0, 7):
        text = json.dumps(Witness.of(whole.replica(r), pair.agent).as_plain(), allow_nan=False)
        read = Witness.of_plain(pair.agent, json.loads(text))
        assert json.dumps(read.as_plain()) == text
        account = itemize(read.sample(public), pair.agent, pair.hypotheses[side], pair.hypotheses[1 - side])
        assert [item.loss for item in account.items] == chunk.steps[:, r].tolist()
        assert sum(item.counts for item in account.items) == chunk.counted(chunk.granted_from)
        first = chunk.on_wire(chunk.granted_from).leaked[r]
        assert (account.uncovered.message if account.uncovered else math.inf) == first
        assert account.identical


def test_what_is_stored_is_what_a_replay_needs():
    """A release that is on the wire is named, one that is not is stored; a dither only where a codec draws."""
    walked, coded = (witness_of(kind)[0].as_plain() for kind in ("walk", "random_k"))
    assert all(release.keys() == {"message", "field"} for release in walked["releases"])
    assert all(isinstance(release, list) for release in coded["releases"])
    assert walked["dither"] == []
    sent = [row for row in coded["rows"] if row["event"] == "sent"]
    assert len(coded["dither"]) == sum(len(row["values"]) for row in sent) > 0


def test_a_dither_of_too_few_values_is_noticed():
    _, simulate, pair, _ = world("random_k")
    sample = simulate(0, 0).replica(0)
    short = replace(Witness.of(sample, 1), dither=Witness.of(sample, 1).dither[:2])
    with pytest.raises(TranscriptError, match="a dither of 2 values, and more are sent"):
        itemize(short.sample(sample.view.public), 1, *pair.hypotheses)


@given(st.integers(0, 2**64 - 1))
def test_every_float64_is_read_as_it_was_written(pattern):
    value = struct.unpack(">d", pattern.to_bytes(8, "big"))[0]
    read = plain.to_number(json.loads(json.dumps(plain.number(value), allow_nan=False)), "x")
    assert struct.pack(">d", read) == pattern.to_bytes(8, "big")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda t: t.pop("rows"), "rows: missing"),
        (lambda t: t.update(releases=3), "releases = 3: not a list"),
        (lambda t: t["rows"][1].pop("time"), r"rows\[1\].time: missing"),
        (lambda t: t["rows"][0].update(time="soon"), r"rows\[0\].time = 'soon': not a number"),
        (lambda t: t["rows"][0].update(time=10**400), r"rows\[0\].time = 1000"),
        (lambda t: t["rows"][0].update(event="air"), "not sent or received or closed"),
        (lambda t: t["rows"][0].update(sender=0), "not at the door of agent 1"),
        (lambda t: t["rows"][0].update(number=1.5), "number = 1.5: not a whole number"),
        (lambda t: t["rows"][0].update(values=[1.0]), "values = .*: not a mapping"),
        (lambda t: t["rows"][0]["values"].update(x=[True] * 9), r"values.x\[0\] = true: not a number"),
        (lambda t: t["releases"].__setitem__(0, {"message": 99, "field": "x"}), "not a field of a message"),
        (lambda t: t["coins"].update(generator="MT19937"), "not PCG64"),
        (lambda t: t["coins"].update(state="0xz"), "not a hexadecimal number"),
        (lambda t: t["coins"].update(uinteger=-1), "not 32 bits"),
    ],
)
def test_what_is_no_transcript_is_named(change, message):
    tree = json.loads(json.dumps(witness_of("half_noise")[0].as_plain()))
    change(tree)
    with pytest.raises(TranscriptError, match=message):
        Witness.of_plain(1, tree)


def test_vectors_of_another_problem_and_agents_that_are_not_there_are_refused():
    recorded, public = witness_of("half_noise")[0], world("half_noise")[1](0, 0).view.public
    row = recorded.rows[0]
    for other, message in (
        (row._replace(values={"x": np.zeros((1, 3))}), "a vector of 3 numbers, where points have 9"),
        (row._replace(receiver=7), "there are 3 agents"),
    ):
        with pytest.raises(TranscriptError, match=message):
            replace(recorded, rows=(other, *recorded.rows[1:])).sample(public)


# ── which one, and what it shows ────────────────────────────────────────────────────────────────────────
@pytest.mark.few(1)
@pytest.mark.parametrize("kind", ["half_noise", "walk", "float16"])
def test_the_candidate_is_the_best_of_its_chunk(kind):
    """Oracle: each transcript alone."""
    _, simulate, pair, explained = world(kind)
    found = candidate(explained[0], 0, 0)
    alone = [itemize(simulate(0, 0).replica(r), pair.agent, *pair.hypotheses) for r in range(CHUNK)]
    assert found.place[:2] == (0, 0)
    if alone[0].uncovered is None:
        assert found.loss == pytest.approx(max(a.total for a in alone), rel=1e-12)
        assert alone[found.place.replica].total == pytest.approx(found.loss, rel=1e-12)
    else:
        assert found.message == min(a.uncovered.message for a in alone)


@pytest.mark.few(1)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_fault_has_a_witness_and_its_twin_has_none(fault):
    """All but one claim δ = 0; at δ > 0 a loss, however large, is no witness."""
    _, account, claim = witness_of((fault, False))
    if fault is WrongClip:
        assert claim.delta > 0
        assert account.proves(claim) is None
    else:
        assert account.proves(claim) == ("unprotected" if fault in BARE else "refuted")
    _, twin, claim = witness_of((fault, True))
    assert twin.proves(claim) is None
    assert math.isfinite(twin.total)


def test_an_uncovered_message_is_shown_whatever_delta_is():
    account, claim = witness_of("walk")[1], witness_of("walk")[2]
    assert claim.delta > 0
    assert account.total == math.inf
    assert account.proves(claim) == "unprotected"
    assert (account.uncovered.name, account.uncovered.activation) == ("x", 2)


def test_the_first_release_above_the_claim():
    """Three steps of at most 2·2Cη/b = 0.5 each, against a claim of 0.75."""
    _, account, claim = witness_of("half_noise")
    running = account.running()
    first = account.first_above(claim.epsilon)
    assert claim.epsilon == pytest.approx(3 * 2 * 0.5 * 0.2 / 0.8)
    assert exceeds(running[first], claim.epsilon)
    assert not any(exceeds(loss, claim.epsilon) for loss in running[:first])
    assert account.first_above(math.inf) is None


def test_from_the_uncovered_message_on_all_sums_are_infinite():
    account = witness_of("walk")[1]
    bare, before = account.uncovered.message, account.before_uncovered
    assert 0 < before < len(account.items)
    assert [item.message < bare for item in account.items] == [t < before for t in range(len(account.items))]
    assert [math.isinf(loss) for loss in account.running()] == [t >= before for t in range(len(account.items))]
    (to,) = account.uncovered_to
    assert [link for link, loss in account.by_link().items() if math.isinf(loss)] == [(account.agent, to)]
    assert account.by_activation()[account.uncovered.activation] == math.inf
    assert math.isfinite(account.by_activation()[1])


# ── the account ─────────────────────────────────────────────────────────────────────────────────────────
def test_the_losses_are_those_of_the_laplace_law_by_hand():
    recorded, account, _ = witness_of("half_noise")
    sent = [row for row in recorded.rows if row.event == "sent"]
    for item in account.items:
        assert (item.law, item.scale, item.receivers) == ("Laplace", 0.4, (0, 2))
        assert item.message == item.release == item.activation - 1
        assert abs(item.loss) <= item.l1 / item.scale + 1e-12
        assert item.l2 <= item.l1 <= 3 * item.l2 + 1e-12
    assert account.items[0].l1 == 0
    assert 0.99 * 0.2 < account.items[1].l1 <= 0.2  # 2Cη, both gradients clipped
    assert len(sent) == len(account.items)


def test_sums_over_activations_and_links():
    """A broadcast tells all it tells on each link; a share goes to one neighbor."""
    account = witness_of("half_noise")[1]
    assert sum(account.by_activation().values()) == pytest.approx(account.total)
    assert account.by_link() == {(1, j): pytest.approx(account.total) for j in (0, 2)}
    walked = replace(witness_of("walk")[1], uncovered=None, uncovered_to=())
    assert sum(walked.by_link().values()) == pytest.approx(walked.running()[-1]) == walked.total
    granted = witness_of("shared")[1]
    assert all(item.counts for item in granted.items)  # a sum and the shares, all at the door, say what the state was
    assert {item.receivers for item in granted.items if item.law == "UniformModulo"} == {(0,), (2,), (3,)}


def test_perturbed_minimizers_are_told_in_gradients():
    recorded, account, _ = witness_of("perturbed")
    pair = world("perturbed")[2]
    assert {item.law for item in account.items} == {"Laplace"}
    item = account.items[0]
    here, there = (hypothesis.gradient(recorded.releases[0])[0] for hypothesis in pair.hypotheses)
    assert item.l1 == pytest.approx(float(np.sum(np.abs(here - there))))


def test_differences_name_what_differs_by_more_than_rounding():
    witnessed = witness_of("half_noise")[1].as_plain()
    assert list(plain.differences(witnessed, json.loads(json.dumps(witnessed)))) == []
    near, far, short = (json.loads(json.dumps(witnessed)) for _ in range(3))
    near["releases"][1]["loss"] *= 1 + 1e-12
    far["releases"][1]["loss"] *= 1 + 1e-8
    far["uncovered"] = {"message": 1}
    short["releases"].pop()
    assert list(plain.differences(near, witnessed)) == []
    assert [one.partition(":")[0] for one in plain.differences(far, witnessed)] == ["uncovered", "releases[1].loss"]
    assert "3 entries stored, 4 found" in next(plain.differences(short, witnessed))


@pytest.mark.parametrize("value", ["x" * 100_000, "a word " * 10_000, [1.0] * 10_000, {"x" * 5000: 1}])
def test_differences_repeat_little_of_what_is_in_a_file(value):
    assert [one for one in plain.differences({"loss": value}, {"loss": 1.0}) if len(one) < 500]
    assert [one for one in plain.differences({"x" * 5000: 1.0}, {"x" * 5000: value}) if len(one) < 1000]


# ── another machine ─────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Elsewhere:
    """A hypothesis whose gradients end in other bits."""

    hypothesis: Hypothesis
    relative: float

    def gradient(self, x):
        return self.hypothesis.gradient(x) * (1 + self.relative)


def test_last_bits_of_another_machine_change_no_verdict():
    recorded, account, claim = witness_of("walk")
    _, simulate, pair, _ = world("walk")
    side = best([e] for e in world("walk")[3]).place.world
    sample = recorded.sample(simulate(side, 0).view.public)
    ways = [Elsewhere(h, 2.0**-52) for h in (pair.hypotheses[side], pair.hypotheses[1 - side])]
    with pytest.raises(PrivacyError, match="sends another"):
        itemize(sample, 1, *ways)
    found = itemize(sample, 1, *ways, to_the_bit=False)
    assert not found.identical
    assert found.proves(claim) == "unprotected"
    assert found.uncovered.message == account.uncovered.message
    np.testing.assert_allclose([i.loss for i in found.items], [i.loss for i in account.items], atol=1e-9)
    with pytest.raises(PrivacyError, match="sends another"):
        itemize(sample, 1, *(Elsewhere(one.hypothesis, 1e-6) for one in ways), to_the_bit=False)


def test_coins_are_drawn_from_what_is_stored():
    """The state of the bit generator, not the name of a stream."""
    recorded = witness_of("walk")[0]
    first, second = (recorded.sample(world("walk")[1](0, 0).view.public).coins() for _ in range(2))
    assert np.array_equal(first.random(5), second.random(5))
    with pytest.raises(TranscriptError, match="coins of a MT19937 cannot be stored"):
        plain.Coins.of(np.random.Generator(np.random.MT19937(0)))
