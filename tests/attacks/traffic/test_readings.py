"""All readings of one agent's packets."""

from attacks.traffic.exchanges import readings, settled

OFTEN = tuple(0.1 * k + 0.05 for k in range(80))
TWICE = (0.0, 1.0, 2.0), (0.0, 1.0, 2.0)


def read(*data, total=2, back=OFTEN, arrived=None):
    return readings(data, [back] * len(data), arrived, 9.0, total, None)


def test_a_packet_on_one_link_alone_is_a_repetition():
    assert read((0.0, 1.3, 2.2), (0.0, 0.4, 1.3, 2.2), total=3) == {0.4: (0.0, 1.3, 2.2)}


def test_repetitions_of_all_links_may_be_exchanges():
    """T = 1: the exchange that began at 1 is repeated at 2, or the one that began at 0 is repeated at 1."""
    assert read(*TWICE) == {1.0: None, 2.0: (0.0, 1.0)}


def test_an_acknowledgement_that_is_missing_decides():
    """Nothing comes back after 2: an exchange that began then would be repeated."""
    found = read(*TWICE, back=(0.5, 1.5))
    assert found == {1.0: (0.0, 1.0), 2.0: (0.0, 1.0)}


def test_what_an_agent_waits_for_decides():
    """The first message of each neighbor came at 1.5: no second exchange before."""
    assert read(*TWICE, arrived=[(1.5,), (1.2,)]) == {1.0: (0.0, 2.0)}


def test_a_message_is_settled_once_it_is_not_repeated_when_due():
    assert settled((0.0, 1.0, 3.0), (0.0,), 1.0, 9.0) == 1  # not at 7
    assert settled((0.0, 1.0, 3.0), (0.0,), 1.0, 6.0) == 0  # 7 is not over
    assert settled((0.0, 2.5), (0.0, 2.5), 2.0, 4.0) == 1
