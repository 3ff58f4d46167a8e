"""Auditors and referees with a defect planted in them: a certificate must not be given to them."""

import math
from dataclasses import replace

import numpy as np
from scipy import stats

from attacks.audit.audit import audit
from attacks.audit.games.game import play
from attacks.audit.verdict import Verdict


def on_the_played_trials(zero, one, *, delta, confidence, rng):
    """Of all thresholds the pair that proves most on the very trials that are played."""
    cuts = np.unique(
        np.concatenate([[-math.inf, math.inf], np.quantile(np.concatenate([zero, one]), _GRID, method="nearest")])
    )
    below_0, below_1 = np.searchsorted(np.sort(zero), cuts), np.searchsorted(np.sort(one), cuts)
    right = below_0[:, None] + (one.size - below_1)[None, :]
    wrong = below_1[:, None] + (zero.size - below_0)[None, :]
    p = np.where((cuts[:, None] <= cuts) & (right > 0), stats.beta.ppf(1 - confidence, right, wrong + 1), 0.0)
    best = max(float(np.max(np.log(np.maximum(p - delta, 1e-9) / (1 - p)))), 0.0)
    return replace(play(zero, one, delta=delta, confidence=confidence, rng=rng), epsilon_audited=best)


_GRID = np.linspace(0, 1, 21)


def every_part_at_the_whole_error(zero, one, **rest):
    """The best of four games on a quarter of the trials, each with all of α."""
    parts = zip(np.array_split(zero, 4), np.array_split(one, 4), strict=True)
    return max((play(*part, **rest) for part in parts), key=lambda game: game.epsilon_audited)


def by_the_rate_itself(zero, one, *, delta, confidence, rng):
    """The share of right guesses in place of a lower bound of it."""
    honest = play(zero, one, delta=delta, confidence=confidence, rng=rng)
    p = honest.correct / max(honest.guesses, 1)
    epsilon = math.inf if p == 1 else max(math.log((p - delta) / (1 - p)), 0.0) if p > delta else 0.0
    return replace(honest, epsilon_audited=epsilon)


def without_the_sign(zero, one, **rest):
    """The world is read off where the loss came from, not off the loss."""
    return play(-np.abs(zero), np.abs(one), **rest)


def without_delta(zero, one, *, delta, **rest):
    """An (ε, δ) claim judged as if δ were 0."""
    return play(zero, one, delta=0.0, **rest)


def much_less_sure_than_it_says(simulate, pair, claim, *, confidence, **rest):
    """Audits at 20 % confidence, whatever was asked for."""
    return audit(simulate, pair, claim, confidence=0.2, **rest)


def worlds_exchanged(simulate, pair, claim, **rest):
    """Transcripts of one world are explained as the other's."""
    return audit(lambda world, index: simulate(1 - world, index), pair, claim, **rest)


def blind(simulate, pair, claim, **rest):
    """Whatever is found, the claim is called consistent."""
    found = audit(simulate, pair, claim, **rest)
    return replace(found, judgement=replace(found.judgement, verdict=Verdict.CONSISTENT))
