"""Tosses of private coins that hardly ever come out, at which an agent sends something without noise."""

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
import pytest

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss import secret_coins
from attacks.audit.loss.exact import SINGLES
from attacks.audit.rare_tosses import RareTosses, ways
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import choose
from scenarios.stages.worlds import worlds
from tests.attacks.auditing import HELD, claim_of, judged, quadratic_world


def found(algorithm, claim):
    """The rare sending of an algorithm."""
    simulation, pair = quadratic_world(algorithm)
    simulate = worlds(simulation, 1, pair.hypotheses[1], 4)
    return RareTosses(simulate, 1, pair.hypotheses, claim, 0.95, SINGLES).sending()


PURE = claim_of(1.0, 0.0)


@pytest.fixture
def fewer_tosses(monkeypatch):
    """Tosses in transcripts by themselves: of each of these the hidden noise is drawn anew, hundreds of times."""
    monkeypatch.setattr("attacks.audit.audit.TOSSES", 8)


@dataclass(frozen=True)
class Gate(Algorithm):
    """The gradient in the clear at a toss that hardly ever comes out; `kind` is how it is tossed. Its sound twins:
    one value or another that nobody has to hide, or the noise twice as large."""

    kind: str
    bare: bool = True

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        for _ in range(3):
            match self.kind:
                case "uniform":
                    opened = node.coins.random() < 1e-6
                case "integer":
                    opened = int(node.coins.integers(64)) == 17
                case "number":  # no list of outcomes
                    opened = node.coins.normal() > 2.0
            covered = node.privatize(gradient, Gaussian(8.0 if opened and not self.bare else 4.0))
            node.broadcast(x=gradient if opened and self.bare else covered)
        node.estimate(gradient)


@dataclass(frozen=True)
class Apart(Algorithm):
    """Noise that is drawn apart, and left out where two unlikely coins fall; `doubled`: in each message twice."""

    left_out: bool = True
    doubled: bool = False
    rounds: int = 2

    async def run(self, node):
        for _ in range(self.rounds):
            gradient = await node.gradient(node.zeros())
            noise = node.privatize(node.zeros(), Laplace(1.0))
            if self.doubled:
                noise = noise + node.privatize(node.zeros(), Laplace(1.0))
            if node.coins.random() < 1e-3 and node.coins.random() < 0.5 and self.left_out:
                noise = node.zeros()
            node.estimate((await node.exchange(x=gradient + noise)).mix("x"))


class TestRareTosses:
    """None of the 66 tosses of an audit opens the gate, or one of them does."""

    @pytest.mark.few(1)
    @pytest.mark.parametrize("kind", ["uniform", "integer", "number"])
    def test_what_hardly_any_toss_sends_is_never_called_consistent(self, kind):
        """One toss in 64 is proven to be more than δ."""
        simulation, pair = quadratic_world(Gate(kind))
        claim = claim_of(gaussian_epsilon(np.sqrt(3) * 0.5 / 4, 1e-5) * 1.01, 1e-5)
        audit = judged(simulation, pair, claim, attack=None, trials=400)
        assert audit.judgement.verdict is (Verdict.UNPROTECTED if kind == "integer" else Verdict.UNDERPOWERED)
        if kind == "uniform":
            assert "private coins fall one way (of probability 10⁻⁶) agent 1 sends 'x'" in audit.judgement.reason

    @pytest.mark.parametrize(("coins", "verdict"), [("secret", Verdict.UNDERPOWERED), ("known", Verdict.UNPROTECTED)])
    def test_noise_that_is_left_out_at_two_tosses_together_is_found_where_the_code_is_read(self, coins, verdict):
        simulation, pair = quadratic_world(Apart())
        found = judged(simulation, pair, replace(claim_of(3.0, 0.0), coins=coins), attack=None, trials=60).judgement
        assert found.verdict is verdict
        assert "'x' of exchange message 0 depends on answers, and no noise is in it" in found.reason

    @pytest.mark.usefixtures("fewer_tosses")
    @pytest.mark.parametrize("doubled", [False, True])
    def test_its_twin_that_keeps_it_is_not_doubted(self, doubled):
        simulation, pair = quadratic_world(Apart(left_out=False, doubled=doubled, rounds=1 if doubled else 2))
        found = judged(simulation, pair, claim_of(3.0, 0.0), attack=None, trials=60).judgement
        assert found.verdict in HELD
        assert "It needs noise there too" not in found.reason

    @pytest.mark.parametrize("kind", ["uniform", "integer", "number"])
    def test_its_sound_twin_is_sound(self, kind):
        assert found(Gate(kind, bare=False), PURE) is None

    def test_what_may_be_sent_in_the_other_world_at_another_toss_is_no_leak(self):
        """Randomized response, be it of a likely history or of one that a single toss turns."""

        @dataclass(frozen=True)
        class Response(Algorithm):
            async def run(self, node):
                gradient = await node.gradient(node.zeros())
                sign = np.where(np.broadcast_to(gradient[:, :1], gradient.shape) < -0.3, 1.0, 0.0)
                node.broadcast(bit=sign if node.coins.random() < 0.7 else 1.0 - sign)
                node.estimate(gradient)

        assert found(Response(), PURE) is None
        assert "10⁻⁶" in str(found(Gate("uniform"), PURE))


@dataclass(frozen=True)
class Leak(Algorithm):
    """At one toss in a hundred the gradient is sent in place of what noise covers, or of a copy of it, or besides, or
    in each of three rounds. Sound where `bare` is false: what is sent in its place is the same in both worlds."""

    way: str = "in place"
    bare: bool = True
    sides: int = 100
    rounds: ClassVar[int] = 3

    async def run(self, node):
        for _ in range(self.rounds if self.way == "rounds" else 1):
            gradient = await node.gradient(node.zeros())
            clear = gradient if self.bare else node.zeros()
            falls = choose(node.coins, range(self.sides)) == 41
            if self.way in ("in place", "rounds"):
                await node.exchange(x=clear if falls else node.privatize(gradient, Laplace(12.0)))
                continue
            covered = node.privatize(gradient, Laplace(12.0))
            match self.way:
                case "where":
                    await node.exchange(x=np.where(falls, clear, covered))
                case "route":
                    node.send(choose(node.coins, node.neighbors), x=covered)
                    if falls:
                        node.send(choose(node.coins, node.neighbors), x=clear)
                case "besides":
                    node.broadcast(x=covered)
                    if falls:
                        node.broadcast(y=clear)
        node.estimate(gradient)


@dataclass(frozen=True)
class Answer(Algorithm):
    """Randomized response that is given at two tosses in a hundred, in a message of its own or instead of one."""

    besides: bool

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        first = gradient[0, 0] > -0.3
        toss = choose(node.coins, range(100))
        answer = node.zeros() + (1.0 if first == (toss == 7) else -1.0)
        covered = node.privatize(gradient, Laplace(12.0))
        if self.besides:
            node.broadcast(x=covered)
        if toss in (7, 8):
            node.broadcast(y=answer)
        elif not self.besides:
            node.broadcast(y=covered)
        node.estimate(gradient)


@dataclass(frozen=True)
class Flipped(Algorithm):
    """A bit of the data, flipped by noise that nobody sees: by its parity, a fair coin, or one time in ten by whether
    it is small. With `sides` at one toss in so many."""

    by: str
    sides: int = 1

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        noise = node.privatize(node.zeros(), Laplace(20.0 if self.by == "parity" else 1.0))[:, :1]
        flips = np.floor(noise) % 2 == 1 if self.by == "parity" else np.abs(noise) < 0.1
        opened = self.sides == 1 or choose(node.coins, range(self.sides)) == 11
        node.broadcast(y=node.zeros() + ((gradient[:, :1] > -0.3) != flips) if opened else node.zeros())
        node.estimate(gradient)


@dataclass(frozen=True)
class Seldom(Algorithm):
    """At one toss in 20 a bit of the data, at another one the bit flipped where hidden noise is small: ε = 2.996.
    With `bare` that never is."""

    bare: bool = False

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        noise = node.privatize(node.zeros(), Laplace(1.0))[:, :1]
        toss, bit = choose(node.coins, range(20)), gradient[:, :1] > -0.3
        flipped = bit != ((np.abs(noise) < 0.1) & (not self.bare))
        y = 1.0 + bit if toss == 7 else 1.0 + flipped if toss == 8 else 0.0 * noise
        node.broadcast(y=node.zeros() + y)
        node.estimate(gradient)


@dataclass(frozen=True)
class Quieter(Algorithm):
    """Noise of a quarter of its size at one toss in 50, or where two of 17 are 7, and that toss."""

    tosses: int

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        fallen = [choose(node.coins, range(50 if self.tosses == 1 else 17)) for _ in range(self.tosses)]
        scale = 0.5 if all(k == 7 for k in fallen) else 2.0
        told = {f"k{t}": node.zeros() + k for t, k in enumerate(fallen)}
        node.broadcast(x=node.privatize(gradient, Laplace(scale)), **told)
        node.estimate(gradient)


@dataclass(frozen=True)
class Stops(Algorithm):
    """Goes on as long as its coins fall the likeliest way, which they may for ever."""

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient, Laplace(12.0)))
        while node.coins.random() < 0.9:
            node.broadcast(y=node.zeros())
        node.estimate(gradient)


class TestProvenAtRareTosses:
    """Nobody tosses them, and they have a positive probability."""

    @pytest.mark.parametrize("coins", ["secret", "known"])
    @pytest.mark.parametrize("way", ["in place", "where", "besides", "rounds", "route"])
    def test_a_toss_in_a_hundred_is_unprotected_at_delta_zero(self, way, coins):
        rare = found(Leak(way), replace(PURE, coins=coins))
        assert rare.proven
        assert "(of probability 0.01) agent 1 sends" in str(rare)

    @pytest.mark.parametrize("way", ["in place", "where", "besides", "rounds", "route"])
    def test_its_sound_twin_is_not_accused(self, way):
        for coins in ("secret", "known"):
            assert found(Leak(way, bare=False), replace(PURE, coins=coins)) is None

    @pytest.mark.parametrize("besides", [True, False])
    def test_randomized_response_is_a_leak_for_who_knows_the_coins_alone(self, besides):
        secret = found(Answer(besides), PURE)
        assert secret is None or not secret.proven
        assert found(Answer(besides), replace(PURE, coins="known")).proven

    @pytest.mark.usefixtures("fewer_tosses")
    @pytest.mark.few("algorithm0-known", "algorithm1-secret", "algorithm2-secret", "algorithm3-known")
    @pytest.mark.parametrize("coins", ["secret", "known"])
    @pytest.mark.parametrize("algorithm", [Flipped(by, sides) for by in ("parity", "interval") for sides in (1, 20)])
    def test_what_hidden_noise_changes_in_steps_is_not_unprotected(self, algorithm, coins):
        for claim in (claim_of(2.3, 0.0), claim_of(2.3, 1e-3)):
            simulation, pair = quadratic_world(algorithm)
            audit = judged(simulation, pair, replace(claim, coins=coins), attack=None, trials=60)
            assert audit.judgement.verdict in HELD

    @pytest.mark.parametrize("epsilon", [3.1, 8.0])
    def test_what_hidden_noise_seldom_changes_at_another_toss_is_not_proven(self, epsilon):
        rare = found(Seldom(), claim_of(epsilon, 0.0))
        assert rare is None or not rare.proven

    def test_what_it_never_changes_is_proven_against_a_claim_that_the_draws_reach(self):
        assert found(Seldom(bare=True), PURE).proven
        doubt = found(Seldom(bare=True), claim_of(12.0, 0.0))
        assert doubt is not None
        assert not doubt.proven

    def test_coins_that_may_fall_alike_for_ever_end(self):
        rare = found(Stops(), PURE)
        assert rare is None or not rare.proven

    def test_of_thousands_ofways_some_are_turned(self):
        odds = [(0.25,) * 4, (0.5, 0.5)] + [(0.1,) * 10] * 1000
        some = list(ways([1, 0, *[9] * 1000], odds, 100))
        assert some[:4] == [(0, 0), (0, 2), (0, 3), (1, 1)]
        assert len(set(some)) == len(some) <= 100
        assert max(t for t, _ in some) > 900
        assert not any(k == 9 for t, k in some if t > 1)
        assert len(list(ways([1, 0], odds[:2], 100))) == 4

    def test_a_delta_above_its_probability_allows_it(self):
        assert found(Leak(), claim_of(1.0, 5e-3)).proven
        assert not found(Leak(), claim_of(1.0, 2e-2)).proven

    def test_the_verdict_is_unprotected(self, monkeypatch):
        monkeypatch.setattr(secret_coins, "FEWEST", 4)
        for way, claim in (("in place", PURE), ("besides", replace(PURE, coins="known"))):
            simulation, pair = quadratic_world(Leak(way, sides=300))
            audit = judged(simulation, pair, claim, attack=None, trials=60)
            assert audit.judgement.verdict is Verdict.UNPROTECTED
            assert "private coins fall one way (of probability 0.00333) agent 1 sends" in audit.judgement.reason
            assert audit.witness is None
            if claim.coins == "secret":
                assert audit.epsilon_exact == np.inf

    @pytest.mark.usefixtures("fewer_tosses")
    @pytest.mark.few("1-known", "2-secret")
    @pytest.mark.parametrize("coins", ["secret", "known"])
    @pytest.mark.parametrize("tosses", [1, 2])
    def test_less_noise_at_a_rare_toss_is_refuted(self, tosses, coins, monkeypatch):
        monkeypatch.setattr(secret_coins, "FEWEST", 4)
        simulation, pair = quadratic_world(Quieter(tosses))
        change = pair.hypotheses[0].gradient(np.zeros((1, 4))) - pair.hypotheses[1].gradient(np.zeros((1, 4)))
        true = float(np.sum(np.abs(change))) / 0.5
        for epsilon, verdict in ((0.99 * true, Verdict.REFUTED), (true, None)):
            claim = replace(claim_of(epsilon, 0.0), coins=coins)
            found = judged(simulation, pair, claim, attack=None, trials=20).judgement.verdict
            assert found is verdict if verdict else found in HELD

    @pytest.mark.slow
    @pytest.mark.parametrize("way", ["in place", "where", "besides", "rounds"])
    def test_the_verdict_on_its_sound_twin(self, way):
        simulation, pair = quadratic_world(Leak(way, bare=False))
        assert judged(simulation, pair, PURE, attack=None, trials=60).judgement.verdict in HELD
