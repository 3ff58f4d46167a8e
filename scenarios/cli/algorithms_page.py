"""Reference page of all algorithms, from their docstrings: `python -m scenarios.cli.algorithms_page`."""

import importlib
import inspect
from collections.abc import Iterator
from typing import Any

from scenarios.schema.reference import plain_stars

HEAD = """\
# Algorithms reference

Every algorithm as its file in `netsim/algorithms/` has it: update, source and how sure its reading is, conditions,
claim, and what is true of the claim. Start with [the algorithms](algorithms.md); fields of a scenario are in
[Scenario reference](scenario-reference.md), audits in [the ledger](ledger.md). `netsim show KIND` prints one. This
page is written by `python -m scenarios.cli.algorithms_page`.

The agents minimize Σ_i f_i(x) + n·r(x). W is the mixing matrix, L_i the Lipschitz constant of ∇f_i, L the largest, x̃
what an agent sent of x, its noise included, x⁺ the next x. Numbers in the margin are lines of the source.
"""
OWN = ("python", "planted_fault")
"""Kinds without a published algorithm: code of one's own, and the faults of the gallery."""


def page() -> str:
    """The page as text."""
    return "\n".join([HEAD, *(section(module, kinds) for module, kinds in by_module().items())])


def by_module() -> dict[str, dict[str, type[Any]]]:
    """Of each file the `kind` and the class of its algorithms."""
    from scenarios.cli.catalogue import models

    found: dict[str, dict[str, type[Any]]] = {}
    specs: dict[str, Any] = {kind: model for kind, model in models().items() if kind not in OWN}
    for kind, model in specs.items():
        found.setdefault(model.of.__module__, {})[kind] = model.of
    return dict(sorted(found.items()))


def section(module: str, kinds: dict[str, type[Any]]) -> str:
    """What a file says of itself, and then each of its classes."""
    lines = ["## " + ", ".join(f"`{kind}`" for kind in kinds), "", _markdown(importlib.import_module(module).__doc__)]
    for kind, of in kinds.items():
        lines += ["", f"### `{of.__name__}`, kind `{kind}`", "", _markdown(inspect.getdoc(of))]
    return "\n".join([*lines, ""])


def _markdown(docstring: str | None) -> str:
    """A docstring whose blocks are indented by four, outside of which no star is an emphasis."""
    return "\n".join(_escaped(inspect.cleandoc(docstring or "").splitlines()))


def _escaped(lines: list[str]) -> Iterator[str]:
    for line in lines:
        yield line if line.startswith("    ") else plain_stars(line)


if __name__ == "__main__":
    print(page(), end="")
