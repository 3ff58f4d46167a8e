"""The receiver of an authenticated link: every packet once, whatever its order, and nothing that was altered."""

from collections.abc import Iterable

from hypothesis import given
from hypothesis import strategies as st

from netsim.adversary import Adversary
from netsim.network.links import LinkLaw
from netsim.network.network import WINDOW, Guard
from netsim.transcript.message import TAG_BYTES, Tagged
from tests.netsim.network.intercepted import descent, estimates, message


def admitted(numbers: Iterable[int]) -> list[bool]:
    """Of packets with these numbers, which a new guard hands on."""
    let_in: list[object] = []
    guard, found = Guard(Counting(), let_in.append), list[bool]()
    for number in numbers:
        before = len(let_in)
        guard.check(Tagged(message(0), number))
        found.append(len(let_in) > before)
    return found


@given(st.lists(st.integers(0, 3 * WINDOW), max_size=200))
def test_the_window_admits_what_a_set_would_but_for_what_is_too_old(numbers):
    seen = set()
    for number, new in zip(numbers, admitted(numbers), strict=True):
        assert new == (number not in seen and number > max(seen, default=-1) - WINDOW)
        seen |= {number} if new else set()


def test_numbers_in_order_are_all_admitted_and_none_twice():
    assert admitted([*range(5 * WINDOW), *range(5 * WINDOW)]) == [True] * 5 * WINDOW + [False] * 5 * WINDOW


def test_a_forged_packet_does_not_use_up_its_number():
    """Who alters a packet must not keep the genuine one, delayed, from being let in."""
    wire, let_in = Counting(), []
    guard = Guard(wire, let_in.append)
    guard.check(Tagged(message(0), 0, genuine=False))
    guard.check(Tagged(genuine := message(0), 0))
    guard.check(Tagged(message(0), 0))
    assert let_in == [genuine]
    assert wire.rejected == 2


class Counting:
    """What a guard needs of a wire."""

    rejected = 0


def test_a_tag_costs_sixteen_bytes_a_packet_and_nothing_else():
    honest, tagged = descent(adversaries=(Adversary(),)), descent(LinkLaw(authenticated=True), (Adversary(),))
    assert [r._replace(values={}) for r in honest.views[0].transcript] == [
        r._replace(values={}, size=r.size - TAG_BYTES) for r in tagged.views[0].transcript
    ]
    assert estimates(honest) == estimates(tagged)
    assert tagged.traffic["bytes_sent"] == honest.traffic["bytes_sent"] + TAG_BYTES * honest.traffic["packets_sent"]
    assert tagged.rejected == 0
    assert tagged.outside_model is None
