"""What sizes tell, what the attack may look at, and what it refuses."""

from dataclasses import replace

import pytest

from attacks.traffic import analysed
from netsim.adversary import Adversary
from netsim.algorithms import RwAdmm
from netsim.codecs import FixedPoint, TopK
from netsim.errors import AttackError
from netsim.network.laws import RandomOutages, UniformDelay
from netsim.network.links import LinkLaw
from netsim.network.radio import Radio
from netsim.readers.live import Downtime
from netsim.settings import NetworkSettings
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.traffic.worlds import ACKNOWLEDGED, EARS, LOSSY, PROBLEM, ROUNDS, SEALED, WALK, listened


@pytest.mark.parametrize("law", [SEALED, LOSSY])
@pytest.mark.parametrize("algorithm", [WALK, ROUNDS])
@pytest.mark.parametrize("header", [20, 33])
def test_bytes_tell_the_dimension(law, algorithm, header):
    found, score, _, _ = listened(algorithm, law, header_bytes=header)
    assert found.dimension.value == score.dimension == 6


def test_a_codec_that_rounds_bytes_up_leaves_several():
    found, _, _, _ = listened(ROUNDS, SEALED, codec=FixedPoint(3, 10.0))
    assert (found.dimension.low, found.dimension.high) == (6, 8)  # 3 bits: 18 to 24 of them are 3 bytes


def test_one_that_keeps_k_coordinates_says_little():
    found, score, _, _ = listened(ROUNDS, SEALED, codec=TopK(2))
    assert found.dimension.low <= score.dimension <= found.dimension.high
    assert found.dimension.value is None


def test_nothing_but_times_sizes_and_ends_is_looked_at():
    _, _, run, _ = listened(WALK, LOSSY)
    view = run.views[0]
    blind = tuple(row._replace(number=-7, sequence=-7, attempt=-7, values={}) for row in view.transcript)
    other = replace(view, transcript=type(view.transcript)(blind, 1))
    assert analysed(other) == analysed(view)


def test_a_clear_link_tells_times_as_a_sealed_one():
    clear, _, _, _ = listened(WALK, replace(LOSSY, encrypted=False))
    assert clear.activity.complete
    assert clear.dimension.refused


def test_acknowledgements_of_the_size_of_messages_confuse():
    found, score, _, _ = listened(ROUNDS, ACKNOWLEDGED, header_bytes=0, codec=FixedPoint(26, 10.0))
    # 26 bits by 6 are 20 bytes, as an acknowledgement
    assert "of 1 size were observed" in found.activity.refused
    assert (score.events_found, score.repeated.estimated, score.computing.estimated) == (0, 0, 0)


def test_radio_is_refused_but_for_sizes():
    law = LinkLaw(UniformDelay(0.001, 0.002), encrypted=True, bandwidth=1e6)
    found, score, _, _ = listened(WALK, law, medium=Radio(1))
    assert "radio" in found.activity.refused
    assert found.computing.refused
    assert found.links.repeats_refused
    assert found.dimension.value == score.dimension


def test_outages_are_refused():
    down = {1: Downtime(RandomOutages(2.0, 0.2))}
    found, score, _, _ = listened(WALK, ACKNOWLEDGED, downtimes=down)
    assert "down" in found.activity.refused
    assert score.events_wrong == 0


def test_other_protocols_and_deaf_taps_are_refused():
    with pytest.raises(AttackError, match="no packet was observed"):
        listened(WALK, SEALED, Adversary(links=(), nodes=(1,)))
    walker = RwAdmm(penalty=2.0, activations=20, activation="walk")
    run = Simulation(PROBLEM, ring(5), walker, NetworkSettings(SEALED), adversaries=(EARS,)).run()
    with pytest.raises(AttackError, match="more than one token"):
        analysed(run.views[0])
