"""Witnesses: the sealed file that a refuted claim leaves (`witness_file`), and its replay on any machine."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from pathlib import Path
from typing import Literal, TypeVar, cast

import numpy as np

from attacks.audit import witness
from attacks.audit import witness_values as plain
from attacks.audit.loss.aimed import TILTED
from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.pair import Pair, Simulate
from attacks.audit.verdict import ROUNDING, exceeds
from attacks.audit.witness import (
    MOST_NUMBERS,
    Account,
    Cut,
    Evidence,
    Place,
    TranscriptSet,
    itemize,
    numbers_until,
    smallest,
)
from attacks.audit.witness_values import Witness
from netsim.adversary import PublicKnowledge
from netsim.claims import Claim
from netsim.errors import NetsimError, ScenarioError, TranscriptError
from netsim.problems import Bent, Objective, Surrounded, Tilted
from netsim.simulation import Simulation
from scenarios.build.duration import Progress, Silent
from scenarios.build.experiment import Experiment, Subject
from scenarios.build.problem import change_of, changed, check_adjacent
from scenarios.files.folders import whole
from scenarios.files.mistakes import RENAMED
from scenarios.results.audit import NoWitness, NoWitnessCause
from scenarios.results.findings import capitalized
from scenarios.results.header import versions
from scenarios.results.numbers import plural, show, show_epsilon
from scenarios.schema import own_code
from scenarios.schema.load import validated
from scenarios.schema.own import PythonSpec
from scenarios.stages.drawn_pairs import bounds_releases
from scenarios.stages.witness_file import DataPrint, PairPrint, Tree, WitnessFile, claim_as_plain, proof_of
from scenarios.stages.worlds import as_audited, as_its_claim_sees, holding, worlds
from scenarios.stages.worst_pair import SATURATED, allows, constant_change, holds_for_any_change, share_left

T = TypeVar("T")
_TOGETHER = {"variants", "grid", "figures", "reproduces"}
"""Fields of a scenario that belong to several runs."""
ALTERED = "The file was altered after it was written"
MOST = 3
"""Differences that are listed one by one."""


@dataclass(frozen=True)
class Audited:
    """Pair of an audit, its claim at Θ = `activations`, and the place of its best transcript (None: none)."""

    pair: Pair
    claim: Claim
    activations: int
    where: Place | None


def file_of(folder: Path, slug: str) -> Path:
    """Where a results folder has the witness of an algorithm."""
    return folder / f"witness-{slug}.json"


def save(path: Path, experiment: Experiment, subject: Subject, audited: Audited) -> Path | NoWitness:
    """Write the witness that an audit found, or say why there is none; what a former run left there is removed.

    At δ > 0, where no transcript refutes, it is a set of transcripts. Gaussian noise refutes δ = 0 by its law,
    whatever was drawn.
    """
    path.unlink(missing_ok=True)
    simulation = subject.simulation
    if experiment.scenario.active_adversaries:
        return NoWitness.of("active adversary")
    if as_its_claim_sees(simulation, audited.pair.agent) is not simulation:
        return NoWitness.of("narrower listener")
    if audited.where is None:
        return NoWitness.of("private coins")
    made, shown = make(experiment, subject, audited, audited.where)
    if shown is None:
        if audited.claim.delta == 0:
            return NoWitness.of("one loses too little")
        made = make_set(experiment, subject, audited)
    if isinstance(made, NoWitness):
        return made
    with whole(path) as draft:
        draft.write_text(made.text(), encoding="utf-8")
    return path


def make(
    experiment: Experiment, subject: Subject, audited: Audited, where: Place
) -> tuple[WitnessFile, Literal["refuted", "unprotected"] | None]:
    """The file of the transcript at this place, and what it shows, be it nothing."""
    simulate = _simulator(experiment, subject, audited.pair, audited.claim.delta)
    recorded, account = witness.find(simulate, audited.pair, where)
    says = _reason(account, audited.claim, subject.simulation.algorithm.stopping().unit)
    return _file(experiment, subject, audited, where, recorded, account, says), account.proves(audited.claim)


def make_set(experiment: Experiment, subject: Subject, audited: Audited) -> WitnessFile | NoWitness:
    """The file of the smallest set of transcripts that refutes a claim at δ > 0, or why there is none.

    Transcripts of a chunk have one toss of the coins and of the network: the set is of these routes and delays. No
    file holds a set where a codec changes what is sent, where each transcript has coins of its own, or where the
    listener knows seeds of noise.
    """
    pair, claim, spec = audited.pair, audited.claim, experiment.scenario.audit
    assert spec is not None
    if claim.epsilon is None or claim.failed_conditions or not claim.delta < 1:
        return NoWitness.of("no number claimed")
    simulate = _simulator(experiment, subject, pair, claim.delta)
    looks, found = _looks(subject, audited.activations), list[tuple[int, Cut, Place]]()
    cause: NoWitnessCause = "set too large"
    for world, chunk in product((0, 1), (0, TILTED)):
        sample = simulate(world, chunk)
        if sample.view.shared:
            return NoWitness.of("shared seeds")
        if chunk == TILTED and sample.tilting is None:
            continue
        explained = compare_worlds(sample, pair.agent, pair.hypotheses[world], pair.hypotheses[1 - world])
        numbers = numbers_until(sample, pair.agent)
        if cut := smallest(explained, claim, looks, spec.confidence, numbers):
            found.append((cut.transcripts * numbers[cut.messages - 1], cut, Place(world, chunk, 0)))
    for _, cut, where in sorted(found):
        chosen = TranscriptSet.of(simulate(where.world, where.chunk), pair.agent, cut)
        public = _of_world(subject.simulation, pair, where.world).public()
        try:
            evidence, packed = _evidence(chosen, public, pair, where.world), chosen.as_plain()
        except NetsimError:
            cause = "cannot be kept"
            continue
        lower = evidence.lower(claim.delta, looks, spec.confidence)
        if not exceeds(lower, claim.epsilon):
            continue
        sample = {
            "transcripts": cut.transcripts,
            "lower": lower,
            "losses": [plain.number(one) for one in evidence.losses.tolist()],
            "log_weights": evidence.log_weights.tolist(),
            **packed,
        }
        says = _by_set(cut.transcripts, lower, claim, spec.confidence)
        made = _file(experiment, subject, audited, where, chosen.transcripts[0], evidence.first, says)
        return made.model_copy(update={"sample": sample}).sealed()
    return NoWitness.of(cause)


def _looks(subject: Subject, activations: int) -> int:
    """Cuts that are looked at: messages up to Θ, or up to the algorithm's own end."""
    return max(activations, subject.simulation.algorithm.horizon or 0)


def _simulator(experiment: Experiment, subject: Subject, pair: Pair, delta: float) -> Simulate:
    spec = experiment.scenario.audit
    assert spec is not None
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    simulation = holding(subject.simulation, pair.agent, zero)
    return worlds(simulation, pair.agent, other, spec.together, spec.draw, delta)


def _of_world(simulation: Simulation, pair: Pair, world: int) -> Simulation:
    """The simulation where the agent holds what it has in this world."""
    return holding(simulation, pair.agent, cast("Objective", pair.hypotheses[world]))


def _evidence(chosen: TranscriptSet, public: PublicKnowledge, pair: Pair, world: int) -> Evidence:
    """Of a set, replayed."""
    samples = (one.sample(public) for one in chosen.transcripts)
    with np.errstate(all="ignore"):
        return chosen.evidence(samples, pair.hypotheses[world], pair.hypotheses[1 - world])


def _file(
    experiment: Experiment,
    subject: Subject,
    audited: Audited,
    where: Place,
    recorded: Witness,
    account: Account,
    says: str,
) -> WitnessFile:
    pair, own = audited.pair, subject.simulation.problem.objectives[audited.pair.agent]
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    return WitnessFile(
        says=f"{subject.spec.name}, agent {pair.agent}. {says}",
        versions=versions(),
        scenario=experiment.scenario.model_dump(exclude=_TOGETHER) | {"algorithms": [subject.spec.model_dump()]},
        algorithm=subject.spec.name,
        agent=pair.agent,
        world=where.world,
        chunk=where.chunk,
        replica=where.replica,
        activations=audited.activations,
        pair=PairPrint(
            description=pair.description,
            change=change_of(own, other)
            if zero is own
            else {"worlds": [change_of(own, zero), change_of(own, other)]},
        ),
        claim=claim_as_plain(audited.claim),
        data=DataPrint.of(experiment, pair.agent),
        account=account.as_plain(),
        transcript=recorded.as_plain(),
        code=own_code.texts(subject.spec.path) if isinstance(subject.spec, PythonSpec) else None,
    ).sealed()


# ── replaying ───────────────────────────────────────────────────────────────────────────────────────────
@dataclass(frozen=True)
class Confirmation:
    """Findings of the replay of a witness. `claim` and `account` are computed anew; None where they could not be.

    `verdict` is None where the transcript does not refute the claim; `remarks` say what does not agree with the file.
    """

    file: WitnessFile
    claim: Claim | None
    account: Account | None
    verdict: Literal["refuted", "unprotected"] | None
    reason: str
    remarks: tuple[str, ...]
    step: str = "activation"
    """A "round" of the algorithm, or an "activation" of a walk."""

    @property
    def first_above(self) -> int | None:
        """The first release by which the loss is above the claim; None where it never is, at δ > 0, and in an altered
        file."""
        claim, account = self.claim, self.account
        if not self.file.intact or claim is None or claim.epsilon is None or claim.delta > 0 or account is None:
            return None
        return account.first_above(claim.epsilon)

    def as_plain(self) -> dict[str, object]:
        """For other programs; infinities are texts."""
        return {
            "verdict": self.verdict or "not confirmed",
            "reason": self.reason,
            "remarks": list(self.remarks),
            "algorithm": self.file.algorithm,
            "agent": self.file.agent,
            "pair": self.file.pair.description,
            "claim": None if self.claim is None else claim_as_plain(self.claim),
            "first_above": self.first_above,
            "to_the_last_bit": None if self.account is None else self.account.identical,
            "account": None if self.account is None else self.account.as_plain(),
        }


def confirm(file: WitnessFile, progress: Progress | None = None) -> Confirmation:
    """Replay a witness. You get a `ScenarioError` where its worlds cannot be built here, or on other data only."""
    progress = progress or Silent()
    algorithms = file.scenario.get("algorithms")
    parts = 2 + (len(algorithms) if plain.is_list(algorithms) else 0)
    progress.begin("building both worlds and replaying the agent's code in them", 2 * parts)
    experiment, pair = _rebuilt(file, progress)
    subject = experiment.subject(file.algorithm)
    step = subject.simulation.algorithm.stopping().unit
    said = [*_remarks(file, "" if file.intact else _altered(file, experiment, subject, pair))]
    simulation, hypotheses = subject.simulation, [cast("Objective", one) for one in pair.hypotheses]
    true, other = hypotheses[file.world], hypotheses[1 - file.world]
    public = _of_world(simulation, pair, file.world).public()
    try:
        recorded = Witness.of_plain(file.agent, file.transcript)
        sample, chosen = recorded.sample(public), _set_of(file, recorded)
    except TranscriptError as error:
        raise ScenarioError("transcript", "…", str(error), "the rows of a run") from None
    # The claim is of the Θ of the scenario's algorithm, where that fixes it; else of the file's.
    fixed = simulation.algorithm.horizon
    activations = file.activations if fixed is None else fixed
    claim = simulation.claim(experiment.adjacency, activations, subject.delta)
    pair = replace(pair, any_change=_of_any_change(experiment, subject, pair, claim, activations))
    claim = None if claim is None else as_audited(claim, pair)
    try:
        with np.errstate(all="ignore"):
            account = itemize(sample, pair.agent, true, other, to_the_bit=False)
        evidence = None if chosen is None else _evidence(chosen, public, pair, file.world)
        progress.advance(parts)
    except NetsimError as error:
        why = f"The agent's code does not send this transcript: {error}"
        return Confirmation(file, claim, None, None, why, tuple(said), step)
    remarks = (*said, *_differences(file, activations, claim, account, step))
    if claim is None:
        return Confirmation(file, claim, account, None, "The algorithm claims no privacy here", remarks, step)
    shows = _reason(account, claim, step)
    # Messages after the agent's k-th activation are dated k + 1.
    dates = [item.activation for item in account.items]
    dates += [] if account.uncovered is None else [account.uncovered.activation]
    against, active = None, max(dates, default=1) - 1
    if not file.intact:
        against = f"{ALTERED}, so nothing is confirmed by it."
    elif active > activations:
        against = (
            f"The agent has {plural(active, step)} in this transcript, and the claim would be that of {activations}: "
            f"nothing is confirmed ({shows})"
        )
    elif file.scenario.get("active_adversaries"):
        against = f"There was an active adversary, and no claim is about one ({shows})"
    shown = account.proves(claim)
    if evidence is not None and claim.delta > 0 and claim.epsilon is not None:
        assert experiment.scenario.audit is not None
        confidence = experiment.scenario.audit.confidence
        lower = evidence.lower(claim.delta, _looks(subject, file.activations), confidence)
        shown = "refuted" if exceeds(lower, claim.epsilon) else None
        shows = _by_set(len(evidence.losses), lower, claim, confidence)
        remarks = (*remarks, *_differences_of_set(file, evidence, lower))
    return Confirmation(file, claim, account, None if against else shown, against or shows, remarks, step)


def _set_of(file: WitnessFile, first: Witness) -> TranscriptSet | None:
    """The set of a file that has one."""
    if file.sample is None:
        return None
    count = file.sample.get("transcripts")
    if not isinstance(count, int) or not 1 <= count <= MOST_NUMBERS:
        raise TranscriptError(f"sample.transcripts = {count!r:.40}: not a number of transcripts")
    found = TranscriptSet.of_plain(first, file.sample, count)
    if (file.chunk, file.replica) != (0 if found.tilting is None else TILTED, 0):
        raise TranscriptError("a set is of the first chunk of its world, or of that of tilted noise")
    return found


def completed(file: WitnessFile, progress: Progress | None = None) -> WitnessFile:
    """The file with its part for the checker, so that `attacks.audit.check_witness` can read it alone, sealed anew.

    It then holds the agent's records. You get a `ScenarioError` for an altered file, for data that are other ones
    here, for a part that is there and differs from what the scenario gives, and for a set of transcripts that are not
    the first that the seed draws: the chunk is simulated again.
    """
    experiment, pair = _rebuilt(file, progress or Silent())
    subject = experiment.subject(file.algorithm)
    if not file.intact:
        why = f"{ALTERED}{_altered(file, experiment, subject, pair)}"
        raise ScenarioError("witness", file.algorithm, why, "the file as it was written")
    if file.sample is not None:
        _check_drawn(file, experiment, subject, pair)
    here = proof_of(subject.simulation, file.agent, experiment.adjacency, subject.delta)
    if file.proof is None:
        return file.model_copy(update={"proof": here}).sealed()
    if other := next(plain.differences(file.proof, here, "proof"), None):
        raise ScenarioError("proof", other, "not what the scenario gives here", "its own data and algorithm")
    return file


def _check_drawn(file: WitnessFile, experiment: Experiment, subject: Subject, pair: Pair) -> None:
    delta = file.claim.get("delta")
    try:
        chosen = _set_of(file, Witness.of_plain(file.agent, file.transcript))
        sample = _simulator(experiment, subject, pair, plain.to_number(delta, "claim.delta"))(file.world, file.chunk)
        if chosen is not None:
            chosen.check_drawn(sample)
    except NetsimError as error:
        raise ScenarioError("sample", "…", str(error), "the first transcripts of the chunk") from None


def _rebuilt(file: WitnessFile, progress: Progress) -> tuple[Experiment, Pair]:
    """The worlds of the file: the scenario's, on the data that it had, and the other one, adjacent."""
    try:
        experiment = Experiment.of(validated(_renamed(file.runnable()), "").scenario, progress)
    except ScenarioError as error:
        raise replace(error.under("scenario"), file=error.file or None) from None
    spec = experiment.scenario.audit
    if spec is None or spec.agent not in (None, file.agent):
        audited = "none" if spec is None else str(spec.agent)
        raise ScenarioError("agent", file.agent, "not the one that the scenario audits", audited)
    if file.agent >= experiment.problem.agents:
        raise ScenarioError("agent", file.agent, "no such agent", f"0 … {experiment.problem.agents - 1}")
    here = DataPrint.of(experiment, file.agent)
    others = {
        "agent": f"agent {file.agent} holds other records",
        "everybody": "the agents hold other records",
        "name": "another data set",
    }
    for field, why in others.items():
        value, then = getattr(here, field), getattr(file.data, field)
        if value != then:
            raise ScenarioError(f"data.{field}", value, f"{why} here than where the witness was recorded", then)
    own, change = experiment.problem.objectives[file.agent], file.pair.change
    both = change.get("worlds")
    if not plain.is_list(both):
        return experiment, Pair(file.agent, (own, changed(own, change)), file.pair.description)
    trees = [one for one in both if plain.is_mapping(one)]
    if len(trees) != 2 or len(both) != 2:
        raise ScenarioError("pair.change.worlds", len(both), "not a change for each of two worlds", "two changes")
    zero, other = (changed(own, tree) for tree in trees)
    return experiment, Pair(file.agent, (zero, other), file.pair.description)


def _of_any_change(
    experiment: Experiment, subject: Subject, pair: Pair, claim: Claim | None, activations: int
) -> bool:
    """Whether a pair is not adjacent, and the claim holds for any change and the algorithm bounds what it makes of
    it, which is simulated again. You get a `ScenarioError` for a pair of which the claim says nothing."""
    own = subject.simulation.problem.objectives[pair.agent]
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    rest, also = (one.others if isinstance(one, Surrounded) else np.zeros(()) for one in (zero, other))
    if not np.array_equal(rest, also):
        raise ScenarioError(
            "pair.change.others", "…", "not adjacent: more than one record differs", "the same in both"
        )
    try:
        if isinstance(zero, Tilted) and isinstance(other, Tilted):
            check_adjacent(own, Tilted(own, other.slope - zero.slope), experiment.adjacency)
        else:
            check_adjacent(zero, other, experiment.adjacency)
        of_data = experiment.adjacency.change is None and isinstance(other, Tilted | Bent)
        if not of_data or (claim and constant_change(subject, claim, activations)):
            return False
        raise ScenarioError("pair.change", "…", "of moved gradients the claim says something else", "other data")
    except ScenarioError:
        if claim is None or not holds_for_any_change(subject, claim, activations):
            raise
        moved = {getattr(one, "record", None) for one in (zero, other)}
        if experiment.adjacency.record and (None in moved or len(moved) > 1):
            raise
        for one in (zero, other):
            if not (isinstance(one, Tilted | Bent) and allows(subject, claim, activations, pair.agent, one)):
                raise
            left = share_left(subject.simulation, pair.agent, one.slope, one.record)
            bounded = left is not None and left <= SATURATED
            if not bounded and not bounds_releases([subject.simulation], pair.agent, one.record):
                raise
    return True


def _renamed(tree: T) -> T:
    """A scenario of an earlier version under today's words: what a witness shows outlives them."""
    if plain.is_mapping(tree):
        return cast("T", {RENAMED.get(key, key): _renamed(value) for key, value in tree.items()})
    if plain.is_list(tree):
        return cast("T", [_renamed(one) for one in tree])
    return cast("T", RENAMED.get(tree, tree)) if isinstance(tree, str) else tree


# ── in words ────────────────────────────────────────────────────────────────────────────────────────────
def _reason(account: Account, claim: Claim, step: str) -> str:
    """One line: what the transcript shows of the claim."""
    of_claim = f"the claimed ε = {show_epsilon(claim.epsilon)}" if claim.epsilon is not None else "any claim"
    if account.uncovered is not None:
        end = f", so ε is above {of_claim}"
        if claim.delta > 0:
            end = f". One transcript cannot show that more than δ = {show(claim.delta)} of them leak; the audit did"
        uncovered = str(account.uncovered)
        if not all(item.counts for item in account.items):  # it is deterministic for who knows noise not on the wire
            both = "private gradients and of noise that is not on the wire"
            uncovered = uncovered.replace(
                "a deterministic function of its private gradients", f"a function of its {both}"
            )
        return capitalized(f"{uncovered}; no noise protects it{end}.")
    loss = f"The loss of this transcript is {show_epsilon(account.total, claim.epsilon)}"
    if claim.epsilon is None:
        return f"The claim is undefined ({'; '.join(claim.failed_conditions)}). {loss}."
    if claim.delta > 0:
        return f"{loss}; at δ = {show(claim.delta)} one transcript refutes nothing."
    if account.proves(claim) is None:
        return f"{loss}, not above {of_claim}."
    first = account.first_above(claim.epsilon)
    by = "" if first is None else f" by {step} {account.items[first].activation}"
    return f"{loss}, above {of_claim}{by}: ε is at least that."


def _by_set(transcripts: int, lower: float, claim: Claim, confidence: float) -> str:
    """One line: what a set of transcripts shows of a claim at δ > 0."""
    assert claim.epsilon is not None
    above = "above" if exceeds(lower, claim.epsilon) else "not above"
    proven = show_epsilon(lower, claim.epsilon)
    return (
        f"{plural(transcripts, 'transcript')} prove{'s' * (transcripts == 1)} ε ≥ {proven} "
        f"at {show(confidence, 4)} confidence, {above} the claimed ε = {show_epsilon(claim.epsilon)} "
        f"at δ = {show(claim.delta)}, if they are the first that the seed drew."
    )


def _differences_of_set(file: WitnessFile, found: Evidence, lower: float) -> Iterator[str]:
    """What does not agree with the file's set."""
    stored = file.sample or {}
    for name, values in (("losses", found.losses), ("log_weights", found.log_weights)):
        new = [plain.number(one) for one in values.tolist()]
        if (other := next(plain.differences(stored.get(name), new, f"sample.{name}"), None)) is not None:
            yield f"Other {name.replace('_', ' ')} than the file's: {other}."
    given = stored.get("lower")
    if not isinstance(given, int | float) or not given <= lower * (1 + ROUNDING):
        yield f"The file has ε ≥ {given}, and its transcripts prove {lower:.10g}."


def _altered(file: WitnessFile, experiment: Experiment, subject: Subject, pair: Pair) -> str:
    """Which messages of a file that was altered are not those that its scenario, seed, world and replica give: these
    are simulated again. "" where that cannot be done, or all of them are."""
    try:
        simulate = _simulator(experiment, subject, pair, plain.to_number(file.claim.get("delta"), "claim.delta"))
        again = Witness.of(simulate(file.world, file.chunk).replica(file.replica), file.agent).as_plain()["rows"]
        rows = plain.listed(file.transcript, "rows")
    except (NetsimError, IndexError):
        return ""
    others = [
        next(plain.differences(one, other), "") for one, other in zip(rows, cast("list[object]", again), strict=False)
    ]
    wrong = [k for k, one in enumerate(others) if one]
    if not wrong:
        return ", though no message was: something else in it"
    first = cast("Tree", rows[wrong[0]])
    way = "sent by" if first.get("event") == "sent" else f"from agent {first.get('sender')} to"
    named = f"message {wrong[0]}, {way} agent {file.agent} at t = {first.get('time')} s"
    several = ""
    if len(wrong) > 1:  # more likely one number that all of them depend on
        several = (
            f"its scenario, seed, world or replica, or messages in it: {len(wrong)} of {len(rows)} messages are "
            "others in the run that it names, first "
        )
    return f": {several}{named} ({others[wrong[0]].replace('stored', 'here').replace('found', 'in the run')})"


def _remarks(file: WitnessFile, altered: str = "") -> Iterator[str]:
    if not file.intact:
        yield f"{ALTERED}{altered}."
    here = versions()
    others = [f"{name} {version}" for name, version in file.versions.items() if here.get(name) != version]
    if others:
        yield f"It was recorded with {', '.join(others)}."


def _differences(
    file: WitnessFile, activations: int, claim: Claim | None, account: Account, step: str
) -> Iterator[str]:
    """What does not agree with the file."""
    if file.activations != activations:
        yield f"The file says Θ = {file.activations}; the scenario's algorithm has {activations}."
    if not account.identical:
        yield "The messages are reproduced but for rounding, not to the last bit."
    if account.unreliable_from is not None:
        yield f"From {step} {account.unreliable_from} on noise drowns in rounding: nothing there counts."
    found, then = account.as_plain(), file.account.get("releases")
    if not (plain.is_list(then) and any(plain.is_mapping(one) and "field" in one for one in then)):
        # A file of a version in which releases had no fields' names.
        releases = filter(plain.is_mapping, found["releases"] if plain.is_list(found["releases"]) else ())
        found = {**found, "releases": [{k: v for k, v in one.items() if k != "field"} for one in releases]}
    of_claim = [*plain.differences(file.claim, None if claim is None else _as_then(claim_as_plain(claim), file))]
    if len(of_claim) == 1 and of_claim[0].startswith(_WORDED):
        yield f"The claim is the file's; its adjacency has other words: {of_claim.pop().removeprefix(_WORDED)}."
    for what, differ in (
        ("Another claim", of_claim),
        ("Other losses", [*plain.differences(file.account, found)]),
    ):
        if differ:
            more = f" (and {len(differ) - MOST} more)" if len(differ) > MOST else ""
            yield f"{what} than the file's: {'; '.join(differ[:MOST])}{more}."


_WORDED = "adjacency.relation: "


def _as_then(claim: Tree, file: WitnessFile) -> Tree:
    """A claim without what the adjacency did not say in the version of netsim that wrote the file."""
    then, now = file.claim.get("adjacency"), claim["adjacency"]
    if file.versions.get("netsim-lab") == versions()["netsim-lab"] or not plain.is_mapping(then):
        return claim
    assert plain.is_mapping(now)
    return {**claim, "adjacency": {name: value for name, value in now.items() if name in then}}
