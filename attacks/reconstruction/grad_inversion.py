"""GradInversion: a batch of images from one gradient, by many seeds that agree.

    labels: the m classes whose rows of the last layer's gradient have the lowest entries (eq. 7);
    min over A of  ‖∇_θ ℓ(θ; A, T) − g‖²/‖g‖² + α_tv TV(A) + α_2 ‖A‖² + α_group ‖A − mean over seeds‖²

by Adam with a cosine schedule, 50 steps of warm-up and Langevin noise on every step (eq. 11), from several seeds at
once. Source: Yin, Mallya, Vahdat, Alvarez, Kautz, Molchanov, *See through Gradients: Image Batch Recovery via
GradInversion*, CVPR 2021.

Departures, aloud. There is no batch norm in these models, so the paper's strongest prior, the match of its
statistics, is not there, and every result states it in `open`. The consensus is the plain mean over seeds, which the
paper takes before registration; its alignment by RANSAC flow is left out, as these images are small and centred. The
misfit is relative and norms are means over the features, so that the weights α_tv = 1e-4, α_2 = 1e-6 and α_group =
1e-2, those published for ImageNet, have another scale; the Langevin noise is 0.01 a step and not 0.2, of a range of
1. The rule of labels assumes that no two records share a class, as the paper does, and activations that are not
negative: where these are not known to be so the attack refuses. Public labels are used instead of it. The answer is
the seed with the lowest objective. It knows no noise.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attacks.reconstruction.attack import Case, Needs, Reconstruction, check_all
from attacks.reconstruction.gradient_matching import Matching, TotalVariation
from attacks.reconstruction.matching_descent import (
    Stack,
    by_lowest,
    descended,
    drawn,
    in_stacks,
    last_layer,
    non_negative,
    opens,
)
from attacks.reconstruction.optimizers import Adam, Minimum
from netsim.arrays import Array
from netsim.bounds import Count, NonNegative, Positive
from netsim.errors import AttackError

NO_BATCH_NORM = "no batch norm: the published attack's strongest prior is not there"


@dataclass(frozen=True)
class GradInversion:
    """Weights: `variation` α_tv, `size` α_2, `group` α_group.

    `objective` of a reconstruction is the misfit with all that is added to it.
    """

    rounds: int = 1
    seeds: Count = 6
    """How many images are sought together."""
    iterations: Count = 5000
    """How many iterations of Adam."""
    step: Positive = 0.1
    """The optimizer's step."""
    variation: NonNegative = 1e-4
    """The weight of an image's total variation."""
    size: NonNegative = 1e-6
    """The weight of an image's ℓ2 norm."""
    group: NonNegative = 1e-2
    """The weight of the agreement of the seeds."""
    noise: NonNegative = 0.01
    """The size of the Langevin noise."""
    name = "grad_inversion"
    source = "Yin, Mallya, Vahdat, Alvarez, Kautz, Molchanov, See through Gradients, CVPR 2021"

    @property
    def needs(self) -> Needs:
        return Needs(rounds=self.rounds, image=True)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """`AttackError`: no images, fewer estimates than `rounds`, or no valid rule of labels and none public."""
        check_all(self, cases)
        for _, known in cases:
            layer = last_layer(known.model)
            if known.labels is not None:
                continue
            if layer is None or layer.outputs < 2:
                raise AttackError(
                    f"{self.name} needs several classes, and a {known.model.name} model has none or two"
                )
            if not non_negative(known):
                raise AttackError(f"{self.name} needs activations that are not negative before the last layer")
            if known.records > layer.outputs:
                why = f"{known.records} are more than {layer.outputs}"
                raise AttackError(f"{self.name} needs records of different classes, and {why}")

        def consensus(x: Array, _: Array) -> tuple[Array, Array]:
            """α ‖x − mean over the seeds‖²/size of each row, and its gradient with the mean held."""
            seeds = x.reshape(-1, self.seeds, x.shape[-1])
            away = (seeds - np.mean(seeds, axis=1, keepdims=True)).reshape(x.shape)
            weight = self.group / x.shape[-1]
            return weight * np.sum(away**2, axis=-1), 2 * weight * away

        def solved(stack: Stack) -> list[Reconstruction]:
            known = stack.known
            assert known.image_shape is not None
            smooth, warmup = TotalVariation(known.image_shape, self.variation), min(50, self.iterations)
            adam = Adam(self.step, self.iterations, False, "cosine", warmup, known.value_range, noise=self.noise)

            def fidelity(features: Array) -> tuple[Array, Array]:
                value, slope = smooth(features)
                weight = self.size / features[0].size
                return value + weight * np.sum(features**2, axis=(1, 2)), slope + 2 * weight * features

            def minimize(objective: Matching, x: Array) -> Minimum:
                return adam.minimize(objective, x, rng, consensus)

            start, _ = drawn(rng, stack, self.seeds, 1.0)
            targets = stack.targets
            if targets is None:
                targets = stack.model.targets(by_lowest(known, stack.wanted, stack.records))
            found = descended(stack, start, None, targets, minimize, "squared", fidelity)
            sentences = ["; ".join(s for s in (one, NO_BATCH_NORM) if s) for one in opens(stack, found, False)]
            return stack.answers(self.name, found, sentences)

        return in_stacks(cases, self.rounds, solved)
