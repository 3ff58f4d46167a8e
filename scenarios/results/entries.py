"""Entries of results.json, one an algorithm: scenario, errors, gradients, images, audit."""

import platform
import re
from collections import Counter
from collections.abc import Container, Sequence
from dataclasses import asdict
from importlib.metadata import version
from itertools import count
from typing import Any, cast

import numpy as np

from attacks.score import GradientScore, ImageScore
from netsim.arrays import Array
from netsim.problems import Dataset, Problem
from netsim.simulation import Run
from scenarios.build.experiment import Experiment, Subject
from scenarios.results import network as surroundings
from scenarios.results.former_findings import NOT_ASKED, NOT_REACHED
from scenarios.schema import Scenario
from scenarios.schema import own_code as owncode

Results = dict[str, Any]

CURVE_POINTS = 400
SLUG = 80
"""Letters of an algorithm's name in file names: file systems take 255 bytes."""
NOTES = [
    "A gradient of many records does not determine them: for the pictures each agent holds one image; for "
    "convergence and the audit all records are split among the agents.",
    "The prior's guess is the mean of the images that no agent holds, of the right class: the rebuilt image has "
    "to beat a guesser who is told the label.",
    "ε_exact and the games are for one adjacent pair: a worse pair may exist, so 'consistent' is no proof.",
    "NumPy's Laplace and Gaussian samplers are models for experiments, not deployable mechanisms.",
]

REBUILT_NOTE = (
    "Reconstructions are of a second run, in which each agent holds as many records as the scenario says. The prior, "
    "and the guess that skill is measured against, come from the records that nobody holds."
)


def versions() -> dict[str, str]:
    """Of Python and of what the numbers depend on."""
    names = ("netsim-lab", "numpy", "scipy", "simpy", "networkx", "scikit-learn")
    return {"python": platform.python_version()} | {name: version(name) for name in names}


def header(experiment: Experiment, command: str) -> Results:
    """Everything but the algorithms' results."""
    scenario = experiment.scenario
    return {
        "name": scenario.name,
        "title": scenario.title or scenario.name,
        "description": scenario.description,
        "status": "running",
        "error": None,
        "command": command,
        "versions": versions(),
        "seed": scenario.seed,
        "scenario": scenario.model_dump(),
        "notes": _notes(scenario),
        "problem": _problem(experiment),
        "network": surroundings.network(experiment),
        "algorithms": [],
    }


def _notes(scenario: Scenario) -> list[str]:
    rebuilt = [REBUILT_NOTE] if scenario.attacks.reconstruct else []
    return (NOTES[:2] if scenario.attacks.images else []) + rebuilt + NOTES[2:]


def manifest(experiment: Experiment, header: Results) -> Results:
    """The scenario with every default written out, versions and seed, and what was computed from it."""
    resolved = [
        {"name": s.spec.name, "algorithm": type(s.simulation.algorithm).__name__}
        | _public_fields(s.simulation.algorithm)
        | _own_code(s)
        for s in experiment.subjects
    ]
    return {key: header[key] for key in ("name", "command", "versions", "seed", "scenario", "problem")} | {
        "resolved": resolved
    }


def _own_code(subject: Subject) -> Results:
    """Where an algorithm's code is that does not come with netsim, and which it was; nothing for others."""
    if (code := owncode.code_of(subject.simulation.algorithm)) is None:
        return {}
    return {"file": str(owncode.load(getattr(subject.spec, "path", "")).file), "sha256": code}


def _public_fields(algorithm: object) -> Results:
    return {name: _resolved(value) for name, value in vars(algorithm).items()}


def _resolved(value: object) -> Any:
    """Numbers, texts and lists as they are; a schedule or a clip as its kind and its fields."""
    if isinstance(value, np.ndarray | np.generic):
        return cast(Any, value).tolist()
    if isinstance(value, tuple | list):
        return [_resolved(one) for one in cast("list[object]", value)]
    if value is None or isinstance(value, bool | int | float | str):
        return value
    kind = re.sub(r"(?<=[a-z])(?=[A-Z])", "_", type(value).__name__).lower()
    return {"kind": kind} | _public_fields(value)


def _problem(experiment: Experiment) -> Results:
    problem, scenario = experiment.problem, experiment.scenario
    optimum = problem.optimum()
    return {
        "kind": scenario.problem.kind,
        "data": experiment.dataset.name,
        "part": experiment.dataset.part,
        "note": experiment.dataset.note,
        "records": experiment.dataset.records,
        "held_out": None if experiment.held_out is None else experiment.held_out.records,
        **problem_facts(problem),
        "optimum_residual": optimum.residual,
        "optimum_is_zero": bool(np.all(optimum.point == 0)),
        "optimum_is_stationary_only": optimum.stationary_only,
    }


def problem_facts(problem: Problem) -> Results:
    """What is known of a problem without solving it: who has other data has another of these, too."""
    return {
        "agents": problem.agents,
        "dimension": problem.dimension,
        "records_per_agent": [int(getattr(f, "records", 0)) for f in problem.objectives],
        "smoothness": problem.smoothness,
        "strong_convexity": problem.strong_convexity,
    }


def slug(name: str, taken: Container[str]) -> str:
    """An algorithm's name as a part of file names, cut to `SLUG` letters: one that is not taken."""
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:SLUG].rstrip("-") or "algorithm"
    return next(one for k in count(1) if (one := plain if k == 1 else f"{plain}-{k}") not in taken)


def slugs(experiment: Experiment) -> list[str]:
    """Of all algorithms, in order."""
    found: list[str] = []
    for subject in experiment.subjects:
        found.append(slug(subject.spec.name, found))
    return found


def subject(subject: Subject, asked: bool, taken: Container[str] = ()) -> Results:
    """An algorithm before it has run; `asked`: whether an audit is; `taken`: the slugs of those before it."""
    spec = subject.spec
    return {
        "name": spec.name,
        "slug": slug(spec.name, taken),
        "kind": spec.kind,
        "baseline": spec.baseline,
        "summary": subject.simulation.algorithm.summary,
        "noise": subject.simulation.algorithm.noisy,
        "convergence": None,
        "run": None,
        "measures": None,
        "links": None,
        "timeline": None,
        "gradients": None,
        "leakage": None,
        "traffic_analysis": None,
        "images": None,
        "reconstructions": None,
        "membership": None,
        "property": None,
        "plan": None,
        "audit": None,
        "views": None,
        "over_time": None,
        "audit_status": NOT_REACHED if asked else NOT_ASKED,
    }


def run(run: Run, stopped: str | None = None) -> Results:
    """Convergence and traffic; `stopped`: what ended it before its end, if that was no Ctrl-C."""
    return {
        "convergence": _convergence(run),
        "run": {
            "activations": list(run.activations),
            "largest_activations": run.largest_activations,
            "time": run.time,
            "traffic": dict(run.traffic),
            "queries": list(run.queries),
            "stopped": stopped or ("interrupted" if run.interrupted else None),
        },
    } | _interception(run)


def _interception(run: Run) -> Results:
    """Who meddled, what receivers rejected, and the line that says what such a run is; nothing where nobody did and
    nothing was rejected."""
    if run.outside_model is None:
        return {"rejected": run.rejected} if run.rejected else {}
    deeds = [asdict(one) for one in run.interceptions]
    return {"meddling": deeds, "rejected": run.rejected, "outside_model": run.outside_model}


def errors_of(run: Run) -> tuple[bool, Array]:
    """Whether a run counts activations, not rounds; ‖x − x*‖/‖x*‖ by activation or, of the farthest agent, by round:
    (count, replicas).

    You get a `ProtocolError` of a run that was to the end, in rounds, and in which no agent made an estimate.
    """
    assert run.metrics is not None
    stopping = run.simulation.algorithm.stopping()
    walk = bool(stopping.per_agent or stopping.activations)
    errors = run.metrics.relative_errors()
    if walk or (run.interrupted and not errors.size):
        return walk, errors
    return walk, run.metrics.worst_by_round(len(run.activations))


def _convergence(run: Run) -> Results:
    walk, errors = errors_of(run)
    if not errors.size:
        return {
            "unit": "activations",
            "count": [],
            "median": [],
            "low": [],
            "high": [],
            "final": None,
            "finals": [],
            "replicas": 0,
        }
    low, median, high = np.quantile(errors, (0.05, 0.5, 0.95), axis=1)
    chosen = thinned(len(errors))
    return {
        "unit": "activations" if walk else "rounds",
        "count": [int(k) + 1 for k in chosen],
        "median": median[chosen].tolist(),
        "low": low[chosen].tolist(),
        "high": high[chosen].tolist(),
        "final": float(median[-1]),
        "finals": errors[-1, :FIRST_REPLICAS].tolist(),
        "replicas": errors.shape[1],
    }


FIRST_REPLICAS = 1000
"""Of so many replicas results keep a number each, for comparisons with intervals."""


def thinned(length: int) -> list[int]:
    """At most `CURVE_POINTS` indices from first to last, evenly spaced."""
    return [int(k) for k in np.unique(np.linspace(0, length - 1, min(length, CURVE_POINTS)).astype(int))]


def gradients(score: GradientScore) -> Results:
    """How well gradients were inferred, with the median error over replicas in order of time."""
    found = Counter(score.agents)
    order = np.lexsort((np.array(score.queries), score.times))
    curve = np.median(score.errors, axis=1)[order] if score.errors.size else np.empty(0)
    return {
        "estimated": score.estimated,
        "asked": score.asked,
        "inferred": [found[i] for i in range(len(score.hidden))],
        "hidden": list(score.hidden),
        "worst": score.worst if score.errors.size else None,
        "median": score.median if score.errors.size else None,
        "baseline": score.baseline if score.errors.size else None,
        "curve": curve[thinned(len(curve))].tolist() if curve.size else [],
        "by_replica": np.median(score.errors, axis=0)[:FIRST_REPLICAS].tolist() if score.errors.size else [],
    }


def images(scores: Sequence[ImageScore], dataset: Dataset, exact: bool) -> Results:
    """Originals, reconstructions and guesses."""
    return {
        "shape": list(dataset.image_shape or (1, dataset.dimension)),
        "range": list(dataset.value_range or (0.0, 1.0)),
        "exact": exact,
        "note": "each agent holds one image",
        "agents": [
            {
                "agent": s.agent,
                "original": s.truth.tolist(),
                "rebuilt": s.rebuilt.tolist(),
                "guess": s.guess.tolist(),
                "mse": s.mse,
                "mse_prior": s.mse_prior,
                "skill": s.skill,
                "largest_error": s.largest_error,
                "label_correct": s.label_correct,
            }
            for s in scores
        ],
    }
