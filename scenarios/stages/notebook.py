"""For a notebook: the audit of an object, an algorithm of a class that may be in no file, in a small world that
options change; and figures of the page for a run, an audit, or results."""

import json
import math
import shlex
import sys
from collections.abc import Generator, Mapping
from contextlib import contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, replace
from html import escape
from inspect import signature
from numbers import Real
from pathlib import Path
from typing import Any, cast

from rich.console import Console

from attacks.audit.verdict import BROKEN, cause
from netsim.algorithms import Algorithm
from netsim.arguments import expect
from netsim.arrays import diverging, unknown
from netsim.errors import DeadlockError, PrivacyError, ScenarioError, meant, what
from netsim.memory import check_jobs
from netsim.settings import Recording
from netsim.simulation import Run
from scenarios.build.duration import LONG, Silent, audit_cost, duration, unending_named
from scenarios.build.experiment import Experiment
from scenarios.files.library import as_arguments, setting_of
from scenarios.files.mistakes import validated
from scenarios.render.page.charts import charts
from scenarios.render.page.drawing import Chart, Series
from scenarios.render.page.epsilons import epsilons
from scenarios.render.page.report import figures
from scenarios.render.plain_words import all_steps
from scenarios.render.progress import Bars
from scenarios.render.sentences import Finding, meaning, seen, terms
from scenarios.results.audit import AuditResult
from scenarios.results.audited import audit_result
from scenarios.results.base import Verdict
from scenarios.results.findings import PASSED, capitalized
from scenarios.results.header import header
from scenarios.results.over_time import convergence
from scenarios.results.run import Convergence
from scenarios.results.tree import AlgorithmResult, Results
from scenarios.results.views import Prices, Views
from scenarios.schema import Scenario
from scenarios.schema.own import claiming
from scenarios.schema.own import names as parameters_of
from scenarios.stages.audit import Judge, decided, divergence_named
from scenarios.stages.secret_pair import audited_pair
from scenarios.stages.worlds import AuditOptions

WORLD: dict[str, object] = {
    "problem": {
        "kind": "logistic",
        "data": {"name": "synthetic", "records": 40, "dimension": 6, "seed": 3, "norm_bound": 1.0},
        "ridge": 0.5,
    },
    "topology": {"kind": "ring", "agents": 5},
    "attacks": {"gradients": False},
    "audit": {},
}
"""The scenario around an algorithm of one's own: five agents on a ring with synthetic data."""
SHORT = {"topology": "topology.kind", "agents": "topology.agents", "problem": "problem.kind", "data": "problem.data"}
"""Names that stand for a field of this world, where the value is no mapping."""
_GOOD, _OPEN, _BAD = "#1b6e3c", "#8a6d00", "#b00020"
_NEXT = "What to do next (a text in quotes is a further argument)"


def in_full(name: str, value: Any) -> tuple[str, Any]:
    """The field of a scenario, and its value, that a setting of this world sets: ``topology=ring`` its kind,
    ``data=digits`` the problem's data of that name."""
    if name == "data":
        return (SHORT[name], {"name": value}) if isinstance(value, str) else (SHORT[name], value)
    if name in SHORT and not isinstance(cast("object", value), dict):
        return SHORT[name], value
    return f"problem.{name}" if name.startswith("data.") else name, value


@dataclass(frozen=True)
class OwnAudit:
    """The audit of one algorithm, `audit` (as in results.json), and what to do next, `steps`. It shows itself in a
    terminal and in a notebook. `views` and `prices` are those of single points of view (None: not requested)."""

    name: str
    audit: AuditResult
    steps: tuple[str, ...] = ()
    views: Views | None = None
    prices: Prices | None = None

    @property
    def verdict(self) -> Verdict:
        return self.audit.verdict

    def __str__(self) -> str:
        facts = {term: text for term, text in self.audit.facts().items() if term != "verdict" and text is not None}
        rows = [f"  {term + ':':14}{text}" for term, text in facts.items()]
        rows += [f"  {line}" for line in self._seen]
        rows += [f"  {_NEXT}:"] * bool(self.steps) + [f"    {step}" for step in self.steps]
        return "\n".join([f"{self.name}: {self.verdict}. {self._why}", *rows])

    def _repr_html_(self) -> str:
        """A table, for notebooks."""
        colour = _GOOD if self.verdict in PASSED else _BAD if self.verdict in BROKEN else _OPEN
        head = f'{escape(self.name)}: <span style="color: {colour}" title="{escape(meaning(self.verdict))}">'
        steps = f"<p>{_NEXT}:</p><ul>{''.join(f'<li>{escape(step)}</li>' for step in self.steps)}</ul>"
        said = f"<p><b>{head}{self.verdict}</span></b>. {escape(self._why)}</p>{self.audit.table()}"
        said += "".join(f"<p>{escape(line)}</p>" for line in self._seen)
        return said + steps * bool(self.steps)

    @property
    def _why(self) -> str:
        """The cause of the verdict; what was measured is in the rows below it."""
        return capitalized(cause(self.audit.reason) or self.audit.reason)

    @property
    def _seen(self) -> list[str]:
        """What other listeners learn."""
        return seen(replace(_entry(self.name, "", True, audit=self.audit), views=self.views, prices=self.prices))

    def plot(self) -> Chart:
        """The three epsilons, as the page draws them; a notebook shows it."""
        return _epsilons_of(self.name, self.audit)


def audit_own(
    algorithm: Algorithm,
    claim: float | tuple[float, float] | str | None = None,
    *options: str,
    trials: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    jobs: int = 1,
    progress: bool = True,
) -> OwnAudit:
    """Audit an algorithm against its own claim, or against ε or (ε, δ) of a whole run, claimed by hand.

    The world is `WORLD` with `options` set, as `Scenario.with_options` does, or short: ``topology=complete``,
    ``audit.adjacency=agent``; one in the claim's place is an option. The pair is the one that costs most within what
    the claim allows (`scenarios.stages.worst_pair`). With `progress` the standard error output shows how far it is:
    bars on a terminal, elsewhere lines where it takes long. You get a `ScenarioError` for wrong input, and a
    `PrivacyError` where a self-check of the audit fails: then there is no verdict.
    """
    if not isinstance(cast(object, algorithm), Algorithm):
        what = "is the class" if isinstance(algorithm, type) else "is no algorithm"
        raise ScenarioError("algorithm", algorithm, what, "an object, such as Mine(rounds=20)")
    if isinstance(claim, str) and "=" in claim:
        claim, options = None, (claim, *options)
    ends: tuple[object, ...] = tuple(claim) if isinstance(claim, tuple | list) else (claim, 0.0)
    epsilon, delta = cast("tuple[float | None, float]", ends if len(ends) == 2 else ("", 0.0))
    if not (_number(epsilon) or epsilon is None) or not _number(delta):
        allowed = "ε, or (ε, δ), of a whole run, such as 1.0 or (1.0, 1e-5); none: what its claim() says; FIELD=VALUE"
        raise ScenarioError("claim", claim, "not a claim", allowed)
    if not (epsilon is None or epsilon >= 0) or not 0 <= delta < 1:
        raise ScenarioError("claim", claim, "out of range", "ε >= 0, and δ from 0 to less than 1")
    for one in (one for one in options if _number(one) and 0 <= float(one) < 1):
        allowed = f"({epsilon}, {one}) as the second argument"
        raise ScenarioError("options", one, "is a number: δ is part of the claim", allowed)
    check_jobs(jobs)
    expect(progress, "progress", bool)
    name = type(algorithm).__name__
    stand_in = {"kind": "gradient_tracking", "name": name, "rounds": 1}  # gives the world; the code is `algorithm`
    sizes = {"trials": trials, "confidence": confidence}
    tree = {"name": "own", "seed": seed, "algorithms": [stand_in], **deepcopy(WORLD), "audit": sizes}
    with as_arguments({f"audit.{name}": name for name in sizes}):
        scenario = validated(Scenario, tree, "")
    with as_arguments():
        settings = [setting_of(option) for option in options]
    for k, one in enumerate(settings):
        if (full := in_full(*one)) != one:
            options = (*options[:k], f"{full[0]}={json.dumps(full[1])}", *options[k + 1 :])
        elif one[0] not in Scenario.model_fields and one[0] in parameters_of(type(algorithm)):
            raise ScenarioError(one[0], one[1], "a parameter of the algorithm", f"{name}({one[0]}={one[1]!r})")
    scenario = scenario.with_options(*options)
    if (spec := scenario.audit) is None:
        raise ScenarioError(
            "audit", None, "is what is to be done here", "no option, or a field of it: 'audit.agent=1'"
        )
    experiment = Experiment.of(scenario)
    (subject,) = experiment.subjects
    simulation = replace(subject.simulation, algorithm=claiming(algorithm, epsilon, delta))
    handed = delta if delta or (claim is not None and epsilon is None) else subject.delta
    subject = replace(subject, simulation=simulation, delta=handed)
    activations = simulation.algorithm.horizon
    if activations is None:
        activations = replace(simulation, recording=Recording(measure=False)).run().largest_activations
    stated = simulation.claim(experiment.adjacency, activations, subject.delta)
    assert stated is not None  # `claiming` gives one, if of nothing
    seconds = audit_cost(simulation, spec).seconds
    long = math.isnan(seconds) or seconds > LONG
    console = Console(file=sys.stderr, force_jupyter=False)
    bars = Bars(console, lines=long, breaks_silence=True) if progress else nullcontext(Silent())
    named = divergence_named(simulation, experiment.pair)
    with diverging(), _advised(scenario), named, bars as shown, unending_named(shown, simulation.algorithm):
        if long:
            shown.say("Only chance ends it." if math.isnan(seconds) else f"About {duration(seconds)} on one core.")
        pair, search = audited_pair(experiment, subject, stated, activations, shown)
        shown.begin(f"{name}: auditing", spec.trials)
        options_ = AuditOptions(scenario, subject, pair, stated)
        found = decided(options_, None, shown, jobs)
        judge = Judge(experiment, Path(), shown, jobs, lambda _: None)  # of which only what writes nothing is called
        looked = judge.looked(_entry(name, "", simulation.algorithm.noisy), options_)
    judged = replace(audit_result(found, stated), search=search)
    entry = replace(_entry(name, "", simulation.algorithm.noisy, audit=judged), kind="python")
    advised = all_steps(replace(header(experiment, ""), algorithms=(entry,)))
    steps = tuple(_in_python(step.words, step.command) for step in advised)
    return OwnAudit(name, judged, steps, looked.views, looked.prices)


@contextmanager
def _advised(scenario: Scenario) -> Generator[None]:
    """Settings that a refusal advises are texts, as `netsim.audit` takes them; who waits forever is told why."""
    try:
        yield
    except DeadlockError as error:
        if scenario.waits_forever:
            error.add_note(scenario.waits_forever)
        raise
    except PrivacyError as error:
        reason, *remedy = error.args
        if remedy:
            error.args = (f"{reason}: {', '.join(map(repr, remedy))}",)
        raise


def _in_python(words: str, command: str) -> str:
    """A step of the command line as one of `netsim.audit`: a field is a text among its arguments."""
    match shlex.split(command):
        case ["-o", field]:
            return f"{words}: {field!r}"
        case ["--epsilon", *_]:
            return f"{words}: a second argument, such as 1.0; or write its claim()"
        case _:
            return f"{words}{f': {command}' if command else ''}"


def check_none(others: Mapping[str, object]) -> None:
    """Raise a `ScenarioError` for arguments that an audit does not have, with the place of what they say."""
    for name, value in others.items():
        if name in ("epsilon", "delta"):
            ends = "(1.0, 1e-5)" if name == "delta" else "1.0"
            allowed = f"netsim.audit(Mine(rounds=20), {ends}); without it, what its claim() returns"
            raise ScenarioError(name, value, "part of the claim, the second argument", allowed)
        if name in ("problem", "topology", "simulation"):
            allowed = f"'{name}=KIND' as a text; for an object, worlds(…) as in docs/audit-your-own.md, In Python"
            raise ScenarioError(name, value, "no argument of an audit, which makes its own world", allowed)
        parameters = signature(audit_own).parameters.values()
        known = [one.name for one in parameters if one.kind is not one.VAR_POSITIONAL]
        allowed = f"{', '.join(known)}; a field of the scenario is a text, such as 'topology.kind=complete'"
        raise ScenarioError(name, value, f"no argument of an audit{meant(name, known)}", allowed)


def _number(value: object) -> bool:
    return isinstance(value, Real) and value is not True and value is not False


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────
def plot(found: Run | Results, title: str | None = None) -> Chart:
    """`scenarios.plot`."""
    if isinstance(found, Results):
        drawn = figures(found)
    elif not isinstance(cast("object", found), Run):
        allowed = "a run, as of Simulation(…).run(), or results, as of scenarios.run(…)"
        raise ScenarioError("found", found, what(found), allowed)
    else:
        algorithm = found.simulation.algorithm
        entry = _entry(type(algorithm).__name__, algorithm.summary, algorithm.noisy, convergence=convergence(found))
        drawn = charts([(Finding(entry), Series(0))], "")
    for one in drawn:
        if title in (None, one.title):
            return one
    raise unknown("title", str(title), [one.title for one in drawn])


def _epsilons_of(name: str, audit: AuditResult) -> Chart:
    """The three epsilons of one audit."""
    finding = Finding(_entry(name, "", True, audit=audit))
    drawn = epsilons([(name, finding.entry)], terms([finding]))
    assert drawn is not None  # there is an audit
    return drawn


def _entry(
    name: str, summary: str, noise: bool, convergence: Convergence | None = None, audit: AuditResult | None = None
) -> AlgorithmResult:
    return AlgorithmResult(
        name=name,
        slug="",
        kind=name,
        baseline=False,
        summary=summary,
        noise=noise,
        audit_status="not requested" if audit is None else "done",
        convergence=convergence,
        audit=audit,
    )
