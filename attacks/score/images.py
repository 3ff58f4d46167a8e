"""Pictures: how near one is to another, and the score of one rebuilt record.

Structural similarity is that of Wang, Bovik, Sheikh, Simoncelli 2004 with a square window and sample (co)variances,
the mean over all windows inside the image: scikit-image's `structural_similarity` with its defaults, but for the side
of the window. That is 7, and in images too small for it the largest odd number up to half the shorter side plus 1: 5
in 8 × 8. Of a picture in colour it is the mean over the channels.
"""

from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from attacks.reconstruction.attack import Prior, Reconstruction, Shape
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.problems import LogisticLoss
from netsim.truth import Truth

WINDOW = 7
"""Side of the window of the structural similarity, in pixels."""


def psnr(mse: Array, width: float) -> Array:
    """Peak signal-to-noise ratio, 10 log₁₀(width²/mse) in decibels; `width` of the range, ∞ where mse = 0."""
    with np.errstate(divide="ignore"):
        return 10 * np.log10(width**2 / np.asarray(mse, dtype=np.float64))


def _window_of(shape: Shape) -> int:
    """The side of the window for images of this shape."""
    half = min(shape[:2]) // 2 + 1
    return max(3, min(WINDOW, half - 1 + half % 2))


def ssim(images: Array, others: Array, shape: Shape, width: float) -> Array:
    """Structural similarity of images as rows (…, pixels), in −1 … 1; 1 for equal ones. `width`: of their range."""
    x, y = (np.reshape(each, (*each.shape[:-1], *shape)) for each in np.broadcast_arrays(images, others))
    if len(shape) == 2:
        x, y = x[..., None], y[..., None]
    side = _window_of(shape)
    inside = slice(side // 2, -(side // 2))

    def mean(values: Array) -> Array:
        for axis in (-3, -2):
            values = ndimage.uniform_filter1d(values, side, axis=axis)
        return values[..., inside, inside, :]

    sample = side**2 / (side**2 - 1)
    at_x, at_y = mean(x), mean(y)
    var_x, var_y = sample * (mean(x * x) - at_x**2), sample * (mean(y * y) - at_y**2)
    both = sample * (mean(x * y) - at_x * at_y)
    c1, c2 = (0.01 * width) ** 2, (0.03 * width) ** 2
    local = (2 * at_x * at_y + c1) * (2 * both + c2) / ((at_x**2 + at_y**2 + c1) * (var_x + var_y + c2))
    return np.mean(local, axis=(-3, -2, -1))


@dataclass(frozen=True)
class ImageScore:
    """Quality of one agent's rebuilt record, mean over replicas.

    `mse_prior` is that of guessing the prior's mean of the true label (a guesser who knows the label);
    `skill` = 1 − mse/mse_prior: 1 is the record itself, 0 no better than the guess, negative worse.
    """

    agent: int
    truth: Array
    rebuilt: Array
    guess: Array
    mse: float
    mse_prior: float
    largest_error: float
    label_correct: float

    @property
    def skill(self) -> float:
        """1 − mse/mse_prior."""
        return 1 - self.mse / self.mse_prior


def score_image(reconstruction: Reconstruction, truth: Truth, prior: Prior) -> ImageScore:
    """Compare a rebuilt record with the agent's. You get an `AttackError` if the agent holds more than one."""
    objective = truth.problem.objectives[reconstruction.agent]
    if not isinstance(objective, LogisticLoss) or len(objective.labels) != 1:
        raise AttackError(f"agent {reconstruction.agent} does not hold exactly one labelled record")
    record: Array = objective.features[0]
    label = int(objective.labels[0])
    guess: Array = prior.mean[label]
    rebuilt = reconstruction.features[:, 0]
    error = rebuilt - record
    return ImageScore(
        reconstruction.agent,
        record,
        rebuilt[0],
        guess,
        float(np.mean(np.square(error))),
        float(np.mean(np.square(guess - record))),
        float(np.max(np.abs(error))),
        float(np.mean(np.equal(reconstruction.labels(objective.model), label))),
    )
