"""The probe: an algorithm's own code inverts it. Laws, exact recovery, and a covariance that is the errors'."""

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.inference import infer, probed, through_probe
from attacks.probe import probe_network
from attacks.probe.linear import solve
from attacks.score import score_gradients
from netsim.adversary import Adversary, Around
from netsim.algorithms import Algorithm, DiaDSP, Dmsp, PrivateGradientDescent, Walkman
from netsim.arrays import Array
from netsim.claims import Clip
from netsim.codecs import Float32
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, UniformModulo
from netsim.models.model import Ball
from netsim.node import Node, choose, subset
from netsim.problems import L1
from netsim.schedules import Constant, Geometric
from tests.attacks.probe.joint_worlds import Proximal, Shifted
from tests.worlds import heard, synthetic_problem

DOOR = Adversary("door", nodes=(1,))


def ran(algorithm: Algorithm, adversary: Adversary = DOOR, replicas: int = 3, **options):
    return heard(algorithm, adversary, replicas=replicas, **options)


def errors(found, run) -> Array:
    """Estimate minus gradient, (queries, replicas, dimension)."""
    asked = [q.gradient for q in run.truth.queries[found.agent]]
    return found.gradients - np.array(asked[: len(found.gradients)])


@dataclass(frozen=True)
class Mixed(Algorithm):
    """Two exchanges a round; the noise of the first is hidden in a sum, so that only the sum is on the wire."""

    rounds: int = 6
    scale: float = 0.0
    spoiled: bool = False

    async def run(self, node: Node) -> None:
        x = v = node.zeros()
        for k in range(self.rounds):
            gradient = await node.gradient(x)
            v = 0.5 * v + node.privatize(gradient, Gaussian(self.scale))
            heard = await node.exchange(sum=x - 0.1 * v)
            told = await node.exchange(direction=(v * v if self.spoiled else v) + 0.01 * k)
            x = heard.mix("sum") - 0.01 * told.sum("direction")
            node.estimate(x)


class Shares(Algorithm):
    """Sends a share modulo 97 and nothing else, in its second message."""

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        await node.exchange(x=gradient)
        await node.exchange(share=node.privatize(np.rint(gradient), UniformModulo(97)))


class Unseeded(Algorithm):
    """Breaks a rule: its randomness is its own."""

    async def run(self, node: Node) -> None:
        gradient = await node.gradient(node.zeros())
        await node.exchange(x=gradient + np.random.default_rng().standard_normal(gradient.shape))


class Tossed(Algorithm):
    """Private coins choose the batch and the neighbor who is told."""

    async def run(self, node: Node) -> None:
        for _ in range(6):
            batch = sorted(int(k) for k in node.coins.choice(node.records, 2, replace=False))
            gradient = await node.gradient(node.zeros(), batch)
            node.send(choose(node.coins, node.neighbors), g=2 * gradient + 1)
            node.estimate(gradient)


def by_rejection(node: Node) -> None:
    """Two coordinates, drawn until they are two."""
    some = set[int]()
    while len(some) < 2:
        some.add(int(node.coins.integers(node.dimension)))


@dataclass(frozen=True)
class OfTwoCoordinates(Algorithm):
    """Sends what it needs at least two coordinates for."""

    need: Callable[[Node], object]

    async def run(self, node: Node) -> None:
        for _ in range(3):
            gradient = await node.gradient(node.zeros())
            self.need(node)
            await node.exchange(g=2 * gradient + 1)
            node.estimate(gradient)


class TestWithoutNoise:
    def test_values_in_several_messages_a_round(self):
        run = ran(Mixed())
        found = probed(run.views[0], 1)
        assert found.identifiable.all()
        assert np.abs(errors(found, run)).max() < 1e-10
        assert found.residual < 1e-12

    def test_private_coins_are_not_needed(self):
        """Whom it told was seen, and of what batch the gradient is does not matter."""
        run = ran(Tossed())
        receivers = {row.receiver for row in run.views[0].at_node(1) if row.event == "sent"}
        assert receivers == {0, 2}
        found = probed(run.views[0], 1)
        assert found.identifiable.all()
        assert np.abs(errors(found, run)).max() < 1e-12

    @pytest.mark.parametrize("probe", [lambda view: probed(view, 1), lambda view: probe_network(view).agents[1]])
    @pytest.mark.parametrize("need", [
        pytest.param(lambda node: subset(node.coins, node.dimension, 2), id="two of them"),
        pytest.param(lambda node: node.coins.choice(node.dimension, 2, replace=False), id="NumPy's choice"),
        pytest.param(lambda node: node.zeros()[:, 1], id="the second"),
    ])  # fmt: skip
    def test_code_that_needs_two_coordinates_has_them(self, probe, need):
        run = ran(OfTwoCoordinates(need))
        found = probe(run.views[0])
        assert found.identifiable.all()
        assert np.abs(errors(found, run)).max() < 1e-12

    def test_code_that_draws_until_it_has_two_coordinates_ends(self):
        assert probed(ran(OfTwoCoordinates(by_rejection)).views[0], 1).identifiable.all()


class TestWithNoise:
    def test_noise_that_is_never_on_the_wire_by_itself_is_an_unknown_of_known_law(self):
        run = ran(Mixed(scale=0.3), replicas=400)
        found = probed(run.views[0], 1)
        assert found.stddev[:, 0] == pytest.approx(0.3, rel=1e-9)  # v tells gradient + noise, nothing better

    @pytest.mark.parametrize("hidden", [False, True])
    def test_the_mean_of_noise_is_taken_out(self, hidden):
        run = ran(Shifted(hidden=hidden), replicas=600)
        found = probed(run.views[0], 1)
        assert found.identifiable.all()
        sigma = (3.0**2 / 12 + 2 * 0.1**2) ** 0.5
        assert found.stddev == pytest.approx(sigma, rel=1e-9)
        error = errors(found, run)
        assert abs(np.mean(error)) < 5 * sigma / error.size**0.5  # uncorrected it would be 1.5
        assert np.std(error) == pytest.approx(sigma, rel=0.02)


SPARSE = replace(synthetic_problem(), regularizer=L1(0.05))


class TestRefusals:
    @pytest.mark.parametrize(
        ("algorithm", "why", "options"),
        [
            (Shares(), r"agent \d releases a share modulo 97 \(UniformModulo\) .* message 1", {}),
            (Shifted(private_width=True), r"noise agent \d puts on its release 0 depends on (its|the) gradients", {}),
            (Mixed(), "changes what is sent", {"codec": Float32()}),
            (Proximal(rounds=5, regularized=True), "no affine function", {"problem": SPARSE}),
            # the clipped gradient, put back, would be sent as it was: only a little more would not
            (PrivateGradientDescent(6, Constant(0.05), clip=Clip(0.05, "l2")), "no affine function", {}),
            (Dmsp(6, Geometric(0.5, 0.9), Ball(0.01), Constant(0.0)), "no affine function", {}),
        ],
    )
    @pytest.mark.parametrize("probe", [lambda view: probed(view, 1), probe_network])
    def test_of_one_agent_and_of_all(self, probe, algorithm, why, options):
        view = ran(algorithm, replicas=1, **options).views[0]
        with pytest.raises(AttackError, match=why):
            probe(view)

    def test_what_is_not_affine_is_named(self):
        with pytest.raises(AttackError, match="agent 1 sends as 'direction' in its exchange message 1 is no affine"):
            probed(ran(Mixed(spoiled=True)).views[0], 1)

    def test_randomness_that_did_not_come_through_the_node(self):
        with pytest.raises(AttackError, match="agent 1 sends as 'x' in its exchange message 0 is not the same twice"):
            probed(ran(Unseeded()).views[0], 1)

    def test_an_agent_that_was_not_heard(self):
        run = ran(Mixed(), Adversary("door", links=(), nodes=(1,)))
        with pytest.raises(AttackError, match="nothing was observed of agent 3"):
            probed(run.views[0], 3)


class TestLinear:
    def test_against_the_textbook_formula(self):
        rng = np.random.default_rng(1)
        design, sizes = rng.standard_normal((9, 4)), rng.uniform(0.1, 3.0, 9)
        observed = rng.standard_normal((9, 2))
        found = solve(design, np.diag(sizes), observed)
        weights = np.diag(sizes**-2)
        covariance = np.linalg.inv(design.T @ weights @ design)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-10)
        np.testing.assert_allclose(found.estimate, covariance @ design.T @ weights @ observed, rtol=1e-10)

    def test_rows_that_share_their_noise(self):
        rng = np.random.default_rng(2)
        design, noise = rng.standard_normal((6, 2)), rng.standard_normal((6, 9))
        observed = rng.standard_normal((6, 1))
        inverse = np.linalg.inv(noise @ noise.T)
        covariance = np.linalg.inv(design.T @ inverse @ design)
        found = solve(design, noise, observed)
        np.testing.assert_allclose(found.estimate, covariance @ design.T @ inverse @ observed, rtol=1e-8)
        np.testing.assert_allclose(found.covariance, covariance, rtol=1e-8)

    def test_rows_without_noise_hold_exactly_and_what_is_not_seen_is_not_identifiable(self):
        design = np.array([[1.0, 1.0, 0.0, 0.0], [0.0, 1.0, 0.0, 0.0], [0.0, 1.0, 1.0, 1.0]])
        found = solve(design, np.diag([0.0, 2.0, 1.0]), np.array([[5.0], [1.0], [3.0]]))
        assert found.identifiable.tolist() == [True, True, False, False]
        assert found.rank == 3
        assert found.estimate[:2].sum() == pytest.approx(5.0)
        assert found.covariance[0, 0] == pytest.approx(4.0)


def test_agents_that_were_half_heard_do_not_spoil_the_others():
    """Taps around agent 1 hear what its neighbors tell, and of what they take only agent 1's part.

    Here that does not matter: what they tell as `direction` has nothing of what they take.
    """
    run = ran(Mixed(), Adversary(links=Around((1,))))
    estimates = infer(run.views[0])
    assert [e.query for e in estimates if e.agent == 1] == list(range(6))
    assert {(e.agent, e.query) for e in estimates} == {(i, k) for i in range(3) for k in range(6)}
    assert score_gradients(estimates, run.truth).worst < 1e-10


class TestTokens:
    """Walkman's token is read where it comes and goes; nobody's coins are known."""

    WALK = Walkman(penalty=4.0, activations=80)

    @pytest.mark.slow
    def test_a_tap_on_some_links_ends_where_a_token_was_missed(self):
        run = ran(self.WALK, Adversary(links=((0, 1), (1, 2))), 1)
        estimates = through_probe(run.views[0])
        assert estimates
        assert {e.agent for e in estimates} <= {0, 1, 2}
        assert score_gradients(estimates, run.truth).worst < 1e-10


class TestWhereTheMapIsAffine:
    """What clips or projects is affine as long as it does nothing: whether it does, the estimates show."""

    @pytest.mark.parametrize("algorithm", [
        PrivateGradientDescent(6, Constant(0.05), clip=Clip(5.0, "l2")),
        Dmsp(6, Geometric(0.5, 0.9), Ball(100.0), Constant(0.0)),
    ])  # fmt: skip
    def test_one_that_does_not_act_is_inverted(self, algorithm):
        run = ran(algorithm)
        found = probed(run.views[0], 1)
        assert found.identifiable.sum() >= 5
        assert np.abs(errors(found, run)[found.identifiable]).max() < 1e-12


@pytest.mark.few("0.5-45-1")
@pytest.mark.parametrize("seed", [0, 1])
@pytest.mark.parametrize(("ratio", "rounds"), [(0.5, 45), (0.3, 60)])
def test_noise_over_thirty_orders_of_magnitude_hides_no_more_than_its_size(ratio, rounds, seed):
    """Every gradient but the last is identifiable, whatever the noise of the others, and the errors are as stated."""
    run = ran(DiaDSP(rounds, 0.02, 1.0, 1.0, ratio), replicas=400, seed=seed)
    found = probed(run.views[0], 1)
    assert found.identifiable.tolist() == [True] * rounds + [False]
    known = errors(found, run)[:-1] / found.stddev[:-1, None]
    assert np.sqrt(np.mean(known**2, axis=(1, 2))).min() > 0.9
    assert np.sqrt(np.mean(known**2, axis=(1, 2))).max() < 1.1
