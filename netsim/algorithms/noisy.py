"""What algorithms share that hide a release behind Laplace or Gaussian noise of a scale that may change."""

import math
from dataclasses import dataclass, field, replace
from typing import Literal, Self

from netsim.algorithms.algorithm import Algorithm
from netsim.errors import ScenarioError
from netsim.mechanisms import Gaussian, Laplace
from netsim.schedules import Constant, Schedule, scaled

Noise = Literal["laplace", "gaussian"]


@dataclass(frozen=True)
class Noisy(Algorithm):
    """`scale` is Laplace's b or Gaussian's σ per coordinate, by the index of an agent's own release: 0, 1, …"""

    noise: Noise = field(default="laplace", kw_only=True)
    scale: Schedule = field(default_factory=lambda: Constant(0.0), kw_only=True)

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
