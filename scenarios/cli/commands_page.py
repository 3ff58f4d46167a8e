"""Reference page of the command line: `python -m scenarios.cli.commands_page > docs/commands.md`."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

HEAD = """\
# Commands

The help of every command. A scenario is a YAML file, or the name of a shipped scenario. `netsim --install-completion`
makes your shell complete names, fields and folders. This page is written by `python -m scenarios.cli.commands_page`.

| exit status of `run` and `audit` | meaning |
|---|---|
| 0 | done: no claim was shown not to hold, and every check of a paper agrees |
| 1 | an algorithm is refuted or unprotected, whether or not it claims a number, or membership is inferred better \
than its claim allows; or a paper's finding differs; or a program in an agent's place does not follow the algorithm. \
An algorithm marked `baseline: true` decides nothing |
| 2 | wrong input: the message has file, line, field, value, and what is allowed; nothing was run |
| 3 | no 1, but of a program in an agent's place it cannot be said whether it follows the algorithm; with `--strict` \
also where an algorithm without `baseline: true` is neither *proven* nor *consistent*: *underpowered*, *vacuous*, \
*undefined*, without a claim or an audit, or met by an active adversary |
| 70 | the run, or a variant, failed midway (an error of netsim or of an algorithm, and no finding), or an audit \
could not judge |
| 130 | interrupted by Ctrl-C: the same command with its folder continues |

The other commands use the same numbers, and say below which.

## Whose code a command runs

A scenario, or a results folder that has one, may name files of Python (`kind: python`). Whoever runs such a scenario
runs these files, with all that they may do on the machine: read them before you run a stranger's. Nothing else in a
scenario, a witness, a transcript or a results folder runs anything. A file `agent-I.errand`, which
`deploy --agents-on` makes for a run, is code to whoever starts an agent with it: take one from nobody.

| command | files that the scenario names |
|---|---|
| {runs} | are run, after a line on the standard error that names each, unless the command line names it itself |
| `check --no-code` | are not run: of a scenario that names any, only the fields are checked |
| `lab FILE` | is a notebook, which is run |
| `deploy --outside AGENT=PROGRAM` | are run, and so is the program that the option names |
| {looks} | are not run |
"""


def page() -> str:
    """The page as text."""
    from typer.main import get_command

    from scenarios.cli.app import app
    from scenarios.cli.options import GROUPS, RUNS_CODE

    looks = sorted({name for names in GROUPS.values() for name in names} - {*RUNS_CODE, "lab"})
    listed = [", ".join(f"`{name}`" for name in names) for names in (sorted(RUNS_CODE), looks)]
    head = HEAD.replace("{runs}", listed[0]).replace("{looks}", listed[1])
    return "\n".join([head, *(_section(words, command) for words, command in _leaves((), get_command(app)))])


def _leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, in alphabetical order, with the words that call it."""
    inner: Any = getattr(command, "commands", {})
    if not inner:
        yield words, command
    for name in sorted(inner):
        if not inner[name].hidden:
            yield from _leaves((*words, name), inner[name])


def _section(words: tuple[str, ...], command: Any) -> str:
    arguments = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join(["netsim", *words, *(["[OPTIONS]"] if options else []), *map(_place, arguments)])
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("netsim ")]
    block = "\n".join([usage, *([""] if examples else []), *examples])
    plain = re.sub(r"[\b\f]\n?", "", inspect.cleandoc(command.help or "")).strip()  # marks for the terminal
    prose = [_code(one) if one.startswith("netsim ") else one for one in plain.split("\n\n")]
    lines = [f"## `{' '.join(words)}`", "", "\n\n".join(prose), "", _code(block), ""]
    rows = [(f"`{_place(one)}`", one.help or "", "") for one in arguments]
    for one in options:
        names = ", ".join(f"`{name}`" for name in [*one.opts, *one.secondary_opts])
        names += "" if one.is_flag else f" {one.metavar or one.name.upper()}"
        value = one.default
        none = one.is_flag or value is None or callable(value) or type(value).__name__ == "Sentinel"
        rows.append((names, one.help or "", "required" if one.required else "" if none else f"`{value}`"))
    if rows:
        lines += ["| | | default |", "|---|---|---|"]
        lines += [f"| {' | '.join(map(_cell, row))} |" for row in rows]
    return "\n".join([*lines, ""])


def _place(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    name = f"{name}…" if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _cell(text: str) -> str:
    """A cell of a table: one line, no bars, no markup of rich."""
    return re.sub(r"\[/?(?:bold|dim|italic)?\]", "", " ".join(text.split())).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
