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

from collections.abc import Sequence
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netsim.algorithms import Algorithm
    from netsim.simulation import Run
    from scenarios.files.models import dump
    from scenarios.render.page.drawing import Chart
    from scenarios.results.tree import Results
    from scenarios.schema.scenario import Scenario
    from scenarios.stages.notebook import OwnAudit

__all__ = ["Scenario", "audit", "dump", "load", "plot", "run"]


def load(source: str | Path, *options: str) -> "Scenario":
    """A scenario: a shipped one by its name, a file by its path, or YAML itself (text with a line break).

    `options` set fields, such as ``links.loss=0.2``. You get one `ScenarioError` that tells every mistake.
    """
    from scenarios.files.library import as_arguments
    from scenarios.schema.load import load_scenario, parse

    with as_arguments():
        if isinstance(source, str) and "\n" in source:
            return parse(source, "<text>", options).scenario
        return load_scenario(source, options).scenario


def run(
    scenario: "Scenario | str | Path",
    folder: str | Path | None = None,
    *,
    options: Sequence[str] = (),
    jobs: int = 1,
    page: bool = True,
) -> "Results":
    """Run a scenario, as ``netsim run`` does, with its variants if it has some; returns what results.json holds.

    `scenario` may be what `load` reads. `folder`: new or empty, or one with results of a scenario of the same
    name, which are replaced; results/NAME/DATE-TIME if not given. `jobs` processes (−1: one per core) share an
    audit's simulations, with the same numbers. Without `page`, results.json is there, but no report.html, figures or
    tables. You get a `ScenarioError` for wrong input.
    """
    from netsim.arguments import expect
    from scenarios.schema.scenario import Scenario as Kind
    from scenarios.stages.study import run_study

    expect(scenario, "scenario", str | Path | Kind)
    chosen = load(scenario, *options) if isinstance(scenario, str | Path) else scenario.with_options(*options)
    place = Path("results") / chosen.name / datetime.now().strftime("%Y%m%d-%H%M%S")
    place = place if folder is None else Path(folder)
    return run_study(chosen, place, jobs=jobs, page=page).at(place)


def audit(
    algorithm: "Algorithm",
    claim: float | tuple[float, float] | None = None,
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

    `options` set fields of the world around it: ``topology.kind=complete``, ``audit.adjacency=agent``. With
    `progress` the standard error output shows how far it is. It is here and not in `netsim`, which knows nothing of
    audits. You get a `ScenarioError` for wrong input (any of `others` is), and a `PrivacyError` where the audit could
    not judge.
    """
    from scenarios.stages.notebook import audit_own, check_none

    check_none(others)
    return audit_own(
        algorithm, claim, *options, trials=trials, confidence=confidence, seed=seed, jobs=jobs, progress=progress
    )


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
    if name == "dump":
        from scenarios.files.models import dump

        return dump
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
