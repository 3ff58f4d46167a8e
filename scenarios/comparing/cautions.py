"""What stands between runs that look alike: why numbers of theirs must not be set against each other."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scenarios.comparing.epsilons import audited_agent
from scenarios.comparing.subjects import Result, Run, Subject
from scenarios.report.formats import items, number, part, show

FACTS = (
    "kind", "data", "part", "agents", "dimension", "records", "records_per_agent", "smoothness", "strong_convexity",
)  # fmt: skip
"""What is known of an objective; the curvatures are computed from all its data, and tell most others."""

DIGITS = 8
"""Of a SHA-256 of code, to tell it from another."""


def cautions(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[str]:
    """A sentence for each thing that is not the same, and for each run that is not whole."""
    audits = [(one, part(one.entry, "audit")) for one in subjects]
    judged = [(one, audit) for one, audit in audits if audit.get("verdict")]
    claims = [(one.label, part(audit, "claim")) for one, audit in judged]
    told = [
        _objectives(runs),
        _several("adjacency", "their epsilons bound different changes", _of(claims, "adjacency")),
        _several("δ", "an ε at one δ is none at another", _of(claims, "delta", show)),
        _several("norm of the claim", "a change of 1 is not the same in both", _of(claims, "norm")),
        _several(
            "change of the gradient between the worlds", "the more it changes, the larger is ε",
            _of(claims, "gradient_change", lambda v: show(v, 4)),
        ),
        _several("accuracy's measure", "what an accuracy costs is of different measures", _measures(subjects)),
        _several("unit of time", "curves by rounds and by activations share an axis", _units(runs, subjects)),
        _several(
            "number of trials", "what a game can prove at most grows with them",
            [(one.label, show(audit.get("trials"))) for one, audit in judged],
        ),
        _several(
            "confidence of the audit", "the surer, the wider is an interval of the same evidence",
            [(one.label, show(audit["confidence"])) for one, audit in judged if audit.get("confidence") is not None],
        ),
        *_audited(judged),
        *_own_code(runs),
        _several("version of netsim", "the same scenario may give other numbers", _versions(runs)),
    ]  # fmt: skip
    unfinished = [
        f"{run.label} is {run.results.get('status')}: what it has not done is missing here."
        for run in runs
        if run.results.get("status", "complete") != "complete"
    ]
    again = [_again(one.label, audit) for one, audit in judged if items(audit, "earlier")]
    beyond = [f"{one.label}: {one.entry['outside_model']}." for one in subjects if one.entry.get("outside_model")]
    return [line for line in told if line] + unfinished + again + beyond


def same_objective(a: Run, b: Run) -> bool:
    """Whether both solved the same problem, as far as its facts tell."""
    return _facts(a) == _facts(b)


def _facts(run: Run) -> tuple[str, ...]:
    """What is known of the objective, and the fields it was made of."""
    problem = part(run.results, "problem")
    return (str(part(run.scenario, "problem")), *(str(problem.get(name)) for name in FACTS))


def _objectives(runs: Sequence[Run]) -> str:
    groups: dict[tuple[str, ...], list[str]] = {}
    for run in runs:
        groups.setdefault(_facts(run), []).append(run.label)
    if len(groups) < 2:
        return ""
    told = "; ".join(", ".join(labels) for labels in groups.values())
    return f"Not the same objective ({told}): errors are relative to different optima."


def _of(claims: Sequence[tuple[str, Result]], key: str, tell: Callable[[Any], str] = str) -> list[tuple[str, str]]:
    return [(label, tell(claim[key])) for label, claim in claims if claim.get(key) is not None]


def _measures(subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    found = [(one.label, part(one.entry, "measures")) for one in subjects]
    return [(label, str(own["measure"]).replace("_", " ")) for label, own in found if items(own, "to_accuracy")]


def _units(runs: Sequence[Run], subjects: Sequence[Subject]) -> list[tuple[str, str]]:
    """None where every run has algorithms of the same units: that they are different is no news then."""
    each = [{part(entry, "convergence").get("unit") for entry in run.entries} for run in runs]
    if len(each) > 1 and all(units == each[0] for units in each):
        return []
    found = [(one.label, part(one.entry, "convergence")) for one in subjects]
    return [(label, str(own["unit"])) for label, own in found if own.get("unit")]


def _audited(judged: Sequence[tuple[Subject, Result]]) -> list[str]:
    """Other agents; or, of the same agent, other pairs."""
    agents = [(one.label, agent) for one, audit in judged if (agent := audited_agent(audit)) is not None]
    if told := _several("audited agent", "each has its own data, and says other things", agents):
        return [told]
    pairs = [(one.label, str(audit["pair"])) for one, audit in judged if audit.get("pair")]
    return [_several("audited pair", "an exact ε is that of its pair", pairs)]


def _own_code(runs: Sequence[Run]) -> list[str]:
    """Of every place of somebody's own code: whether it held the same each time."""
    found: dict[str, list[tuple[str, str]]] = {}
    for run in runs:
        specs = {str(one.get("name")): one for one in items(run.scenario, "algorithms")}
        for name, code in run.own_code.items():
            if name in specs:
                place = str(specs[name].get("path"))
                found.setdefault(place, []).append((f"{name} · {run.label}", code[:DIGITS]))
    return [_several(f"code of {place}", "it was changed between the runs", told) for place, told in found.items()]


def _again(label: str, audit: Result) -> str:
    times = len(items(audit, "earlier"))
    together = number(audit.get("together"))
    sure = f", and all its audits hold together at {show(100 * together)} %" if together == together else ""
    return (
        f"{label} was audited {times} {'time' if times == 1 else 'times'} before: its numbers are of the last audit"
        f"{sure}."
    )


def _versions(runs: Sequence[Run]) -> list[tuple[str, str]]:
    found: list[tuple[str, Mapping[str, Any]]] = [(run.label, part(run.results, "versions")) for run in runs]
    return [(label, str(own["netsim-lab"])) for label, own in found if own.get("netsim-lab")]


def _several(what: str, why: str, told: Sequence[tuple[str, str]]) -> str:
    """A sentence where not all say the same; two numbers that print alike are the same."""
    groups: dict[str, list[str]] = {}
    for label, value in told:
        groups.setdefault(value, []).append(label)
    if len(groups) < 2:
        return ""
    every = Counter(_run_of(label) for label, _ in told)
    listed = "; ".join(f"{value}: {', '.join(_named(labels, every))}" for value, labels in groups.items())
    return f"Not the same {what} ({listed}): {why}."


def _named(labels: Sequence[str], every: Mapping[str, int]) -> list[str]:
    """The labels, but one name of a run in place of all of its algorithms that say something, if they are several."""
    here = Counter(map(_run_of, labels))
    whole = {run for run, count in here.items() if count > 1 and count == every[run]}
    return list(dict.fromkeys(_run_of(label) if _run_of(label) in whole else label for label in labels))


def _run_of(label: str) -> str:
    """Of an algorithm's label, "NAME · RUN", the run."""
    return label.rpartition(" · ")[2]
