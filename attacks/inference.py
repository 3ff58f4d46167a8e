"""Inference of private gradients from a view: by an algorithm's closed form, or by a probe of its code.

At a tapped door the record is the agent's own. On links an eavesdropper puts it together as far as it goes
(`attacks.closed_form.exchanges`): for algorithms that only exchange and wait for everybody, and for tokens that walk.
What was not observed becomes an unknown beside the gradients, and costs those that it hides.
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Literal, NamedTuple, TypeVar

import numpy as np

from attacks.closed_form.descent import through_differences, through_tracking, tracking_evidence, unclipped
from attacks.closed_form.dpp2 import through_fitted_relay, through_relay
from attacks.closed_form.exchanges import Surroundings
from attacks.closed_form.random_penalty_admm import penalty_evidence, through_penalties
from attacks.closed_form.recal import duals, iterates, sparse_evidence, through_duals, through_iterates
from attacks.estimates import Evidence, GradientEstimate, Inversion, check_lossless
from attacks.probe import Prior, Probed, probe, probe_network
from attacks.replay.recorded import Recording
from netsim.adversary import AdversaryView
from netsim.algorithms import Algorithm, Cpgt, DiaDSP, Dpp2, DPRecal, PrivateGradientDescent, RandomPenaltyAdmm, Recal
from netsim.arguments import checked
from netsim.errors import AttackError
from netsim.models.model import L1
from netsim.transcript.message import Record


class _ClosedForm(NamedTuple):
    """An algorithm's own inversion: estimates by `infer`, and `evidence` with the covariance and law of their errors.

    `first`: it is tried before a probe, because it is exact, goes over gaps that a probe cannot, or inverts what a
    probe refuses as a rule; else after a probe that refused.
    """

    infer: Inversion
    evidence: Callable[[AdversaryView], list[Evidence]]
    first: bool


def closed_form_of(algorithm: Algorithm) -> _ClosedForm | None:
    """The algorithm's own inversion, if there is one. A new one goes here."""
    match algorithm:
        case Recal() | DPRecal(reading="as_analysed"):
            return _ClosedForm(through_duals, _of_visits, first=True)
        case DPRecal():
            return _ClosedForm(through_iterates, _of_walk, first=True)
        case RandomPenaltyAdmm():
            return _ClosedForm(through_penalties, penalty_evidence, first=True)
        case PrivateGradientDescent():
            return _ClosedForm(through_differences, _of_states, first=False)
        case Dpp2():
            return _ClosedForm(through_relay, _of_relay, first=False)
        case DiaDSP() | Cpgt():
            return _ClosedForm(through_tracking, _of_trackers, first=False)
        case _:
            return None


def _of_visits(view: AdversaryView) -> list[Evidence]:
    return duals(view).evidence()


def _of_walk(view: AdversaryView) -> list[Evidence]:
    deployable = isinstance(view.public.algorithm, DPRecal) and view.public.algorithm.reading == "as_deployable"
    sparse = deployable and isinstance(view.public.regularizer, L1)
    return sparse_evidence(view) if sparse else iterates(view).evidence()


def _of_states(view: AdversaryView) -> list[Evidence]:
    """Each error is that of one release. Of what may have been clipped there is no estimate: it is hidden.

    You get an `AttackError` where a clip may have acted on every gradient of every agent.
    """
    estimates = through_differences(view)
    kept = unclipped(view, estimates)
    if estimates and not kept:
        raise AttackError(
            "the clip may have acted on every gradient: what was sent gives the clipped gradients, and not those "
            "before the clip"
        )
    lost = Counter(e.agent for e in estimates)
    lost.subtract(e.agent for e in kept)
    return [replace(one, hidden=lost[one.agent]) for one in Evidence.each(kept, "laplace")]


def _of_relay(view: AdversaryView) -> list[Evidence]:
    """Errors are independent between rounds, and of no one law: two Laplace noises, weighed."""
    return Evidence.each(through_relay(view), law=None)


def _of_trackers(view: AdversaryView) -> list[Evidence]:
    lossless = view.public.codec.lossless
    return tracking_evidence(view) if lossless else Evidence.each(through_tracking(view), law=None)


@checked
def through_probe(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate for each identifiable query of every agent that was observed; agent by agent, in order.

    `stddev` is the root mean square over the coordinates; where rounding alone may be more than a small share of the
    gradient, it is counted in. You get an `AttackError` where nothing was observed that a probe can use, a codec
    changes what is sent, or the messages are no affine function of the gradients.
    """
    observed = _observed_agents(view)
    return [estimate for agent, rows in observed.items() for estimate in estimates_of(probed(view, agent, rows))]


def _observed_agents(view: AdversaryView) -> dict[int, tuple[Record, ...]]:
    """Records around every observed agent that is no insider, by agent.

    You get an `AttackError` where it is nothing that a probe can use.
    """
    around = Surroundings(view)
    agents = sorted(set(range(view.public.agents)) - view.inside.keys() - view.public.forgetful)
    observed = {agent: rows for agent in agents if (rows := around.rows(agent))}
    if not observed:
        raise AttackError(
            "from what was observed a probe cannot put together what any agent got and sent: of algorithms that send "
            "to single agents (other than one token) it needs a tap at a door, of exchanges that end without some "
            "messages too, and of others a message of the agent"
        )
    return observed


def probed(
    view: AdversaryView,
    agent: int,
    rows: tuple[Record, ...] | None = None,
    prior: Prior | None = None,
    laplace: Literal["blue", "ml"] = "blue",
) -> Probed:
    """The probe of one agent, with which of its gradients are identifiable.

    `rows`: the record at its door, if it is known already; `prior` and `laplace` as in `attacks.probe`. You get
    an `AttackError` where nothing was observed of the agent that a probe can use, where it may begin anew, and where
    the probe refuses.
    """
    check_lossless(view)
    if agent in view.public.forgetful:
        raise AttackError(f"agent {agent} may begin anew without its state: when is not known")
    chosen = Surroundings(view).rows(agent) if rows is None else rows
    if not chosen:
        raise AttackError(f"nothing was observed of agent {agent} that a probe can use")
    recording = Recording(view.public, agent, chosen, view.replicas, np.random.default_rng(0))
    return probe(recording, prior=prior, laplace=laplace)


def through_network(view: AdversaryView) -> list[GradientEstimate]:
    """One estimate for each identifiable query at a known point, by one probe of all agents that are no insiders:
    what one agent received and nobody observed is what another one's code has made of its gradients.

    You get an `AttackError` where `attacks.probe.probe_network` refuses.
    """
    found = probe_network(view)
    return [one for victim in found.agents.values() for one in estimates_of(victim, victim.usable)]


def estimates_of(found: Probed, queries: Sequence[int] | None = None) -> list[GradientEstimate]:
    """One for each identifiable gradient, or for these `queries`; `stddev` is the root mean square over the
    coordinates, 0 where it is exact; rounding is counted in where it is larger."""
    stddev = np.sqrt(np.mean(found.stddev**2, axis=-1))
    exact = found.exact
    silent = stddev <= found.rounding
    stddev = np.where(exact, 0.0, np.where(silent, np.hypot(stddev, found.rounding), stddev))
    return [
        GradientEstimate(found.agent, t, found.points[t], found.gradients[t], float(stddev[t]))
        for t in (found.seen if queries is None else queries)
    ]


T = TypeVar("T")


def inversions_of(algorithm: Algorithm) -> list[Inversion]:
    """All that are tried, in order, each where those before it refuse."""
    own = closed_form_of(algorithm)
    if own is None:
        return [through_probe]
    return [own.infer, through_probe] if own.first else [through_probe, own.infer]


@checked
def infer(view: AdversaryView) -> list[GradientEstimate]:
    """Estimate every gradient that the view determines, by the algorithm's own inversion or by a probe.

    You get an `AttackError` where both refuse.
    """
    return inferred(view)[1]


def inferred(
    view: AdversaryView, *, jointly: bool = False, fitted: bool = False
) -> tuple[Inversion, list[GradientEstimate]]:
    """Which inversion did not refuse, and its estimates; `jointly`: of all agents at once (`through_network`);
    `fitted`: by DPP²'s inversion that does not know η (`through_fitted_relay`)."""
    if fitted:
        return through_fitted_relay, through_fitted_relay(view)
    if jointly:
        return through_network, through_network(view)
    first, *rest = inversions_of(view.public.algorithm)
    try:
        return first, first(view)
    except AttackError as refusal:
        if not rest:
            raise
        return _or_else(refusal, lambda: (rest[0], rest[0](view)))


def evidence(view: AdversaryView, only: int | None = None, *, jointly: bool = False) -> list[Evidence]:
    """The same, one for each agent of which something was inferred, with what is known of the errors.

    By the algorithm's own inversion where that comes first (`closed_form_of`), else by a probe; of the
    agents that the one refuses, by the other. `only`: of this agent alone, which is the same and takes a probe less
    time. `jointly`: by one probe of all agents at once.
    """
    own = closed_form_of(view.public.algorithm)
    if jointly:
        found = [Evidence.probed(victim) for victim in probe_network(view).agents.values() if victim.usable]
    elif own is not None and own.first:
        try:
            found = own.evidence(view)
        except AttackError as refusal:
            found = _or_else(refusal, lambda: _by_probe(view, None, only))
    else:
        found = _by_probe(view, own, only)
    return [one for one in found if only in (None, one.agent)]


def _by_probe(view: AdversaryView, own: _ClosedForm | None, only: int | None) -> list[Evidence]:
    """By a probe; of the agents that it refuses, by the algorithm's `own` inversion."""
    try:
        observed = _observed_agents(view)
    except AttackError as refusal:
        return _by_own(view, own, refusal)
    found, refused = dict[int, Evidence](), dict[int, AttackError]()
    for agent, rows in observed.items():
        if only not in (None, agent):
            continue
        try:
            one = probed(view, agent, rows)
            if (one.identifiable & one.located).any():
                found[agent] = Evidence.probed(one)
        except AttackError as refusal:
            refused[agent] = refusal
    if refused and (own is not None or not found):
        try:
            others = _by_own(view, own, next(iter(refused.values())))
        except AttackError:
            if not found:
                raise
            others = []
        found |= {one.agent: one for one in others if one.agent in refused}
    return [found[agent] for agent in sorted(found)]


def _by_own(view: AdversaryView, own: _ClosedForm | None, refusal: AttackError) -> list[Evidence]:
    if own is None:
        raise refusal
    return _or_else(refusal, lambda: own.evidence(view))


def _or_else(refusal: AttackError, other: Callable[[], T]) -> T:
    """Try another way; where that refuses too, both reasons are given."""
    try:
        return other()
    except AttackError as second:
        raise AttackError(f"{refusal}; and otherwise: {second}") from refusal
