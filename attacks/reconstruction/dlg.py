"""DLG and iDLG: features and labels whose gradient is the observed one.

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

    c* = the class whose part of the last layer's gradient is negative (`matching_descent.by_sign`);
    min over A' of ‖∇_θ ℓ(θ; A', c*) − g‖² by L-BFGS from A' ~ N(0, 1).

Source: Zhao, Mopuri, Bilen, *iDLG: Improved Deep Leakage from Gradients*, 2020 (arXiv 2001.02610), eq. 4 and
Algorithm 1. The rule is valid for one record, a cross-entropy with hard labels, and either an intercept in the last
layer or activations that are not negative before it; where a case does not grant that, the attack refuses it. A noisy
gradient can have several negative classes or none: the lowest is taken, and `open` states that it is a guess, unless
it alone is several deviations of the noise below 0.

Departures as in DLG: Wolfe steps, nearer starts, a relative misfit, restarts chosen by it, the choice of the round.
For a logistic loss, whose gradient is that of several records (`gradient_matching.logistic_twins`), `open` counts
them.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from attacks.reconstruction.attack import Case, Needs, Reconstruction, check_all
from attacks.reconstruction.gradient_matching import logistic_twins
from attacks.reconstruction.matching_descent import Stack, by_sign, drawn, in_stacks, matched, why_no_sign
from attacks.reconstruction.optimizers import LBFGS
from netsim.bounds import Count, Index
from netsim.errors import AttackError
from netsim.models import Logistic

EXACT = 1e-18
"""Relative squared misfit at which a gradient counts as matched: the search and its other starts end there."""

SEARCH = LBFGS(iterations=5000, history=100, tolerance=1e-12, floor=EXACT, least_fall=0.01, won=1e-10)
"""PyTorch's L-BFGS, the authors', remembers 100 steps too. They make 300: single grey images need fewer, batches and
images in colour some thousands. So a search ends where it gets no further (`least_fall`), and the bound on iterations
is far. A start whose relative squared misfit is `won` matches the gradient to five digits, which no wrong image was
seen to do: the others end, and it goes on to the floor."""


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
            if case.known.labels is None and (why := why_no_sign(case.known)):
                raise AttackError(f"idlg needs {why}")

        def solved(stack: Stack) -> list[Reconstruction]:
            start, y = drawn(rng, stack, self.restarts, self.spread)
            targets, sound = stack.targets, np.ones(stack.pairs, bool)
            if targets is None:
                labels, sound = by_sign(stack.known, stack.wanted, stack.deviation)
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
