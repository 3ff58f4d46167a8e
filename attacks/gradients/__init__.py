"""From a view to estimates of private gradients: each algorithm's own inversion, or a probe of its code."""

from collections.abc import Callable
from typing import TypeVar

from attacks.gradients.baton import GradientEstimate
from attacks.gradients.descent import through_differences
from attacks.gradients.dp_recal import through_iterates
from attacks.gradients.evidence import Evidence
from attacks.gradients.own import Inversion, Own, own_of
from attacks.gradients.probed import (
    estimates_of,
    evidence_through_network,
    heard_by,
    probed,
    through_network,
    through_probe,
)
from attacks.gradients.published import published_evidence, published_inversion_of, through_noisy_duals
from attacks.gradients.recal import through_duals
from netsim.adversary import AdversaryView
from netsim.algorithms import Algorithm
from netsim.errors import AttackError

T = TypeVar("T")


def inversion_of(algorithm: Algorithm) -> Inversion:
    """The inversion that is tried first: the algorithm's own, or a probe of its code."""
    return inversions_of(algorithm)[0]


def inversions_of(algorithm: Algorithm) -> list[Inversion]:
    """All that are tried, in order, each where those before it refuse."""
    own = own_of(algorithm)
    if own is None:
        return [through_probe]
    return [own.infer, through_probe] if own.first else [through_probe, own.infer]


def infer(view: AdversaryView) -> list[GradientEstimate]:
    """Estimate every gradient that the view determines, by the algorithm's own inversion or by a probe.

    You get an `AttackError` where both refuse.
    """
    return inferred(view)[1]


def inferred(view: AdversaryView) -> tuple[Inversion, list[GradientEstimate]]:
    """Which inversion did not refuse, and its estimates."""
    first, *rest = inversions_of(view.public.algorithm)
    try:
        return first, first(view)
    except AttackError as refusal:
        if not rest:
            raise
        return _or_else(refusal, lambda: (rest[0], rest[0](view)))


def evidence(view: AdversaryView, only: int | None = None) -> list[Evidence]:
    """The same, one for each agent of which something was inferred, with what is known of the errors.

    By the algorithm's own inversion where that comes first (`attacks.gradients.own`), else by a probe; of the agents
    that the one refuses, by the other. `only`: of this agent alone, which is the same and takes a probe less time.
    """
    found = _evidence(view, only)
    return [one for one in found if only in (None, one.agent)]


def _evidence(view: AdversaryView, only: int | None) -> list[Evidence]:
    own = own_of(view.public.algorithm)
    if own is None or not own.first:
        return _by_probe(view, own, only)
    try:
        return own.evidence(view)
    except AttackError as refusal:
        return _or_else(refusal, lambda: _by_probe(view, None, only))


def _by_probe(view: AdversaryView, own: Own | None, only: int | None = None) -> list[Evidence]:
    """By a probe; of the agents that it refuses, by the algorithm's `own` inversion."""
    try:
        heard = heard_by(view)
    except AttackError as refusal:
        return _by_own(view, own, refusal)
    found: dict[int, Evidence] = {}
    refused: dict[int, AttackError] = {}
    for agent, rows in heard.items():
        if only not in (None, agent):
            continue
        try:
            told = probed(view, agent, rows)
        except AttackError as refusal:
            refused[agent] = refusal
        else:
            if (told.identifiable & told.located).any():
                found[agent] = Evidence.probed(told)
    if refused and (own is not None or not found):
        try:
            others = _by_own(view, own, next(iter(refused.values())))
        except AttackError:
            if not found:
                raise
            others = []
        found |= {one.agent: one for one in others if one.agent in refused}
    return [found[agent] for agent in sorted(found)]


def _by_own(view: AdversaryView, own: Own | None, refusal: AttackError) -> list[Evidence]:
    if own is None:
        raise refusal
    return _or_else(refusal, lambda: own.evidence(view))


def _or_else(refusal: AttackError, other: Callable[[], T]) -> T:
    """What another way finds; where that refuses too, both say why."""
    try:
        return other()
    except AttackError as second:
        raise AttackError(f"{refusal}; and otherwise: {second}") from refusal


__all__ = [
    "Evidence",
    "GradientEstimate",
    "Own",
    "estimates_of",
    "evidence",
    "evidence_through_network",
    "infer",
    "inferred",
    "inversion_of",
    "inversions_of",
    "own_of",
    "probed",
    "published_evidence",
    "published_inversion_of",
    "through_differences",
    "through_duals",
    "through_iterates",
    "through_network",
    "through_noisy_duals",
    "through_probe",
]
