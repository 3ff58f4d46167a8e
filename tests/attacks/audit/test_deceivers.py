"""Mechanisms written to deceive this auditor, each with a sound twin: what an evader of its code would try."""

from dataclasses import dataclass

import numpy as np
import pytest

import scenarios
from attacks.audit.verdict import Verdict
from netsim.algorithms import Algorithm, Clip
from netsim.claims import Claim
from netsim.codecs import Codec
from netsim.errors import PrivacyError
from netsim.mechanisms import Gaussian, Laplace
from netsim.readers.live import LiveNode
from netsim.transcript.message import as_sent
from tests.attacks.audit.loss.test_noise_check import Drawn, OfTheValue, Truncated
from tests.attacks.auditing import HELD, audited

NOISE = Gaussian(1.0)


@dataclass(frozen=True)
class Deceiver(Algorithm):
    """Sends the gradient at 0 with enough noise, and, where it is not `sound`, more than that."""

    sound: bool

    async def run(self, node):
        gradient = await node.gradient(node.zeros())
        node.broadcast(x=node.privatize(gradient, NOISE))
        first = bool(gradient[0, 0] > -0.3)  # agent 1: −1/4 in world 0, −3/8 in world 1
        await self.besides(node, gradient, first or self.sound)
        node.estimate(gradient)

    async def besides(self, node, gradient, first):
        node.broadcast(y=0 * gradient if self.sound else gradient)


class OrderOfFields(Deceiver):
    async def besides(self, node, gradient, first):
        one, two = (node.privatize(gradient, NOISE) for _ in range(2))
        node.broadcast(**({"a": one, "b": two} if first else {"b": two, "a": one}))


class OrderOfKinds(Deceiver):
    """A direct message and one of an exchange, each what it would be, at one instant."""

    async def besides(self, node, gradient, first):
        if first:
            node.broadcast(a=node.zeros())
        await node.exchange(b=node.zeros())
        if not first:
            node.broadcast(a=node.zeros())


class AfterADrownedRelease(Deceiver):
    """A public release with too little noise for its size, then one of the gradient with too little noise."""

    async def besides(self, node, gradient, first):
        node.broadcast(a=node.privatize(node.zeros() + 1e13, Gaussian(1e-3)))
        node.broadcast(b=node.privatize(gradient, Gaussian(1.0 if self.sound else 0.01)))


class ScaleOverwritten(Deceiver):
    """The array of scales changes once the release is made; the sound one uses it again."""

    async def besides(self, node, gradient, first):
        scale = np.full(gradient.shape, 1.0 if self.sound else 0.01)
        released = node.privatize(gradient, Gaussian(scale))
        scale[:] = 0.5 if self.sound else 1.0
        node.broadcast(b=released)


class Lying(Gaussian):
    """Draws a hundredth of the noise that it prices, and has quantiles that are a hash of what was observed."""

    def release(self, value, rng):
        return value + rng.standard_normal(value.shape) * 0.01

    def quantiles(self, observed, value):
        return 1e-6 + 0.99999 * np.modf(np.abs(np.sin(observed * 1e9)) * 1e5)[0]


class Wide(Codec):
    """Sends the number itself and says that it is one of a cell a hundred wide."""

    def size(self, dimension):
        return 8 * dimension

    def encode(self, value, dither=None):
        return as_sent(value.copy())

    def pack(self, vector):
        return vector.tobytes()

    def unpack(self, data, dimension):
        return np.frombuffer(data, "<f8", dimension).copy()

    def cells(self, encoded):
        return encoded - 50, encoded + 50


class LyingCodec(Deceiver):
    @property
    def codec(self):
        return None if self.sound else Wide()

    async def besides(self, node, gradient, first):
        node.broadcast(b=node.privatize(gradient, Gaussian(1.0 if self.sound else 0.01)))


class BesideAGiant(Deceiver):
    """A number of 1e13 in the same message, and in a coordinate of the same vector."""

    async def besides(self, node, gradient, first):
        public = node.zeros() + 1e13
        node.broadcast(public=public, y=np.concatenate([public[:, :1], (1 - self.sound) * gradient[:, 1:]], axis=1))


class AtANeighborsToss(Deceiver):
    """A neighbor's coin, that it sends, decides on the gradient in the clear."""

    async def besides(self, node, gradient, first):
        if node.id == 0:
            node.broadcast(toss=node.zeros() + (node.coins.random() < 0.3))
        elif node.id == 1:
            message = await node.receive()
            while "toss" not in message.values:
                message = await node.receive()
            if message.values["toss"][0, 0]:
                await super().besides(node, gradient, first)


def rounded_otherwise(self, node, gradient):
    """Stands for a product over all replicas that a run and its replay lay out otherwise in memory."""
    return np.nextafter(gradient, np.inf) if isinstance(node, LiveNode) else gradient


def besides(name, value=lambda self, node, gradient: gradient, before=lambda node: None):
    """One that sends this of its gradient, and something public before."""

    async def also(self, node, gradient, first):
        before(node)
        await Deceiver.besides(self, node, value(self, node, gradient), first)

    return type(name, (Deceiver,), {"besides": also})


def releasing(mechanism, twin):
    """One that makes a release with this mechanism, and its sound twin with that."""

    async def also(self, node, gradient, first):
        node.broadcast(b=node.privatize(gradient, twin if self.sound else mechanism))

    return type(f"{type(mechanism).__name__}Mechanism", (Deceiver,), {"besides": also})


def where(name, rule):
    """The gradient in the clear where there are so many replicas."""
    return besides(name, lambda self, node, gradient: gradient if rule(node.replicas) else 0 * gradient)


BARE, LOUD = Verdict.UNPROTECTED, Verdict.REFUTED


@pytest.mark.few("AllButTheseCounts-by how many they are")
@pytest.mark.parametrize(
    ("deceiver", "caught"),
    [
        (OrderOfFields, BARE), (OrderOfKinds, BARE), (BesideAGiant, BARE), (AtANeighborsToss, BARE),
        # more releases that nobody sees than are looked at one by one
        (besides("Dummies", before=lambda node: [node.privatize(node.zeros(), NOISE) for _ in range(40)]), BARE),
        # a hidden release that another field is no affine function of
        (besides("Square", before=lambda node: node.broadcast(v=node.privatize(node.zeros(), NOISE) ** 2)), BARE),
        (besides("Infinity", before=lambda node: node.broadcast(public=node.zeros() + np.inf)), BARE),
        (besides("TheLargest", before=lambda node: node.broadcast(public=node.zeros() + 1e300)), BARE),
        # times less than a last bit of itself
        (besides("Small", lambda self, node, gradient: 1e-20 * gradient), BARE),
        (besides("Product", rounded_otherwise), "`@`, np.dot. may round otherwise"),
        # as in a run of somebody's own; or in all but those that an audit of this many has
        (where("AloneOnly", lambda count: count == 1), "for replica 0 alone than for all"),
        (where("FewOnly", lambda count: 1 < count < 20), "by how many they are"),
        (where("AllButTheseCounts", lambda count: count not in (1, 30)), "by how many they are"),
        (AfterADrownedRelease, LOUD), (ScaleOverwritten, LOUD), (LyingCodec, "numbers of one of its `cells`"),
        (releasing(Lying(1.0), NOISE), "quantiles are not those of its density"),
        (releasing(OfTheValue(1.0), Drawn(1.0)), "OfTheValue: .* it repeats, depends on the value"),
        (releasing(Truncated(1.0), Drawn(1.0)), "Truncated: .* by its tails"),
    ],
)  # fmt: skip
def test_a_deceiver_is_caught_and_its_sound_twin_is_not(deceiver, caught):
    def verdict(sound):
        return audited(deceiver(sound), trials=60).judgement.verdict

    if isinstance(caught, Verdict):
        assert verdict(sound=False) is caught
    else:
        with pytest.raises(PrivacyError, match=caught):
            verdict(sound=False)
    assert verdict(sound=True) in HELD


# ── what hides a value in steps, and twice the same noise: sound, and no leak ──────────────────────────
class ArgMax(Algorithm):
    """Permute and flip: the largest of scores with exponential noise, three times; scores move by 2: ε = 3·4/6."""

    async def run(self, node):
        for _ in range(3):
            gradient = await node.gradient(node.zeros())
            noisy = np.sign(gradient + 0.3) + np.abs(node.privatize(node.zeros(), Laplace(6.0)))
            node.broadcast(x=(noisy == noisy.max(axis=-1, keepdims=True)).astype(float))
            node.estimate(gradient)


@pytest.mark.few(1)
@pytest.mark.parametrize(("trials", "chunk"), [(100, 50), (10, 1)])
def test_what_noise_hides_in_steps_is_not_unprotected(trials, chunk):
    found = audited(ArgMax(), 2.0, 0.0, trials=trials, chunk=chunk)
    assert found.judgement.verdict is Verdict.UNDERPOWERED


# ── by the plain audit of own code, which looks for the pair and the agent ─────────────────────────────
CLIP = Clip(1.0)


@dataclass(frozen=True)
class Searched(Algorithm):
    """Sends what it makes of its gradient three times, with noise for ε = 1 where its ℓ1 norm is at most 1."""

    sound: bool

    async def run(self, node):
        x, before = node.zeros(), node.zeros()
        for _ in range(3):
            gradient = await node.gradient(x)
            value, loud = self.made(node, gradient, before)
            before = CLIP(gradient)
            received = await node.exchange(x=node.privatize(value, Laplace(6.0 * (1 if self.sound else loud))))
            x = x - 0.1 * received.mix("x")
            node.estimate(x)

    def made(self, node, gradient, before):
        return CLIP(gradient), 1.0


class Bump(Searched):
    """‖g/(1 + ‖g‖²)‖₁ is largest in between: its peak was missed, at a fortieth of its height."""

    def made(self, node, gradient, before):
        g = gradient / 100
        return 2 * g / (1 + np.sum(np.abs(g), axis=-1, keepdims=True) ** 2), 1 / 40


class Wave(Searched):
    """Bounded, and nowhere the same for long."""

    def made(self, node, gradient, before):
        return np.sin(1e-3 * gradient) / node.dimension, 1 / 4


class Band(Searched):
    """Twenty times the gradient where it is neither small nor large."""

    def made(self, node, gradient, before):
        size = np.sum(np.abs(gradient), axis=-1, keepdims=True)
        inside = (size > 10) & (size < 20) & (not self.sound)
        return CLIP(gradient) * np.where(inside, 20.0, 1.0), 1.0


class Differences(Searched):
    """Of clipped gradients, counted as one: where a gradient turns between rounds they move twice as much."""

    def made(self, node, gradient, before):
        return (CLIP(gradient) - before) * (0.6 if self.sound else 1.0), 1.0


class BeyondABillion(Searched):
    def made(self, node, gradient, before):
        large = np.sum(np.abs(gradient), axis=-1, keepdims=True) > 1e9
        return np.where(large & (not self.sound), gradient, CLIP(gradient)), 1.0


class AgentSix(Searched):
    """Of eight, and like all others but for its number."""

    def made(self, node, gradient, before):
        return CLIP(gradient), 0.1 if node.id == 6 else 1.0


class TwiceTheSame(Searched):
    """The noise once, and all of it once more in another field: sound, and far data leave it to rounding."""

    async def run(self, node):
        x = node.zeros()
        for _ in range(3):
            noisy = CLIP(await node.gradient(x)) + node.privatize(node.zeros(), Laplace(6.0))
            received = await node.exchange(x=noisy, y=2 * noisy)
            x = x - 0.1 * received.mix("x")
            node.estimate(x)


@pytest.mark.few("Wave-options1")
@pytest.mark.parametrize(
    ("deceiver", "options"),
    [
        (Bump, ()), (Wave, ()), (Band, ()), (Differences, ()), (BeyondABillion, ()),
        (AgentSix, ("topology.agents=8",)),
    ],
)  # fmt: skip
def test_a_plain_audit_finds_the_data_or_the_agent(deceiver, options):
    found = {sound: scenarios.audit(deceiver(sound), 1.0, *options, trials=100).verdict for sound in (False, True)}
    assert found[False] in ("refuted", "unprotected")
    assert found[True] == ("consistent" if deceiver in (Bump, Wave) else "proven")  # these two are no clip


@dataclass(frozen=True)
class Asked(Algorithm):
    """Sends a step from a public point; its claim is of any change of its gradient that the adjacency allows."""

    sound: bool
    rounds: int = 3

    def claim(self, adjacency, setting, delta):
        epsilon = self.rounds * 0.3 * adjacency.in_norm("l1", setting.dimension)
        return Claim(epsilon, 0.0, "composition", adjacency, "l1", coins="known")

    async def run(self, node):
        x = node.zeros()
        for _ in range(self.rounds):
            gradient = await node.gradient(x)
            received = await node.exchange(**self.made(node, x, gradient))
            x = received.mix("x")
            node.estimate(x)

    def made(self, node, x, gradient):
        return {"x": node.privatize(x - 0.3 * gradient, Laplace(1.0))}


class Steeper(Asked):
    """Three times, for negative gradients alone."""

    def made(self, node, x, gradient):
        bent = gradient if self.sound else gradient + 2 * np.minimum(gradient, 0)
        return super().made(node, x, bent)


class Twice(Asked):
    """Two releases of one gradient, counted as one."""

    def made(self, node, x, gradient):
        more = {} if self.sound else {"y": node.privatize(x - 0.3 * gradient, Laplace(1.0))}
        return super().made(node, x, gradient) | more


@pytest.mark.slow
@pytest.mark.parametrize("deceiver", [Steeper, Twice])
def test_a_plain_audit_of_a_claim_by_formula(deceiver):
    """Proven of the sound ones, refuted of the others by records whose gradients are far apart where a run gets."""
    found = {sound: scenarios.audit(deceiver(sound), trials=150).verdict for sound in (False, True)}
    assert found == {False: "refuted", True: "proven"}


@pytest.mark.slow
def test_twice_the_same_noise_is_no_leak():
    assert scenarios.audit(TwiceTheSame(sound=True), 1.0, trials=50).verdict == "underpowered"
