"""Witnesses: saved by a run whose audit breaks a claim, replayed anywhere by `netsim witness FILE`.

A witness file has one transcript at one agent's door and the scenario. A replay builds the two worlds anew from the
scenario, runs the agent's own code on the recorded messages under both, and computes the claim and every loss again.
It simulates nothing, and takes no result from the file. What only a run knows is that the other agents do send such
messages: seed, `world`, `chunk` and `replica` say how to simulate them again.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass, replace
from itertools import islice
from pathlib import Path
from typing import Any, cast

import numpy as np

from attacks.audit.audit import Pair
from attacks.audit.witnesses import plain, witness
from attacks.audit.witnesses.itemized import Account, itemize
from attacks.audit.witnesses.witness import Place, Shown, Witness
from netsim.adversary import PublicKnowledge
from netsim.claims import Claim
from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.problems import Objective
from netsim.simulation import Simulation
from scenarios import describe
from scenarios.adjacent import change_of, changed, check_adjacent
from scenarios.auditing import worlds
from scenarios.experiment import Experiment, Subject
from scenarios.findings import capitalized
from scenarios.loader import validated
from scenarios.schema import Scenario
from scenarios.telling import Progress, Silent
from scenarios.witness_file import DataPrint, PairPrint, WitnessFile

TOGETHER = {"variants", "grid", "figures", "reproduces"}
"""What of a scenario belongs to several runs."""
ALTERED = "The file was altered after it was written"
MOST = 3
"""Differences that are told one by one."""


@dataclass(frozen=True)
class Audited:
    """What an audit was asked and found: its pair, the claim, evaluated at Θ = `activations`, and where its best
    transcript is (None: it has none). It simulates as the scenario says (`scenarios.auditing.worlds`)."""

    pair: Pair
    claim: Claim
    activations: int
    where: Place | None


def file_of(folder: Path, slug: str) -> Path:
    """Where a results folder has the witness of an algorithm."""
    return folder / f"witness-{slug}.json"


def save(path: Path, experiment: Experiment, subject: Subject, audited: Audited) -> Path | None:
    """Write the witness that an audit found; what a former run left there is removed.

    None, and no file, where it found none; where the transcript alone shows nothing (δ > 0 and no uncovered message;
    Gaussian noise refutes δ = 0 by its law, whatever was drawn); and where an active adversary meddled, for no claim
    is about that.
    """
    path.unlink(missing_ok=True)
    if audited.where is None or experiment.scenario.meddlers:
        return None
    made, shown = make(experiment, subject, audited, audited.where)
    if shown is None:
        return None
    draft = path.with_name(path.name + ".part")
    draft.write_text(made.text(), encoding="utf-8")
    draft.replace(path)
    return path


def make(
    experiment: Experiment, subject: Subject, audited: Audited, where: Place
) -> tuple[WitnessFile, Shown | None]:
    """The file of the transcript at this place, and what it shows, be it nothing."""
    pair, claim = audited.pair, audited.claim
    own, other = (cast(Objective, one) for one in pair.hypotheses)
    spec = experiment.scenario.audit
    assert spec is not None
    simulate = worlds(subject.simulation, pair.agent, other, spec.together, spec.draw)
    recorded, account = witness.find(simulate, pair, where)
    shown = witness.shown(account, claim)
    made = WitnessFile(
        says=f"{subject.spec.name}, agent {pair.agent}. {reason(account, claim)}",
        versions=describe.versions(),
        scenario=_of_one(experiment.scenario, subject),
        algorithm=subject.spec.name,
        agent=pair.agent,
        world=where.world,
        chunk=where.chunk,
        replica=where.replica,
        activations=audited.activations,
        pair=PairPrint(description=pair.description, change=change_of(own, other)),
        claim=_plain(claim),
        data=DataPrint.of(experiment, pair.agent),
        account=witness.as_plain(account),
        transcript=recorded.as_plain(),
    )
    return made.sealed(), shown


def _of_one(scenario: Scenario, subject: Subject) -> dict[str, Any]:
    """The scenario with every default, and this algorithm alone."""
    return scenario.model_dump(exclude=TOGETHER) | {"algorithms": [subject.spec.model_dump()]}


def _plain(claim: Claim) -> dict[str, Any]:
    """A claim with infinities as texts."""
    told: dict[str, Any] = asdict(claim)
    told["failed_conditions"] = list(claim.failed_conditions)
    told["adjacency"] = _numbers(told["adjacency"])
    return _numbers(told)


def _numbers(told: dict[str, Any]) -> dict[str, Any]:
    return {key: plain.number(value) if isinstance(value, float) else value for key, value in told.items()}


# ── replaying ───────────────────────────────────────────────────────────────────────────────────────────


@dataclass(frozen=True)
class Confirmation:
    """What the replay of a witness finds. `claim` and `account` are computed anew; None where they could not be.

    `verdict` is None where the transcript does not refute the claim; `remarks` say what does not agree with the file.
    """

    file: WitnessFile
    claim: Claim | None
    account: Account | None
    verdict: Shown | None
    reason: str
    remarks: tuple[str, ...]

    @property
    def first_above(self) -> int | None:
        """The first release by which the loss is above the claim; None where it never is, at δ > 0, and in an altered
        file."""
        claim, account = self.claim, self.account
        if not self.file.intact or claim is None or claim.epsilon is None or claim.delta > 0 or account is None:
            return None
        return account.first_above(claim.epsilon)

    def as_plain(self) -> dict[str, Any]:
        """For other programs; infinities are texts."""
        return {
            "verdict": self.verdict or "not confirmed",
            "reason": self.reason,
            "remarks": list(self.remarks),
            "algorithm": self.file.algorithm,
            "agent": self.file.agent,
            "pair": self.file.pair.description,
            "claim": None if self.claim is None else _plain(self.claim),
            "first_above": self.first_above,
            "to_the_last_bit": None if self.account is None else self.account.identical,
            "account": None if self.account is None else witness.as_plain(self.account),
        }


def confirm(file: WitnessFile, progress: Progress | None = None) -> Confirmation:
    """Replay a witness. You get a `ScenarioError` where its worlds cannot be built here, or on other data only."""
    progress = progress or Silent()
    parts = 2 + len(cast("list[Any]", file.scenario.get("algorithms") or []))
    progress.begin("building both worlds and replaying the agent's code in them", 2 * parts)
    experiment, pair = _rebuilt(file, progress)
    subject = _subject(file, experiment)
    try:
        recorded = Witness.of_plain(file.agent, file.transcript)
        sample = recorded.sample(_public(subject.simulation, pair, file.world))
    except TranscriptError as error:
        raise ScenarioError("transcript", "…", str(error), "the rows of a run") from None
    activations = _activations(file, subject.simulation)
    claim = subject.simulation.claim(experiment.adjacency, activations, subject.delta)
    true, other = pair.hypotheses[file.world], pair.hypotheses[1 - file.world]
    try:
        with np.errstate(all="ignore"):
            account = itemize(sample, pair.agent, true, other, to_the_bit=False)
        progress.advance(parts)
    except NetsimError as error:
        why = f"The agent's code does not send this transcript: {error}"
        return Confirmation(file, claim, None, None, why, tuple(_of_file(file)))
    remarks = (*_of_file(file), *_of_claim(file, activations), *_of_account(file, claim, account))
    against = _against(file, claim, account, activations)
    if claim is None or against is not None:
        why = "The algorithm claims no privacy here" if claim is None else against or ""
        return Confirmation(file, claim, account, None, why, remarks)
    return Confirmation(file, claim, account, witness.shown(account, claim), reason(account, claim), remarks)


def _rebuilt(file: WitnessFile, progress: Progress) -> tuple[Experiment, Pair]:
    """The worlds of the file: the scenario's, on the data that it had, and the other one, adjacent."""
    try:
        experiment = Experiment.of(validated(file.scenario, "").scenario, progress)
    except ScenarioError as error:
        raise replace(error.under("scenario"), file=error.file or None) from None
    spec = experiment.scenario.audit
    if spec is None or spec.agent != file.agent:
        audited = "none" if spec is None else str(spec.agent)
        raise ScenarioError("agent", file.agent, "not the one that the scenario audits", audited)
    here = DataPrint.of(experiment, file.agent)
    if here != file.data:
        told = {
            "agent": f"agent {file.agent} holds other records",
            "everybody": "the agents hold other records",
            "name": "another data set",
        }
        field = next(name for name in told if getattr(here, name) != getattr(file.data, name))
        raise ScenarioError(
            f"data.{field}", getattr(here, field), f"{told[field]} here than where the witness was recorded",
            getattr(file.data, field),
        )  # fmt: skip
    own = experiment.problem.objectives[file.agent]
    other = changed(own, file.pair.change)
    check_adjacent(own, other, experiment.adjacency)
    return experiment, Pair(file.agent, (own, other), file.pair.description)


def _subject(file: WitnessFile, experiment: Experiment) -> Subject:
    for subject in experiment.subjects:
        if subject.spec.name == file.algorithm:
            return subject
    names = ", ".join(subject.spec.name for subject in experiment.subjects)
    raise ScenarioError("algorithm", file.algorithm, "not in the scenario", names)


def _activations(file: WitnessFile, simulation: Simulation) -> int:
    """Θ, at which the claim is evaluated: of the scenario's algorithm, where that fixes it; else of the file."""
    algorithm = simulation.algorithm
    fixed: int | None = algorithm.stopping().per_agent or getattr(algorithm, "rounds", None)
    return file.activations if fixed is None else fixed


def _active(account: Account) -> int:
    """How often the agent was active at least: what it sends after its k-th activation is dated k + 1."""
    dates = [item.activation for item in account.items]
    if account.uncovered is not None:
        dates.append(account.uncovered.activation)
    return max(dates, default=1) - 1


def _public(simulation: Simulation, pair: Pair, world: int) -> PublicKnowledge:
    """What everybody knows in this world."""
    problem = simulation.problem.replace(pair.agent, cast(Objective, pair.hypotheses[world]))
    return replace(simulation, problem=problem, spool=None).public()


# ── what is said ────────────────────────────────────────────────────────────────────────────────────────


def reason(account: Account, claim: Claim) -> str:
    """One line: what the transcript shows of the claim."""
    of_claim = f"the claimed ε = {claim.epsilon:.4g}" if claim.epsilon is not None else "any claim"
    if account.uncovered is not None:
        end = f", so ε is above {of_claim}"
        if claim.delta > 0:
            end = f". One transcript cannot show that more than δ = {claim.delta:.3g} of them leak; the audit did"
        return capitalized(f"{account.uncovered}; no noise covers it{end}.")
    loss = f"The loss of this transcript is {account.total:.6g}"
    if claim.epsilon is None:
        return f"The claim is undefined ({'; '.join(claim.failed_conditions)}). {loss}."
    if claim.delta > 0:
        return f"{loss}; at δ = {claim.delta:.3g} one transcript refutes nothing."
    if witness.shown(account, claim) is None:
        return f"{loss}, not above {of_claim}."
    first = account.first_above(claim.epsilon)
    by = "" if first is None else f" by activation {account.items[first].activation}"
    return f"{loss}, above {of_claim}{by}: ε is at least that."


def _against(file: WitnessFile, claim: Claim | None, account: Account, activations: int) -> str | None:
    """Why nothing is confirmed, whatever the losses."""
    loss = "" if claim is None else f" ({reason(account, claim)})"
    if not file.intact:
        return f"{ALTERED}, so nothing is confirmed by it."
    if (active := _active(account)) > activations:
        of_claim = f"and the claim would be that of {activations}"
        return f"The agent was active {active} times in this transcript, {of_claim}: nothing is confirmed{loss}"
    if file.scenario.get("meddlers"):
        return f"An active adversary meddled, and no claim is about that{loss}"
    return None


def _of_file(file: WitnessFile) -> Iterator[str]:
    if not file.intact:
        yield f"{ALTERED}."
    here = describe.versions()
    others = [f"{name} {version}" for name, version in file.versions.items() if here.get(name) != version]
    if others:
        yield f"It was recorded with {', '.join(others)}."


def _of_claim(file: WitnessFile, activations: int) -> Iterator[str]:
    if file.activations != activations:
        yield f"The file says Θ = {file.activations}; the scenario's algorithm has {activations}."


def _of_account(file: WitnessFile, claim: Claim | None, account: Account) -> Iterator[str]:
    if not account.identical:
        yield "The messages are reproduced but for rounding, not to the last bit."
    if account.unreliable_from is not None:
        yield f"From activation {account.unreliable_from} on noise drowns in rounding: nothing there counts."
    for what, stored, found in (
        ("Another claim", file.claim, None if claim is None else _plain(claim)),
        ("Other losses", file.account, _as_old(witness.as_plain(account), file.account)),
    ):
        differ = list(witness.differences(stored, found))
        if differ:
            more = f" (and {len(differ) - MOST} more)" if len(differ) > MOST else ""
            yield f"{what} than the file's: {'; '.join(islice(differ, MOST))}{more}."


def _as_old(found: dict[str, Any], stored: dict[str, Any]) -> dict[str, Any]:
    """Without the fields' names where the file is of a version that had none."""
    if any("field" in one for one in stored.get("releases") or ()):
        return found
    return found | {"releases": [{k: v for k, v in one.items() if k != "field"} for one in found["releases"]]}
