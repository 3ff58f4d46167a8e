"""The inverse of ε = ρ + 2√(ρ ln 1/δ), what ρ-zCDP gives at δ (Bun, Steinke 2016, Proposition 1.3)."""

import math


def zcdp_rho(epsilon: float, delta: float) -> float:
    return (math.sqrt(math.log(1 / delta) + epsilon) - math.sqrt(math.log(1 / delta))) ** 2
