"""Every field that no noise protects is listed: which, where it went, how much it tells, and why."""

import math
from dataclasses import replace

import numpy as np
import pytest

from attacks.audit.loss.wire_fields import UnprotectedField
from netsim.algorithms import GradientTracking, PrivateGradientDescent, Recal
from netsim.algorithms.planted_faults import FAULTS, OneScalar, SecondMessage, SentBefore
from netsim.schedules import Constant
from tests.attacks import auditing
from tests.attacks.auditing import audited, quadratic_world

BUDGET = {"rounds": 3, "step": 0.2, "scale": 0.8, "bound": 0.5}


def explained(algorithm, replicas=12, agents=3, world=0):
    return auditing.explained(quadratic_world(algorithm, agents), replicas, world)


def fields(algorithm, **how):
    return explained(algorithm, **how).details.uncovered


@pytest.mark.parametrize(("fault", "name"), [(SentBefore, "monitored"), (SecondMessage, "z")])
def test_a_planted_message_is_named_with_its_path(fault, name):
    (found,) = fields(fault(**BUDGET))
    assert (found.name, found.cause, found.agent) == (name, "value", 1)
    assert found.links == ((1, 0), (1, 2))
    assert found.path == f"1→0, 1→2: field '{name}' of exchange {found.number}"
    assert found.share == 1
    assert found.messages == (2 if name == "monitored" else 3)  # x⁰ is public, and so is what is sent of it
    assert "it carries the agent's own gradient" in found.reason
    assert "as clipping makes them" in found.reason


@pytest.mark.parametrize("fault", [SentBefore, SecondMessage])
def test_the_sound_twin_has_none(fault):
    assert fields(fault(**BUDGET, sound=True)) == ()


@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.__name__)
def test_the_first_of_the_list_is_the_one_that_the_verdict_names(fault):
    """And where nothing is uncovered the list is empty."""
    one = explained(fault(**BUDGET))
    listed = one.details.uncovered
    named = [u for u in (one.uncovered, one.inexplicable) if u is not None]
    assert bool(listed) == bool(named)
    if named:
        first = min(named, key=lambda u: u.message)
        assert (listed[0].message, listed[0].activation) == (first.message, first.activation)
        assert first.name in ("", listed[0].name)


def test_an_exact_step_is_recognized_with_its_size():
    """x¹ = Wx⁰ − 0.2∇f(x⁰): the worlds differ by −0.2 times the difference of their gradients, ‖·‖∞ = 0.05."""
    (found,) = fields(PrivateGradientDescent(3, Constant(0.2)))
    assert (found.message, found.activation, found.number) == (1, 2, 1)
    assert "−0.2 times the difference of the gradients" in found.reason
    _, pair = quadratic_world(PrivateGradientDescent(3, Constant(0.2)))
    zero = np.zeros((1, 4))
    one, two = (h.gradient(zero) for h in pair.hypotheses)
    first = fields(PrivateGradientDescent(2, Constant(0.2)))[0]
    assert first.difference == pytest.approx(0.2 * float(np.max(np.abs(one - two))), rel=1e-9)
    assert (found.messages, first.messages) == (2, 1)
    assert found.difference >= first.difference  # the largest of both
    assert "0.05" not in found.reason + first.reason  # and the only number of its kind in a row


def test_a_sum_of_gradients_is_not_called_one():
    """In the second round of tracking y is a sum of several gradients; what is named is the first message."""
    names = {one.name: one for one in fields(GradientTracking(4, 0.1))}
    assert len(names) == 2  # what is tracked, and the estimate
    assert all(one.share == 1 and one.links == ((1, 0), (1, 2)) for one in names.values())
    assert "own gradient" in min(names.values(), key=lambda one: one.message).reason


def test_direct_messages_have_the_links_they_took():
    """A baton goes to one neighbor at a time, and over both links in all."""
    found = fields(Recal(step=0.5, per_agent=12))
    assert {one.name for one in found} == {"u", "x"}
    assert all(one.kind == "direct" and one.links == ((1, 0), (1, 2)) and one.messages > 1 for one in found)


def test_what_holds_only_for_who_is_granted_releases_is_marked():
    """One number of noise covers a vector: who knows it knows the rest, and on the wire no noise explains it."""
    value, noise = fields(OneScalar(**BUDGET))
    assert (value.cause, value.granted) == ("value", True)
    assert (noise.cause, noise.granted, noise.difference) == ("too little noise", False, None)
    assert value.name == noise.name == "x"


def test_samples_are_pooled():
    (a,) = fields(SentBefore(**BUDGET), replicas=12)
    (b,) = fields(SentBefore(**BUDGET), replicas=4, world=1)
    (both,) = UnprotectedField.pooled([((a,), 12), ((b,), 4), ((), 16)])
    assert (both.distinguishing, both.transcripts, both.share) == (16, 32, 0.5)
    assert both.difference == max(a.difference, b.difference)
    assert both.messages == a.messages
    assert UnprotectedField.pooled([((), 5)]) == ()


def test_an_audit_lists_them_of_both_worlds():
    found = audited(SentBefore(**BUDGET), 1.0, 0.0, trials=40)
    (listed,) = found.loss_breakdown.uncovered
    assert (listed.transcripts, listed.distinguishing) == (80, 80)
    assert listed.activation == found.uncovered.activation == found.first_violation
    assert math.isinf(found.epsilon_exact)


def test_each_release_has_the_place_of_the_message_that_carries_it():
    found = explained(PrivateGradientDescent(3, Constant(0.2), Constant(0.3)))
    assert len(found.details.released) > 1
    for one in found.details.released:
        (carrier,) = one.carriers
        assert (one.agent, one.activation) == (1, found.dates[carrier.message])
        assert one.links == ((1, 0), (1, 2))
        assert one.place("round") == f"'x' of exchange {carrier.number} (round {one.activation})"


def test_a_release_s_place_in_words():
    shown, place = explained(PrivateGradientDescent(2, Constant(0.2), Constant(0.3))).details.released[0], "exchange"
    hidden = replace(shown, carriers=(), inside=replace(shown.carriers[0], name="y", number=7))
    assert hidden.place("round") == f"inside 'y' of {place} 7 (round {shown.activation})"
    assert replace(hidden, inside=None).place("activation") == f"not on the wire (activation {shown.activation})"
