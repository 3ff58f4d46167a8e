"""Planted faults: ten ways to get differential privacy wrong, each a small algorithm with a sound twin.

All are gradient descent in rounds, x_i ← Σ_j w_ij x̃_j − η clip(∇f_i(x_i)), with noise on what is sent, and all claim
the same for their fault and for its twin. They are an auditor's exam. `Fault.lesson` is what to take home.
"""

import math
from dataclasses import dataclass
from typing import ClassVar, Literal

from netsim.algorithms.algorithm import InRounds, Setting
from netsim.algorithms.composition import zcdp_epsilon
from netsim.algorithms.private_gradient_descent import stable_step
from netsim.arrays import Array
from netsim.bounds import Positive, check
from netsim.claims import Adjacency, Claim, Clip, Norm
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node


@dataclass(frozen=True)
class Fault(InRounds):
    """Private gradient descent with one fault, or with its remedy if it is `sound`.

    `step` is η, `scale` the Laplace b (where there is a remedy in its size: of one release of a sound algorithm, if
    nothing else is said), `bound` C, to which gradients are clipped. Where no other formula is given the claim is
    ε = T·2Cη/b, δ = 0, for T = K − 1 releases in K rounds: the first one is the public start, each later one holds
    one clipped gradient. Any change of one agent's data is adjacent.
    """

    step: Positive = 0.1
    """η, the step size."""
    scale: Positive = 1.0
    """The Laplace scale b."""
    bound: Positive = 1.0
    """C, to which gradients are clipped."""
    sound: bool = False
    """Whether the fault is mended: the twin that claims the same."""

    noise_fields = ("scale",)
    lesson: ClassVar[str]
    """One sentence to take home."""
    shows: ClassVar[Literal["even", "coordinate"]] = "coordinate"
    """The direction of a gradient's change in which the fault costs most (`netsim.problems.objective.direction`)."""
    clips: ClassVar[Norm] = "l1"

    def check(self, setting: Setting) -> None:
        """A stable step, noise, a bound."""
        super().check(setting)
        most = stable_step(max(setting.smoothness), setting.topology)
        if not 0 < self.step < most:
            raise ScenarioError("step", self.step, "unstable", f"0 < η < (1 + λ_min(W))/L = {most:.6g}")
        check(self)

    @property
    def summary(self) -> str:
        return f"{type(self).__doc__}".strip().splitlines()[0] + (" Here the sound twin." if self.sound else "")

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for k in range(self.rounds):
            received = await node.exchange(x=self.sent(node, x, k))
            x = await self.moved(node, received.mix("x"), x)
            node.estimate(x)

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        """x as it is sent in round k."""
        return node.privatize(x, Laplace(self.scale))

    async def moved(self, node: Node, mixed: Array, x: Array) -> Array:
        """One step from the mixed point: mixed − η clip(∇f(x))."""
        return mixed - self.step * Clip(self.bound, self.clips)(await node.gradient(x))

    @property
    def releases(self) -> int:
        """T, how many releases hold a gradient."""
        return self.rounds - 1

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del setting, delta
        epsilon = self.releases * 2 * self.bound * self.step / self.scale
        return Claim(epsilon, 0.0, "composition of the Laplace mechanism over the rounds", adjacency, "ℓ1")


@dataclass(frozen=True)
class OneScalar(Fault):
    """One number of noise for the whole vector.

    x̃ = x + s·(1, …, 1), s ~ Lap(b): the differences of the coordinates of x̃ are those of x, exactly.
    """

    lesson = "Noise hides only the directions it is drawn in: one scalar leaves d − 1 of d dimensions in the clear."

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        noise = Laplace(self.scale)
        return node.privatize(x, noise) if self.sound else x + node.privatize(node.zeros(), noise)[:, :1]


@dataclass(frozen=True)
class ReusedSeed(Fault):
    """The same noise in every round.

    The generator is seeded anew each round, so x̃^{k+1} − x̃^k = x^{k+1} − x^k, exactly.
    """

    lesson = "Noise may be used once: subtract two releases that share it, and it is gone."

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        noise = node.zeros() if self.sound else node.privatize(node.zeros(), Laplace(self.scale))
        for _ in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale)) if self.sound else x + noise
            received = await node.exchange(x=sent)
            x = await self.moved(node, received.mix("x"), x)
            node.estimate(x)


@dataclass(frozen=True)
class FadingNoise(Fault):
    """Noise that falls by the round, under a budget that is counted as if it stayed.

    b_k = b·2^−k, so that the iterates converge; release k costs 2^k times what is claimed.
    """

    lesson = "Noise that dies out buys convergence with privacy: each round costs more than the last."

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:
        return node.privatize(x, Laplace(self.scale if self.sound else self.scale * 2.0**-k))


@dataclass(frozen=True)
class HalfNoise(Fault):
    """Noise half as large as declared.

    A factor lost between the paper and the code: Lap(b/2) where Lap(b) is claimed.
    """

    lesson = "The code's noise is what protects, not the paper's: measure it."

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        return node.privatize(x, Laplace(self.scale if self.sound else self.scale / 2))


_COPIES = 3
"""How often a value is transmitted."""


@dataclass(frozen=True)
class SentBefore(Fault):
    """Noise that is added after the value was sent elsewhere.

    A first exchange, for monitoring, carries the exact x; only then comes the noise.
    """

    lesson = "Everything that leaves the agent counts, also what was meant for a log."

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale)) if self.sound else x
            await node.exchange(monitored=sent)
            sent = sent if self.sound else node.privatize(x, Laplace(self.scale))
            received = await node.exchange(x=sent)
            x = await self.moved(node, received.mix("x"), x)
            node.estimate(x)


@dataclass(frozen=True)
class SecondMessage(Fault):
    """A second message a round that no noise protects.

    The mixed point after the agent's own step looks like an average of noisy values, and has its exact gradient in
    it.
    """

    lesson = "An average of noisy values plus one exact gradient is that gradient, for who knows the noisy values."

    stackable = True

    @property
    def releases(self) -> int:
        """The step of every round is in it, the last too."""
        return self.rounds

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            received = await node.exchange(x=x if self.sound else node.privatize(x, Laplace(self.scale)))
            z = await self.moved(node, received.mix("x"), x)
            last = node.privatize(z, Laplace(self.scale)) if self.sound else z
            x = (await node.exchange(z=last)).mix("z")
            node.estimate(x)


@dataclass(frozen=True)
class Averaged(Fault):
    """A value that is transmitted again with fresh noise each time.

    Three copies with independent noise average to one with a third of the variance: three releases, claimed as one.
    """

    lesson = "A retransmission must repeat the noisy value: fresh noise is a further release."

    stackable = True

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale))
            mixed = (await node.exchange(x=sent)).mix("x") / _COPIES
            for _ in range(_COPIES - 1):
                again = sent if self.sound else node.privatize(x, Laplace(self.scale))
                mixed = mixed + (await node.exchange(x=again)).mix("x") / _COPIES
            x = await self.moved(node, mixed, x)
            node.estimate(x)


@dataclass(frozen=True)
class L1L2MixUp(Fault):
    """A bound in ℓ2 under noise that protects ℓ1.

    Gradients are clipped in ℓ2, and the Laplace scale is that for a change of 2C in ℓ1, which can be √d times as
    large. The remedy is √d times the noise.
    """

    lesson = "Laplace noise pays for ℓ1: a change of 1 in ℓ2 can be one of √d."
    shows = "even"
    clips = "l2"

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        return node.privatize(x, Laplace(self.scale * math.sqrt(node.dimension) if self.sound else self.scale))


@dataclass(frozen=True)
class CompositionForgotten(Fault):
    """One round's budget for all rounds.

    The noise is that of a single release; the claim is for the run. The remedy is as many times the noise as there
    are releases.
    """

    lesson = "Every release costs: over K rounds the budgets add up."

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        return node.privatize(x, Laplace(self.scale if self.sound else self.scale / max(self.rounds - 1, 1)))


@dataclass(frozen=True)
class WrongClip(Fault):
    """Clipping to the wrong norm.

    Gaussian noise protects ℓ2, and each coordinate by itself is clipped to C: the vector's ℓ2 norm may be √d·C. The
    claim is that of T = K − 1 releases under Gaussian noise of deviation `scale`, each moved by at most 2Cη in ℓ2:
    ρ = T(2Cη)²/(2σ²)-zCDP, at the δ that is asked for.
    """

    lesson = "A bound on each coordinate is no bound on the vector: clip the norm that the noise protects."
    shows = "even"

    stackable = True

    def sent(self, node: Node, x: Array, k: int) -> Array:  # noqa: ARG002
        return node.privatize(x, Gaussian(self.scale))

    async def moved(self, node: Node, mixed: Array, x: Array) -> Array:
        clip = Clip(self.bound, "l2" if self.sound else "linf")
        return mixed - self.step * clip(await node.gradient(x))

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim:
        del setting
        source = "composition of the Gaussian mechanism over the rounds"
        if not 0 < delta < 1:
            return Claim(None, delta, source, adjacency, "ℓ2", (f"δ = {delta:g} is not in (0, 1)",))
        rho = self.releases * (2 * self.bound * self.step / self.scale) ** 2 / 2
        return Claim(zcdp_epsilon(rho, delta), delta, source, adjacency, "ℓ2")


FAULTS: tuple[type[Fault], ...] = (
    L1L2MixUp,
    OneScalar,
    SentBefore,
    CompositionForgotten,
    ReusedSeed,
    Averaged,
    FadingNoise,
    SecondMessage,
    WrongClip,
    HalfNoise,
)
