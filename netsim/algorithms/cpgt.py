"""CPGT: gradient tracking with decaying noise, of which only compressed differences go on the wire.

Every agent has copies x^c, y^c of what its neighbors know of it, 0 at first. A round k = 0, 1, …

    x^a = x + Lap(d_x q^k),  y^a = y + Lap(d_y q^k)                  1
    m = C(x^a − x^c),  m' = C(y^a − y^c)   are sent                  2
    x^c += m,  y^c += m'                   by all who know them      3
    x⁺ = x^a + γ Σ_j w_ij (x^c_j − x^c_i) − αy                       4
    y⁺ = y^a + γ Σ_j w_ij (y^c_j − y^c_i) + ∇f(x⁺) − ∇f(x)           5    y⁰ = ∇f(x⁰)

An agent's own noise enters x⁺ in full, through x^a. Of the neighbors' copies only the sums of lines 4 and 5 matter,
and by line 3 they grow by Σ_j w_ij (m_j − m_i): that is how they are kept here. The network encodes what is sent by
the `compressor`, so a message weighs what the compressor says.

With C the identity and γ = 1 this is DiaDSP. Whatever C, γ and α, the noise moves the limit alike:
Σ_i ∇f_i(x^∞) = −ΣΣ η_y (see `netsim.algorithms.diadsp`). Claim: DiaDSP's, for every compressor, with the same
faults. Source: the CPGT paper (the form is sure). Its compressors are
`TopK` and `Quantizer`. A compressor has to contract, E‖C(v) − v‖² < ‖v‖², or the copies run away from what they copy:
`RandomK` with its factor d/k does so only for 2k > d, and is refused otherwise; so is the unbiased `Quantizer` where
its bound d/(4s²) or √d/s is 1 or more.

A contraction does not bear every γ. Let s = 1 − λ_min(W) be the largest eigenvalue of I − W, and α small.

- `TopK`: where coordinates are alike each waits d/k rounds for its turn, moves by −γs x in each of them, and turns
  over ever wider if γs·d/k > 2. That is asked for, with d/k rounded down if that is nearer; whatever was tried within
  it converges. Beyond it some starts with all coordinates alike diverge, from 1.1 times it on, and random ones on
  complete graphs from 1.5 times it on, on rings and paths from 2 times it on.
- `RandomK`: the residual v − C(v) has mean mv and variance V‖v‖², (m, V) = (1 − k/d, (1 − k/d)k/d), or (0, d/k − 1)
  with the factor. In a mode of I − W, g = γs, a unit of noise n in the residual r = m(x − x^c) + n comes to

      Σ‖x − x^c‖² = ((1 + m)g + 2(1 − m)(1 + g)) / ((1 − m)²(2(1 + m) − g(1 − m)))    (variance of an ARMA(2, 1))

  in all, for x⁺ = (1 − g)x + gr and (x − x^c)⁺ = (1 + g)r − gx, so that second moments die out if V times that is
  below 1 at the largest s, where it is largest. Single runs bear up to some 2.5 times that γ.
- `Quantizer`, `ScaledSign`: no bound on γ is known that does not refuse what converges. Of those tried, at d = 10 and
  40, these diverge: 1 bit at d = 40, from γ = 0.4 on; the unbiased, where d/(4s²) = 0.625, from γ = 0.6 on.

Theorem 1 (`Cpgt.unproven`, `Cpgt.rate`): under Assumptions 1 to 3 and

    γ ≤ min{κ(1 − ρ)²mμ/(4√φ s₁), κL/(mμ), 1},  κ = (1 − √φ)/λ̄                                          (20)
    α ≤ min{mμ(1 − ρ)²/s₂, λ̄(1 − q̄)/2} γ/L                                                              (21)
    s₁ = 4λ̄²mμ + (1 − ρ)²mμ + (6mμ + 2L)λ̄(1 − ρ),  s₂ = (6mμ + 2m²μ + 4L)(1 − ρ) + 2mμλ̄(2 + m)

for some m in (0, 1), E‖x(k) − x^∞‖_F = O((1 − mαμ/2)^k). Here λ̄ = s, ρ is the spectral radius of W − 11ᵀ/n, q̄ the
largest q, and φ < 1 with E‖C(v) − v‖² ≤ φ‖v‖² (Assumption 3) is `Codec.contraction`.

What is privatized is x − x^c, with the copy that everybody knows: the same noise, and with a compressor that keeps
what it gets the release is on the wire. With a lossy one the code of the first message has a known law; what follows
depends on what was not sent, and a replay has to be granted it: from there on the loss is an upper bound.
"""

import math
from dataclasses import dataclass
from typing import Annotated

import numpy as np
from annotated_types import Gt, Le

from netsim.algorithms.algorithm import Setting, unmet
from netsim.algorithms.diadsp import DecayingNoise, strongly_convex
from netsim.algorithms.mixing import drawn_start, tracking_step
from netsim.bounds import Auto, Positive
from netsim.codecs import FLOAT64, Codec, Quantizer, RandomK, TopK
from netsim.errors import ScenarioError
from netsim.mechanisms import Laplace
from netsim.node import Node

ROUNDING = 1e-9
"""Relative: what rounding may do to an eigenvalue."""
SHARES = np.arange(1, 1000) / 1000
"""The m of Theorem 1 that are tried; the largest that its conditions bear has the fastest rate."""


@dataclass(frozen=True)
class Cpgt(DecayingNoise):
    """CPGT: compressed gradient tracking in rounds with decaying noise; only differences go on the wire.
    Minimizes Σ f_i up to the sum of its noise on y.
    """

    step: Annotated[
        Positive,
        Auto(
            "(1 + λ_min(W))²/(4L), times gamma", lambda at: at.gamma * tracking_step(at.smoothness, at.topology) / 2
        ),
    ]

    gamma: Annotated[float, Gt(0), Le(1)] = 1.0
    """γ, the share of the way to the neighbors that a round goes."""
    compressor: Codec = FLOAT64
    """C, which makes the differences that go on the wire smaller."""

    stackable = True

    @property
    def codec(self) -> Codec:
        return self.compressor

    async def run(self, node: Node) -> None:
        noise_x, noise_y = self.noise_x(node.id), self.noise_y(node.id)
        x = drawn_start(node, self.start)
        gradient = y = await node.gradient(x)
        copy_x = copy_y = apart_x = apart_y = node.zeros()
        for k in range(self.rounds):
            ahead_x = node.privatize(x - copy_x, Laplace(noise_x(k)))  # 1, 2: x^a − x^c
            ahead_y = node.privatize(y - copy_y, Laplace(noise_y(k)))
            noisy_x, noisy_y = copy_x + ahead_x, copy_y + ahead_y
            received = await node.exchange(x=ahead_x, y=ahead_y)
            copy_x = copy_x + received.sent("x")  # 3
            copy_y = copy_y + received.sent("y")
            apart_x = apart_x + (received.mix("x") - received.sent("x"))
            apart_y = apart_y + (received.mix("y") - received.sent("y"))
            x = noisy_x + self.gamma * apart_x - self.step * y  # 4
            before, gradient = gradient, await node.gradient(x)
            y = noisy_y + self.gamma * apart_y + gradient - before  # 5
            node.estimate(x)

    def check(self, setting: Setting) -> None:
        """DiaDSP's conditions, γ in (0, 1], and a compressor that contracts and bears γ, as far as that is known."""
        super().check(setting)
        compressor, d = self.compressor, setting.dimension
        if isinstance(compressor, RandomK) and compressor.unbiased and 2 * (kept := compressor.kept(d)) <= d:
            problem = f"does not contract: E‖C(v) − v‖² = (d/k − 1)‖v‖², d = {d}, k = {kept}"
            raise ScenarioError("compressor", str(compressor), problem, "unbiased: false, or 2k > d")
        if isinstance(compressor, Quantizer) and compressor.unbiased:
            variance = compressor.contraction(d)
            if variance >= 1:
                problem = f"need not contract: E‖C(v) − v‖² up to {variance:.6g}‖v‖², d = {d}"
                raise ScenarioError("compressor", str(compressor), problem, "unbiased: false, or more bits")
        if setting.topology is None:
            return
        spread = 1 - setting.topology.least_eigenvalue
        most = largest_share(compressor, d, spread)
        if self.gamma > most * (1 + ROUNDING):
            why = f"unstable with {compressor} in dimension {d}: 1 − λ_min(W) = {spread:.6g}"
            raise ScenarioError("gamma", self.gamma, why, f"γ <= {most:.6g}")

    def unproven(self, setting: Setting) -> tuple[str, ...]:
        return self._theorem_1(setting)[0]

    def rate(self, setting: Setting) -> float | None:
        return self._theorem_1(setting)[1]

    def _theorem_1(self, setting: Setting) -> tuple[tuple[str, ...], float | None]:
        """Conditions that fail, and the rate at the largest m of `SHARES` that they bear, None where one fails."""
        failed = unmet(strongly_convex(setting))
        if setting.topology is None:
            failed += ("Assumption 2: no graph",)
        if (phi := self.compressor.contraction(setting.dimension)) >= 1:
            failed += (f"Assumption 3: no φ < 1 is known of {self.compressor}",)
        if failed or setting.topology is None:
            return failed, None
        mu = min(setting.convexity(agent) for agent in range(setting.agents))
        L, mixed = max(setting.smoothness), setting.topology.spectral_gap  # L, 1 − ρ
        spread = 1 - setting.topology.least_eigenvalue
        m = SHARES * mu  # mμ
        kappa = (1 - math.sqrt(phi)) / spread
        s1 = 4 * spread**2 * m + mixed**2 * m + (6 * m + 2 * L) * spread * mixed
        s2 = (6 * m + 2 * SHARES * m + 4 * L) * mixed + 2 * m * spread * (2 + SHARES)
        most_gamma = np.minimum(kappa * L / m, 1.0)
        if phi:
            most_gamma = np.minimum(most_gamma, kappa * mixed**2 * m / (4 * math.sqrt(phi) * s1))
        slowest = max(self.ratios)
        most_step = np.minimum(m * mixed**2 / s2, spread * (1 - slowest) / 2) * self.gamma / L
        borne = (self.gamma <= most_gamma) & (self.step <= most_step)
        if borne.any():
            return (), float(1 - m[borne].max() * self.step / 2)
        failed = unmet(
            (self.gamma <= most_gamma.max(), f"(20): γ = {self.gamma:.6g} is above {most_gamma.max():.6g} for all m"),
            (self.step <= most_step.max(), f"(21): α = {self.step:.6g} is above {most_step.max():.6g} for all m"),
        )
        return failed or ("(20) and (21) hold for no m together",), None


def largest_share(compressor: Codec, dimension: int, spread: float) -> float:
    """The γ up to which nothing speaks against this compressor, `spread` being 1 − λ_min(W); at most 1."""
    if isinstance(compressor, TopK):
        wait = dimension / compressor.kept(dimension)
        most = 2 / min(wait, math.floor(wait + 0.5))
    elif isinstance(compressor, RandomK) and compressor.kept(dimension) < dimension:
        kept = compressor.kept(dimension) / dimension
        m, variance = (0.0, 1 / kept - 1) if compressor.unbiased else (1 - kept, kept * (1 - kept))
        c = (1 - m) ** 2  # the g at which variance · gain = 1: it is a ratio of two linear functions of g
        most = (2 * c * (1 + m) - 2 * variance * (1 - m)) / (variance * (3 - m) + c * (1 - m))
    else:
        return 1.0
    return min(1.0, most / spread) if spread > 0 else 1.0
