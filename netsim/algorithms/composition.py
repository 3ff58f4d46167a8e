"""Composition of noisy releases: the noise that algorithms add, and its total privacy cost.

The cost follows from bounds on how far one adjacent pair moves each release.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from netsim.algorithms.algorithm import Algorithm, Setting
from netsim.bounds import Auto, check
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.schedules import SILENT, Schedule

Noise = Literal["laplace", "gaussian"]


def balanced(at: Any) -> float:
    """L/(2·mean degree): the penalty by which neighbors add about as much curvature as an agent's objective has."""
    degrees = [len(at.topology.neighbors(i)) for i in range(at.topology.agents)]
    return at.smoothness * len(degrees) / (2 * sum(degrees))


BALANCED = Auto("L/(2·mean degree)", balanced)
SMOOTH = Auto("L", lambda at: at.smoothness)


def zcdp_epsilon(rho: float, delta: float) -> float:
    """ε = ρ + 2√(ρ ln 1/δ), the (ε, δ) guarantee of ρ-zCDP; ρ ≥ 0, 0 < δ ≤ 1. Bun, Steinke 2016, Proposition 1.3.

    Valid but not tight: for Gaussian releases `attacks.audit.accounting.formulas.gaussian_epsilon` at μ = √(2ρ) is
    exact.
    """
    return rho + 2 * math.sqrt(rho * math.log(1 / delta))


def advanced_composition(losses: Sequence[float], delta: float) -> float:
    """ε of releases that lose at most these pure ε_l, chosen adaptively, at 0 < δ < 1, in nats.

    Σ ε_l (e^{ε_l} − 1)/(e^{ε_l} + 1) + √(2 Σ ε_l² ln 1/δ). Kairouz, Oh, Viswanath 2017, Theorem 3.5.
    """
    drift = math.fsum(loss * math.tanh(loss / 2) for loss in losses)
    return drift + math.sqrt(2 * math.fsum(loss * loss for loss in losses) * math.log(1 / delta))


def perturbed_objective(
    noise: Noise,
    adjacency: Adjacency,
    curvatures: Sequence[float],
    scales: Sequence[float],
    dimension: int,
    delta: float,
) -> float:
    """ε of releases by objective perturbation, by κ and the scale of b; a determinant costs d·ln(1 + C/(dκ))."""
    change, releases = adjacency.gradient_change, len(scales)
    bend = adjacency.curvature_change
    determinants = [dimension * math.log1p(bend / (dimension * kappa)) for kappa in curvatures]
    if noise == "laplace":
        return math.fsum([*determinants, *(adjacency.in_norm("l1", dimension) / b for b in scales)])
    from scipy import stats  # takes its time to load

    longest = float(stats.chi(dimension).isf(delta / releases))
    ratios = [change / s for s in scales]
    return math.fsum([*determinants, *(t**2 / 2 + t * longest for t in ratios)])


@dataclass(frozen=True)
class Noisy(Algorithm):
    """An algorithm that hides a release behind Laplace or Gaussian noise."""

    noise: Noise = field(default="laplace", kw_only=True)
    """The law of the noise."""
    scale: Schedule = field(default=SILENT, kw_only=True)
    """Laplace's b or Gaussian's σ per coordinate, by the index of an agent's own release: 0, 1, …"""

    noise_fields = ("scale",)

    def mechanism(self, k: int, factor: float = 1.0) -> Laplace | Gaussian:
        """That of release k, its scale times `factor`."""
        scale = factor * self.scale(k)
        return Gaussian(scale) if self.noise == "gaussian" else Laplace(scale)

    @property
    def noise_in_words(self) -> str:
        """ "Laplace noise", "Gaussian noise" or "no noise"."""
        return f"{self.noise.capitalize()} noise" if self.noisy else "no noise"

    def inner(self, setting: Setting, agent: int) -> float | None:  # noqa: ARG002
        """The least 1/s of the steps s at which an agent takes proximal points of f_i, each a single point above ρ_i.
        None: it takes none."""
        return None

    def check(self, setting: Setting) -> None:
        """Parameters in their bounds, a law that exists, inner problems that have one minimizer each."""
        super().check(setting)
        check(self)
        if self.noise not in ("laplace", "gaussian"):
            raise ScenarioError("noise", self.noise, "no such law", "laplace, gaussian")
        self._check_scale("scale", 1)
        for why in self._unsolved(setting):
            never = math.inf in setting.weak_convexity
            allowed = "an algorithm that asks for gradients" if never else "a larger penalty"
            raise ScenarioError("penalty", None, why, allowed)

    def _refuse_regularizer(self, setting: Setting, field: str, value: object) -> None:
        """The density of a minimizer has a Jacobian only where everything is smooth."""
        if setting.regularized:
            raise ScenarioError(field, value, "perturbs the objective, which needs a smooth one", "r = 0 (no ℓ1)")

    def _unsolved(self, setting: Setting) -> list[str]:
        """A sentence for each agent whose inner problem, f_i + κ/2‖· − v‖², need not be strongly convex."""
        found: list[str] = []
        for i in range(setting.agents):
            rho, kappa = setting.weakness(i), self.inner(setting, i)
            if kappa is not None and not kappa > rho:
                found.append(f"f_{i} is not convex: its inner problem needs κ = {kappa:.6g} > ρ = {rho:.6g}")
        return found

    def claim_of_moves(
        self,
        adjacency: Adjacency,
        setting: Setting,
        delta: float,
        source: str,
        releases: int,
        moves: Callable[[int], Sequence[float]],
    ) -> Claim:
        """The claim of composition for the agent that pays most, whose releases move by at most `moves` in ℓ2."""

        def epsilon(agent: int, scales: list[float]) -> float:
            with np.errstate(over="ignore"):
                moved = np.array(moves(agent))
                if self.noise == "laplace":
                    return math.fsum((math.sqrt(setting.dimension) * moved / scales).tolist())
                return zcdp_epsilon(math.fsum(((moved / scales) ** 2 / 2).tolist()), delta)

        return self._claim(adjacency, setting, delta, source, releases, epsilon)

    def claim_by_frequency(self, adjacency: Adjacency, setting: Setting, delta: float, weight: float) -> Claim | None:
        """Theorem 1 of the DP-RECAL paper, second version: "[Overall Privacy Budget of ALG] = Σ_{j=1}^{Θ_K} ε_j" of
        any algorithm, ε_j what an agent's j-th release costs by itself; None without noise.

        By itself a release moves by `weight` times the change of the one gradient that is new in it. Gaussian
        releases add up in ρ_j, as where the paper applies its theorem ("By Theorem 1, DP-RECAL provides
        Σ_{t=1}^{τ_j(K)} ρ_t-zCDP", proof of Theorem 4): that is the least that "Σ ε_j" can be read as. Laplace's add
        up in ε_j.

        No theorem of this library: what an agent carries from gradient to gradient may move a release by more, and
        the sum does not count that.
        """
        if not self.noisy:
            return None
        moves = [weight * adjacency.gradient_change] * self._releases
        source = "DP-RECAL, Theorem 1: each release by itself, added up over the releases of one agent"
        return self.claim_of_moves(adjacency, setting, delta, source, self._releases, lambda _: moves)

    def claim_of_minimizers(
        self,
        adjacency: Adjacency,
        setting: Setting,
        delta: float,
        source: str,
        releases: int,
        curvatures: Callable[[int], Sequence[float]],
        factor: float | Callable[[int], Sequence[float]] = 1.0,
    ) -> Claim:
        """The claim of objective perturbation for the agent that pays most: κ of its releases, `factor` of the scale
        of b, one for all or one for each."""

        def epsilon(agent: int, scales: list[float]) -> float:
            kappas = [kappa - setting.weakness(agent) for kappa in curvatures(agent)]
            factors = factor(agent) if callable(factor) else [factor] * releases
            larger = [one * b for one, b in zip(factors, scales, strict=True)]
            return perturbed_objective(self.noise, adjacency, kappas, larger, setting.dimension, delta)

        change = "the change of the Hessian has no finite bound, and the density of a minimizer needs one"
        unbounded = () if math.isfinite(adjacency.curvature_change) else (change,)
        return self._claim(adjacency, setting, delta, source, releases, epsilon, unbounded)

    def _claim(
        self,
        adjacency: Adjacency,
        setting: Setting,
        delta: float,
        source: str,
        releases: int,
        epsilon: Callable[[int, list[float]], float],
        unbounded: tuple[str, ...] = (),
    ) -> Claim:
        pure = self.noise == "laplace"
        scales = [self.scale(k) for k in range(releases)]
        conditions = [f"scale 0: release {k} has no noise" for k, b in enumerate(scales) if not b > 0][:1]
        if not pure and not 0 < delta < 1:
            conditions.append(f"δ = {delta:g} is not in (0, 1)")
        if not math.isfinite(adjacency.gradient_change):
            conditions.append("the change of a gradient has no finite bound")
        conditions += unbounded
        conditions += (
            ["no topology: degrees are not known"] if setting.topology is None else self._unsolved(setting)[:1]
        )
        value = None if conditions else max(epsilon(i, scales) for i in range(setting.agents))
        return Claim(value, 0.0 if pure else delta, source, adjacency, "ℓ1" if pure else "ℓ2", tuple(conditions))
