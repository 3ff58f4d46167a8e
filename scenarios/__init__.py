"""Experiments as data: schema, runner, reports, command line.

```python
from scenarios import Scenario, load, run
from scenarios.schema import DpRecal, Links, Ring

scenario = Scenario(name="first", topology=Ring(agents=8), links=Links(loss=0.1), algorithms=[DpRecal(per_agent=10)])
results = run(scenario.with_options("links.loss=0.2"), "results/eight")
```

``audit`` audits an object of a class that may be in no file; its result shows itself in a notebook:

```python
import netsim

found = netsim.audit(Mine(rounds=20), 1.0)  # ε = 1 is claimed of a whole run; without it: what its claim() says
```

``plot`` draws a figure of the page: of a run, or of results.

What they need is loaded when they are used.
"""

import sys
from collections.abc import Callable, Sequence
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, ParamSpec, TypeVar, cast

if TYPE_CHECKING:
    from netsim.algorithms import Algorithm
    from netsim.simulation import Run
    from scenarios.render.page.drawing import Chart
    from scenarios.results.tree import Results
    from scenarios.schema.scenario import Scenario
    from scenarios.stages.notebook import OwnAudit

__all__ = ["Scenario", "audit", "dump", "load", "plot", "run"]
P = ParamSpec("P")
R = TypeVar("R")


def _checked(function: Callable[P, R]) -> Callable[P, R]:
    """`netsim.arguments.checked`, loaded when it is called."""

    @wraps(function)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        from netsim.arguments import checked

        return checked(function)(*args, **kwargs)

    return call


@_checked
def load(source: str | Path, *options: str) -> "Scenario":
    """A scenario: a shipped one by its name, a file by its path, or YAML itself (text with a line break).

    `options` set fields, such as ``links.loss=0.2``. You get one `ScenarioError` that tells every mistake.
    """
    from scenarios.files.library import as_arguments
    from scenarios.schema.load import load_scenario, parse

    with as_arguments({f"settings[{k}]": f"options[{k}]" for k in range(len(options))}):
        if isinstance(source, str) and "\n" in source:
            return parse(source, "<text>", options).scenario
        return load_scenario(source, options).scenario


@_checked
def dump(scenario: "Scenario", full: bool = False) -> str:
    """YAML that `load` reads as the same scenario; `full`: with every default. Fields are in the schema's order."""
    from netsim.errors import ScenarioError, what
    from scenarios.files.models import dump as written
    from scenarios.schema.spec import Model

    if not isinstance(cast("object", scenario), Model):
        raise ScenarioError("scenario", scenario, what(scenario), "a Scenario, or a part of one")
    return written(scenario, full)


@_checked
def run(
    scenario: "Scenario | str | Path",
    folder: str | Path | None = None,
    *,
    options: Sequence[str] = (),
    replace: bool = False,
    jobs: int = 1,
    page: bool = True,
) -> "Results":
    """Run a scenario, as ``netsim run`` does, with its variants if it has some; returns what results.json holds.

    `scenario` may be what `load` reads. `folder`: new or empty, or one with results of a scenario of the same
    name; results/NAME/DATE-TIME if not given. Finished results are not replaced without `replace`: of the very same
    scenario they are returned, for a run would repeat them; of another seed, or other fields, code or versions they
    are an error. `jobs` processes (−1: one per core) share an audit's simulations, with the same numbers. Without
    `page`, results.json is there, but no report.html, figures or tables. You get a `ScenarioError` for wrong input.
    """
    from netsim.arguments import expect
    from netsim.errors import ScenarioError
    from netsim.files import path_of
    from netsim.memory import check_jobs
    from scenarios.schema.scenario import Scenario as Kind
    from scenarios.stages.study import finished, run_study

    expect(scenario, "scenario", str | Path | Kind)
    check_jobs(jobs)
    if folder == "":
        raise ScenarioError("folder", "", "is empty", "the name of a folder; '.' is this one, None a new one")
    chosen = load(scenario, *options) if isinstance(scenario, str | Path) else scenario.with_options(*options)
    place = Path("results") / chosen.name / datetime.now().strftime("%Y%m%d-%H%M%S")
    place = path_of(place if folder is None else Path(folder), "folder")
    there = None if replace else finished(place, chosen, "run", way="replace=True", page=page)
    return (there or run_study(chosen, place, jobs=jobs, page=page)).at(place)


def audit(
    algorithm: "Algorithm",
    claim: float | tuple[float, float] | str | None = None,
    *options: str,
    trials: int = 2000,
    confidence: float = 0.95,
    seed: int = 0,
    jobs: int = 1,
    progress: bool = True,
    **others: object,
) -> "OwnAudit":
    """Audit an algorithm as ``netsim audit FILE.py:CLASS`` does, against its own claim or against ε, or (ε, δ), of a
    whole run; nothing is written.

    `options` set fields of the world around it: ``topology=complete``, ``audit.adjacency=agent``; one in the claim's
    place is an option. With `progress` the standard error output shows how far it is. It is here and not in `netsim`,
    which knows nothing of audits. You get a `ScenarioError` for wrong input (any of `others` is), and a
    `PrivacyError` where the audit could not judge.
    """
    from scenarios.stages.notebook import audit_own, check_none

    check_none(others)
    return audit_own(
        algorithm, claim, *options, trials=trials, confidence=confidence, seed=seed, jobs=jobs, progress=progress
    )


@_checked
def plot(found: "Run | Results", title: str | None = None) -> "Chart":
    """A figure as the page draws it: of a run its relative error, of results the first one or that of this title.

    A notebook shows it; `drawing.figure` is matplotlib's. You get a `ScenarioError` for a title that none has.
    """
    from scenarios.stages.notebook import plot as drawn

    return drawn(found, title)


def __getattr__(name: str) -> Any:
    if name == "Scenario":
        from scenarios.schema.scenario import Scenario

        return Scenario
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}", name=name, obj=sys.modules[__name__])


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
