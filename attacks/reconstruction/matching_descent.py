"""Descent of a gradient-matching objective for a whole stack of cases, replicas and restarts at once."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import NamedTuple

import numpy as np

from attacks.estimates import Evidence
from attacks.reconstruction.attack import Case, Known, Reconstruction, Way
from attacks.reconstruction.gradient_matching import Distance, Extra, Matching, free_directions, narrowed
from attacks.reconstruction.optimizers import LBFGS, Minimum
from netsim.arrays import Array, Mask
from netsim.models import MLP, Linear, Logistic, Model

ALIKE = 1e-6
"""Share of the largest variance: what differs by less counts as equal."""


class _Candidates(NamedTuple):
    """End of an optimization: features (pairs, restarts, m, width), targets (pairs, restarts, m, outputs), the
    attacker's objective and whether the optimizer converged (pairs, restarts); features on the way (pairs, restarts,
    iterations kept, m, width), (pairs, restarts, 0) where none are."""

    features: Array
    targets: Array
    objective: Array
    converged: Mask
    way: Array


@dataclass(frozen=True)
class Stack:
    """Cases with one model, one number of records and the same kind of knowledge; a pair is a case and a replica."""

    cases: tuple[Case, ...]
    rounds: int

    @property
    def known(self) -> Known:
        """Knowledge in the first case. The model, the records, the range and the shape are those of all; the penalty
        is not."""
        return self.cases[0].known

    @property
    def model(self) -> Model:
        """With parameters that are counted from 0: `points` are."""
        model = self.known.model
        return replace(model, seed=None) if isinstance(model, MLP) else model

    @property
    def records(self) -> int:
        return self.known.records

    @cached_property
    def chosen(self) -> tuple[tuple[int, ...], ...]:
        """Positions of the estimates that are matched, case by case."""
        return tuple(most_precise(case.evidence, self.rounds) for case in self.cases)

    @cached_property
    def points(self) -> Array:
        """(pairs, rounds, dimension)."""
        model = self.known.model
        points = self._gathered(lambda case: case.evidence.points)
        return points + model.origin if isinstance(model, MLP) and model.seed is not None else points

    @cached_property
    def wanted(self) -> Array:
        """The gradients of the mean loss there, what is public subtracted: (pairs, rounds, dimension)."""
        return self._gathered(lambda case: case.evidence.without(case.known.penalty))

    @property
    def deviation(self) -> Array:
        """Deviations of the errors of the first estimate that is matched, (pairs, dimension)."""
        firsts = zip(self.cases, self.chosen, strict=True)
        return np.concatenate(
            [np.repeat(c.evidence.stddev[list(t[:1])], c.evidence.replicas, axis=0) for c, t in firsts]
        )

    @property
    def pairs(self) -> int:
        return len(self.wanted)

    @cached_property
    def targets(self) -> Array | None:
        """Targets of public labels, (pairs, m, outputs); None where no labels are known."""
        known = [(known.labels, evidence.replicas) for evidence, known in self.cases if known.labels is not None]
        rows = [np.repeat(self.model.targets(labels)[None], replicas, axis=0) for labels, replicas in known]
        return np.concatenate(rows) if rows else None

    def answers(
        self, attack: str, found: _Candidates, opens: Sequence[str], kept: Sequence[int] = ()
    ) -> list[Reconstruction]:
        """Reconstruction of each case: in each replica the restart with the lowest objective. `opens`: case by
        case; `kept`: the iterations of the way."""
        values = np.where(np.isfinite(found.objective), found.objective, np.inf)
        best = np.argmin(values, axis=1)
        answers: list[Reconstruction] = []
        for (evidence, _), chosen, first, sentence in zip(self.cases, self.chosen, self.firsts, opens, strict=True):
            part = np.arange(first, first + evidence.replicas)
            ends = _Candidates._make(values[part, best[part]] for values in found)
            queries = tuple(evidence.queries[t] for t in chosen)
            way = Way(tuple(kept), ends.way) if kept else None
            answers.append(Reconstruction(attack, evidence.agent, *ends[:4], queries, open=sentence, way=way))
        return answers

    @property
    def firsts(self) -> list[int]:
        """The first pair of each case."""
        return np.cumsum([0, *(case.evidence.replicas for case in self.cases[:-1])]).tolist()

    def _gathered(self, of: Callable[[Case], Array]) -> Array:
        rows = [of(c)[list(t)].swapaxes(0, 1) for c, t in zip(self.cases, self.chosen, strict=True)]
        return np.ascontiguousarray(np.concatenate(rows))


def in_stacks(
    cases: Sequence[Case], rounds: int, solved: Callable[[Stack], list[Reconstruction]]
) -> list[Reconstruction]:
    """Solve the cases stack by stack; the answers are in the order of the cases."""
    groups: list[tuple[tuple[object, ...], list[int]]] = []
    for index, (_, known) in enumerate(cases):
        kind = known.model, known.records, known.labels is None, known.value_range, known.image_shape
        for other, members in groups:
            if other == kind:
                members.append(index)
                break
        else:
            groups.append((kind, [index]))
    answers: dict[int, Reconstruction] = {}
    for _, members in groups:
        found = solved(Stack(tuple(cases[i] for i in members), rounds))
        answers.update(zip(members, found, strict=True))
    return [answers[i] for i in range(len(cases))]


def most_precise(evidence: Evidence, count: int) -> tuple[int, ...]:
    """Which estimates to match, best first: those of least error variance, of equal ones the earliest.

    Early gradients are the longest as a rule. Lengths themselves do not choose: one choice serves all replicas, and
    the noise of other transcripts has no part in what is rebuilt from one. This is the attacker's choice; the papers
    have one gradient and choose nothing.
    """
    variance: Array = np.sum(np.square(evidence.stddev), axis=-1)
    step = ALIKE * float(np.max(variance, initial=0.0))
    steps: Array = np.round(variance / step) if step > 0 else variance
    return tuple(np.lexsort((np.arange(len(steps)), steps, variance > 0))[:count].tolist())


NUMBERS, HELD = 20_000_000, 40
"""Numbers that are held at once: of gradients, or so many for each unknown as an optimizer holds."""

TURNED = "each record may as well have the other sign, and with it the other target"
"""(−a, −b) has the gradient of (a, b) for a linear model, and (−a, 1 − p) that of (a, p) for a logistic one."""


def matched(
    stack: Stack, optimizer: LBFGS, start: Array, y: Array, targets: Array | None, kept: Sequence[int] = ()
) -> tuple[_Candidates, list[str]]:
    """The minima of the squared misfit from start (pairs, restarts, m, width), and what is open in each case.

    Labels are free from y (pairs, restarts, m, outputs) on, or fixed by `targets` (pairs, m, outputs). Features are
    kept as they are at the iterations `kept`, ascending; a search that ended stays where it is.
    """
    restarts, ends, sentences = start.shape[1], list[_Candidates](), list[str]()
    for part in _pieces(stack, restarts, 2 * optimizer.history):
        model, parameters, wanted, begun = stack.model, stack.points[part], stack.wanted[part], start[part]
        small = narrowed(model, parameters, wanted, begun)
        if small is not None:
            model, parameters, wanted, begun = small.model, small.parameters, small.wanted, small.down(begun)
        fixed = None if targets is None else np.repeat(targets[part], restarts, axis=0)
        points, gradients = np.repeat(parameters, restarts, axis=0), np.repeat(wanted, restarts, axis=0)
        objective = Matching(model, points, gradients, stack.records, fixed)
        way: list[Array] = []

        def watch(iteration: int, x: Array, way: list[Array] = way, objective: Matching = objective) -> None:
            if iteration in kept:
                way.append(objective.parts(x)[0].copy())

        search = replace(optimizer, racing=restarts)
        found = _ends(partial(search.minimize, watch=watch if kept else None), objective, begun, y[part])
        if kept:
            shaped = [*(one.reshape(begun.shape) for one in way), *[found.features] * (len(kept) - len(way))]
            found = found._replace(way=np.stack(shaped if small is None else [small.up(x) for x in shaped], axis=2))
        first = [pair - part.start for pair in stack.firsts if part.start <= pair < part.stop]
        beyond = stack.model.width - model.width
        sentences += [_examined(model, parameters[pair], found, pair, fixed is None, beyond) for pair in first]
        ends.append(found if small is None else found._replace(features=small.up(found.features)))
    return _Candidates._make(np.concatenate(values) for values in zip(*ends, strict=True)), sentences


def descended(
    stack: Stack,
    start: Array,
    y: Array | None,
    targets: Array | None,
    minimize: Callable[[Matching, Array], Minimum],
    distance: Distance,
    extra: Extra,
) -> _Candidates:
    """Ends of `minimize` from start (pairs, restarts, m, width), in portions that fit in memory.

    Labels are free from y (pairs, restarts, m, outputs) on, or fixed by `targets` (pairs, m, outputs).
    """
    restarts, ends = start.shape[1], list[_Candidates]()
    for part in _pieces(stack, restarts):
        points, gradients = (np.repeat(values[part], restarts, axis=0) for values in (stack.points, stack.wanted))
        fixed = None if targets is None else np.repeat(targets[part], restarts, axis=0)
        objective = Matching(stack.model, points, gradients, stack.records, fixed, distance, extra)
        ends.append(_ends(minimize, objective, start[part], None if y is None else y[part]))
    return _Candidates._make(np.concatenate(values) for values in zip(*ends, strict=True))


def _pieces(stack: Stack, restarts: int, held: int = HELD) -> Iterator[slice]:
    """Pairs in portions that fit in memory."""
    each = restarts * max(stack.wanted[0].size, held * stack.records * stack.model.width)
    size = max(1, NUMBERS // each)
    for first in range(0, stack.pairs, size):
        yield slice(first, min(first + size, stack.pairs))


def _ends(
    minimize: Callable[[Matching, Array], Minimum], objective: Matching, start: Array, y: Array | None
) -> _Candidates:
    """Ends from start (pairs, restarts, m, width); a row of the objective is a pair and a restart."""
    lead = start.shape[:2]
    x = start.reshape(lead[0] * lead[1], -1)
    if y is not None and objective.fixed is None:
        x = np.concatenate([x, y.reshape(len(x), -1)], axis=-1)
    end = minimize(objective, x)
    found = *objective.parts(end.x), end.value, end.converged, np.empty((len(x), 0))
    return _Candidates._make(values.reshape(*lead, *values.shape[1:]) for values in found)


def drawn(rng: np.random.Generator, stack: Stack, restarts: int, spread: float) -> tuple[Array, Array]:
    """Random starts, N(0, spread²): features (pairs, restarts, m, width), then y (pairs, restarts, m, outputs)."""
    shape = stack.pairs, restarts, stack.records
    features = spread * rng.standard_normal((*shape, stack.model.width))
    return features, spread * rng.standard_normal((*shape, stack.model.outputs))


def opens(stack: Stack, found: _Candidates, soft: bool) -> list[str]:
    """Sentence for each case on what the matched gradients leave open: of its first replica, at its best
    candidate."""
    sentences: list[str] = []
    for pair in stack.firsts:
        one = slice(pair, pair + 1)
        part = _Candidates._make(values[one] for values in found)
        model, parameters = stack.model, stack.points[one]
        small = narrowed(model, parameters, stack.wanted[one], part.features)
        if small is not None:
            model, parameters = small.model, small.parameters
            part = part._replace(features=small.down(part.features))
        sentences.append(_examined(model, parameters[0], part, 0, soft, stack.model.width - model.width))
    return sentences


def _examined(model: Model, parameters: Array, found: _Candidates, pair: int, soft: bool, beyond: int) -> str:
    values = found.objective[pair]
    best = int(np.argmin(np.where(np.isfinite(values), values, np.inf)))
    features, targets = found.features[pair, best], found.targets[pair, best]
    turned = TURNED if soft and isinstance(model, Linear | Logistic) else ""
    free = free_directions(model, parameters, features, targets, soft, beyond)
    if free is None:
        return "whether the gradient determines the records was not examined: there are too many unknowns"
    if not free:
        return turned
    what = "features and targets" if soft else "features"
    which = f"{free} direction{'' if free == 1 else 's'} of the {what}"
    sentence = f"the matched gradients of a {model.name} model do not determine {which} of {len(features)} record(s)"
    return f"{sentence}; {turned}" if turned else sentence
