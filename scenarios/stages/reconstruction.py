"""Reconstruction stage of a run: gradients from a run of its own, every attack, its scores, and the claim's bound."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from attacks.closed_form.recal import published_inversion_of
from attacks.inference import Evidence, evidence
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.matching_descent import most_precise
from attacks.score import RecordScore, score_records, success
from attacks.score.records import MatchedRecords, guess_rate
from attacks.score.robustness import approximate_bound, outcomes, simulated_kappa
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.duration import Progress
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.results.attacked import Rebuilt, sentence
from scenarios.results.attacks import Original, ReconstructionResult, RecordAttack, Success, Way
from scenarios.results.base import LeftOut, Rows
from scenarios.schema.attacks import InformedSpec, Inversion, RebuildModel, Rounds
from scenarios.schema.checks import Outcome
from scenarios.schema.scenario import GradientChange

PICTURED = 10
"""Agents whose records are kept, and so shown: numbers are of all."""
DIGITS = 5
"""Decimals of a kept record's features; errors are computed before."""
MOST = 1000
"""Public records that the prior's rate of success is estimated from."""
CONFIDENCE = 0.95
Bound: TypeAlias = Callable[[float, float], Success.SuccessBound | None]
"""From a distance, and the lower end of a success rate."""


@dataclass(frozen=True)
class Rebuilding:
    """All attacks on records of a scenario, run on one algorithm.

    `keep` gets the result after each attack, so that an interruption keeps what was done. `found` collects the
    rebuilt records with their cases. A run without a truth gets no scores.
    """

    experiment: Experiment
    progress: Progress
    keep: Callable[[ReconstructionResult], None]
    found: list[Rebuilt] = field(default_factory=list[Rebuilt])

    def rebuild(self, subject: Subject, run: Run) -> ReconstructionResult:
        """Attack the second run, `run`, of an algorithm."""
        experiment, dataset, holding = self.experiment, self.experiment.dataset, self.experiment.holding
        assert holding is not None
        found = ReconstructionResult(
            holding=holding.records,
            distance=experiment.scenario.attacks.success,
            replicas=run.views[0].replicas,
            shape=dataset.image_shape or (1, dataset.dimension),
            range=dataset.value_range or (0.0, 1.0),
            image=dataset.image_shape is not None,
            originals=tuple(
                Original(agent=agent, records=_kept(part.features), labels=tuple(holding.labels(agent).tolist()))
                for agent, part in enumerate(holding.parts[:PICTURED])
            ),
            attacks=(),
            sentence="",
        )
        bound = None if run.truth is None else bound_of(experiment, subject, run)
        evidence: dict[Inversion, list[Evidence] | AttackError] = {}
        jointly = experiment.scenario.attacks.victims == "jointly"
        for spec in experiment.scenario.attacks.reconstruct:
            self.progress.begin(f"{subject.spec.name}: {spec.label}", 1)
            if spec.inversion not in evidence:
                try:
                    evidence[spec.inversion] = inferred(run.views[0], spec.inversion, jointly=jointly) or AttackError(
                        "no gradient could be inferred: nothing to rebuild a record from"
                    )
                except AttackError as error:
                    evidence[spec.inversion] = error
            one = self._attacked(spec, evidence[spec.inversion], subject.spec.name, run, bound)
            attacks = (*found.attacks, one)
            found = replace(found, attacks=attacks, sentence=sentence(attacks))
            self.keep(found)
            self.progress.advance(1)
        return found

    def _attacked(
        self, spec: RebuildModel, evidence: list[Evidence] | AttackError, name: str, run: Run, bound: Bound | None
    ) -> RecordAttack:
        """One attack: its scores, or the sentence with which it was refused."""
        attack, options = spec.build(), self.experiment.scenario.attacks
        begun = RecordAttack(
            attack=spec.label,
            kind=spec.kind,
            source=attack.source,
            inversion=spec.inversion,
            rounds=spec.rounds or options.rounds,
            labels=spec.labels or options.labels,
        )
        if isinstance(evidence, AttackError):
            return replace(begun, refused=str(evidence))
        cases: list[Case] = []
        left_out: list[LeftOut] = []
        try:
            for case in [self._case(run.views[0], own, spec) for own in evidence]:
                try:
                    attack.needs.check(attack.name, case)
                except AttackError as error:
                    left_out.append(LeftOut(agent=case.evidence.agent, why=str(error)))
                else:
                    cases.append(case)
            if not cases:
                return replace(begun, refused=left_out[0].why)
            rng = Streams(self.experiment.scenario.seed).generator("reconstruct", name, spec.label)
            candidates = attack.reconstruct(cases, rng)
        except AttackError as error:
            return replace(begun, refused=str(error))
        except (np.linalg.LinAlgError, FloatingPointError) as error:
            return replace(begun, refused=f"{attack.name} failed in its arithmetic: {error}")
        self.found.extend(Rebuilt(spec.label, *one) for one in zip(cases, candidates, strict=True))
        begun = replace(begun, left_out=tuple(left_out))
        if bound is None or run.truth is None or self.experiment.holding is None:
            return begun
        rng = Streams(self.experiment.scenario.seed).generator("guesses")
        pairs = list(zip(candidates, cases, strict=True))
        scores = [score_records(one, run.truth, case.known, rng) for one, case in pairs]
        words = [
            outcomes(case, one, score, run.truth, options.success)
            for (one, case), score in zip(pairs, scores, strict=True)
        ]
        noise = not any(case.evidence.exact for case in cases)
        scored = _scored(begun, scores, words, options.success, len(self.experiment.holding.parts), noise)
        assert scored.success is not None
        return replace(scored, success=replace(scored.success, bound=bound(options.success, scored.success.low)))

    def _case(self, view: AdversaryView, evidence: Evidence, spec: RebuildModel) -> Case:
        """Estimates of one agent's gradients, and what the attack is granted beside them."""
        experiment, agent, options = self.experiment, evidence.agent, self.experiment.scenario.attacks
        holding = experiment.holding
        assert holding is not None
        known = Known.of(view.public, agent, holding.prior, experiment.dataset.image_shape)
        features, labels = holding.parts[agent].features, holding.labels(agent)
        if (spec.labels or options.labels) == "public":
            known = replace(known, labels=labels)
        if isinstance(spec, InformedSpec):
            known = replace(known, others=(features[1:], labels[1:]))
        return Case(chosen(evidence, spec.rounds or options.rounds), known)


def _scored(
    attack: RecordAttack,
    scores: Sequence[RecordScore],
    words: Sequence[Sequence[Outcome]],
    distance: float,
    agents: int,
    noise: bool,
) -> RecordAttack:
    """An attack with its numbers: medians over agents and replicas, the rate of success, and each agent's.

    `words` are the verdicts of each agent's replicas; `agents` counts all agents, also those of whom nothing was
    inferred; `noise`: whether all of the evidence is noisy.
    """
    rate = success(scores, distance, silent=agents - len(scores))
    hits = np.array([np.all(score.within(distance), axis=-1) for score in scores])
    counted = Counter(word for own in words for word in own)
    each: list[RecordAttack.RecordsOfAgent] = []
    for score, own in zip(scores, words, strict=True):
        norms, shown = np.median(score.gradient_norm, axis=-1), score.agent < PICTURED
        each.append(
            RecordAttack.RecordsOfAgent(
                agent=score.agent,
                verdict=Counter(own).most_common(1)[0][0],
                queries=len(score.queries),
                first_query=int(min(score.queries)),
                last_query=int(max(score.queries)),
                gradient_norm=(float(np.min(norms)), float(np.max(norms))),
                prior=score.prior,
                rebuilt=_kept(score.attack_score.features[0]) if shown else None,
                guess=_kept(score.baselines[score.prior].features[0]) if shown else None,
                before=tuple(_kept(one.features[0]) for one in _begun(score)) if shown else (),
                **_numbers([score]),
            )
        )
    return replace(
        attack,
        verdict=counted.most_common(1)[0][0],
        verdicts=dict(counted),
        success=Success(
            distance=distance,
            count=int(np.sum(hits)),
            of=agents * hits.shape[1],
            rate=rate.estimate,
            low=rate.lower,
            high=rate.upper,
            confidence=rate.confidence,
            guess=guess_rate(scores, distance),
        ),
        noise=noise,
        agents_reached=len(scores),
        agents_in_all=agents,
        agents=tuple(each),
        way=_way(scores),
        **_numbers(scores),
    )


def _way(scores: Sequence[RecordScore]) -> Way | None:
    """The error by iterations, over agents and replicas; None where no iterates were kept."""
    iterations = scores[0].way[0]
    if not iterations:
        return None
    errors = np.array([[one.mse.mean(axis=-1) for one in score.way[1]] for score in scores])
    low, middle, high = np.quantile(np.moveaxis(errors, 1, 0).reshape(len(iterations), -1), (0.05, 0.5, 0.95), axis=1)
    ends = {name: tuple(values.tolist()) for name, values in (("mse", middle), ("low", low), ("high", high))}
    return Way(iterations=iterations, **ends)


def _begun(score: RecordScore) -> list[MatchedRecords]:
    """The start of the search, and half of the iterates kept until it no longer moves, in the first replica."""
    way = score.way[1]
    if not way:
        return []
    moving = [k for k, one in enumerate(way) if np.any(one.features[0] != way[-1].features[0])]
    return [way[0], way[len(moving) // 2]]


def _numbers(scores: Sequence[RecordScore]) -> dict[str, float | None]:
    """Medians, and the mean of labels that are right; None where there is no such number: of records that are no
    images, or have no class."""
    found: dict[str, float | None] = {}
    each = [one.attack_score for one in scores]
    for name, values in (
        ("skill", [one.skills for one in scores]),
        ("mse", [one.mse for one in each]),
        ("psnr", [one.psnr for one in each]),
        ("ssim", [one.ssim for one in each]),
        ("label_accuracy", [one.label_right for one in each]),
    ):
        flat = np.concatenate([np.ravel(one) for one in values])
        middle = np.mean if name == "label_accuracy" else np.median
        found[name] = None if np.all(np.isnan(flat)) else float(middle(flat))
    return found


def _kept(records: Array) -> Rows:
    return tuple(map(tuple, np.round(np.nan_to_num(records), DIGITS).tolist()))


def bound_of(experiment: Experiment, subject: Subject, run: Run) -> Bound:
    """The bound of the claim that this algorithm makes for the whole attacked run; None where there is no finite
    claim about a replaced record, and where agents hold several: a matching then gives as many guesses, and κ counts
    one.

    κ is the largest rate of the best guess of who has no transcript, over the public records of each class and over
    all of them; of each the upper confidence end is taken, at a level divided by how many there are.
    """
    scenario, holding, claim = experiment.scenario, experiment.holding, None
    one_record = holding is not None and holding.records == 1
    # A claim about a change of the gradient is none about a record.
    by_gradient = scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange)
    if holding is not None and one_record and subject.attacked is not None and not by_gradient:
        adjacency = adjacency_of(scenario, experiment.dataset, holding.problem)
        claim = subject.attacked.claim(adjacency, run.largest_activations, subject.delta)

    @cache
    def kappa(distance: float) -> float:
        assert holding is not None
        assert holding.prior is not None
        groups = list(holding.prior.records.values())
        rng = np.random.default_rng(experiment.scenario.seed)
        each = [*groups, np.concatenate(groups)] if len(groups) > 1 else groups
        level = 1 - (1 - CONFIDENCE) / len(each)
        drawn = [rows[rng.permutation(len(rows))[:MOST]] for rows in each]
        return max(simulated_kappa(rows, distance, level).upper if len(rows) >= 4 else 1.0 for rows in drawn)

    def bound(distance: float, lower: float) -> Success.SuccessBound | None:
        if claim is None or claim.epsilon is None:
            return None
        most = approximate_bound(kappa(distance), claim.epsilon, claim.delta)
        return Success.SuccessBound(
            bound=most, kappa=kappa(distance), epsilon=claim.epsilon, delta=claim.delta, above=lower > most
        )

    return bound


def inferred(
    view: AdversaryView, inversion: Inversion, *, only: int | None = None, jointly: bool = False
) -> list[Evidence]:
    """Evidence of every agent's gradients, in order, or at least of one's. You get an `AttackError` where none is."""
    if inversion == "strongest":
        return evidence(view, only, jointly=jointly)
    return Evidence.each(published_inversion_of(view.public.algorithm)(view))


def chosen(evidence: Evidence, rounds: Rounds) -> Evidence:
    """The estimates that an attack gets of an agent; "clearest": the one with the least noise, the earliest
    among equals (`most_precise`): by lengths, other replicas' noise would choose."""
    if rounds == "all":
        return evidence
    if rounds == "clearest":
        return evidence.only(most_precise(evidence, 1))
    return evidence.only([0 if rounds == "first" else evidence.rounds - 1])
