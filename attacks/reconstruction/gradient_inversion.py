"""Records whose gradient is the observed one, by DLG, iDLG, Inverting Gradients and GradInversion.

*DLG.* Features and labels:

    min over A', y'  of  ‖∇_θ ℓ(θ; A', softmax(y')) − g‖²

by L-BFGS from A', y' ~ N(0, 1). Source: Zhu, Liu, Han, *Deep Leakage from Gradients*, NeurIPS 2019, Algorithm 1; the
authors' code makes 300 steps of PyTorch's L-BFGS at learning rate 1.

Departures: the steps satisfy Wolfe's conditions (fixed steps of 1 diverge on a linear softmax from N(0, 1)), and
there are as many as make progress (`SEARCH`); starts are N(0, `spread`²), 0.1 by default, nearer to images in [0, 1];
the misfit is divided by ‖g‖², which changes no minimum; there are several `restarts`, all of which end once one
matches, and the one with the lowest misfit is the answer; a model of two classes with one output has a sigmoid for
the softmax, a regression its value itself; the search runs in the span of what is known
(`attacks.reconstruction.gradient_matching`), which changes no iterate. The paper has one gradient. Here the attacker
chooses the most precise estimate (`most_precise`) and names it in `queries`; with `rounds` above 1 it matches as many
at once, which is no longer the published attack.

It knows no noise: the errors' covariance is not used but for that choice. Labels that are public are used. Who may
run it: whoever has one gradient of known records' number; the model and the point are public.

*iDLG.* Features, with the label read off a sign:

    c* = the class whose part of the last layer's gradient is negative (`labels_by_sign`);
    min over A' of ‖∇_θ ℓ(θ; A', c*) − g‖² by L-BFGS from A' ~ N(0, 1).

Source: Zhao, Mopuri, Bilen, *iDLG: Improved Deep Leakage from Gradients*, 2020 (arXiv 2001.02610), eq. 4 and
Algorithm 1. The rule is valid for one record, a cross-entropy with hard labels, and either an intercept in the last
layer or activations that are not negative before it; where a case does not grant that, the attack refuses it. A noisy
gradient can have several negative classes or none: the lowest is taken, and `open` states that it is a guess, unless
it alone is several deviations of the noise below 0.

Departures as in DLG: Wolfe steps, nearer starts, a relative misfit, restarts chosen by it, the choice of the round.
For a logistic loss, whose gradient is that of several records (`gradient_matching.logistic_twins`), `open` counts
them.

*Inverting Gradients* matches the direction of the gradient with images that are smooth:

    min over A in the value range of  1 − ⟨∇_θ ℓ(θ; A, T), g⟩/(‖∇_θ ℓ‖‖g‖) + α TV(A)

by Adam on the signs of the gradient, 0.1 a step, a tenth of it from 3/8, 5/8 and 7/8 of the iterations on, projected
into the range after every step. Source: Geiping, Bauermeister, Dröge, Moeller, *Inverting Gradients – How easy is it
to break privacy in federated learning?*, NeurIPS 2020, eq. 4 and the authors' code (4800 iterations, α = 0.1).

Labels are recovered where the signs of the last layer's gradient show them (`labels_by_sign`: one record,
or as many classes with a label's sign as there are records), known where they are public, and else free variables
with soft labels; the paper assumes them known. Records are of the digits' kind here: in [0, 1] and not normalized by
a mean and deviation of each colour, so the box is the `value_range`, and starts are N(0, 1) inside it. Departures:
`iterations` is a field; several restarts run side by side, chosen by the objective without looking at the images; the
attacker chooses the round as in DLG; with `rounds` above 1 it matches as many at once.

The cosine leaves the length of the gradient unused: a model without an intercept whose gradient is a multiple of the
one record (linear, logistic) then has records of every size with the same misfit, and `open` names it. It knows no
noise. `converged`: the objective hardly fell in the last tenth of the iterations (`Adam`); signs never come to rest.

*GradInversion* rebuilds a batch of images from one gradient, by many seeds that agree:

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
from typing import Protocol, runtime_checkable

import numpy as np

from attacks.reconstruction.attack import SEVERAL, Case, Known, Needs, Reconstruction, check_all
from attacks.reconstruction.gradient_matching import Matching, TotalVariation, logistic_twins
from attacks.reconstruction.matching_descent import (
    Stack,
    descended,
    drawn,
    in_stacks,
    matched,
    opens,
)
from attacks.reconstruction.optimizers import LBFGS, Adam, Minimum
from netsim.arrays import Array, Mask
from netsim.bounds import Count, Index, NonNegative, Positive
from netsim.errors import AttackError
from netsim.models import MLP, Linear, Logistic, Model, Softmax
from netsim.models.lenet import LeNet
from netsim.models.networks import Dense

EXACT = 1e-18
"""Relative squared misfit at which a gradient counts as matched: the search and its other starts end there."""

SEARCH = LBFGS(iterations=5000, history=100, tolerance=1e-12, floor=EXACT, least_fall=0.01, won=1e-10)
"""PyTorch's L-BFGS, the authors', remembers 100 steps too. They make 300: single grey images need fewer, batches and
images in colour some thousands. So a search ends where it gets no further (`least_fall`), and the bound on iterations
is far. A start whose relative squared misfit is `won` matches the gradient to five digits, which no wrong image was
seen to do: the others end, and it goes on to the floor."""
NO_BATCH_NORM = "no batch norm: the published attack's strongest prior is not there"


@dataclass(frozen=True)
class DLG:
    """DLG: features and labels whose gradient is the observed one.

    `rounds`: estimates that are matched at once, 1 as published; starts of records are N(0, `spread`²).
    `objective` of a reconstruction is ‖G − g‖²/‖g‖².
    """

    rounds: int = 1
    restarts: Count = 8
    """From how many random starts."""
    spread: float = 0.1
    snapshots: Index = 0
    """How many iterates of the search are kept and scored, from the start to the last, denser at first."""
    optimizer: LBFGS = SEARCH
    name = "dlg"
    source = "Zhu, Liu, Han, Deep Leakage from Gradients, NeurIPS 2019"

    @property
    def needs(self) -> Needs:
        return Needs(rounds=self.rounds)

    @property
    def kept(self) -> tuple[int, ...]:
        """The iterations whose iterates are kept."""
        steps = np.geomspace(1, self.optimizer.iterations + 1, self.snapshots)
        return tuple(np.unique(np.round(steps).astype(int) - 1).tolist())

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """`AttackError`: a case has fewer estimates than `rounds`."""
        check_all(self, cases)

        def solved(stack: Stack) -> list[Reconstruction]:
            start, y = drawn(rng, stack, self.restarts, self.spread)
            found = matched(stack, self.optimizer, start, y, stack.targets, self.kept)
            return stack.answers(self.name, *found, self.kept)

        return in_stacks(cases, self.rounds, solved)


@dataclass(frozen=True)
class IDLG(DLG):
    """iDLG: features whose gradient is the observed one, with the label read off a sign of it.

    `rounds`, `restarts`, `spread` and `objective` as in `DLG`.
    """

    name = "idlg"
    source = "Zhao, Mopuri, Bilen, iDLG: Improved Deep Leakage from Gradients, 2020"

    @property
    def needs(self) -> Needs:
        return Needs(one_record=True, rounds=self.rounds)

    def reconstruct(self, cases: Sequence[Case], rng: np.random.Generator) -> list[Reconstruction]:
        """`AttackError`: more than one record, fewer estimates than `rounds`, or the sign shows no label."""
        check_all(self, cases)
        for case in cases:
            if case.known.labels is None and (why := _why_no_sign(case.known)):
                raise AttackError(f"idlg needs {why}")

        def solved(stack: Stack) -> list[Reconstruction]:
            start, y = drawn(rng, stack, self.restarts, self.spread)
            targets, sound = stack.targets, np.ones(stack.pairs, bool)
            if targets is None:
                labels, sound = labels_by_sign(stack.known, stack.wanted, stack.deviation)
                targets = stack.model.targets(labels)
            found, sentences = matched(stack, self.optimizer, start, y, targets, self.kept)
            for k, first in enumerate(stack.firsts):
                parts = [sentences[k]] if sentences[k] else []
                if unsure := int(np.sum(~sound[first : first + stack.cases[k].evidence.replicas])):
                    parts.append(
                        f"the label is a guess in {unsure} replicas: the last layer's gradient does not show it"
                    )
                if isinstance(stack.model, Logistic) and stack.wanted.shape[1] == 1:
                    twins = len(logistic_twins(stack.wanted[first, 0], stack.points[first, 0])) // 2
                    if twins != 1:
                        parts.append(f"{twins} records with this label have this gradient of a logistic loss")
                sentences[k] = "; ".join(parts)
            return stack.answers(self.name, found, sentences, self.kept)

        return in_stacks(cases, self.rounds, solved)


@dataclass(frozen=True)
class InvertingGradients:
    """Inverting Gradients: the direction of the gradient, and images that are smooth.

    Weight `variation` is α; `rounds` as in `DLG`.

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
            targets, layer = stack.targets, _last_layer(stack.model)
            if targets is None and not _why_no_sign(stack.known) and layer is not None:
                labels, sound = labels_by_sign(stack.known, stack.wanted, stack.deviation)
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


@dataclass(frozen=True)
class GradInversion:
    """GradInversion: a batch of images from one gradient, by many seeds that agree.

    Weights: `variation` α_tv, `size` α_2, `group` α_group.

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
            layer = _last_layer(known.model)
            if known.labels is not None:
                continue
            if layer is None or layer.outputs < 2:
                raise AttackError(
                    f"{self.name} needs several classes, and a {known.model.name} model has none or two"
                )
            if not _non_negative(known):
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
                targets = stack.model.targets(labels_by_lowest(known, stack.wanted, stack.records))
            found = descended(stack, start, None, targets, minimize, "squared", fidelity)
            sentences = ["; ".join(s for s in (one, NO_BATCH_NORM) if s) for one in opens(stack, found, False)]
            return stack.answers(self.name, found, sentences)

        return in_stacks(cases, self.rounds, solved)


@runtime_checkable
class _Layered(Protocol):
    """A model with a last dense layer; a softmax follows."""

    @property
    def last(self) -> Dense: ...


def _last_layer(model: Model) -> Dense | None:
    """None where there is none before a cross-entropy."""
    if isinstance(model, Logistic):
        return Dense(0, model.width, 1, bias=False)
    return model.last if isinstance(model, _Layered) else None


def _non_negative(known: Known) -> bool:
    """Whether what enters the last layer is known to be ≥ 0."""
    model = known.model
    if isinstance(model, Softmax | Logistic):
        return known.value_range is not None and known.value_range[0] >= 0
    if isinstance(model, MLP):
        return model.activation in ("sigmoid", "softplus", "relu")
    return isinstance(model, LeNet)


def _why_no_sign(known: Known) -> str:
    """Why the signs of a gradient show no labels; empty where they do."""
    layer = _last_layer(known.model)
    if layer is None:
        return f"a cross-entropy, and the loss of a {known.model.name} model is none"
    if not layer.bias and not _non_negative(known):
        return "an intercept or activations that are not negative before the last layer"
    return ""


def labels_by_sign(known: Known, wanted: Array, deviation: Array) -> tuple[Array, Mask]:
    """The m labels, (pairs, m), from wanted (pairs, rounds, dimension), the first round's; and whether it is sure.

    `deviation` (pairs, dimension): of that round's errors, 0 where it is exact. Sound labels are those of exactly m
    classes `SEVERAL` deviations below 0: these have the sign of a label, so that all labels are different, and known.
    Of a logistic loss the sum has to be so far from 0.
    """
    layer = _last_layer(known.model)
    assert layer is not None
    first = wanted[:, 0]
    if layer.bias:
        signs, errors = layer.offset(first), layer.offset(deviation)
    else:
        signs = np.sum(layer.matrix(first), axis=-1)
        errors = np.sqrt(np.sum(np.square(layer.matrix(deviation)), axis=-1))
    if layer.outputs == 1:
        return np.where(signs < 0, 1.0, -1.0), np.abs(signs[:, 0]) > SEVERAL * errors[:, 0]
    lowest = np.sort(np.argsort(signs, axis=-1, kind="stable")[:, : known.records], axis=-1)
    return np.array(known.model.classes)[lowest], np.sum(signs < -SEVERAL * errors, axis=-1) == known.records


def labels_by_lowest(known: Known, wanted: Array, records: int) -> Array:
    """The labels of m records of different classes, (pairs, m), ascending: Yin and others 2021, eq. 7."""
    layer = _last_layer(known.model)
    assert layer is not None
    lowest = np.min(layer.matrix(wanted[:, 0]), axis=-1)
    return np.array(known.model.classes)[np.sort(np.argsort(lowest, axis=-1, kind="stable")[:, :records], axis=-1)]
