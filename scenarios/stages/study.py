"""Study of a scenario: all its variants, a folder each, with one page and one results.json over them."""

import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from attacks.audit.pair import spread
from netsim.errors import AbsentDataError, NetsimError, ScenarioError
from netsim.running import Running
from scenarios.build.experiment import Experiment, parts_of
from scenarios.build.progress import Progress, Silent
from scenarios.build.variants import Variant, expanded
from scenarios.papers.figures import reproduced
from scenarios.papers.names import check_names
from scenarios.papers.outcome import Ran
from scenarios.results import serialize
from scenarios.results.attacks import GradientResult, MembershipResult, ReconstructionResult
from scenarios.results.audit import AuditRefused, AuditResult
from scenarios.results.base import taken
from scenarios.results.files import MANIFEST, PAGE, RESULTS, write_text
from scenarios.results.folder import read_results
from scenarios.results.header import blank, manifest
from scenarios.results.tree import (
    AlgorithmResult,
    AlgorithmSummary,
    AuditSummary,
    Ceiling,
    ClaimSummary,
    MembershipSummary,
    Results,
    VariantResult,
    VariantStatus,
)
from scenarios.schema import Scenario
from scenarios.schema.load import Located
from scenarios.stages import runner
from scenarios.stages.outputs import clear, write_outputs
from scenarios.stages.runner import checked, prepare

ALONE = ""
"""The name of the only run of a scenario without variants whose data are not here."""


@dataclass(frozen=True)
class Plan:
    """A scenario with all its variants, none of which can be known to be wrong; `absent` says whose data are not
    here, and why. `first` is the experiment of the first that can be run."""

    source: Scenario | Located
    variants: tuple[Variant, ...]
    absent: Mapping[str, str]
    first: Experiment | None

    @property
    def scenario(self) -> Scenario:
        return self.source.scenario if isinstance(self.source, Located) else self.source


def planned(source: Scenario | Located, progress: Progress | None = None) -> Plan:
    """Build, and throw away, what every run needs: a `ScenarioError` names the variant, the field and its line.

    Data that are not here are an error only of a scenario that is one run and reproduces nothing.
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
    progress.begin("checking all that can be known before time 0", sum(map(parts_of, alone.values())))
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
    return Plan(source, variants, absent, first)


def run_study(
    source: Scenario | Located,
    folder: Path,
    *,
    command: str = "",
    progress: Progress | None = None,
    watch: Callable[[Running], None] | None = None,
    jobs: int = 1,
) -> Results:
    """Run a scenario; with variants, each into `folder`/VARIANT, and results.json and report.html over all of them.

    Takes and raises what `run_scenario` does, except that the error of a variant is recorded under
    `variants` and not raised. A Ctrl-C ends all; what was done is in the folders. `jobs` processes (−1: one per core)
    share the variants, unless somebody watches, or else the simulations of an audit; the numbers are the same.
    """
    plan = planned(source, progress)
    if not plan.variants and not plan.absent:
        return runner.run_scenario(
            source, folder, command=command, progress=progress, watch=watch, jobs=jobs
        )  # fmt: skip
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    prepare(folder, plan.scenario.name)
    return _Study(plan, folder, command, progress or Silent(), watch, jobs).run()


@dataclass(frozen=True)
class _Done:
    """A variant that ended so; `error` is why, of one that failed or whose data are not here."""

    variant: str
    status: VariantStatus
    results: Results | None
    error: str | None = None


@dataclass
class _Study:
    plan: Plan
    folder: Path
    command: str
    progress: Progress
    watch: Callable[[Running], None] | None
    jobs: int
    ran: dict[str, _Done] = field(default_factory=dict[str, _Done])

    def run(self) -> Results:
        results = blank(self.plan.scenario, self.command)
        write_text(self.folder / MANIFEST, serialize.dumps(manifest(results)))
        clear(self.folder)
        for variant in self.plan.variants:
            (self.folder / variant.name / RESULTS).unlink(missing_ok=True)
        for name, why in self.plan.absent.items():
            self.ran[name] = _Done(name, "data not present", None, why)
        self.save(results)
        try:
            for done in self.each():
                self.ran[done.variant] = done
                self.save(results)
        except KeyboardInterrupt:  # variants in other processes left results in their folders
            for variant in self.plan.variants:
                if variant.name not in self.ran and (self.folder / variant.name / RESULTS).exists():
                    kept = read_results(self.folder / variant.name)
                    status = "complete" if kept.status == "complete" else "interrupted"
                    self.ran[variant.name] = _Done(variant.name, status, kept)
        ended = {done.status for done in self.ran.values()}
        if "interrupted" in ended or len(self.ran) < max(1, len(self.plan.variants)):
            results = replace(results, status="interrupted")
        else:
            results = replace(results, status="failed" if "failed" in ended else "complete")
        results = self.save(results)
        runs: dict[str | None, Results] = {name: ran.results for name, ran in self.ran.items() if ran.results}
        write_outputs(results, runs, self.folder, Silent())
        return results

    def each(self) -> Iterator[_Done]:
        """Every variant as it is done, in order."""
        left = [v for v in self.plan.variants if v.name not in self.plan.absent]
        commands = [f"{self.command} --variant {v.name}" if self.command else "" for v in left]
        if self.jobs == 1 or self.watch is not None or len(left) < 2:
            for variant, command in zip(left, commands, strict=True):
                named = _Named(self.progress, variant.name)
                done = _one(variant, self.folder / variant.name, command, named, self.watch, self.jobs)
                yield done
                if done.status == "interrupted":
                    raise KeyboardInterrupt
            return
        self.progress.begin(f"{len(left)} variants", len(left))
        tasks = [(v, self.folder / v.name, c, None, None, 1) for v, c in zip(left, commands, strict=True)]
        for done in spread(_one, tasks, self.jobs):
            self.progress.advance(1)
            yield done

    def save(self, results: Results) -> Results:
        """Write the results with all that ran so far."""
        fields = {v.name: v.fields for v in self.plan.variants} or {ALONE: {}}
        each = [self.ran.get(name) or _Done(name, "not reached", None) for name in fields]
        variants = tuple(
            VariantResult(
                name=one.variant,
                fields=dict(fields[one.variant]),
                status=one.status,
                error=one.error,
                report=None if one.results is None else f"{one.variant}/{PAGE}",
                problem=None if one.results is None else one.results.problem,
                algorithms=() if one.results is None else tuple(map(summary, one.results.algorithms)),
            )
            for one in each
        )
        results = replace(results, variants=variants)
        results = reproduced(
            results,
            [ran_of(one.variant, one.status, one.results, one.error) for one in each],
            fields,
            results.status in ("complete", "failed"),
        )
        serialize.save(self.folder, results)
        return results


def ran_of(name: str, status: VariantStatus, results: Results | None, error: str | None) -> Ran:
    """A variant that ended so, for the outcome and the figures over all of them."""
    what = f"{status}: {error.partition(':')[0]}" if status == "failed" and error else f"was {status}"
    if status == "data not present":
        what = f"cannot be run, its data set is not present: {error}"
    return Ran(name, results, None if status == "complete" else what)


def summary(entry: AlgorithmResult) -> AlgorithmSummary:
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
            claim=ClaimSummary(delta=None, adjacency=None),
        )
    elif audit is not None:
        games = {"white_box": audit.white_box, "black_box": audit.black_box, "classifier": audit.classifier}
        ceilings = {name: game and Ceiling(ceiling=game.ceiling) for name, game in games.items()}
        three_epsilons = taken(AuditSummary, audit, refused=None, claim=taken(ClaimSummary, audit.claim), **ceilings)
    return taken(
        AlgorithmSummary,
        entry,
        unit=None if curve is None else curve.unit,
        last=curve.count[-1] if curve is not None and curve.count else None,
        final=None if curve is None else curve.final,
        gradient_error=entry.gradients.median if isinstance(entry.gradients, GradientResult) else None,
        epsilon_claimed=claims.epsilon[-1] if claims is not None and claims.epsilon else None,
        verdict=audit.verdict if isinstance(audit, AuditResult) else None,
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


@dataclass
class _Named:
    """Progress of one variant."""

    progress: Progress
    name: str

    def begin(self, stage: str, total: int) -> None:
        self.progress.begin(f"{self.name}: {stage}", total)

    def advance(self, steps: int) -> None:
        self.progress.advance(steps)

    def say(self, sentence: str) -> None:
        self.progress.say(sentence)


def _one(
    variant: Variant,
    folder: Path,
    command: str,
    progress: Progress | None,
    watch: Callable[[Running], None] | None,
    jobs: int,
) -> _Done:
    """Run a variant; its error in words, with the traceback of a defect, in place of raising it."""
    try:
        results = runner.run_scenario(
            variant.located, folder, command=command, progress=progress, watch=watch, jobs=jobs, part=True
        )
    except Exception as error:  # whatever it is: the others go on, and it is reported in full
        words = f"{type(error).__name__}: {error}"
        if not isinstance(error, NetsimError):
            words += "\n" + traceback.format_exc()
        kept = read_results(folder) if (folder / RESULTS).exists() else None
        return _Done(variant.name, "failed", kept, words)
    return _Done(variant.name, results.status, results)
