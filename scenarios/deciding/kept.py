"""Attacks that decide, on a kept transcript: of every agent of which something was inferred.

A transcript is of one world: the one in which agents hold the scenario's records. An attacker who is told a record
says whether it is in. Without the truth that is all; with it, every record that is an agent's counts as found or
missed. False alarms are counted where the same transcript has a record that is not in: one that is exchanged for it
("replace", the hypotheses the other way round), or one that nobody holds, of an attacker who is not informed. In the
other games it takes a run without the record, which is what `netsim run` makes.

A property has no true hypothesis where records were dealt, not drawn: the one that the agent's own labels make
likeliest stands in for it.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks.audit.statistics.intervals import clopper_pearson
from attacks.gradients import Evidence
from attacks.reconstruction.attack import Case, Known
from attacks.reconstruction.decision import Decision
from attacks.reconstruction.membership import Membership, Records
from attacks.reconstruction.property_inference import PropertyInference
from netsim.errors import AttackError
from netsim.randomness import Streams
from scenarios.attacking import Attacked, guarded
from scenarios.deciding import play
from scenarios.deciding.checks import check_shares_of
from scenarios.deciding.play import begun, counted, inferred
from scenarios.deciding.worlds import Staging
from scenarios.describe import Results
from scenarios.reconstructing import chosen
from scenarios.report import decisions
from scenarios.schema import Scenario
from scenarios.schema.deciding import DecidingModel, MembershipSpec, PropertySpec


@dataclass(frozen=True)
class Deciding:
    """What the attacks that decide say of one kept transcript."""

    kept: Attacked

    @property
    def staging(self) -> Staging:
        """You get an `AttackError` where every record is held: nothing is public."""
        if self.kept.holding.unheld is None:
            raise AttackError("agents hold all records here, and none is public: problem.held_out reserves some")
        return Staging(self.kept.experiment.scenario, self.kept.holding)

    # ── membership ──────────────────────────────────────────────────────────────────────────────────────
    def membership(self, spec: MembershipSpec) -> Results:
        """Whether each agent's record is said to be in; with the truth how often that is right."""
        said = begun(spec, Membership().source, 0) | {"adjacency": spec.adjacency, "informed": spec.informed}
        said = {key: value for key, value in said.items() if key not in ("agent", "holding")}
        found = said | play.guarded("membership", lambda: self._membership(spec))
        return found | {"sentence": decisions.membership_kept(found)}

    def _membership(self, spec: MembershipSpec) -> Results:
        decided: list[tuple[Decision, Decision | None]] = []
        left_out: list[Results] = []
        for evidence in self._evidence(spec):
            try:
                decided.append(self._decided(spec, evidence))
            except AttackError as error:
                left_out.append({"agent": evidence.agent, "why": str(error)})
        if not decided:
            raise AttackError(left_out[0]["why"])
        known = self.kept.remade is not None
        return {
            "levels": [self._level(spec, level, decided, known) for level in spec.levels],
            "agents": [_member(spec, inside) for inside, _ in decided],
            "left_out": left_out,
            "scored": known,
        }

    def _decided(self, spec: MembershipSpec, evidence: Evidence) -> tuple[Decision, Decision | None]:
        """About the agent's own record, and about one that is not in; None where the transcript has none such."""
        agent, part = evidence.agent, self.kept.holding.parts[evidence.agent]
        if spec.record >= part.records or (spec.adjacency == "remove" and part.records == 1):
            raise AttackError(f"agent {agent} holds {part.records} record(s): there is no such world without one")
        own = spec.model_copy(update={"agent": agent})
        rng = Streams(self.kept.experiment.scenario.seed).generator("kept", "membership", agent)
        if not spec.informed:
            return self._uninformed(own, evidence, rng)
        staging = self.staging if spec.adjacency == "replace" else Staging(self._scenario, self.kept.holding)
        both = staging.fixed(own)
        case = self._case(evidence, both.others)
        inside = Membership(spec.adjacent, both.instead).decide([case], [both.candidate], rng)[0]
        if both.instead is None:
            return inside, None
        turned = Membership(spec.adjacent, both.candidate).decide([case], [both.instead], rng)[0]
        return inside, turned

    def _uninformed(
        self, spec: MembershipSpec, evidence: Evidence, rng: np.random.Generator
    ) -> tuple[Decision, Decision]:
        """One record that is in, and one that nobody holds and nobody knows."""
        staging = self.staging
        own, pool = self.kept.holding.parts[evidence.agent].take([spec.record]), staging.unknown
        other = pool.take([int(rng.integers(pool.records))])
        case = self._case(evidence)
        case = Case(case.evidence, replace(case.known, prior=staging.prior))
        attack = Membership(spec.adjacent, None, spec.draws)
        inside, out = (
            attack.decide([case], [staging.told((one.features, one.labels))], rng)[0] for one in (own, other)
        )
        return inside, out

    def _level(
        self, spec: MembershipSpec, level: float, decided: Sequence[tuple[Decision, Decision | None]], known: bool
    ) -> Results:
        said = _accepted([inside for inside, _ in decided], level)
        others = [out for _, out in decided if out is not None]
        power = float(np.mean(np.concatenate([inside.power(level)[:, 0] for inside, _ in decided])))
        told: Results = {"level": level, "power": power, "said": [int(np.sum(said)), said.size]}
        if not known:
            return told | {"found": None, "alarms": None}
        wrong = _accepted(others, level) if others else None
        return told | {
            "found": _rate(said, spec.confidence),
            "alarms": None if wrong is None else _rate(wrong, spec.confidence),
        }

    # ── properties ──────────────────────────────────────────────────────────────────────────────────────
    def properties(self, spec: PropertySpec) -> Results:
        """Which hypothesis is named of each agent; with the truth how often it is the one that its labels say."""
        said = begun(spec, PropertyInference({}).source, 0) | {
            "hypotheses": [one.model_dump() for one in spec.hypotheses]
        }
        said = {key: value for key, value in said.items() if key not in ("agent", "holding")}
        found = said | play.guarded("property inference", lambda: self._properties(spec))
        return found | {"sentence": decisions.property_kept(found)}

    def _properties(self, spec: PropertySpec) -> Results:
        staging = self.staging
        check_shares_of(spec, staging.unheld)
        attack, prior = PropertyInference(staging.hypotheses(spec), spec.draws), staging.prior
        agents: list[Results] = []
        right: list[bool] = []
        known = self.kept.remade is not None
        for evidence in self._evidence(spec):
            case = self._case(evidence)
            case = Case(case.evidence, replace(case.known, prior=prior))
            rng = Streams(self._scenario.seed).generator("kept", "property", evidence.agent)
            choice = attack.decide([case], rng)[0]
            true = self._likeliest(spec, evidence.agent) if known else None
            right += [] if true is None else [name == true for name in choice.chosen]
            told = {"agent": evidence.agent, "named": choice.chosen[0], "posterior": choice.posterior[0].tolist()}
            agents.append(told | {"likeliest": true})
        rate = _rate(np.array(right), spec.confidence) if right else None
        return {"agents": agents, "right": rate, "guess": 1 / len(spec.hypotheses), "scored": known}

    def _likeliest(self, spec: PropertySpec, agent: int) -> str | None:
        """Under which hypothesis the agent's own labels are likeliest; None where two are."""
        part = self.kept.holding.parts[agent]
        labels = np.unique(self.staging.unheld.labels)
        counts = np.array([np.sum(part.labels == label) for label in labels])
        shares = np.array([one.shares for one in spec.hypotheses])
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(counts > 0, counts * np.log(shares), 0.0).sum(axis=1)
        best = np.flatnonzero(each >= np.max(each) - 1e-9)
        return spec.hypotheses[int(best[0])].name if best.size == 1 else None

    # ── parts ───────────────────────────────────────────────────────────────────────────────────────────
    @property
    def _scenario(self) -> Scenario:
        return self.kept.experiment.scenario

    def _evidence(self, spec: DecidingModel) -> list[Evidence]:
        """Of every agent that is not the adversary's."""
        insiders = self.kept.simulation.adversaries[0].insiders
        found = guarded(lambda: inferred(self.kept.view, spec.inversion))
        found = [chosen(one, spec.rounds) for one in found if one.agent not in insiders]
        if not found:
            raise AttackError("nothing was inferred of any agent's gradients")
        return found

    def _case(self, evidence: Evidence, others: Records | None = None) -> Case:
        shape = self.kept.experiment.dataset.image_shape
        known = Known.of(self.kept.view.public, evidence.agent, None, shape)
        return Case(evidence, replace(known, others=others))


def _accepted(found: Sequence[Decision], level: float) -> np.ndarray[tuple[int], np.dtype[np.bool_]]:
    return np.concatenate([one.accepted(level)[:, 0] for one in found])


def _rate(said: np.ndarray[tuple[int], np.dtype[np.bool_]], confidence: float) -> Results:
    count = int(np.sum(said))
    return counted(clopper_pearson(count, said.size, confidence), count, said.size)


def _member(spec: MembershipSpec, decision: Decision) -> Results:
    """Of one agent: how many of its replicas say that the record is in, at each level."""
    return {
        "agent": decision.agent,
        "estimates": len(decision.queries),
        "score": float(np.median(decision.scores[:, 0])),
        "said": [int(np.sum(decision.accepted(level)[:, 0])) for level in spec.levels],
    }


def decided(kept: Attacked, names: Sequence[str]) -> Results:
    """`membership` and `property` of a kept transcript, null where they are not among the `names`. Without a word in
    the scenario, membership is that of an informed attacker: a record replaced, or where none is public removed."""
    asked, found = kept.experiment.scenario.attacks, Deciding(kept)
    told: Results = {"membership": None, "property": None}
    where = {"transcript": str(kept.file)}
    if "membership" in names:
        usual = MembershipSpec(adjacency="remove" if kept.holding.unheld is None else "replace")
        told["membership"] = found.membership(asked.membership or usual) | where
    if "property" in names and asked.property is not None:
        told["property"] = found.properties(asked.property) | where
    return told
