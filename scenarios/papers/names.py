"""Names in checks and figures of a paper's item, checked before time 0."""

import math
from collections.abc import Mapping, Sequence
from typing import get_args

from netsim.errors import ScenarioError
from scenarios.papers.measures import FEWEST, GRAPH, Place, graph_size, groups, other_of
from scenarios.results.base import Setting
from scenarios.schema import Scenario, checks

COSTS = tuple(name for name in get_args(checks.Number) if name.endswith("_to"))


def check_names(
    scenario: Scenario, variants: Mapping[str, Scenario] | None = None, fields: Sequence[Mapping[str, Setting]] = ()
) -> None:
    """A `ScenarioError` for an algorithm or a variant that does not exist, for a measure that the runs do not take,
    and for a figure whose axes do not go together. `variants` are the scenarios that run, `fields` is what each of
    them sets. Without these the scenario runs by itself; one with variants is several runs, and refused."""
    if variants is None:
        for name in ("variants", "grid"):
            if getattr(scenario, name):
                why = "several runs: `scenarios.stages.study.run_study` runs them"
                raise ScenarioError(name, getattr(scenario, name), why, "no variants and no grid")
        variants = {"": scenario}
    for index, check in enumerate(scenario.reproduces.checks if scenario.reproduces is not None else ()):
        where = f"reproduces.checks[{index}]"
        if isinstance(check, checks.Growth):
            _growth(check, where, variants, fields)
        else:
            _check(check, where, variants)
    for index, figure in enumerate(scenario.figures):
        _figure(figure, f"figures[{index}]", variants, fields)


def _check(check: checks.CheckSpec, where: str, variants: Mapping[str, Scenario]) -> None:
    if check.variant is not None:
        _variant(check.variant, f"{where}.variant", variants)
    for variant in variants if check.variant is None else [check.variant]:
        if isinstance(check, checks.OptimumIsZero):
            continue
        scenario = variants[variant]
        _algorithm(check.of, f"{where}.of", scenario)
        if isinstance(check, checks.Rebuilt | checks.AttackVerdict):
            _attack(check.attack, f"{where}.attack", scenario)
        audited = isinstance(check, checks.AtEnd) and check.measure not in checks.LEAKS
        if (audited or isinstance(check, checks.Verdict)) and scenario.audit is None:
            raise ScenarioError(f"{where}.measure", check.measure, "the scenario asks for no audit", "audit: {…}")
        if isinstance(check, checks.AtEnd) and check.measure in checks.LEAKS:
            _attacked(check.measure, f"{where}.measure", scenario)
        if isinstance(check, checks.Quantity) and (other := other_of(check, variant)) is not None:
            place = f"{where}.{_relation(check)}"
            _variant(other.variant, place, variants)
            _algorithm(other.of, place, variants[other.variant])
            if check.variant is not None and other == Place(variant, check.of):
                raise ScenarioError(
                    place, str(other), "compared with itself", "another algorithm, or another variant"
                )


def _relation(check: checks.Quantity) -> str:
    return "below_of" if check.below_of is not None else "above_of"


def _growth(
    check: checks.Growth, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, Setting]]
) -> None:
    """A power law needs three positive numbers; all of its variants need the algorithms."""
    found = groups(dict(zip(variants, fields, strict=False)), check.over)
    if not found:
        allowed = (
            ", ".join(dict.fromkeys(path for one in fields for path in one)) or "none: the scenario has no variants"
        )
        raise ScenarioError(f"{where}.over", check.over, "no field that a variant sets", allowed)
    for group in found.values():
        values = list(group.values())
        if check.over in GRAPH:
            graphs = [variants[variant].topology.build() for variant in group]
            values = [graph_size(check.over, one.agents, one.edges) for one in graphs]
        if any(not 0 < value < math.inf for value in values) or len(set(values)) < FEWEST:
            given = ", ".join(f"{value:g}" for value in values)
            raise ScenarioError(f"{where}.over", given, "no power law goes through these", f">= {FEWEST} numbers > 0")
    for variant in (name for group in found.values() for name in group):
        _algorithm(check.of, f"{where}.of", variants[variant])
        if (other := other_of(check, variant)) is not None:
            place = f"{where}.{_relation(check)}"
            _algorithm(other.of, place, variants[variant])
            if other.of == check.of:
                raise ScenarioError(place, other.of, "compared with itself", "another algorithm")


def _attacked(measure: str, where: str, scenario: Scenario) -> None:
    """Whether there is an attack that measures this."""
    if measure == "image_skill" and not scenario.attacks.images:
        raise ScenarioError(where, measure, "no images are rebuilt", "attacks: {images: true}")
    if measure != "image_skill" and not scenario.attacks.gradients:
        raise ScenarioError(where, measure, "no gradients are inferred", "attacks: {gradients: true}")


def _figure(
    figure: checks.FigureSpec, where: str, variants: Mapping[str, Scenario], fields: Sequence[Mapping[str, Setting]]
) -> None:
    for index, name in enumerate(figure.variants):
        _variant(name, f"{where}.variants[{index}]", variants)
    for index, name in enumerate(figure.algorithms):
        for variant in figure.variants or variants:
            _algorithm(name, f"{where}.algorithms[{index}]", variants[variant])
    if (figure.y in checks.REBUILT) != (figure.attack is not None):
        problem = "needed for what an attack gets" if figure.y in checks.REBUILT else "goes with what an attack gets"
        raise ScenarioError(f"{where}.attack", figure.attack, problem, ", ".join(checks.REBUILT))
    if figure.attack is not None:
        for variant in figure.variants or variants:
            _attack(figure.attack, f"{where}.attack", variants[variant])
    if figure.y in checks.LEAKS:
        for variant in figure.variants or variants:
            _attacked(figure.y, f"{where}.y", variants[variant])
    if figure.x == checks.SEARCH:
        if figure.y != "mse":
            raise ScenarioError(f"{where}.y", figure.y, "not known as the search goes on", "mse")
        return
    if figure.x in checks.LEAK_AXES:
        known = [name for name in checks.LEAKS if figure.x != "query" or name != "image_skill"]
        if figure.y not in known:
            raise ScenarioError(f"{where}.y", figure.y, f"not measured by {figure.x}", ", ".join(known))
        return
    if figure.x in checks.AXES:
        if figure.y not in checks.CURVES:
            raise ScenarioError(f"{where}.y", figure.y, f"no curve over {figure.x}", ", ".join(checks.CURVES))
        return
    if figure.x not in GRAPH and not any(figure.x in one for one in fields):
        set_by_variants = (path for one in fields for path in one)
        axes = *checks.AXES, *checks.LEAK_AXES, checks.SEARCH, *GRAPH
        allowed = ", ".join(dict.fromkeys([*axes, *set_by_variants]))
        raise ScenarioError(f"{where}.x", figure.x, "neither an axis nor a field that a variant sets", allowed)
    if (figure.y in COSTS) != (figure.accuracy is not None):
        problem = "needed for what it takes to get there" if figure.y in COSTS else "goes with what it takes to it"
        raise ScenarioError(f"{where}.accuracy", figure.accuracy, problem, ", ".join(COSTS))


def _variant(name: str, where: str, variants: Mapping[str, Scenario]) -> None:
    if name not in variants:
        names = ", ".join(variant for variant in variants if variant) or "none: the scenario has no variants"
        raise ScenarioError(where, name, "no such variant", names)


def _attack(name: str, where: str, scenario: Scenario) -> None:
    names = [spec.label for spec in scenario.attacks.reconstruct]
    if name not in names:
        raise ScenarioError(where, name, "no such attack", ", ".join(names) or "none: attacks.reconstruct is empty")


def _algorithm(name: str, where: str, scenario: Scenario) -> None:
    names = [spec.name for spec in scenario.algorithms]
    if name not in names:
        raise ScenarioError(where, name, "no such algorithm", ", ".join(names))
