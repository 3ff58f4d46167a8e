"""Study of a scenario: all its variants, a folder each, with one page and one results.json over them."""

import json
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from attacks.audit.pair import spread
from netsim.errors import AbsentDataError, NetsimError, ScenarioError
from netsim.running import Running
from scenarios.build.experiment import Experiment, parts_of
from scenarios.build.progress import Progress, Silent
from scenarios.build.variants import Variant, expanded
from scenarios.papers import outcome as names
from scenarios.papers.figures import reproduced
from scenarios.papers.outcome import Ran
from scenarios.render.page.report import render_study
from scenarios.results import entries as describe
from scenarios.results import former_reconstructions as rebuilt
from scenarios.results.entries import Results
from scenarios.results.files import MANIFEST, RESULTS, write_json
from scenarios.results.numbers import items, part
from scenarios.schema import Scenario
from scenarios.schema.load import Located
from scenarios.stages import outputs as former
from scenarios.stages import runner
from scenarios.stages.outputs import write_outputs
from scenarios.stages.runner import checked, prepare

COMPLETE, FAILED, INTERRUPTED = "complete", "failed", "interrupted"
ABSENT, PENDING = "data not present", "not reached"
ALONE = ""
"""The name of the only run of a scenario without variants whose data are not here."""

AUDITED = ("verdict", "reason", "refused", "epsilon_claimed", "epsilon_exact", "epsilon_audited", "confidence")
GAMES = ("white_box", "black_box", "classifier")
"""Of an audit, what is told of it on the page over all variants."""


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
        names.check_names(scenario, alone, [v.fields for v in variants])
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


@dataclass
class _Study:
    plan: Plan
    folder: Path
    command: str
    progress: Progress
    watch: Callable[[Running], None] | None
    jobs: int
    ran: dict[str, Ran] = field(default_factory=dict[str, Ran])
    status: dict[str, str] = field(default_factory=dict[str, str])
    errors: dict[str, str | None] = field(default_factory=dict[str, str | None])

    def run(self) -> Results:
        write_json(self.folder / MANIFEST, {k: v for k, v in self.header().items() if k != "status"})
        former.clear(self.folder)
        for variant in self.plan.variants:
            (self.folder / variant.name / RESULTS).unlink(missing_ok=True)
        for name, why in self.plan.absent.items():
            self.note(name, ABSENT, {}, why)
        self.save("running")
        try:
            for name, results, error in self.each():
                self.note(name, results.get("status", FAILED), results, error)
                self.save("running")
        except KeyboardInterrupt:
            self.collect()
        interrupted = INTERRUPTED in self.status.values() or len(self.status) < max(1, len(self.plan.variants))
        failed = FAILED in self.status.values()
        results = self.save(INTERRUPTED if interrupted else FAILED if failed else COMPLETE)
        runs = {name: ran.results for name, ran in self.ran.items()}
        write_outputs(results, runs, self.folder, self.plan.scenario.outputs, render_study, Silent())
        return results

    def each(self) -> Iterator[tuple[str, Results, str | None]]:
        """Every variant as it is done, in order."""
        left = [v for v in self.plan.variants if v.name not in self.plan.absent]
        if self.jobs == 1 or self.watch is not None or len(left) < 2:
            for variant in left:
                named = _Named(self.progress, variant.name)
                done = _one(variant, self.folder / variant.name, self.inner(variant), named, self.watch, self.jobs)
                yield done
                if done[1].get("status") == INTERRUPTED:
                    raise KeyboardInterrupt
            return
        self.progress.begin(f"{len(left)} variants", len(left))
        tasks = [(v, self.folder / v.name, self.inner(v), None, None, 1) for v in left]
        for done in spread(_one, tasks, self.jobs):
            self.progress.advance(1)
            yield done

    def inner(self, variant: Variant) -> str:
        return f"{self.command} --variant {variant.name}" if self.command else ""

    def collect(self) -> None:
        """What variants that were interrupted in other processes left in their folders."""
        for variant in self.plan.variants:
            path = self.folder / variant.name / RESULTS
            if variant.name not in self.status and path.exists():
                results: Results = json.loads(path.read_text(encoding="utf-8"))
                done = results.get("status") == COMPLETE
                self.note(variant.name, COMPLETE if done else INTERRUPTED, results, None)

    def note(self, name: str, status: str, results: Results, error: str | None) -> None:
        self.status[name], self.errors[name] = status, error
        self.ran[name] = ran_of(name, status, results, error)

    # ── results ─────────────────────────────────────────────────────────────────────────────────────
    def save(self, status: str) -> Results:
        fields = {v.name: v.fields for v in self.plan.variants} or {ALONE: {}}
        runs = [self.ran.get(name, ran_of(name, PENDING, {}, None)) for name in fields]
        results = self.header() | {
            "status": status,
            "variants": [self.variant(ran, fields[ran.variant]) for ran in runs],
        }
        results |= reproduced(self.plan.scenario, runs, fields, status in (COMPLETE, FAILED))
        write_json(self.folder / RESULTS, results)
        return results

    def variant(self, ran: Ran, fields: Mapping[str, Any]) -> Results:
        return {
            "name": ran.variant,
            "fields": dict(fields),
            "status": self.status.get(ran.variant, PENDING),
            "error": self.errors.get(ran.variant),
            "report": f"{ran.variant}/report.html" if ran.results else None,
            "problem": ran.results.get("problem"),
            "algorithms": [summary(entry) for entry in ran.results.get("algorithms", [])],
        }

    def header(self) -> Results:
        scenario = self.plan.scenario
        return {
            "name": scenario.name,
            "title": scenario.title or scenario.name,
            "description": scenario.description,
            "status": "running",
            "command": self.command,
            "versions": describe.versions(),
            "seed": scenario.seed,
            "scenario": scenario.model_dump(),
        }


def ran_of(name: str, status: str, results: Results, error: str | None) -> Ran:
    """A variant that ended so, for what is said of all of them."""
    what = f"{status}: {error.partition(':')[0]}" if status == FAILED and error else f"was {status}"
    if status == ABSENT:
        what = f"cannot be run, its data set is not present: {error}"
    return Ran(name, results, None if status == COMPLETE else what)


def _last(of: Results, key: str) -> Any:
    """The last of a list in results; None where it is empty or not there."""
    return (items(of, key) or [None])[-1]


def summary(entry: Results) -> Results:
    """What the page over all variants says of an algorithm in one of them."""
    convergence, audit, claims = (part(entry, key) for key in ("convergence", "audit", "budget"))
    return {
        "name": entry["name"],
        "baseline": entry.get("baseline", False),
        "unit": convergence.get("unit"),
        "last": _last(convergence, "count"),
        "final": convergence.get("final"),
        "gradient_error": part(entry, "gradients").get("median"),
        "epsilon_claimed": _last(claims, "epsilon"),
        "verdict": audit.get("verdict"),
        "witness": audit.get("witness"),
        "outside_model": entry.get("outside_model"),
        "reconstructions": rebuilt.brief(entry.get("reconstructions")),
        "audit_status": entry.get("audit_status"),
        "audit": _audited(audit) if audit else None,
        "membership": {"claim": part(part(entry, "membership"), "claim")} if entry.get("membership") else None,
    }


def _audited(audit: Results) -> Results:
    """Of an audit what the picture of the three epsilons and the words below it need."""
    told = {key: audit.get(key) for key in AUDITED}
    games = {key: {"ceiling": part(audit, key).get("ceiling")} for key in GAMES if audit.get(key)}
    return told | games | {"claim": {key: part(audit, "claim").get(key) for key in ("delta", "adjacency")}}


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
) -> tuple[str, Results, str | None]:
    """Run a variant; its error in words, with the traceback of a defect, in place of raising it."""
    try:
        results = runner.run_scenario(
            variant.located, folder, command=command, progress=progress, watch=watch, jobs=jobs, part=True
        )
    except Exception as error:  # whatever it is: the others go on, and it is told in full
        words = f"{type(error).__name__}: {error}"
        if not isinstance(error, NetsimError):
            words += "\n" + traceback.format_exc()
        path = folder / RESULTS
        kept: Results = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
        return variant.name, kept | {"status": FAILED}, words
    return variant.name, results, None
