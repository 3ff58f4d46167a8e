"""Reference page of the command line: `python -m scenarios.cli.commands_page > docs/commands.md`."""

import inspect
import re
from collections.abc import Iterator
from typing import Any

HEAD = """\
# Commands

The help of every command. A scenario is a YAML file, or the name of a shipped scenario. `netsim --install-completion`
makes your shell complete names, fields and folders. This page is written by `python -m scenarios.cli.commands_page`.

| exit status | meaning |
|---|---|
| 0 | done: nothing but baselines is refuted or unprotected, and every check agrees |
| 1 | an algorithm without `baseline: true` is refuted or unprotected, or membership breaks its claim; or a paper's \
finding differs |
| 2 | wrong input: the message has file, line, field, value, and what is allowed |
| 70 | the run failed midway: an error of netsim or of an algorithm, and no finding |
| 130 | interrupted by Ctrl-C: the same command with its folder continues |
"""


def page() -> str:
    """The page as text."""
    from typer.main import get_command

    from scenarios.cli.app import app

    return "\n".join([HEAD, *(_section(words, command) for words, command in leaves((), get_command(app)))])


def leaves(words: tuple[str, ...], command: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Every command that can be run, in alphabetical order, with the words that call it."""
    inner: Any = getattr(command, "commands", {})
    if not inner:
        yield words, command
    for name in sorted(inner):
        if not inner[name].hidden:
            yield from leaves((*words, name), inner[name])


def _section(words: tuple[str, ...], command: Any) -> str:
    takes = [one for one in command.params if one.param_type_name == "argument"]
    options = [one for one in command.params if one.param_type_name == "option" and not one.hidden]
    usage = " ".join(["netsim", *words, *(["[OPTIONS]"] if options else []), *map(_place, takes)])
    examples = [line for line in (command.epilog or "").splitlines() if line.startswith("netsim ")]
    block = "\n".join([usage, *([""] if examples else []), *examples])
    lines = [f"## `{' '.join(words)}`", "", _prose(command.help or ""), "", _code(block), ""]
    rows = [(f"`{_place(one)}`", one.help or "", "") for one in takes]
    rows += [(_names(one), one.help or "", _default(one)) for one in options]
    if rows:
        lines += ["| | | default |", "|---|---|---|"]
        lines += [f"| {' | '.join(_plain(cell) for cell in row)} |" for row in rows]
    return "\n".join([*lines, ""])


def _place(argument: Any) -> str:
    name = str(argument.metavar or argument.name.upper())
    name = f"{name}…" if argument.nargs == -1 else name
    return name if argument.required else f"[{name}]"


def _names(option: Any) -> str:
    long = ", ".join(f"`{name}`" for name in [*option.opts, *option.secondary_opts])
    if option.is_flag:
        return long
    return f"{long} {option.metavar or option.name.upper()}"


def _default(option: Any) -> str:
    value = option.default
    if option.required:
        return "required"
    if option.is_flag or value is None or callable(value) or type(value).__name__ == "Sentinel":
        return ""
    return f"`{value}`"


def _prose(text: str) -> str:
    """Paragraphs of a docstring, a command in one of its own as code; `\\b` and `\\f` are marks for the terminal."""
    plain = re.sub(r"[\b\f]\n?", "", inspect.cleandoc(text)).strip()
    return "\n\n".join(_code(one) if one.startswith("netsim ") else one for one in plain.split("\n\n"))


def _code(text: str) -> str:
    return f"```text\n{text}\n```"


def _plain(cell: str) -> str:
    """A cell of a table: one line, no bars, no markup of rich."""
    return re.sub(r"\[/?(?:bold|dim|italic)?\]", "", " ".join(cell.split())).replace("|", "\\|")


if __name__ == "__main__":
    print(page(), end="")
