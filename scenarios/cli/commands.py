"""The `netsim` command: groups of its help, how a command joins it, and usage errors as JSON."""

import inspect
import re
from collections.abc import Callable
from difflib import get_close_matches
from functools import wraps
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from netsim.errors import ScenarioError
from netsim.memory import limited
from scenarios.render.terminal import WRONG_INPUT, fail, write_document

GROUPS = {
    "First steps": ("list", "show", "run", "new", "audit"),
    "Experiments": ("attack", "views", "check", "sweep", "deploy", "lab", "challenge", "data"),
    "Results": ("trace", "report", "compare", "witness", "artifact"),
    "More": ("papers", "ledger", "certificate", "schema"),
}
"""Groups of the help with their commands, in this order."""
RUNS_CODE = ("run", "deploy", "check", "audit", "attack", "views", "sweep", "witness", "artifact")
"""Commands that run the files that a scenario names under `kind: python`; `check --no-code` does not."""
_USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The error of a missing argument, an unknown option or a value of a wrong type, whichever click typer has."""


class _Group(TyperGroup):
    """All commands. With `--json` a mistake of usage is also a document on the standard output, like every other
    error; the message for people and the exit status (2) stay as they are."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002  typer's own name
        return [name for names in GROUPS.values() for name in names]

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Note whether `--json` is among the arguments, before any is parsed."""
        ctx.meta["netsim.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except _USAGE as error:
            mistake: Any = error
            mistake.message = str(mistake.message).replace("Value error, ", "") + _near(str(mistake.message))
            if ctx.meta.get("netsim.json"):
                why, parameter = str(mistake.format_message()), getattr(error, "param", None)
                if parameter is None:
                    field = str(getattr(error, "option_name", None) or "command line")
                elif parameter.param_type_name == "option":
                    field = max(parameter.opts, key=len)
                else:
                    field = parameter.name.upper()
                one = {"file": None, "line": None, "field": field, "value": None, "problem": why, "allowed": ""}
                described = {"type": "ScenarioError", "message": why, "mistakes": [one]}
                write_document({"exit_status": WRONG_INPUT, "exit_reason": why, "error": described})
            raise


def _near(message: str) -> str:
    """The nearest of the choices that a message lists, where a value is none of them."""
    value, apart, listed = message.partition(" is not one of ")
    written = value.removeprefix("Value error, ").strip("'").lower()
    found = get_close_matches(written, re.findall(r"'(.*?)'", listed), n=1)
    return f" Did you mean {found[0]!r}?" if apart and found else ""


LIMITED = (*RUNS_CODE, "trace", "report", "compare", "certificate")
"""Commands that take `--memory`."""


def _limited(function: Callable[..., None]) -> Callable[..., None]:
    """The same command with the option `--memory`."""

    @wraps(function)
    def inside(*args: Any, memory: str | None = None, **options: Any) -> None:
        try:
            with limited(memory):
                function(*args, **options)
        except ScenarioError as error:  # of the option: a command says its own
            fail(error, as_json=bool(options.get("as_json")))

    kind = Annotated[
        str | None,
        typer.Option(
            "--memory",
            metavar="SIZE",
            show_default=False,
            help="Memory that may be used, such as 40GB. Default: what is free, and at least half of the machine's.",
        ),
    ]
    signature = inspect.signature(function, eval_str=True)
    memory = inspect.Parameter("memory", inspect.Parameter.KEYWORD_ONLY, default=None, annotation=kind)
    made: Any = inside
    made.__signature__ = signature.replace(parameters=[*signature.parameters.values(), memory])
    made.__annotations__ = {**inspect.get_annotations(function, eval_str=True), "memory": kind}
    return inside


app = typer.Typer(
    cls=_Group,
    help="A laboratory for private decentralized optimization: simulate, eavesdrop, invert, audit.",
    epilog="Begin with: netsim list; then: netsim run private-descent. Every command's --help has an example.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
)


def command(name: str, *examples: str) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a command: its docstring is the help, in which a line break is one only between paragraphs."""

    def register(function: Callable[..., None]) -> Callable[..., None]:
        text = inspect.cleandoc(function.__doc__ or "")
        flowed = "\n\n".join(" ".join(one.split()) for one in text.split("\n\n"))
        end = "\n\n".join(["Example:" if len(examples) == 1 else "Examples:", *examples])
        panel = next(group for group, names in GROUPS.items() if name in names)
        shown = _limited(function) if name in LIMITED else function
        return app.command(name, rich_help_panel=panel, help=flowed, epilog=end)(shown)

    return register
