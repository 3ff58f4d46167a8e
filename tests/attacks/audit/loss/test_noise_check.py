"""Noise that does not follow its declared law is noticed; noise that does is not."""

from dataclasses import dataclass, replace
from itertools import product
from zlib import crc32

import numpy as np
import pytest
from scipy import special, stats

from attacks.audit.loss.noise_check import Draws, NoiseCheck, NoiseScores, check_draws, check_law
from attacks.replay import Release
from netsim.errors import PrivacyError
from netsim.mechanisms import DiscreteLaplace, Gaussian

NONE = np.empty(0)


def checked(law, factor, count, seed):
    """Noise of this law, `factor` times as large as declared."""
    drawn = law.rvs(size=count, random_state=np.random.default_rng(seed)) * factor
    return NoiseCheck.of([NoiseScores(law.cdf(drawn), NONE, NONE, NONE, NONE)])


@pytest.mark.few(2)
@pytest.mark.parametrize(("law", "count"), [(stats.norm, 12_000), (stats.laplace, 24_000)], ids=["normal", "laplace"])
@pytest.mark.parametrize("factor", [0.95, 1.05])
def test_a_scale_that_is_five_per_cent_wrong_shows(law, count, factor):
    assert not any(checked(law, factor, count, seed).passed for seed in range(10))


@pytest.mark.few("laplace")
@pytest.mark.parametrize("law", [stats.norm, stats.laplace], ids=["normal", "laplace"])
def test_the_p_value_is_one_of_noise_that_follows_its_law(law):
    """Two tests share Bonferroni's p: below 0.1 in at most a tenth. 38 of 200 or more have probability below 1e-4."""
    low = sum(checked(law, 1.0, 2000, seed).p < 0.1 for seed in range(200))
    assert low < 38


def test_each_release_is_compared_with_all_before_it_added_with_signs():
    """With a difference of 0, what is along it is nothing; along one sum ±w_0 ± w_1 ± … the length is normal."""
    rng, zero = np.random.default_rng(2), np.zeros((40, 3))
    noise = rng.standard_normal((6, 40, 3))
    releases = [Release(0, Gaussian(1.0), w, zero, np.ones(40, dtype=bool)) for w in noise]
    found = NoiseScores.of(releases, [zero] * 6)
    assert found.along_difference.size == 0
    for t, scores in enumerate(np.split(found.along_earlier, 5), start=1):
        sums = [np.tensordot(signs, noise[:t], 1) for signs in product((-1.0, 1.0), repeat=t)]
        along = [np.sum(noise[t] * one, axis=-1) / np.linalg.norm(one, axis=-1) for one in sums]
        assert any(np.allclose(scores, special.ndtr(one), atol=1e-9) for one in along)


# ── laws of somebody's own, drawn again ─────────────────────────────────────────────────────────────────
def released(law, value):
    """The one release of `value` by this law."""
    observed = law.release(value, np.random.default_rng(1))
    return [Release(0, law, observed, value, np.ones(len(value), dtype=bool))]


class Drawn(Gaussian):
    """Gaussian noise that is drawn from the generator, or made of it."""

    def release(self, value, rng):
        return value + self.noise(value, rng) * self.stddev

    def noise(self, value, rng):
        return rng.standard_normal(value.shape)


class OfTheValue(Drawn):
    """Seeded by the value and the number of the replica."""

    def noise(self, value, rng):
        seeds = [crc32(row.tobytes(), number) for number, row in enumerate(value)]
        return np.array([np.random.default_rng(seed).standard_normal(value.shape[-1]) for seed in seeds])


def drawing(name, noise):
    """A law that draws this, and declares what it inherits."""
    return type(name, (Drawn,), {"noise": lambda self, value, rng: noise(value, rng)})


def tenth_drawn(value, rng):
    """Of the value and the number of the replica, but for a tenth of the variance."""
    return np.sqrt(0.9) * OfTheValue(1.0).noise(value, rng) + np.sqrt(0.1) * rng.standard_normal(value.shape)


def one_in_a_hundred(value, rng):
    """Is three times as large."""
    return rng.standard_normal(value.shape) * np.where(rng.random(value.shape) < 0.01, 3.0, 1.0)


PartlyOfTheValue, Heavier = drawing("PartlyOfTheValue", tenth_drawn), drawing("Heavier", one_in_a_hundred)
Clipped = drawing("Clipped", lambda value, rng: np.clip(rng.standard_normal(value.shape), -3.09, 3.09))
# what is in either tail of 1e-3 is drawn again, or in one of 2e-3
Truncated = drawing("Truncated", lambda value, rng: special.ndtri(1e-3 + (1 - 2e-3) * rng.random(value.shape)))
NoUpperTail = drawing("NoUpperTail", lambda value, rng: special.ndtri((1 - 2e-3) * rng.random(value.shape)))


class TwoPoints(DiscreteLaplace):
    """On its grid, and never far."""

    def release(self, value, rng):
        return value + np.clip(super().release(value, rng) - value, -4.0, 4.0)


@pytest.mark.few(1)
@pytest.mark.parametrize("shape", [(30, 4), (1, 1)])
@pytest.mark.parametrize(
    ("law", "wrong"),
    [
        (OfTheValue(1.0), "it repeats"), (PartlyOfTheValue(1.0), "it repeats"), (Truncated(2.0), "by its tails"),
        (Clipped(1.0), "by its tails|it repeats"), (NoUpperTail(1.0), "by its tails"),
        (Heavier(1.0), "by its tails|it repeats"), (TwoPoints(1.0), "law"),
    ],
)  # fmt: skip
def test_a_law_that_draws_what_it_does_not_declare(law, wrong, shape):
    with pytest.raises(PrivacyError, match=f"{type(law).__name__}: 20,000 numbers of noise.*{wrong}"):
        check_draws(released(law, np.zeros(shape)))


def test_scales_by_coordinate_are_drawn_in_their_own_shape():
    scale = np.linspace(1.0, 2.0, 4)[None] + np.zeros((30, 1))
    check_draws(released(Drawn(scale), np.ones((30, 4))))
    with pytest.raises(PrivacyError, match="by its tails"):
        check_draws(released(Truncated(scale), np.ones((30, 4))))


@dataclass(frozen=True)
class Later(Drawn):
    """Of other numbers of the same generator."""

    skipped: int = 0

    def noise(self, value, rng):
        rng.random(self.skipped)
        return super().noise(value, rng)


def test_a_sound_law_of_somebodys_own_is_not_accused():
    """Bonferroni's p is below 1e-2 in one of a hundred at most: in four of 25 or more once in 10,000 such tests."""
    found = [Draws.of(released(Later(1.0, 50_021 * k), np.zeros((3, 2)))).p for k in range(25)]
    assert len(set(found)) > 5
    assert sum(p < 1e-2 for p in found) < 4
    assert min(found) > 1e-6


class Slotted(Gaussian):
    """A law that has no __dict__ of its own fields."""


def test_what_a_law_is_made_of_does_not_matter():
    check_draws(released(Slotted(1.0), np.zeros((200, 3))))


class OtherQuantiles(Drawn):
    """Quantiles of half the deviation."""

    def quantiles(self, observed, value):
        return Gaussian(self.stddev / 2).quantiles(observed, value)


@dataclass(frozen=True)
class Cauchy:
    scale: float
    size: float

    noiseless = False

    def release(self, value, rng):
        return value + self.scale * rng.standard_cauchy(size=value.shape)

    def log_density(self, observed, value):
        return stats.cauchy.logpdf(observed - value, scale=self.scale).sum(axis=-1)

    def quantiles(self, observed, value):
        return stats.cauchy.cdf(observed - value, scale=self.scale)

    def variance(self):
        return self.size**2


def test_a_law_that_has_no_variance_says_the_size_of_its_noise():
    value = np.zeros((30, 2))
    check_law(*released(Cauchy(0.5, 0.5), value))
    with pytest.raises(PrivacyError, match=r"Cauchy: variance\(\) is ∞.* the square of its scale"):
        check_law(*released(Cauchy(0.5, np.inf), value))


@pytest.mark.parametrize("stddev", [1e-6, 1.0, 1e6])
def test_density_and_quantiles_are_compared_in_units_of_the_noise(stddev):
    value = np.zeros((30, 2))
    check_law(*released(Drawn(stddev), value))
    with pytest.raises(PrivacyError, match="not those of its density"):
        check_law(*released(OtherQuantiles(stddev), value))


@dataclass(frozen=True)
class Step:
    """Uniform on two sides of a point, nine in ten times on the left."""

    share: float = 0.9
    noiseless = False

    def release(self, value, rng):
        left = rng.random(value.shape) < self.share
        return value + rng.random(value.shape) - left

    def log_density(self, observed, value):
        off = observed - value
        return np.log(np.where(off < 0, self.share, 1 - self.share) * (np.abs(off) <= 1)).sum(axis=-1)

    def quantiles(self, observed, value):
        off = np.clip(observed - value, -1, 1)
        return np.where(off < 0, self.share * (1 + off), self.share + (1 - self.share) * off)

    def variance(self):
        return 1 / 12 + self.share * (1 - self.share)


def test_a_density_may_jump_beside_what_was_observed():
    (one,) = released(Step(), np.zeros((30, 1)))
    beside = np.where(np.arange(30)[:, None] % 2, 1e-4, -1e-4)
    check_law(replace(one, observed=beside))
    with pytest.raises(PrivacyError, match="not those of its density"):
        check_law(replace(one, observed=beside, mechanism=OtherStep()))


class OtherStep(Step):
    def log_density(self, observed, value):
        return super().log_density(observed, value) + 0.1
