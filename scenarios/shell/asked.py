"""Arguments and options that several commands have."""

import shlex
from pathlib import Path
from typing import Annotated

import typer

from scenarios.shell import completing

Scenario = Annotated[
    str, typer.Argument(help="A YAML file, or the name of a shipped scenario.", autocompletion=completing.scenarios)
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "-o",
        "--option",
        metavar="FIELD=VALUE",
        help="Set a field of the scenario: -o links.loss=0.2 -o algorithms[0].rounds=50; as often as you like.",
        show_default=False,
        autocompletion=completing.settings,
    ),
]
Variant = Annotated[
    str | None,
    typer.Option(
        help="This one of the scenario's variants alone.", show_default=False, autocompletion=completing.variants
    ),
]
Out = Annotated[
    Path | None,
    typer.Option(
        help="The results folder, new or empty, or a former one of a scenario of this name, to go on with or to "
        "replace; if not given, results/NAME/DATE-TIME.",
        show_default=False,
        autocompletion=completing.results,
    ),
]
Jobs = Annotated[int, typer.Option(help="Processes that share an audit's simulations; -1: one per core.")]
AsJson = Annotated[
    bool, typer.Option("--json", help="Print one JSON document for machines; all else goes to the standard error.")
]


def again(verb: str, scenario: str, settings: list[str], variant: str | None = None) -> str:
    """The command that repeats this one."""
    chosen = [] if variant is None else [f"--variant {shlex.quote(variant)}"]
    return " ".join([verb, shlex.quote(scenario), *(f"-o {shlex.quote(one)}" for one in settings), *chosen])
