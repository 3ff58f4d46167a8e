"""Study of a scenario: all its variants, a folder each, with one page and one results.json over them."""

import math
import traceback
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import TypeAlias

from attacks.audit.pair import spread
from netsim.errors import AbsentDataError, NetsimError, ScenarioError
from netsim.readers.deployed.deploy import Deployment
from netsim.running import Running
from scenarios.build.duration import AROUND, LONG, Cost, PassedOn, Progress, Silent, duration
from scenarios.build.experiment import Experiment
from scenarios.files.folders import MANIFEST, PAGE, RESULTS, held
from scenarios.papers.figures import reproduced
from scenarios.papers.measures import check_names
from scenarios.papers.outcome import Ran
from scenarios.results import findings
from scenarios.results.attacks import GradientResult, MembershipResult, ReconstructionResult
from scenarios.results.audit import AuditRefused, AuditResult
from scenarios.results.base import Setting, taken, write_text
from scenarios.results.folder import read_results, standing
from scenarios.results.header import blank, manifest, slugs
from scenarios.results.tree import (
    AlgorithmResult,
    AlgorithmSummary,
    AuditSummary,
    MembershipSummary,
    Results,
    VariantResult,
    VariantStatus,
    dumps,
    save,
)
from scenarios.schema import Scenario
from scenarios.schema.load import Located, Variant, expanded
from scenarios.schema.own import PythonSpec
from scenarios.stages.beside import Noted, at_once, followed
from scenarios.stages.outputs import clear, complete, write_outputs
from scenarios.stages.runner import check_folder, checked, prepare, run_scenario
from scenarios.stages.worlds import chunks_kept

ALONE = ""
"""The name of the only run of a scenario without variants whose data are not here."""
Watch: TypeAlias = Callable[[Running], None]
Ended: TypeAlias = tuple[VariantResult, Results | None]
"""A variant as it ended, and its results where there are any."""


@dataclass(frozen=True)
class _Plan:
    """A scenario with all its variants, none of which can be known to be wrong; `absent` says whose data are not
    here, and why. `first` is the experiment of the first that can be run."""

    scenario: Scenario
    variants: tuple[Variant, ...]
    absent: Mapping[str, str]
    first: Experiment | None
    kept: Mapping[str, int] = field(default_factory=dict[str, int])
    """Chunks of audits that an interrupted run of it has kept, by algorithm; none where there are variants."""
    done: Mapping[str, Results] = field(default_factory=dict[str, Results])
    """Results of the variants that an interrupted run of it had finished."""

    @cached_property
    def costs(self) -> dict[str, Cost]:
        """Of the run and the audit of the first that can be run, without what is kept."""
        return {} if self.first is None else self.first.costs(self.kept)

    def going_on(self, folder: Path, command: str = "", page: bool = True) -> "_Plan":
        """The same without what the folder has kept."""
        if self.variants:
            return replace(self, done=_done(folder, self.left, command, page))
        if self.first is None:
            return self
        names = slugs(one.spec.name for one in self.first.subjects)
        kept = {
            one.spec.name: chunks_kept(folder / f"audit-{slug}", self.first.scenario, one)
            for one, slug in zip(self.first.subjects, names, strict=True)
        }
        return replace(self, kept=kept)

    @property
    def left(self) -> tuple[Variant, ...]:
        """The variants that can be run and are not done."""
        return tuple(one for one in self.variants if one.name not in self.absent and one.name not in self.done)

    @property
    def seconds(self) -> float:
        """About how long all takes on one core; nan where only chance ends it."""
        runs = len(self.variants) - len(self.done) if self.variants else 1
        return (sum(one.seconds for one in self.costs.values()) + AROUND) * runs

    @property
    def ahead(self) -> str:
        """About how long it takes and how much memory."""
        each = f"each of {len(self.variants) - len(self.done)} variants: " if self.variants else ""
        parts = ", ".join(f"{what} {one}" for what, one in self.costs.items())
        whole = "Only chance ends it" if math.isnan(self.seconds) else f"About {duration(self.seconds)} on one core"
        return f"{whole} ({each}{parts})."


def planned(source: Scenario | Located, progress: Progress | None = None) -> _Plan:
    """Build what every run needs: a `ScenarioError` names the variant, the field and its line.

    Only the first experiment is kept: the data of all variants at once may be more than the memory holds. Data that
    are not here are an error only of a scenario that is one run and reproduces nothing.
    """
    scenario = source.scenario if isinstance(source, Located) else source
    variants = expanded(source)
    try:
        alone = {v.name: v.located.scenario for v in variants} or {ALONE: scenario}
        check_names(scenario, alone, [v.fields for v in variants])
    except ScenarioError as error:
        raise source.locate(error) if isinstance(source, Located) else error from None
    first: Experiment | None = None
    absent: dict[str, str] = {}
    progress = progress or Silent()
    progress.begin("checking that it can be run", sum(map(Experiment.parts, alone.values())))
    for name, located, variant in [(v.name, v.located, v) for v in variants] or [(ALONE, source, None)]:
        try:
            built = checked(located, part=True, progress=progress)
        except AbsentDataError as error:
            if variant is None and scenario.reproduces is None:
                raise
            absent[name] = str(error)
            continue
        except ScenarioError as error:
            raise error if variant is None else variant.named(error) from None
        first = first or built
    return _Plan(scenario, variants, absent, first)


def own_files(source: Located) -> list[str]:
    """Paths of the code that a scenario, or a variant of it, names; none of it is run."""
    runs = [source.scenario, *(one.located.scenario for one in expanded(source))]
    specs = [spec for scenario in runs for spec in scenario.algorithms]
    return list(dict.fromkeys(spec.path for spec in specs if isinstance(spec, PythonSpec)))


def run_study(
    source: Scenario | Located,
    folder: Path,
    *,
    command: str = "",
    progress: Progress | None = None,
    watch: Watch | None = None,
    jobs: int = 1,
    page: bool = True,
    deployed: Deployment | None = None,
) -> Results:
    """Run a scenario; with variants, each into `folder`/VARIANT, and results.json and report.html over all of them.

    Takes and raises what `run_scenario` does, except that the error of a variant is recorded under `variants` and not
    raised. A Ctrl-C ends all; what was done is in the folders, and variants that were done are kept when the same
    scenario goes on there. `jobs` processes (−1: one per core) share the variants, unless somebody watches, or else
    the simulations of an audit; the numbers are the same.
    """
    check_folder(folder, (source.scenario if isinstance(source, Located) else source).name)  # planning takes long
    plan, progress = planned(source, progress).going_on(folder, command, page), progress or Silent()
    if plan.done:
        names = ", ".join(plan.done)
        progress.say(f"Variants that are done and kept ({len(plan.done)} of {len(plan.variants)}): {names}")
    if deployed is None and plan.seconds > LONG:
        progress.say(plan.ahead)
    if not plan.variants and not plan.absent:
        return run_scenario(
            source,
            folder,
            command=command,
            progress=progress,
            watch=watch,
            jobs=jobs,
            page=page,
            built=plan.first,
            deployed=deployed,
        )
    if deployed is not None:
        names = ", ".join(variant.name for variant in plan.variants)
        raise ScenarioError("variants", names, "agents are deployed for one run", "--variant NAME")
    prepare(folder, plan.scenario.name, jobs)
    with held(folder, command):
        return _studied(plan, folder, command, progress, watch, jobs, page)


def _studied(
    plan: _Plan, folder: Path, command: str, progress: Progress, watch: Watch | None, jobs: int, page: bool
) -> Results:
    results = blank(plan.scenario, command)
    write_text(folder / MANIFEST, dumps(manifest(results)))
    clear(folder)
    for variant in plan.variants:
        if variant.name not in plan.done:
            (folder / variant.name / RESULTS).unlink(missing_ok=True)
    fields = {v.name: v.fields for v in plan.variants} or {ALONE: {}}
    ran = {name: _ended(name, own, "not reached") for name, own in fields.items()}
    ran |= {name: _ended(name, fields[name], "data not present", None, why) for name, why in plan.absent.items()}
    ran |= {name: _ended(name, fields[name], "complete", own) for name, own in plan.done.items()}
    save(folder, _with(results, [*ran.values()]))
    try:
        for done in _each(plan, folder, command, progress, watch, jobs, page):
            ran[done[0].name] = done
            save(folder, _with(results, [*ran.values()]))
    except KeyboardInterrupt:  # variants in other processes left results in their folders
        for name, (one, _) in ran.items():
            if one.status == "not reached" and (folder / name / RESULTS).exists():
                kept = read_results(folder / name)
                status = "complete" if kept.status == "complete" else "interrupted"
                ran[name] = _ended(name, fields[name], status, kept)
    statuses = {one.status for one, _ in ran.values()}
    if statuses & {"interrupted", "not reached"}:
        results = replace(results, status="interrupted")
    else:
        results = replace(results, status="failed" if "failed" in statuses else "complete")
    return _written(folder, results, [*ran.values()], page)


def _done(folder: Path, variants: Sequence[Variant], command: str, page: bool) -> dict[str, Results]:
    """Results of the very same variants, which an interrupted or failed run of all of them had finished."""
    try:
        if read_results(folder).status == "complete":  # all are to be run again
            return {}
    except ScenarioError:
        return {}
    verb, found = next(iter(command.split()[1:]), ""), dict[str, Results]()
    for one in variants:
        with suppress(ScenarioError):
            own = standing(folder / one.name, one.located.scenario, verb)
            if own is not None and (not page or (folder / one.name / PAGE).is_file()):
                found[one.name] = own
    return found


def finished(
    folder: Path, scenario: Scenario, verb: str, command: str = "", *, way: str = "--replace", page: bool = True
) -> Results | None:
    """Results of the very same scenario in the folder (`standing`), which a run would only repeat; None where there
    are none. Where their command was killed at its end, the page is written, drafts and the lock are removed."""
    if (results := standing(folder, scenario, verb, way)) is not None and page:
        _finish(folder, results, command)
    return results


def _finish(folder: Path, results: Results, command: str) -> None:
    with held(folder, command, drafts=(folder,)):
        if results.variants is None:
            complete(results, folder, Silent())
        elif not (folder / PAGE).is_file():
            refresh(folder)


def refresh(folder: Path) -> None:
    """Bring the results and the page over all variants up to date with those of each."""
    results, ended = read_results(folder), list[Ended]()
    for variant in results.variants or ():
        own: Results | None = None
        if variant.name and (folder / variant.name / RESULTS).is_file():
            own = read_results(folder / variant.name)
            variant = replace(variant, algorithms=tuple(map(_summary, own.algorithms)))
            if own.status == "complete" and variant.status in ("interrupted", "not reached"):
                report = f"{variant.name}/{PAGE}"
                variant = replace(variant, status="complete", problem=own.problem, report=report)
        ended.append((variant, own))
    statuses = {one.status for one, _ in ended}
    # A study that was interrupted or killed is done where each of its variants is.
    if results.status in ("interrupted", "running") and not statuses & {"interrupted", "not reached", "running"}:
        results = replace(results, status="failed" if "failed" in statuses else "complete")
    _written(folder, results, ended)


def _each(
    plan: _Plan, folder: Path, command: str, progress: Progress, watch: Watch | None, jobs: int, page: bool
) -> Iterator[Ended]:
    """Every variant as it is done, in order."""
    left = plan.left
    commands = [f"{command} --variant {v.name}" if command else "" for v in left]
    if jobs == 1 or watch is not None or len(left) < 2:
        first = None if plan.done else plan.first  # which is that of a variant that may be done
        for variant, own in zip(left, commands, strict=True):
            named = _Named(progress, variant.name)
            done = _one(variant, folder / variant.name, own, named, watch, jobs, page, first)
            first = None
            yield done
            if done[0].status == "interrupted":
                raise KeyboardInterrupt
        return
    progress.begin(f"{len(left)} variants", len(left), plan.seconds / at_once(jobs, len(left)))
    with followed(progress) as notes:
        beside = [Noted(notes / f"{k:06}", variant.name) for k, variant in enumerate(left)]
        tasks = [
            (v, folder / v.name, c, note, None, 1, page) for v, c, note in zip(left, commands, beside, strict=True)
        ]
        for done in spread(_noted, tasks, jobs):
            progress.advance(1)
            yield done


def _one(
    variant: Variant,
    folder: Path,
    command: str,
    progress: Progress | None,
    watch: Watch | None,
    jobs: int,
    page: bool,
    built: Experiment | None = None,
) -> Ended:
    """Run a variant; its error in words, with the traceback of a defect, in place of raising it."""
    try:
        results = run_scenario(
            variant.located,
            folder,
            command=command,
            progress=progress,
            watch=watch,
            jobs=jobs,
            part=True,
            page=page,
            built=built,
        )
    except Exception as error:  # whatever it is: the others go on, and it is reported in full
        words = f"{type(error).__name__}: {error}"
        if not isinstance(error, NetsimError):
            words += "\n" + traceback.format_exc()
        kept = read_results(folder) if (folder / RESULTS).exists() else None
        return _ended(variant.name, variant.fields, "failed", kept, words)
    return _ended(variant.name, variant.fields, results.status, results)


def _noted(
    variant: Variant, folder: Path, command: str, note: Noted, watch: Watch | None, jobs: int, page: bool
) -> Ended:
    """Run a variant in a process of its own, and say so in a file."""
    try:
        return _one(variant, folder, command, note, watch, jobs, page)
    finally:
        note.over()


@dataclass
class _Named(PassedOn):
    """Progress of one variant."""

    name: str

    def begin(self, stage: str, total: int, seconds: float = math.nan, /) -> None:
        super().begin(f"{self.name}: {stage}", total, seconds)


# ── results over all variants ───────────────────────────────────────────────────────────────────────────
def _ended(
    name: str,
    fields: Mapping[str, Setting],
    status: VariantStatus,
    results: Results | None = None,
    error: str | None = None,
) -> Ended:
    """A variant that ended so; `error` is why, of one that failed or whose data are not here."""
    return VariantResult(
        name=name,
        fields=dict(fields),
        status=status,
        error=error,
        report=None if results is None else f"{name}/{PAGE}",
        problem=None if results is None else results.problem,
        algorithms=() if results is None else tuple(map(_summary, results.algorithms)),
    ), results


def _with(results: Results, ended: Sequence[Ended]) -> Results:
    """Results with these variants, and what they reproduce together."""
    runs: list[Ran] = []
    for one, own in ended:
        why = f"was {one.status}"
        if one.status == "failed" and one.error:
            why = f"failed: {one.error.partition(':')[0]}"
        elif one.status == "data not present":
            why = f"cannot be run, its data set is not present: {one.error}"
        runs.append(Ran(one.name, own, None if one.status == "complete" else why))
    results = replace(results, variants=tuple(one for one, _ in ended))
    fields = {one.name: one.fields for one, _ in ended}
    return reproduced(results, runs, fields, results.status in ("complete", "failed"))


def _written(folder: Path, results: Results, ended: Sequence[Ended], page: bool = True) -> Results:
    """The same, with its files, at the end."""
    results = _with(results, ended if page else [(replace(one, report=None), own) for one, own in ended])
    save(folder, results)
    if page:
        write_outputs(results, {one.name: own for one, own in ended if own is not None}, folder, Silent())
    return results


def _summary(entry: AlgorithmResult) -> AlgorithmSummary:
    """An algorithm in one variant, for the page over all of them."""
    curve, claims, audit, member = entry.convergence, entry.budget, entry.audit, entry.membership
    three_epsilons: AuditSummary | None = None
    if isinstance(audit, AuditRefused):
        three_epsilons = AuditSummary(
            verdict=None,
            reason=None,
            refused=audit.refused,
            epsilon_claimed=None,
            epsilon_exact=None,
            epsilon_audited=None,
            confidence=audit.confidence,
            claim=AuditSummary.ClaimSummary(delta=None, adjacency=None),
        )
    elif audit is not None:
        games = {"white_box": audit.white_box, "black_box": audit.black_box, "classifier": audit.classifier}
        ceilings = {name: game and AuditSummary.Ceiling(ceiling=game.ceiling) for name, game in games.items()}
        three_epsilons = taken(
            AuditSummary, audit, refused=None, claim=taken(AuditSummary.ClaimSummary, audit.claim), **ceilings
        )
    return taken(
        AlgorithmSummary,
        entry,
        unit=None if curve is None else curve.unit,
        last=curve.count[-1] if curve is not None and curve.count else None,
        final=None if curve is None else curve.final,
        gradient_error=entry.gradients.median if isinstance(entry.gradients, GradientResult) else None,
        epsilon_claimed=claims.epsilon[-1] if claims is not None and claims.epsilon else None,
        verdict=audit.verdict if isinstance(audit, AuditResult) else None,
        refuted_from=findings.refuted_from(entry),
        witness=audit.witness if isinstance(audit, AuditResult) else None,
        reconstructions=None if entry.reconstructions is None else _brief(entry.reconstructions),
        audit=three_epsilons,
        membership=None
        if member is None
        else MembershipSummary(claim=member.claim if isinstance(member, MembershipResult) else None),
    )


def _brief(found: ReconstructionResult) -> ReconstructionResult:
    """The numbers, and the records of the first agent that is shown everywhere."""
    kept = [{own.agent for own in one.agents if own.rebuilt is not None} for one in found.attacks if one.agents]
    everywhere = [agent for agent in sorted(kept[0]) if all(agent in one for one in kept)] if kept else []
    shown = everywhere[:1]
    return replace(
        found,
        originals=tuple(one for one in found.originals if one.agent in shown),
        attacks=tuple(
            replace(one, agents=tuple(own for own in one.agents if own.agent in shown)) for one in found.attacks
        ),
    )
