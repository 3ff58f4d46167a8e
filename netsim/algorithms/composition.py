"""Composition of noisy releases: the noise that algorithms add, and its total privacy cost.

The cost follows from bounds on how far one adjacent pair moves each release.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Self

from netsim.algorithms.algorithm import Algorithm, Setting
from netsim.bounds import Auto
from netsim.claims import Adjacency, Claim
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.schedules import Constant, Schedule, scaled

Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class Noisy(Algorithm):
    """An algorithm that hides a release behind Laplace or Gaussian noise."""

    noise: Noise = field(default="laplace", kw_only=True)
    """The law of the noise."""
    scale: Schedule = field(default_factory=lambda: Constant(0.0), kw_only=True)
    """Laplace's b or Gaussian's σ per coordinate, by the index of an agent's own release: 0, 1, …"""

    def mechanism(self, k: int, factor: float = 1.0) -> Laplace | Gaussian:
        """That of release k, its scale times `factor`."""
        scale = factor * self.scale(k)
        return Gaussian(scale) if self.noise == "gaussian" else Laplace(scale)

    @property
    def noisy(self) -> bool:
        return self.scale(0) > 0

    def scaled(self, factor: float) -> Self:
        return replace(self, scale=scaled(self.scale, factor))

    def check_noise(self, releases: int) -> None:
        """A law that exists, and scales that are finite and not negative."""
        if self.noise not in ("laplace", "gaussian"):
            raise ScenarioError("noise", self.noise, "no such law", "laplace, gaussian")
        for k in (0, max(releases - 1, 0)):
            if not 0 <= self.scale(k) < math.inf:
                raise ScenarioError("scale", self.scale(k), f"the scale of release {k} is none", ">= 0 and finite")

    @property
    def noise_in_words(self) -> str:
        """ "Laplace noise", "Gaussian noise" or "no noise"."""
        return f"{self.noise.capitalize()} noise" if self.noisy else "no noise"


_NORMS: dict[Noise, str] = {"laplace": "ℓ1", "gaussian": "ℓ2"}


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


def composed(noise: Noise, moves: Sequence[float], scales: Sequence[float], dimension: int, delta: float) -> float:
    """ε of releases that move by at most `moves` in ℓ2, under noise of these `scales`."""
    if noise == "laplace":
        return math.fsum(math.sqrt(dimension) * m / b for m, b in zip(moves, scales, strict=True))
    return zcdp_epsilon(math.fsum((m / s) ** 2 / 2 for m, s in zip(moves, scales, strict=True)), delta)


def determinant_loss(curvature_change: float, curvature: float, dimension: int) -> float:
    """d·ln(1 + C/(dκ))."""
    return dimension * math.log1p(curvature_change / (dimension * curvature))


def perturbed_objective(
    noise: Noise,
    adjacency: Adjacency,
    curvatures: Sequence[float],
    scales: Sequence[float],
    dimension: int,
    delta: float,
) -> float:
    """ε of releases by objective perturbation: κ and the scale of b of each."""
    change, releases = adjacency.gradient_change, len(scales)
    determinants = [determinant_loss(adjacency.curvature_change, kappa, dimension) for kappa in curvatures]
    if noise == "laplace":
        return math.fsum([*determinants, *(adjacency.in_norm("l1", dimension) / b for b in scales)])
    from scipy import stats  # takes its time to load

    longest = float(stats.chi(dimension).isf(delta / releases))
    ratios = [change / s for s in scales]
    return math.fsum([*determinants, *(t**2 / 2 + t * longest for t in ratios)])


def claimed(
    algorithm: Noisy,
    adjacency: Adjacency,
    setting: Setting,
    delta: float,
    *,
    releases: int,
    source: str,
    epsilon: Callable[[Setting, int, list[float]], float],
    failed: Sequence[str] = (),
    curved: bool = False,
    inner: Callable[[Setting, int], float] | None = None,
) -> Claim:
    """The claim of the agent that pays most: `epsilon(setting, agent, scales)` where every condition holds.

    `curved`: the formula needs a bound on the change of the Hessian too. `inner`: the least 1/s of the steps s at
    which an agent takes proximal points of f_i; where it is not above ρ_i these are no single points.
    """
    pure = algorithm.noise == "laplace"
    scales = [algorithm.scale(k) for k in range(releases)]
    conditions = [*failed]
    conditions += [f"scale 0: release {k} has no noise" for k, b in enumerate(scales) if not b > 0][:1]
    if not pure and not 0 < delta < 1:
        conditions.append(f"δ = {delta:g} is not in (0, 1)")
    if not math.isfinite(adjacency.gradient_change):
        conditions.append("the change of a gradient has no finite bound")
    if curved and not math.isfinite(adjacency.curvature_change):
        conditions.append("the change of the Hessian has no finite bound, and the density of a minimizer needs one")
    if setting.topology is None:
        conditions.append("no topology: degrees are not known")
    elif inner is not None:
        conditions += _unsolved(setting, inner)[:1]
    value = None if conditions else max(epsilon(setting, i, scales) for i in range(setting.agents))
    return Claim(value, 0.0 if pure else delta, source, adjacency, _NORMS[algorithm.noise], tuple(conditions))


def degree(setting: Setting, agent: int) -> int:
    """d_i; the setting has a topology."""
    assert setting.topology is not None
    return len(setting.topology.neighbors(agent))


def convexity(setting: Setting, agent: int) -> float:
    """μ_i − ρ_i, the least eigenvalue that ∇²f_i may have; 0, convex, if nothing is known."""
    strong = setting.strong_convexity[agent] if setting.strong_convexity else 0.0
    return strong - weakness(setting, agent)


def weakness(setting: Setting, agent: int) -> float:
    """ρ_i, 0 if nothing is known."""
    return setting.weak_convexity[agent] if setting.weak_convexity else 0.0


def _unsolved(setting: Setting, inner: Callable[[Setting, int], float]) -> list[str]:
    """A sentence for each agent whose inner problem, f_i + `inner`/2‖· − v‖², need not be strongly convex."""
    found: list[str] = []
    for i in range(setting.agents):
        rho, curvature = weakness(setting, i), inner(setting, i)
        if not curvature > rho:
            found.append(f"f_{i} is not convex: its inner problem needs κ = {curvature:.6g} > ρ = {rho:.6g}")
    return found


def check_inner(setting: Setting, inner: Callable[[Setting, int], float], field: str) -> None:
    """A `ScenarioError` where the inner problem of an agent has no single minimizer."""
    for why in _unsolved(setting, inner):
        never = math.inf in setting.weak_convexity
        allowed = "an algorithm that asks for gradients" if never else "a larger penalty"
        raise ScenarioError(field, None, why, allowed)
