"""False alarms of the game alone: white-box scores ln p₁/p₀ of mechanisms whose ε is known, in many games."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from attacks.audit.games.game import GameResult, play
from netsim.arrays import Array
from netsim.randomness import Streams
from scenarios.certificate import laws
from scenarios.certificate.rows import Outcome
from scenarios.certificate.sound import CLAIMS, PROVEN
from scenarios.certificate.worlds import CONFIDENCE, DELTA

PART = "game"
TRIALS = 500
"""Of each world."""
RELEASES = 3
ALARM, RATES = "game above the truth", "rates above the truth"

Draw = Callable[[float, np.random.Generator], tuple[Array, Array]]
"""(ε, rng) ↦ the scores ln p₁/p₀ of `TRIALS` trials of world 0, and of world 1."""
Referee = Callable[..., GameResult]
"""`attacks.audit.games.game.play`, or something with its arguments."""


def randomized_response(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The truth with probability e^ε/(1 + e^ε): every bound that holds for it is attained by it."""
    right = rng.random((2, TRIALS)) < 1 / (1 + math.exp(-epsilon))
    return np.where(right[0], -epsilon, epsilon), np.where(right[1], epsilon, -epsilon)


def laplace(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    noise = rng.laplace(0, 1 / epsilon, (2, TRIALS))
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def three_laplace(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """ε in three releases."""
    share = epsilon / RELEASES
    noise = rng.laplace(0, 1 / share, (2, RELEASES, TRIALS))
    zero, one = _laplace_score(noise[0], share), _laplace_score(noise[1] + 1, share)
    return zero.sum(axis=0), one.sum(axis=0)


def geometric(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """The difference of two geometric numbers: discrete Laplace noise, one step apart."""
    drawn = rng.geometric(-math.expm1(-epsilon), (4, TRIALS))
    noise = (drawn[:2] - drawn[2:]).astype(np.float64)
    return _laplace_score(noise[0], epsilon), _laplace_score(noise[1] + 1, epsilon)


def gaussian(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    mu = laws.gaussian_mu(epsilon, DELTA)
    noise = rng.standard_normal((2, TRIALS))
    return mu * noise[0] - mu * mu / 2, mu * noise[1] + mu * mu / 2


def leaky_response(epsilon: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Randomized response that with probability δ tells its world outright."""
    zero, one = randomized_response(epsilon, rng)
    told = rng.random((2, TRIALS)) < DELTA
    return np.where(told[0], -math.inf, zero), np.where(told[1], math.inf, one)


def _laplace_score(released: Array, epsilon: float) -> Array:
    return epsilon * (np.abs(released) - np.abs(released - 1))


GAMES: dict[str, tuple[Draw, float]] = {
    "randomized response": (randomized_response, 0.0),
    "Laplace": (laplace, 0.0),
    "three Laplace releases": (three_laplace, 0.0),
    "discrete Laplace": (geometric, 0.0),
    "Gaussian at δ": (gaussian, DELTA),
    "randomized response that leaks with δ": (leaky_response, DELTA),
}
"""By name: how scores are drawn, and the δ of the game."""


@dataclass(frozen=True)
class GameCase:
    """One mechanism, played again and again; `referee` may be another one than ours."""

    name: str
    draw: Draw
    delta: float
    referee: Referee = play
    part: str = PART

    def once(self, repetition: int, streams: Streams) -> Outcome:
        truth = CLAIMS[repetition % len(CLAIMS)]
        zero, one = self.draw(truth, streams.generator("scores"))
        rng = streams.generator("coins")
        found = self.referee(zero, one, delta=self.delta, confidence=CONFIDENCE, rng=rng)
        marks = [ALARM] if found.epsilon_audited > truth else []
        marks += [RATES] if found.rates.epsilon > truth else []
        return Outcome(frozenset(marks), {PROVEN: round(found.epsilon_audited / truth, 4)})


def game_cases() -> list[GameCase]:
    return [GameCase(name, draw, delta) for name, (draw, delta) in GAMES.items()]
