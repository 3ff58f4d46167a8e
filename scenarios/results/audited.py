"""Findings of an audit as parts of the tree: plan, pair search, games, loss by release, and views."""

import math
from collections.abc import Iterable
from typing import TypeVar

from attacks.audit import audit as audits
from attacks.audit import loss_breakdown as losses
from attacks.audit import views
from attacks.audit.accounting.intervals import Interval
from attacks.audit.games.power import Plan
from attacks.audit.loss.release_cost import Ratio
from attacks.audit.pair_search import Searched
from scenarios.results.audit import (
    ActivationLoss,
    AuditResult,
    AverageCase,
    ClaimResult,
    ClassifierGame,
    EpsilonExact,
    Game,
    GameCurve,
    Leak,
    LinkLoss,
    LossBreakdown,
    LossPart,
    PairFamily,
    PairSearch,
    PartCounts,
    PlanResult,
    ReleaseLoss,
    SelfChecks,
    SequentialTest,
    UnprotectedField,
    ViewResult,
    ViewsResult,
    WorstPair,
)
from scenarios.results.base import Ends, taken

MOST_PARTS = 120
"""Releases, activations and links that are written out one by one; sums are of all."""
Part = TypeVar("Part", bound=LossPart)


def plan_result(plan: Plan) -> PlanResult:
    """Reach of the game of fixed size."""
    return taken(PlanResult, plan)


def search_result(found: Searched, seed: int) -> PairSearch:
    """Search for the worst pair; `seed` is the scenario's."""
    winner = found.winner
    return taken(
        PairSearch,
        found,
        candidates=found.tried,
        winner=taken(WorstPair, winner.candidate, epsilon=winner.epsilon),
        families=tuple(taken(PairFamily, one, candidates=one.tried) for one in found.families),
        seed=seed,
    )


def audit_result(found: audits.AuditResult) -> AuditResult:
    """Claim, three epsilons, evidence and verdict; `witness` is null until the transcript has a file."""
    claim, exact, parts = found.claim, found.exact, found.loss_breakdown
    return taken(
        AuditResult,
        found,
        verdict=found.judgement.verdict.value,
        reason=found.judgement.reason,
        pair=found.pair.description,
        unprotected=None if found.uncovered is None else str(found.uncovered),
        claim=taken(
            ClaimResult,
            claim,
            adjacency=claim.adjacency.relation,
            gradient_change=claim.adjacency.gradient_change,
            failed_conditions=tuple(claim.failed_conditions),
        ),
        epsilon_claimed=claim.epsilon,
        epsilon_exact=EpsilonExact(
            lower=max(e.epsilon.lower for e in exact),
            estimate=found.epsilon_exact,
            upper=max(e.epsilon.upper for e in exact),
            by_formula=all(e.by_formula for e in exact),
            upper_bound_only=any(math.isfinite(e.granted_from) for e in exact),
        ),
        white_box=taken(Game, found.white_box),
        black_box=None if found.black_box is None else taken(Game, found.black_box),
        black_box_refused=found.refused,
        classifier=_classifier(found),
        classifier_refused=found.untrained,
        sequential_test=_sequential_test(found),
        growth=tuple(found.growth),
        not_judged_from=min((e.unreliable_from for e in exact if e.unreliable_from), default=None),
        leaks=tuple(Leak(share=e.leaks, message=str(e.uncovered)) for e in exact if e.uncovered is not None),
        checks=SelfChecks(
            mean_exp_minus_loss=tuple(e.self_check.mean for e in exact),
            mean_passed=tuple(e.self_check.passed for e in exact),
            noise_law_p=tuple(e.noise.p for e in exact),
            noise_law_passed=tuple(e.noise.passed for e in exact),
        ),
        loss_breakdown=loss_breakdown(parts.breakdown, found.confidence, parts.averages),
        unprotected_fields=tuple(taken(UnprotectedField, one, distinguishing=one.told) for one in parts.uncovered),
        average_case=average_case(parts.average),
        audited_over_time=GameCurve(
            activation=tuple(one.activation for one in parts.audited),
            epsilon=tuple(one.epsilon for one in parts.audited),
            ceiling=tuple(one.ceiling for one in parts.audited),
        ),
        witness=None,
    )


def _classifier(found: audits.AuditResult) -> ClassifierGame | None:
    learned = found.trained
    if found.classifier is None or learned is None:
        return None
    return taken(ClassifierGame, found.classifier, model=learned.kind, loss=learned.loss, training=learned.taught)


def _sequential_test(found: audits.AuditResult) -> SequentialTest:
    game = found.anytime
    return taken(
        SequentialTest, game, guesses=game.spoken, correct=game.right, counts=found.stop, stopped=found.stopped
    )


# ── parts of the loss ───────────────────────────────────────────────────────────────────────────────────


def loss_breakdown(
    found: losses.Breakdown, confidence: float, averages: Iterable[Ratio | None] = ()
) -> LossBreakdown:
    """Parts of the loss; of each kind the `MOST_PARTS` costliest. `averages[t]` goes with release t.

    Each γ holds at `confidence` by itself.
    """
    average = dict(enumerate(map(average_case, averages)))
    releases = [
        _part(ReleaseLoss, part, confidence, release=t, where=where, average=average.get(t))
        for t, (where, part) in enumerate(zip(found.where, found.releases, strict=True))
    ]
    activations = [_part(ActivationLoss, part, confidence, activation=k) for k, part in found.activations.items()]
    links = [_part(LinkLoss, part, confidence, link=link) for link, part in found.links.items()]
    return LossBreakdown(
        agent=found.agent,
        transcripts=found.transcripts,
        counts=PartCounts(releases=len(releases), activations=len(activations), links=len(links)),
        releases=_most_costly(releases),
        activations=_most_costly(activations),
        links=_most_costly(links),
        hidden=None if found.hidden is None else _part(LossPart, found.hidden, confidence),
        total=_part(LossPart, found.total, confidence),
    )


def _part(kind: type[Part], part: losses.Part, confidence: float, **where: object) -> Part:
    one, gamma = part.spent, part.spent.gamma(confidence)
    return taken(
        kind,
        one,
        count=part.releases,
        cost=(one.least, one.mean, one.most),
        cost_unknown=one.infinite,
        step=(one.step_least, one.step_mean, one.step_most),
        gamma=None if gamma is None else _ends(gamma),
        **where,
    )


def _most_costly(parts: list[Part]) -> tuple[Part, ...]:
    """The `MOST_PARTS` of them with the highest mean cost, in their order."""
    order = sorted(range(len(parts)), key=lambda k: (-parts[k].cost[1], k))[:MOST_PARTS]
    return tuple(parts[k] for k in sorted(order))


def average_case(found: Ratio | None) -> AverageCase | None:
    """Average loss of some releases against their worst case."""
    if found is None:
        return None
    gamma = found.measured_gamma
    return taken(
        AverageCase,
        found,
        lost=_ends(found.lost),
        gap=_ends(found.gap),
        gamma_measured=None if gamma is None else _ends(gamma),
        gamma_computed=found.computed_gamma,
        gamma_formula=found.formula_gamma,
    )


def _ends(interval: Interval) -> Ends:
    return interval.lower, interval.estimate, interval.upper


# ── views ───────────────────────────────────────────────────────────────────────────────────────────────


def views_result(found: views.ViewsResult) -> ViewsResult:
    """Evidence of every view, the views that refute the claim together, and which view contains which."""
    return taken(
        ViewsResult,
        found,
        agent=found.pair.agent,
        pair=found.pair.description,
        epsilon_claimed=found.claim.epsilon,
        delta=found.claim.delta,
        false_discovery_rate=1 - found.confidence,
        log_e_needed_alone=found.needed,
        views=tuple(map(_view, found.views)),
        refuted=tuple(one.view.name for one in found.refuted),
        smallest=tuple(one.view.name for one in found.smallest),
        order=tuple(sorted((str(inner), str(outer)) for inner, outer in found.order.edges)),
        inconsistent=tuple(map(str, found.inconsistent)),
    )


def _view(one: views.ViewResult) -> ViewResult:
    view, game, tally = one.view, one.game, one.tally
    return taken(
        ViewResult,
        view,
        links=tuple(view.links),
        agents=tuple(view.agents),
        log_e=one.log_e,
        refuted=one.refuted,
        epsilon_audited=game.epsilon_audited,
        ceiling=game.ceiling,
        score=one.score,
        right=tally.right,
        wrong=tally.wrong,
        coins=tally.coins,
    )
