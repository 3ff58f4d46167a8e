"""Findings of an audit as parts of the tree: plan, pair search, games, loss by release, and views."""

import math
from collections.abc import Iterable
from typing import TypeVar

from attacks.audit import audit as audits
from attacks.audit import loss_breakdown as losses
from attacks.audit import views
from attacks.audit.accounting.intervals import Interval
from attacks.audit.loss.release_cost import Ratio
from netsim.claims import Claim
from scenarios.results.audit import AuditResult, EpsilonExact, Game
from scenarios.results.base import Ends, taken
from scenarios.results.budgets import AverageCase, LossBreakdown, LossPart
from scenarios.results.views import ViewsResult

MOST_PARTS = 120
"""Releases, activations and links that are written out one by one; sums are of all."""
Part = TypeVar("Part", bound=LossPart)


def audit_result(found: audits.AuditResult, stated: Claim | None = None) -> AuditResult:
    """Claim, three epsilons, evidence and verdict; `witness` is null until the transcript has a file. `stated`: the
    claim before it was held to a wider adjacency, that of its pair."""
    wider = None if stated is None or stated.adjacency == found.claim.adjacency else stated.adjacency
    claim, exact, parts, game, learned = found.claim, found.exact, found.loss_breakdown, found.anytime, found.trained
    return taken(
        AuditResult,
        found,
        verdict=found.judgement.verdict.value,
        reason=found.judgement.reason,
        pair=found.pair.description,
        change_used=found.pair.change_used,
        proven_share=found.judgement.proven_share,
        unprotected=None if found.uncovered is None else str(found.uncovered),
        claim=taken(
            AuditResult.ClaimResult,
            claim,
            adjacency=claim.adjacency.relation,
            gradient_change=claim.adjacency.gradient_change,
            stated_adjacency=wider and wider.relation,
            stated_change=wider and wider.gradient_change,
            failed_conditions=tuple(claim.failed_conditions),
            waived_conditions=tuple(claim.waived_conditions),
        ),
        epsilon_claimed=claim.epsilon,
        epsilon_exact=EpsilonExact(
            lower=found.ends[0],
            estimate=found.ends[1],
            upper=found.ends[2],
            by_formula=all(e.by_formula for e in exact) and found.over_tosses is None,
            upper_bound_only=any(math.isfinite(e.granted_from) for e in exact),
        ),
        white_box=taken(Game, found.white_box),
        black_box=None if found.black_box is None else taken(Game, found.black_box),
        black_box_refused=found.refused,
        classifier=None
        if found.classifier is None or learned is None
        else taken(
            AuditResult.ClassifierGame,
            found.classifier,
            model=learned.kind,
            loss=learned.loss,
            training=learned.taught,
        ),
        classifier_refused=found.untrained,
        sequential_test=taken(
            AuditResult.SequentialTest,
            game,
            guesses=game.spoken,
            correct=game.right,
            counts=found.stop,
            stopped=found.stopped,
        ),
        growth=tuple(found.growth),
        not_judged_from=min((e.unreliable_from for e in exact if e.unreliable_from), default=None),
        leaks=tuple(
            AuditResult.Leak(share=e.leaks, message=str(e.uncovered)) for e in exact if e.uncovered is not None
        ),
        checks=AuditResult.SelfChecks(
            mean_exp_minus_loss=tuple(e.self_check.mean for e in exact),
            mean_passed=tuple(e.self_check.passed for e in exact),
            noise_law_p=tuple(e.noise.p for e in exact),
            noise_law_passed=tuple(e.noise.passed for e in exact),
        ),
        loss_breakdown=_loss_breakdown(parts.breakdown, found.confidence, parts.averages),
        read_lines=found.read,
        unprotected_fields=tuple(taken(AuditResult.UnprotectedField, one) for one in parts.uncovered),
        average_case=_average_case(parts.average),
        audited_over_time=AuditResult.GameCurve(
            activation=tuple(one.activation for one in parts.audited),
            epsilon=tuple(one.epsilon for one in parts.audited),
            ceiling=tuple(one.ceiling for one in parts.audited),
        ),
        witness=None,
        bound=None if found.bound is None else taken(AuditResult.Bound, found.bound),
        secret_coins=None
        if found.secret is None
        else taken(
            AuditResult.SecretCoins, found.secret, secret=_ends(found.secret.epsilon), known=_ends(found.secret.known)
        ),
    )


# ── parts of the loss ───────────────────────────────────────────────────────────────────────────────────
def _loss_breakdown(
    found: losses.Breakdown, confidence: float, averages: Iterable[Ratio | None] = ()
) -> LossBreakdown:
    """Parts of the loss; of each kind the `MOST_PARTS` costliest. `averages[t]` goes with release t.

    Each share holds at `confidence` by itself.
    """
    average = dict(enumerate(map(_average_case, averages)))

    def part(kind: type[Part], one: losses.Part, **where: object) -> Part:
        spent, share = one.spent, one.spent.share(confidence)
        return taken(
            kind,
            spent,
            count=one.releases,
            cost=(spent.least, spent.mean, spent.most),
            cost_unknown=spent.infinite,
            step=(spent.step_least, spent.step_mean, spent.step_most),
            share=None if share is None else _ends(share),
            **where,
        )

    releases = [
        part(LossBreakdown.ReleaseLoss, one, release=t, where=where, average=average.get(t))
        for t, (where, one) in enumerate(zip(found.where, found.releases, strict=True))
    ]
    activations = [part(LossBreakdown.ActivationLoss, one, activation=k) for k, one in found.activations.items()]
    links = [part(LossBreakdown.LinkLoss, one, link=link) for link, one in found.links.items()]
    return LossBreakdown(
        agent=found.agent,
        transcripts=found.transcripts,
        counts=LossBreakdown.PartCounts(releases=len(releases), activations=len(activations), links=len(links)),
        releases=_most_costly(releases),
        activations=_most_costly(activations),
        links=_most_costly(links),
        hidden=None if found.hidden is None else part(LossPart, found.hidden),
        total=part(LossPart, found.total),
    )


def _most_costly(parts: list[Part]) -> tuple[Part, ...]:
    """The `MOST_PARTS` of them with the highest mean cost, in their order."""
    order = sorted(range(len(parts)), key=lambda k: (-parts[k].cost[1], k))[:MOST_PARTS]
    return tuple(parts[k] for k in sorted(order))


def _average_case(found: Ratio | None) -> AverageCase | None:
    """Average loss of some releases against their worst case."""
    if found is None:
        return None
    share, gamma = found.measured_share, found.gamma
    return taken(
        AverageCase,
        found,
        lost=_ends(found.lost),
        supremum=_ends(found.supremum),
        gap=_ends(found.gap),
        share_measured=None if share is None else _ends(share),
        share_computed=found.computed_share,
        gamma=None if gamma is None else _ends(gamma),
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
        views=tuple(
            taken(
                ViewsResult.ViewResult,
                one.view,
                links=tuple(one.view.links),
                agents=tuple(one.view.agents),
                log_e=one.log_e,
                refuted=one.refuted,
                epsilon_audited=one.game.epsilon_audited,
                ceiling=one.game.ceiling,
                score=one.score,
                right=one.tally.right,
                wrong=one.tally.wrong,
                coins=one.tally.coins,
            )
            for one in found.views
        ),
        refuted=tuple(one.view.name for one in found.refuted),
        smallest=tuple(one.view.name for one in found.smallest),
        order=tuple(sorted((str(inner), str(outer)) for inner, outer in found.order.edges)),
        inconsistent=tuple(map(str, found.inconsistent)),
    )
