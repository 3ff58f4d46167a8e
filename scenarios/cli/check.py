"""Command `netsim check`."""

from typing import TYPE_CHECKING

import typer

from netsim.errors import ScenarioError
from scenarios.cli.options import AsJson, Scenario, Settings
from scenarios.render.terminal import DONE, WRONG_INPUT, console, fail, problems, remark, write_document

if TYPE_CHECKING:
    from scenarios.schema.load import Located
    from scenarios.stages.study import Plan


def check(scenario: Scenario, option: Settings = None, as_json: AsJson = False) -> None:
    """Check a scenario without running it: everything that can be known before time 0.

    Exit status: 0 it can be run, 2 wrong input, or data that are not on this machine.
    """
    from scenarios.cli.progress import Bars
    from scenarios.schema.load import load_scenario
    from scenarios.stages.study import planned

    try:
        with Bars(problems, lines=False) as bars:
            located = load_scenario(scenario, option or [])
            plan = planned(located, bars)
    except ScenarioError as error:
        fail(error, as_json=as_json)
    status = DONE if plan.first is not None else WRONG_INPUT
    for name, why in plan.absent.items():
        remark(f"{name}: {why}".removeprefix(": "))
    if as_json:
        write_document(_plain(located, plan, status))
    elif plan.first is not None:
        console.print(_sentence(located, plan), highlight=False, markup=False, soft_wrap=True)
    raise typer.Exit(status)


def _sentence(located: "Located", plan: "Plan") -> str:
    first = plan.first
    assert first is not None
    algorithms = len(first.subjects)
    several = f"{len(plan.variants)} variants ({', '.join(v.name for v in plan.variants)}); the first: "
    return (
        f"{located.scenario.name}: can be run: {several if plan.variants else ''}"
        f"{algorithms} algorithm{'s' * (algorithms > 1)} on a {first.topology.name}, "
        f"{first.dataset.records} records"
    )


def _plain(located: "Located", plan: "Plan", status: int) -> dict[str, object]:
    """For machines; `topology`, `agents`, `records` and `algorithms` are of the first that can be run."""
    first = plan.first
    found: dict[str, object] = {
        "exit_status": status,
        "name": located.scenario.name,
        "title": located.scenario.title,
        "file": located.file,
        "can_be_run": first is not None,
        "variants": [variant.name for variant in plan.variants],
        "absent": dict(plan.absent),
    }
    if first is None:
        return found
    return found | {
        "topology": first.topology.name,
        "agents": first.topology.agents,
        "data": first.dataset.name,
        "records": first.dataset.records,
        "dimension": first.problem.dimension,
        "algorithms": [{"name": s.spec.name, "kind": s.spec.kind} for s in first.subjects],
    }
