"""Reconstruction stage of a run: gradients from a run of its own, every attack, its scores, and the claim's bound."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from typing import TypeAlias

import numpy as np

from attacks.closed_form.recal import published_evidence
from attacks.inference import Evidence, evidence
from attacks.reconstruction.attack import Attack, Case, Known, Reconstruction
from attacks.reconstruction.matching_descent import most_precise
from attacks.score import RecordScore, score_records, success
from attacks.score.records import guess_rate
from attacks.score.robustness import approximate_bound, simulated_kappa
from attacks.score.verdict import outcomes
from netsim.adversary import AdversaryView
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.errors import AttackError
from netsim.problems import Dataset
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.build.progress import Progress
from scenarios.results.attacks import (
    Original,
    ReconstructionResult,
    RecordAttack,
    RecordsOfAgent,
    Success,
    SuccessBound,
)
from scenarios.results.base import LeftOut, Rows
from scenarios.results.reconstructions import Rebuilt, sentence
from scenarios.schema.attacks import InformedSpec, Inversion, Labels, RebuildModel, Rounds
from scenarios.schema.checks import Outcome
from scenarios.schema.scenario import GradientChange

PICTURED = 8
"""Agents whose records are kept, and so shown: numbers are of all."""
DIGITS = 5
"""Decimals of a kept record's features; errors are computed before."""
MOST = 1000
"""Public records that the prior's rate of success is estimated from."""
CONFIDENCE = 0.95
Bound: TypeAlias = Callable[[float, float], SuccessBound | None]
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
        found = _begun(self.experiment, run.views[0].replicas)
        bound = bound_of(self.experiment, subject, run) if run.truth is not None else _no_bound
        inferred: dict[Inversion, list[Evidence] | AttackError] = {}
        jointly = self.experiment.scenario.attacks.victims == "jointly"
        for spec in self.experiment.scenario.attacks.reconstruct:
            self.progress.begin(f"{subject.spec.name}: {spec.label}", 1)
            if spec.inversion not in inferred:
                inferred[spec.inversion] = _inferred(run.views[0], spec.inversion, jointly)
            attacks = (*found.attacks, self._attacked(spec, inferred[spec.inversion], subject, run, bound))
            found = replace(found, attacks=attacks, sentence=sentence(attacks))
            self.keep(found)
            self.progress.advance(1)
        return found

    def _attacked(
        self,
        spec: RebuildModel,
        inferred: list[Evidence] | AttackError,
        subject: Subject,
        run: Run,
        bound: Bound,
    ) -> RecordAttack:
        """One attack: its scores, or the sentence with which it was refused."""
        attack = spec.build()
        begun = RecordAttack(
            attack=spec.label,
            kind=spec.kind,
            source=attack.source,
            inversion=spec.inversion,
            rounds=self._rounds(spec),
            labels=self._labels(spec),
        )
        if isinstance(inferred, AttackError):
            return replace(begun, refused=str(inferred))
        try:
            cases = [self._case(run.views[0], own, spec) for own in inferred]
            granted, left_out = _usable_cases(attack, cases)
            rng = Streams(self.experiment.scenario.seed).generator("reconstruct", subject.spec.name, spec.label)
            candidates = attack.reconstruct(granted, rng)
        except AttackError as error:
            return replace(begun, refused=str(error))
        except (np.linalg.LinAlgError, FloatingPointError) as error:
            return replace(begun, refused=f"{attack.name} failed in its arithmetic: {error}")
        self.found.extend(Rebuilt(spec.label, *one) for one in zip(granted, candidates, strict=True))
        begun = replace(begun, left_out=tuple(left_out))
        return self._scored(begun, granted, candidates, run, bound) if run.truth is not None else begun

    def _scored(
        self,
        begun: RecordAttack,
        cases: Sequence[Case],
        candidates: Sequence[Reconstruction],
        run: Run,
        bound: Bound,
    ) -> RecordAttack:
        assert run.truth is not None
        rng = Streams(self.experiment.scenario.seed).generator("guesses")
        distance = self.experiment.scenario.attacks.success
        found = list(zip(candidates, cases, strict=True))
        scores = [score_records(one, run.truth, case.known, rng) for one, case in found]
        pairs = zip(found, scores, strict=True)
        words = [outcomes(case, one, score, run.truth, distance) for (one, case), score in pairs]
        noise = not any(case.evidence.exact for case in cases)
        scored = with_scores(begun, scores, words, distance, len(self._parts), noise)
        assert scored.success is not None
        return replace(scored, success=replace(scored.success, bound=bound(distance, scored.success.low)))

    @property
    def _parts(self) -> Sequence[Dataset]:
        """Records of each agent."""
        assert self.experiment.holding is not None
        return self.experiment.holding.parts

    def _rounds(self, spec: RebuildModel) -> Rounds:
        return spec.rounds or self.experiment.scenario.attacks.rounds

    def _labels(self, spec: RebuildModel) -> Labels:
        return spec.labels or self.experiment.scenario.attacks.labels

    def _case(self, view: AdversaryView, evidence: Evidence, spec: RebuildModel) -> Case:
        """Estimates of one agent's gradients, and what the attack is granted beside them."""
        experiment, agent = self.experiment, evidence.agent
        holding = experiment.holding
        assert holding is not None
        known = Known.of(view.public, agent, holding.prior, experiment.dataset.image_shape)
        features, labels = holding.parts[agent].features, holding.labels(agent)
        if self._labels(spec) == "public":
            known = known.with_labels(labels)
        if isinstance(spec, InformedSpec):
            known = replace(known, others=(features[1:], labels[1:]))
        return Case(chosen(evidence, self._rounds(spec)), known)


def _begun(experiment: Experiment, replicas: int) -> ReconstructionResult:
    """The records under attack, before any attack."""
    dataset, holding = experiment.dataset, experiment.holding
    assert holding is not None
    return ReconstructionResult(
        holding=holding.records,
        distance=experiment.scenario.attacks.success,
        replicas=replicas,
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


def with_scores(
    attack: RecordAttack,
    scores: Sequence[RecordScore],
    words: Sequence[Sequence[Outcome]],
    distance: float,
    agents: int | None = None,
    noise: bool = True,
) -> RecordAttack:
    """An attack with its numbers: medians over agents and replicas, the rate of success, and each agent's.

    `words` are the verdicts of each agent's replicas; `agents` counts all agents, also those of whom nothing was
    inferred; `noise`: whether all of the evidence is noisy.
    """
    of = len(scores) if agents is None else agents
    rate = success(scores, distance, silent=of - len(scores))
    hits = np.array([np.all(score.within(distance), axis=-1) for score in scores])
    counted = Counter(word for own in words for word in own)
    return replace(
        attack,
        verdict=counted.most_common(1)[0][0],
        verdicts=dict(counted),
        skill=_median([score.skills for score in scores]),
        mse=_median([score.attack_score.mse for score in scores]),
        psnr=_median([score.attack_score.psnr for score in scores]),
        ssim=_median([score.attack_score.ssim for score in scores]),
        label_accuracy=_mean([score.attack_score.label_right for score in scores]),
        success=Success(
            distance=distance,
            count=int(np.sum(hits)),
            of=of * hits.shape[1],
            rate=rate.estimate,
            low=rate.lower,
            high=rate.upper,
            confidence=rate.confidence,
            guess=guess_rate(scores, distance),
        ),
        noise=noise,
        agents_reached=len(scores),
        agents_in_all=of,
        agents=tuple(
            _agent(score, Counter(own).most_common(1)[0][0]) for score, own in zip(scores, words, strict=True)
        ),
    )


def _agent(score: RecordScore, verdict: Outcome) -> RecordsOfAgent:
    found, norms = score.attack_score, np.median(score.gradient_norm, axis=-1)
    shown = score.agent < PICTURED
    return RecordsOfAgent(
        agent=score.agent,
        verdict=verdict,
        queries=len(score.queries),
        first_query=int(min(score.queries)),
        last_query=int(max(score.queries)),
        gradient_norm=(float(np.min(norms)), float(np.max(norms))),
        skill=_median([score.skills]),
        mse=_median([found.mse]),
        psnr=_median([found.psnr]),
        ssim=_median([found.ssim]),
        label_accuracy=_mean([found.label_right]),
        prior=score.prior,
        rebuilt=_kept(found.features[0]) if shown else None,
        guess=_kept(score.baselines[score.prior].features[0]) if shown else None,
    )


def _kept(records: Array) -> Rows:
    return tuple(map(tuple, np.round(np.nan_to_num(records), DIGITS).tolist()))


def _median(values: Sequence[Array]) -> float | None:
    """None where there is no such number: of records that are no images, or have no class."""
    flat = np.concatenate([np.ravel(one) for one in values])
    return None if np.all(np.isnan(flat)) else float(np.median(flat))


def _mean(values: Sequence[Array]) -> float | None:
    flat = np.concatenate([np.ravel(one) for one in values])
    return None if np.all(np.isnan(flat)) else float(np.mean(flat))


def bound_of(experiment: Experiment, subject: Subject, run: Run) -> Bound:
    """The bound of the claim that this algorithm makes for the whole attacked run; None where there is no finite
    claim about a replaced record, and where agents hold several: a matching then gives as many guesses, and κ counts
    one.

    κ is the largest rate of the best guess of who has no transcript, over the public records of each class and over
    all of them; of each the upper confidence end is taken, at a level divided by how many there are.
    """
    claim = _claim(experiment, subject, run)

    @cache
    def kappa(distance: float) -> float:
        assert experiment.holding is not None
        assert experiment.holding.prior is not None
        groups = list(experiment.holding.prior.records.values())
        rng = np.random.default_rng(experiment.scenario.seed)
        each = [*groups, np.concatenate(groups)] if len(groups) > 1 else groups
        level = 1 - (1 - CONFIDENCE) / len(each)
        drawn = [rows[rng.permutation(len(rows))[:MOST]] for rows in each]
        return max(simulated_kappa(rows, distance, level).upper if len(rows) >= 4 else 1.0 for rows in drawn)

    def bound(distance: float, lower: float) -> SuccessBound | None:
        if claim is None or claim.epsilon is None:
            return None
        most = approximate_bound(kappa(distance), claim.epsilon, claim.delta)
        return SuccessBound(
            bound=most, kappa=kappa(distance), epsilon=claim.epsilon, delta=claim.delta, above=lower > most
        )

    return bound


def _no_bound(distance: float, lower: float) -> None:
    """Of attacks without scores."""


def _claim(experiment: Experiment, subject: Subject, run: Run) -> Claim | None:
    scenario, holding = experiment.scenario, experiment.holding
    if holding is None or holding.records != 1 or subject.attacked is None:
        return None
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return None  # a claim about a change of the gradient, and not about a record
    adjacency = adjacency_of(scenario, experiment.dataset, holding.problem)
    return subject.attacked.claim(adjacency, run.largest_activations, subject.delta)


def _inferred(view: AdversaryView, inversion: Inversion, jointly: bool) -> list[Evidence] | AttackError:
    """Evidence about each agent of which something is inferred, in order; or why nothing is."""
    try:
        strongest = inversion == "strongest"
        found = evidence(view, jointly=jointly) if strongest else published_evidence(view)
    except AttackError as error:
        return error
    return found or AttackError("no gradient could be inferred: nothing to rebuild a record from")


def chosen(evidence: Evidence, rounds: Rounds) -> Evidence:
    """The estimates that an attack gets of an agent; "clearest": the one with the least noise, the earliest
    among equals (`most_precise`): by lengths, other replicas' noise would choose."""
    if rounds == "all":
        return evidence
    if rounds == "clearest":
        return evidence.only(most_precise(evidence, 1))
    return evidence.only([0 if rounds == "first" else evidence.rounds - 1])


def _usable_cases(attack: Attack, cases: Sequence[Case]) -> tuple[list[Case], list[LeftOut]]:
    """The cases that grant what an attack needs, and of the others why not. An `AttackError` where none does."""
    granted: list[Case] = []
    left_out: list[LeftOut] = []
    for case in cases:
        try:
            attack.needs.check(attack.name, case)
        except AttackError as error:
            left_out.append(LeftOut(agent=case.evidence.agent, why=str(error)))
        else:
            granted.append(case)
    if not granted:
        raise AttackError(left_out[0].why)
    return granted, left_out
