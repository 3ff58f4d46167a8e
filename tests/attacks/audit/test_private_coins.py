"""Private coins, runs of one transcript, channels beside the node: what many replicas at once do not show."""

import re
from dataclasses import dataclass, replace

import numpy as np
import pytest

from attacks.audit import audit
from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss import costliest, secret_coins
from attacks.audit.pair import Pair
from attacks.audit.verdict import Bound, Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.codecs import Float32
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import choose, subset
from netsim.problems import load, logistic
from netsim.randomness import Streams, coins_of
from netsim.simulation import Simulation
from netsim.topology import ring
from tests.attacks.audit.test_is_not_fooled import Toy, private
from tests.attacks.auditing import HELD, audited, claim_of, judged, quadratic_world, record_pair
from tests.worlds import changed


@dataclass(frozen=True)
class ByCoins(Toy):
    """The gradient in the clear at one toss in four, or with a tenth of the noise at one toss in two."""

    bare: bool = True

    async def besides(self, node, gradient, released, first):
        toss = node.coins.random()
        node.broadcast(x=released)
        if self.bare and toss < 0.25:
            node.broadcast(y=gradient)
        elif not self.bare:
            node.broadcast(y=node.privatize(gradient, Gaussian(0.1 if toss < 0.5 else 1.0)))


@dataclass(frozen=True)
class Batch(Algorithm):
    """The gradient of two records that nobody knows; the changed one is among them at one toss in five."""

    async def run(self, node):
        drawn = sorted(int(r) for r in node.coins.choice(node.records, 2, replace=False))
        gradient = await node.gradient(node.zeros(), drawn)
        node.broadcast(x=node.privatize(gradient, Laplace(0.5)))
        node.estimate(gradient)


class TwoScales(Algorithm):
    """A toss decides how much noise there is."""

    async def run(self, node):
        scale = choose(node.coins, [1.0, 2.0])
        node.broadcast(x=node.privatize(Clip(1.0, "l1")(await node.gradient(node.zeros())), Laplace(scale)))
        node.estimate(node.zeros())


@pytest.fixture
def few_tosses(monkeypatch):
    """As many as tell a quarter from none."""
    monkeypatch.setattr(secret_coins, "TOSSED", 64)


class TestPrivateCoins:
    @pytest.mark.few(1)
    @pytest.mark.parametrize("seed", range(2))
    @pytest.mark.usefixtures("few_tosses")
    def test_what_leaks_at_some_tosses_is_found_at_every_seed(self, seed):
        """None of 64 tosses below 0.25: 1e-8."""
        simulation, pair = quadratic_world(ByCoins())
        audit = judged(changed(simulation, seed=seed), pair, claim_of(2.0, 1e-3), attack=None, trials=60)
        assert audit.judgement.verdict is Verdict.UNPROTECTED
        assert audit.uncovered.name == "" or "'y'" in str(audit.uncovered)

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_tosses")
    def test_what_leaks_at_this_toss_leaks_no_more_than_at_all(self):
        """Every transcript of the first chunk has it; a δ above a quarter allows that."""
        simulation, pair = quadratic_world(ByCoins())
        seed = next(k for k in range(100) if coins_of(Streams(k), 1).random() < 0.25)
        for coins in ("known", "secret"):
            claim = replace(claim_of(2.0, 0.4), coins=coins)
            audit = judged(changed(simulation, seed=seed), pair, claim, attack=None, trials=60)
            assert audit.exact[0].leaks == 1.0
            assert audit.uncovered is None
            assert audit.judgement.verdict in HELD

    @pytest.mark.few("known-True")
    @pytest.mark.parametrize("bare", [True, False])
    @pytest.mark.parametrize("coins", ["known", "secret"])
    def test_what_one_toss_loses_refutes_nothing_where_histories_are_not_priced(self, bare, coins):
        """Codes of 32 bits; at the run's toss more is lost than at all of them together, by δ at most."""
        simulation, pair = quadratic_world(ByCoins(bare))
        seed = next(k for k in range(100) if coins_of(Streams(k), 1).random() < 0.25)
        claim = replace(claim_of(2.0, 0.6), coins=coins)
        simulation = changed(simulation, seed=seed, codec=Float32())
        audit = judged(simulation, pair, claim, attack=None, trials=60)
        assert audit.unpriced is not None
        assert audit.judgement.verdict in HELD

    @pytest.mark.slow
    def test_a_receiver_that_answers_at_random_is_priced(self):
        """Randomized response by whom a message goes to: ε = ln 3."""

        @dataclass(frozen=True)
        class Route(Algorithm):
            async def run(self, node):
                gradient, (one, two) = await node.gradient(node.zeros()), node.neighbors
                often, seldom = (one, two) if gradient[0, 0] > -0.3 else (two, one)
                node.send(choose(node.coins, [often, often, often, seldom]), x=node.zeros())
                node.broadcast(x=node.privatize(node.zeros(), Laplace(1.0)))
                node.estimate(gradient)

        simulation, pair = quadratic_world(Route())
        for epsilon, verdict in ((1.1, Verdict.CONSISTENT), (1.0, Verdict.REFUTED)):
            audit = judged(simulation, pair, claim_of(epsilon, 0.0), attack=None, trials=60)
            assert audit.judgement.verdict is verdict
            np.testing.assert_allclose(audit.secret.epsilon.lower, np.log(3))

    @pytest.mark.slow
    @pytest.mark.parametrize(
        ("epsilon", "secret", "known"),
        [
            pytest.param(0.1, Verdict.REFUTED, Verdict.REFUTED, marks=pytest.mark.slow),
            (0.33, Verdict.CONSISTENT, Verdict.REFUTED),
            # of 8 no more than 5 % is lost
            pytest.param(8.0, Verdict.UNDERPOWERED, Verdict.CONSISTENT, marks=pytest.mark.slow),
        ],
    )
    def test_a_claim_is_judged_for_whom_it_is_about(self, epsilon, secret, known):
        """Subsampling: a batch of two of ten has the changed record with probability 0.2. For who knows that it has,
        the loss is at most s = ‖Δ‖₁/b; for who does not it is ln(0.8 + 0.2 e^s) at most, less where the noise of the
        worlds overlaps. 90 orders of a batch are 45 batches."""
        problem = logistic(load("synthetic", records=30, dimension=4, seed=3, norm_bound=1.0).split(3), ridge=0.5)
        own = problem.objectives[1]
        pair = Pair(1, (own, own.with_record(0, own.features[0], -float(own.labels[0]))), "a label flipped")
        simulation = Simulation(problem, ring(3), Batch())
        found = judged(simulation, pair, claim_of(epsilon, 0.0), attack=None, trials=60)
        assert found.judgement.verdict is secret
        zero = np.zeros((1, 4))
        change = np.subtract(*(f.batch([0, 1]).gradient(zero) for f in pair.hypotheses))
        s = float(np.sum(np.abs(change))) / 0.5
        assert found.secret is not None
        assert found.secret.histories == 90
        np.testing.assert_allclose(found.secret.known.lower, s, rtol=1e-9)
        assert 0.5 * np.log(0.8 + 0.2 * np.exp(s)) < found.secret.epsilon.lower <= np.log(0.8 + 0.2 * np.exp(s))
        assert "for a listener who does not know them, ε of the pair is between" in found.judgement.reason
        assert (found.witness, found.first_violation) == (None, None)
        about = judged(simulation, pair, replace(claim_of(epsilon, 0.0), coins="known"), attack=None, trials=60)
        assert about.judgement.verdict is known

    def test_a_bound_of_all_pairs_bounds_who_knows_the_coins_and_who_does_not(self):
        """Clipped to 1/2 in ℓ1, behind Laplace noise of scale 1/2: 2."""

        @dataclass(frozen=True)
        class Clipped(Algorithm):
            async def run(self, node):
                gradient = await node.gradient(node.zeros(), subset(node.coins, node.records, 2))
                node.broadcast(x=node.privatize(Clip(0.5, "l1")(gradient), Laplace(0.5)))
                node.estimate(gradient)

        problem = logistic(load("synthetic", records=15, dimension=3, seed=3, norm_bound=1.0).split(3), ridge=0.5)
        simulation = Simulation(problem, ring(3), Clipped())
        found = judged(simulation, record_pair(problem), claim_of(0.05, 0.0), attack=None, trials=60)
        reason = found.judgement.reason
        assert found.judgement.verdict is Verdict.REFUTED
        assert "The mechanism costs at most 2: a claim of 2 would hold" in reason
        assert re.search(
            r"does not know them, ε of the pair is between 0\.\d+ and 2; for one who does, it is", reason
        )
        assert "∞" not in reason
        assert found.secret.epsilon.upper == found.secret.known.upper == 2.0

    @pytest.mark.slow
    @pytest.mark.usefixtures("few_tosses")
    def test_noise_by_secret_coins(self):
        """A tenth of the noise at one toss in two: ε(10⁻³) is that of half the δ, about."""
        audit = audited(ByCoins(bare=False), trials=60)
        assert audit.judgement.verdict is Verdict.REFUTED
        assert audit.secret is not None
        assert audit.secret.epsilon.lower < audit.secret.epsilon.estimate < gaussian_epsilon(10.0 + 1, 5e-4)
        assert audit.epsilon_audited == 0.0

    @pytest.mark.slow
    def test_coins_that_cannot_be_listed_are_not_decided(self):
        """Noise of a scale drawn from a line: of who does not know it a game proves less than the claim."""

        @dataclass(frozen=True)
        class Scaled(Toy):
            async def besides(self, node, gradient, released, first):
                node.broadcast(x=released, y=node.privatize(gradient, Gaussian(0.1 + node.coins.random())))

        audit = audited(Scaled(), trials=60)
        assert audit.judgement.verdict is Verdict.UNDERPOWERED
        assert audit.secret is not None
        assert audit.secret.histories is None
        assert 0.0 < audit.secret.epsilon.lower < audit.secret.known.lower
        assert "as a number" in audit.judgement.reason

    def test_only_what_the_code_of_an_algorithm_raises_is_a_reason_not_to_price(self, monkeypatch):
        """It raises it where it falls one way, as it never does in a run."""

        class Fails(Batch):
            async def run(self, node):
                if node.coins.random() < 1e-9:
                    raise RuntimeError("a history that fails")
                await super().run(node)

        problem = logistic(load("synthetic", records=30, dimension=4, seed=3, norm_bound=1.0).split(3), ridge=0.5)
        of = Simulation(problem, ring(3), Fails()), record_pair(problem)
        found = audited(of, 8.0, 0.0, trials=60)
        assert "a history that fails" in (found.unpriced or found.secret.unlisted)

        def aimed(_):
            raise ValueError("a mistake of netsim's")

        monkeypatch.setattr(costliest.Look, "aimed", aimed)
        with pytest.raises(ValueError, match="a mistake"):
            audited((replace(of[0], algorithm=Batch()), of[1]), 8.0, 0.0, trials=60)

    def test_a_route_is_no_secret(self):
        class Route(Algorithm):
            async def run(self, node):
                released = node.privatize(await node.gradient(node.zeros()), Gaussian(1.0))
                for _ in range(4):
                    node.send(choose(node.coins, node.neighbors), x=released)

        audit = audited(Route())
        assert audit.judgement.verdict is Verdict.PROVEN
        assert "decide only whom it sends to" in " ".join(audit.bound.conditions)


@pytest.mark.parametrize(("many", "epsilon", "others"), [(1, 0.5, False), (1, 9.0, True), (32, 0.5, True)])
def test_many_histories_are_read_at_other_doors_where_that_may_prove_a_claim(monkeypatch, many, epsilon, others):
    monkeypatch.setattr(audit, "MANY", many)
    looked = []
    doors = {2: lambda adjacency: looked.append(adjacency) or Bound(2.0, ())}
    found = audited(TwoScales(), epsilon, 0.0, trials=60, doors=doors)
    assert bool(looked) is others
    assert others or "in 2 ways: no other agent was looked at" in found.unbounded


@dataclass(frozen=True)
class Answers(Algorithm):
    """Randomized response by whom a message goes to, ε = ln 3; by coins that have two histories, or 10,000.

    `bare`: with the gradient in the clear beside it.
    """

    many: bool = False
    bare: bool = False

    async def run(self, node):
        gradient, first = await private(node)
        if self.many:
            lies = (node.coins.integers(10_000) < 7500) != first
        else:
            lies = node.coins.random() < (0.25 if first else 0.75)
        node.send(node.neighbors[int(lies)], x=node.privatize(node.zeros(), Laplace(1.0)))
        node.broadcast(y=gradient if self.bare else node.zeros())
        node.estimate(gradient)


class TestOddsThatDependOnData:
    @pytest.mark.few("False-False-1.0-None-refuted")
    @pytest.mark.parametrize(
        ("many", "bare", "epsilon", "codec", "verdict"),
        [
            (False, False, 1.1, None, Verdict.CONSISTENT),
            (False, False, 1.0, None, Verdict.REFUTED),
            (False, True, 2.0, None, Verdict.UNPROTECTED),
            (True, False, 1.1, None, Verdict.UNDERPOWERED),  # not listed; at most that of who knows them, which is ∞
            (True, True, 2.0, None, Verdict.UNPROTECTED),
            (False, False, 1.1, Float32(), Verdict.UNDERPOWERED),  # not priced
            (False, True, 2.0, Float32(), Verdict.UNDERPOWERED),  # nor is a leak beside a rounded release seen
            (True, False, 1.1, Float32(), Verdict.UNDERPOWERED),
            (True, True, 1.1, Float32(), Verdict.UNDERPOWERED),
        ],
    )
    def test_what_another_toss_explains_is_not_accused(self, many, bare, epsilon, codec, verdict):
        simulation, pair = quadratic_world(Answers(many, bare))
        if codec is not None:
            simulation = changed(simulation, codec=codec)
        audit = judged(simulation, pair, claim_of(epsilon, 0.0), attack=None, trials=60)
        assert audit.judgement.verdict is verdict, audit.judgement.reason
        if not many and not bare and codec is None:
            np.testing.assert_allclose(audit.secret.epsilon.lower, np.log(3))
        if many and not bare and codec is None:
            assert 0.5 < audit.secret.epsilon.lower <= np.log(3)  # a game; it wins too much at one seed in 40

    def test_odds_that_a_neighbor_sends(self):
        """A batch is used with odds that a message has: no more is lost than with odds of one, ‖Δ‖₁/b = 1."""

        @dataclass(frozen=True)
        class Relayed(Algorithm):
            async def run(self, node):
                received = await node.exchange(x=node.privatize(node.zeros(), Laplace(1.0)))
                odds = 0.9 if received.mix("x")[0, 0] > 0 else 0.1
                used = node.coins.random() < odds
                gradient = await node.gradient(node.zeros())
                node.broadcast(y=node.privatize(used * gradient, Laplace(0.5)))
                node.estimate(gradient)

        simulation, pair = quadratic_world(Relayed())
        audit = judged(simulation, pair, claim_of(1.0, 0.0), attack=None, trials=8, chunk=1)
        assert audit.judgement.verdict in HELD
        assert audit.secret.histories == 2
        assert 0.5 < audit.secret.epsilon.lower < audit.secret.known.lower <= 1.0 + 1e-9


class OneReplica(Toy):
    """Something in the clear where few replicas run together: in every real run."""

    async def besides(self, node, gradient, released, first):
        node.broadcast(x=released)
        if node.replicas < 5:
            node.broadcast(y=gradient)


class OneReplicaInPlace(Toy):
    async def besides(self, node, gradient, released, first):
        node.broadcast(x=released, y=gradient if node.replicas < 5 else node.zeros())


KEPT: dict[str, np.ndarray] = {}


class ThroughTheModule(Toy):
    """A neighbor sends what agent 1 left in the module."""

    async def besides(self, node, gradient, released, first):
        if node.id == 1:
            KEPT["gradient"] = gradient.copy()
        node.broadcast(x=released)
        await node.receive()
        if node.id != 1:
            node.broadcast(z=KEPT["gradient"])
        await node.receive()


@pytest.mark.parametrize(
    ("algorithm", "why"),
    [
        (OneReplica, "in a run of one transcript"),
        (OneReplicaInPlace, "for replica 0 alone"),
        (ThroughTheModule, "keeps .*KEPT from one run to the next"),
    ],
)
def test_code_that_does_something_else_unseen_gives_no_verdict(algorithm, why):
    with pytest.raises(PrivacyError, match=why):
        audited(algorithm())
