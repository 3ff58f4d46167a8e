"""Inverting Gradients: the direction of the gradient, and images that are smooth.

    min over A in the value range of  1 − ⟨∇_θ ℓ(θ; A, T), g⟩/(‖∇_θ ℓ‖‖g‖) + α TV(A)

by Adam on the signs of the gradient, 0.1 a step, a tenth of it from 3/8, 5/8 and 7/8 of the iterations on, projected
into the range after every step. Source: Geiping, Bauermeister, Dröge, Moeller, *Inverting Gradients – How easy is it
to break privacy in federated learning?*, NeurIPS 2020, eq. 4 and the authors' code (4800 iterations, α = 0.1).

Labels are recovered where the signs of the last layer's gradient show them (`matching_descent.by_sign`: one record,
or as many classes with a label's sign as there are records), known where they are public, and else free variables
with soft labels; the paper assumes them known. Records are of the digits' kind here: in [0, 1] and not normalized by
a mean and deviation of each colour, so the box is the `value_range`, and starts are N(0, 1) inside it. Departures:
`iterations` is a field; several restarts run side by side, chosen by the objective without looking at the images; the
attacker chooses the round as in DLG; with `rounds` above 1 it matches as many at once.

The cosine leaves the length of the gradient unused: a model without an intercept whose gradient is a multiple of the
one record (linear, logistic) then has records of every size with the same misfit, and `open` names it. It knows no
noise. `converged`: the objective hardly fell in the last tenth of the iterations (`Adam`); signs never come to rest.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attacks.reconstruction.attack import Case, Needs, Reconstruction, check_all
from attacks.reconstruction.gradient_matching import TotalVariation
from attacks.reconstruction.matching_descent import (
    Stack,
    by_sign,
    descended,
    drawn,
    in_stacks,
    last_layer,
    opens,
    why_no_sign,
)
from attacks.reconstruction.optimizers import Adam
from netsim.bounds import Count, NonNegative, Positive
from netsim.models import Linear, Logistic


@dataclass(frozen=True)
class InvertingGradients:
    """Weight `variation` is α; `rounds` as in `DLG`.

    `objective` of a reconstruction is the distance and the variation together.
    """

    rounds: int = 1
    restarts: Count = 4
    """From how many random starts."""
    iterations: Count = 4800
    """How many iterations of Adam."""
    step: Positive = 0.1
    """The optimizer's step."""
    variation: NonNegative = 0.1
    """The weight of an image's total variation."""
    name = "inverting_gradients"
    source = "Geiping, Bauermeister, Dröge, Moeller, Inverting Gradients, NeurIPS 2020"

    @property
    def needs(self) -> Needs:
        return Needs(rounds=self.rounds, image=True, lengths=self.rounds > 1)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """`AttackError`: records that are no images, or fewer estimates than `rounds`."""
        check_all(self, cases)

        def solved(stack: Stack) -> list[Reconstruction]:
            start, y = drawn(rng, stack, self.restarts, 1.0)
            targets, layer = stack.targets, last_layer(stack.model)
            if targets is None and not why_no_sign(stack.known) and layer is not None:
                labels, sound = by_sign(stack.known, stack.wanted, stack.deviation)
                # one record's label is the likeliest one, sure or not
                if stack.records == 1 or (layer.outputs > 1 and sound.all()):
                    targets = stack.model.targets(labels)
            assert stack.known.image_shape is not None
            smooth = TotalVariation(stack.known.image_shape, self.variation)
            boxed = stack.records * stack.model.width
            adam = Adam(self.step, self.iterations, box=stack.known.value_range, boxed=boxed)
            found = descended(stack, start, y, targets, adam.minimize, "cosine", smooth)
            scaled = isinstance(stack.model, Linear | Logistic) and stack.records == 1 and stack.wanted.shape[1] == 1
            size = "the cosine does not determine the record's size" if scaled else ""
            sentences = ["; ".join(s for s in (one, size) if s) for one in opens(stack, found, targets is None)]
            return stack.answers(self.name, found, sentences)

        return in_stacks(cases, self.rounds, solved)
