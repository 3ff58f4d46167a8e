"""Replaying a live agent: to the last bit under the truth, and what a wrong hypothesis shows."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.traffic.protocol import Protocol
from netsim.algorithms import Algorithm, Clip, PrivateGradientDescent, Recal, Stopping
from netsim.errors import ProtocolError, TranscriptError
from netsim.mechanisms import Gaussian, Laplace
from netsim.network.links import LinkLaw
from netsim.problems import L1, Problem
from netsim.schedules import Constant
from tests.attacks.auditing import record_pair, replayed
from tests.worlds import READINGS, ROUGH, digits_problem, dp_recal, synthetic_problem, tapped_ring


def private_descent():
    return PrivateGradientDescent(15, Constant(0.3), Constant(0.1), Clip(0.2))


@pytest.mark.few(4)
@pytest.mark.parametrize("law", [LinkLaw(), ROUGH], ids=["perfect", "rough"])
@pytest.mark.parametrize("reading", READINGS)
def test_truth_reproduces_every_value_to_the_last_bit(reading, law):
    problem = digits_problem()
    run = tapped_ring(problem, dp_recal(problem, reading, 40), links=law, replicas=7, seed=3).run()
    found = replayed(run, granted=True)
    assert found.identical
    assert found.sendings[-1].activation == run.activations[1] > 3
    sent = [row for row in run.views[0].transcript.at_node(1) if row.event == "sent"]
    values = sum(len(row.values) for row in sent)
    on_wire = sum(release.sent_in is not None for release in found.releases)
    assert len(found.comparisons) + on_wire == values
    for release, made in zip(found.releases, run.truth.releases[1], strict=True):
        np.testing.assert_array_equal(release.observed, made)


def test_recal_and_descent_are_reproduced_too():
    for algorithm in (Recal(step=0.5, activations=80), private_descent()):
        run = tapped_ring(synthetic_problem(), algorithm, links=ROUGH, replicas=3).run()
        found = replayed(run)
        assert found.identical
        assert len(found.comparisons) + len(found.releases) > 10


def test_a_wrong_hypothesis_shows_where_nothing_covers():
    """As deployable: u is covered by noise, x is not from the second activation on."""
    problem = digits_problem()
    run = tapped_ring(problem, dp_recal(problem, "as_deployable"), replicas=2).run()
    found = replayed(run, record_pair(problem).hypotheses[1])
    telling = [c for c in found.comparisons if c.visible.any()]
    assert {c.name for c in telling} == {"x"}
    assert found.sendings[telling[0].message].activation == 2
    assert not found.identical


@pytest.mark.parametrize("reading", ["fresh_noise", "sent_state"])
def test_the_repairs_leave_nothing_uncovered(reading):
    problem = digits_problem()
    run = tapped_ring(problem, dp_recal(problem, reading), replicas=2).run()
    found = replayed(run, record_pair(problem).hypotheses[1], granted=True)
    assert found.identical


def test_a_release_off_the_wire_has_to_be_granted():
    """With ℓ1, x⁺ is only a function of the released prox argument."""
    problem = digits_problem()
    sparse = Problem(problem.objectives, L1(0.01), "logistic")
    run = tapped_ring(sparse, dp_recal(problem, "fresh_noise"), replicas=2).run()
    with pytest.raises(TranscriptError, match="not on the wire"):
        replayed(run)
    found = replayed(run, granted=True)
    assert found.identical
    assert [r.sent_in for r in found.releases[:4]] == [None, 0, None, 1]


def test_it_needs_a_tap_at_the_agent():
    run = tapped_ring(synthetic_problem(), private_descent(), node=2).run()
    with pytest.raises(TranscriptError, match="no tap sat at agent 1"):
        replayed(run)


def test_wrong_coins_are_noticed():
    found = replayed(tapped_ring(synthetic_problem(), Recal(step=0.5, activations=80)).run(), known=2)
    assert not found.identical
    assert found.departure is not None
    assert re.search(r"sends direct message \d+ to agent \d, not to agent \d", found.departure.what)


def test_it_stops_where_noise_drowns_in_rounding():
    algorithm = replace(private_descent(), scale=lambda k: 1e-1 if k < 6 else 1e-14)
    found = replayed(tapped_ring(synthetic_problem(), algorithm).run())
    assert found.unreliable_from == 7
    assert [bool(r.judged[0]) for r in found.releases] == [True] * 6 + [False] * 9


@dataclass(frozen=True)
class Once(Algorithm):
    """One exchange of a value with noise."""

    value: float
    scale: float

    async def run(self, node):
        noisy = node.privatize(node.zeros() + self.value, Laplace(self.scale))
        await node.exchange(x=noisy)
        node.estimate(noisy)


@pytest.mark.parametrize("value", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize(("ratio", "drowns"), [(1e-9, False), (1e-11, True)])
def test_noise_drowns_by_its_ratio_to_what_was_observed(value, ratio, drowns):
    found = replayed(tapped_ring(synthetic_problem(), Once(value, ratio * value)).run())
    assert (found.unreliable_from is not None) == drowns


class Steps(Algorithm):
    """Two proximal steps: of the own objective alone, and with the public regularizer."""

    async def run(self, node):
        x = await node.proximal(node.zeros(), 0.5)
        x = await node.proximal(x, 0.5, regularized=True)
        await node.exchange(x=x)
        node.estimate(x)


def test_proximal_steps_are_with_the_regularizer_where_that_is_asked_and_not_elsewhere():
    problem = Problem(digits_problem().objectives, L1(0.01), "logistic")
    run = tapped_ring(problem, Steps()).run()
    assert replayed(run).identical


class TwoLaws(Algorithm):
    """Both mechanisms in one round, the first one sent a round later."""

    async def run(self, node):
        x = held = node.zeros()
        for _ in range(6):
            told = node.privatize(x, Laplace(0.5))
            heard = await node.exchange(x=held, y=node.privatize(2 * x, Gaussian(0.3)))
            held = told
            x = heard.mix("y") - 0.1 * await node.gradient(x)
            node.estimate(x)


def test_releases_are_followed_to_where_they_are_sent():
    run = tapped_ring(synthetic_problem(), TwoLaws(), replicas=3).run()
    found = replayed(run, granted=True)
    assert found.identical
    assert [type(r.mechanism).__name__ for r in found.releases] == ["Laplace", "Gaussian"] * 6
    assert [r.sent_in for r in found.releases] == [1, 0, 2, 1, 3, 2, 4, 3, 5, 4, None, 5]


def test_recovered_noise_is_the_noise_that_was_added():
    found = replayed(tapped_ring(synthetic_problem(), private_descent(), replicas=400).run())
    noise = np.array([r.observed - r.value for r in found.releases])
    assert np.mean(np.abs(noise)) == pytest.approx(0.1, rel=0.02)  # E|Lap(b)| = b; 15·400·6 draws


@dataclass(frozen=True)
class Tries(Algorithm):
    """A walk whose agents go on after an error, as servers do."""

    caught: type[BaseException]

    async def run(self, node):
        token = node.zeros() if node.id == 0 else None
        while True:
            if token is None:
                try:
                    token = (await node.receive()).values["x"]
                except self.caught:
                    continue
            token = token - 0.1 * node.privatize(await node.gradient(token), Laplace(1.0))
            node.send((node.id + 1) % node.agents, x=token)
            node.estimate(token)
            token = None

    def stopping(self):
        return Stopping(per_agent=3)


def test_code_that_catches_errors_does_not_catch_the_end_of_its_record():
    run = tapped_ring(synthetic_problem(), Tries(Exception)).run()
    assert replayed(run, granted=True).identical
    assert Protocol.of(run.simulation.public()).walk


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_code_that_catches_all_and_goes_on_is_named():
    run = tapped_ring(synthetic_problem(), Tries(BaseException)).run()
    with pytest.raises(ProtocolError, match=r"agent 1's code catches what ends it .* without end"):
        replayed(run, granted=True)
