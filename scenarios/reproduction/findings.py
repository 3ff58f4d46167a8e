"""What a scenario says of a paper, and the figures it asks for: the keys `reproduction` and `figures` of results."""

from collections.abc import Mapping, Sequence
from typing import Any

from scenarios.report.formats import part
from scenarios.reproduction.budget import VACUOUS
from scenarios.reproduction.outcome import DIFFERS, Ran, judge
from scenarios.reproduction.plots import figures
from scenarios.schema import Scenario

Result = Mapping[str, Any]


def reproduced(
    scenario: Scenario, runs: Sequence[Ran], fields: Mapping[str, Mapping[str, Any]], finished: bool
) -> dict[str, Any]:
    """`reproduction` and `figures` of what ran; a key only where the scenario asks for it."""
    found: dict[str, Any] = {}
    if scenario.reproduces is not None:
        found["reproduction"] = judge(scenario.reproduces, runs, finished, fields)
    if scenario.figures:
        stated = scenario.reproduces.vacuous_above if scenario.reproduces is not None else None
        found["figures"] = figures(scenario.figures, runs, fields, stated or VACUOUS)
    return found


def differs(results: Result) -> bool:
    """Whether something that a paper shows was found to be otherwise."""
    return part(results, "reproduction").get("outcome") == DIFFERS


def line(results: Result) -> str | None:
    """The outcome in one line; None where nothing was to be reproduced."""
    found = results.get("reproduction")
    if not found:
        return None
    return f"{found['paper']}, {found['item']}: {found['outcome']}. {found['sentence']}"
