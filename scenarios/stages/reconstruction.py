"""Reconstruction stage of a run: gradients from a run of its own, every attack, its scores."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from attacks.closed_form.recal import published_evidence
from attacks.inference import Evidence, evidence
from attacks.reconstruction.attack import Attack, Case, Known, Reconstruction
from attacks.reconstruction.matching_descent import most_precise
from attacks.score import score_records
from attacks.score.verdict import outcomes
from netsim.adversary import AdversaryView
from netsim.errors import AttackError
from netsim.problems import Dataset
from netsim.randomness import Streams
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.progress import Progress
from scenarios.results import former_reconstructions as rebuilt
from scenarios.results.entries import Results
from scenarios.results.former_reconstructions import Bound, Rebuilt, bound_of
from scenarios.schema.attacks import InformedSpec, Inversion, Labels, RebuildModel, Rounds


@dataclass(frozen=True)
class Rebuilding:
    """Runs the attacks of a scenario on one algorithm, and writes what comes of them to its entry one by one, so that
    an interruption keeps what was done. `save` writes results to disk. `found` is what they rebuilt, with their
    cases. A run without a truth gets no scores."""

    experiment: Experiment
    progress: Progress
    save: Callable[[], None]
    found: list[Rebuilt] = field(default_factory=list[Rebuilt])

    def rebuild(self, entry: Results, subject: Subject, run: Run) -> None:
        """Fill an entry's `reconstructions`."""
        holding = self.experiment.holding
        assert holding is not None
        found = entry["reconstructions"] = rebuilt.begin(self.experiment, run.views[0].replicas)
        bound = bound_of(self.experiment, subject, run) if run.truth is not None else _no_bound
        inferred: dict[Inversion, list[Evidence] | AttackError] = {}
        jointly = self.experiment.scenario.attacks.victims == "jointly"
        for spec in self.experiment.scenario.attacks.reconstruct:
            self.progress.begin(f"{subject.spec.name}: {spec.label}", 1)
            if spec.inversion not in inferred:
                inferred[spec.inversion] = _inferred(run.views[0], spec.inversion, jointly)
            found["attacks"].append(self._attacked(spec, inferred[spec.inversion], subject, run, bound))
            rebuilt.conclude(found)
            self.save()
            self.progress.advance(1)

    def _attacked(
        self,
        spec: RebuildModel,
        inferred: list[Evidence] | AttackError,
        subject: Subject,
        run: Run,
        bound: Bound,
    ) -> Results:
        """One attack: its scores, or the sentence with which it was refused."""
        attack = spec.build()
        said = rebuilt.attack(spec, attack, self._rounds(spec), self._labels(spec))
        if isinstance(inferred, AttackError):
            return said | {"refused": str(inferred)}
        try:
            cases = [self._case(run.views[0], own, spec) for own in inferred]
            granted, left_out = _usable_cases(attack, cases)
            rng = Streams(self.experiment.scenario.seed).generator("reconstruct", subject.spec.name, spec.label)
            candidates = attack.reconstruct(granted, rng)
        except AttackError as error:
            return said | {"refused": str(error)}
        except (np.linalg.LinAlgError, FloatingPointError) as error:
            return said | {"refused": f"{attack.name} failed in its arithmetic: {error}"}
        self.found.extend(Rebuilt(spec.label, *one) for one in zip(granted, candidates, strict=True))
        scored = self._scored(granted, candidates, run, bound) if run.truth is not None else {}
        return said | scored | {"left_out": left_out}

    def _scored(self, cases: Sequence[Case], candidates: Sequence[Reconstruction], run: Run, bound: Bound) -> Results:
        assert run.truth is not None
        rng = Streams(self.experiment.scenario.seed).generator("guesses")
        distance = self.experiment.scenario.attacks.success
        found = list(zip(candidates, cases, strict=True))
        scores = [score_records(one, run.truth, case.known, rng) for one, case in found]
        pairs = zip(found, scores, strict=True)
        words = [outcomes(case, one, score, run.truth, distance) for (one, case), score in pairs]
        noise = not any(case.evidence.exact for case in cases)
        told = rebuilt.scored(scores, words, distance, len(self._parts), noise)
        told["success"]["bound"] = bound(distance, told["success"]["low"])
        return told

    @property
    def _parts(self) -> Sequence[Dataset]:
        """What each agent holds."""
        assert self.experiment.holding is not None
        return self.experiment.holding.parts

    def _rounds(self, spec: RebuildModel) -> Rounds:
        return spec.rounds or self.experiment.scenario.attacks.rounds

    def _labels(self, spec: RebuildModel) -> Labels:
        return spec.labels or self.experiment.scenario.attacks.labels

    def _case(self, view: AdversaryView, evidence: Evidence, spec: RebuildModel) -> Case:
        """What the attack gets of one agent: estimates, and what is granted beside them."""
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


def _no_bound(distance: float, lower: float) -> None:
    """Of what is not scored."""


def _inferred(view: AdversaryView, inversion: Inversion, jointly: bool) -> list[Evidence] | AttackError:
    """What is inferred of each agent of which something is, in order; or why nothing is."""
    try:
        strongest = inversion == "strongest"
        found = evidence(view, jointly=jointly) if strongest else published_evidence(view)
    except AttackError as error:
        return error
    return found or AttackError("no gradient could be inferred: nothing to rebuild a record from")


def chosen(evidence: Evidence, rounds: Rounds) -> Evidence:
    """What an attack gets of an agent's estimates; "clearest": the one with the least noise, the earliest
    among equals (`most_precise`): by lengths, other replicas' noise would choose."""
    if rounds == "all":
        return evidence
    if rounds == "clearest":
        return evidence.only(most_precise(evidence, 1))
    return evidence.only([0 if rounds == "first" else evidence.rounds - 1])


def _usable_cases(attack: Attack, cases: Sequence[Case]) -> tuple[list[Case], list[Results]]:
    """The cases that grant what an attack needs, and of the others why not. An `AttackError` where none does."""
    granted: list[Case] = []
    left_out: list[Results] = []
    for case in cases:
        try:
            attack.needs.check(attack.name, case)
        except AttackError as error:
            left_out.append({"agent": case.evidence.agent, "why": str(error)})
        else:
            granted.append(case)
    if not granted:
        raise AttackError(left_out[0]["why"])
    return granted, left_out
