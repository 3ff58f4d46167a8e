"""A command line that cannot be read, as the one document that `--json` prints."""

from typing import Any

import typer
from typer.core import TyperGroup

from scenarios.terminal import WRONG_INPUT, write_document

USAGE: type[Exception] = typer.BadParameter.__mro__[1]
"""The error of a missing argument, an unknown option or a value of a wrong type, whichever click typer has."""


class Group(TyperGroup):
    """All commands. Where `--json` was asked for, a mistake of usage is a document on the standard output, too, like
    every other error; what is said to people, and the exit status (2), stay as they are."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """What `main` does first; the arguments are seen here before anything is taken from them."""
        ctx.meta["netsim.json"] = "--json" in args
        return super().parse_args(ctx, args)

    def invoke(self, ctx: Any) -> Any:
        """The command that was named."""
        try:
            return super().invoke(ctx)
        except USAGE as error:
            told: Any = error
            told.message = str(told.message).replace("Value error, ", "")
            if ctx.meta.get("netsim.json"):
                write_document(as_document(error))
            raise


def as_document(error: Any) -> dict[str, Any]:
    """What `--json` prints of a mistake of usage: it has the keys of any wrong input."""
    said = str(error.format_message())
    where: dict[str, Any] = {"file": None, "line": None, "field": _field(error), "value": None}
    mistake = where | {"problem": said, "allowed": ""}
    told = {"type": "ScenarioError", "message": said, "mistakes": [mistake]}
    return {"exit_status": WRONG_INPUT, "exit_reason": said, "error": told}


def _field(error: Any) -> str:
    """The argument or the option, as the help names it."""
    if option := getattr(error, "option_name", None):
        return str(option)
    parameter = getattr(error, "param", None)
    if parameter is None:
        return "command line"
    return str(max(parameter.opts, key=len)) if parameter.param_type_name == "option" else str(parameter.name).upper()
