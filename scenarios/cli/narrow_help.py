"""The help of a command where the terminal has no room for names, kinds and texts side by side: each text below its
name, nothing cut."""

from collections.abc import Iterator, Sequence
from typing import Any, cast

from rich.padding import Padding
from rich.text import Text

from scenarios.render.terminal import console

WIDE = 70
"""Letters in a line that the help in columns takes, at least."""


class NarrowHelp:
    """A command, or a group of them, with such a help where the terminal is narrow."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        """Print it; in columns where there is room, of which a flag has none for a kind."""
        if console.width < WIDE:
            _print_help(self, ctx)
        else:
            for one in cast("Any", self).get_params(ctx):
                one.metavar = "" if getattr(one, "is_flag", False) else one.metavar
            cast("Any", super()).format_help(ctx, formatter)


def _print_help(command: Any, ctx: Any) -> None:
    """The same parts as in a wide help, in the same order."""
    _say(f"Usage: {ctx.command_path} {' '.join(command.collect_usage_pieces(ctx))}")
    for paragraph in (command.help or "").split("\n\n"):
        _say(paragraph)
    shown = [one for one in command.get_params(ctx) if not getattr(one, "hidden", False)]
    _list("Arguments", [_of(one, ctx) for one in shown if one.param_type_name != "option"])
    _list("Options", [_of(one, ctx) for one in shown if one.param_type_name == "option"])
    for group, commands in _commands(command, ctx):
        _list(group, commands)
    for paragraph in (command.epilog or "").split("\n\n"):
        _say(paragraph)


def _commands(command: Any, ctx: Any) -> Iterator[tuple[str, list[tuple[str, str]]]]:
    """Commands of a group by the panel that a wide help has them in, each with the first paragraph of its help."""
    panels = dict[str, list[tuple[str, str]]]()
    for name in command.list_commands(ctx) if hasattr(command, "list_commands") else ():
        one = command.get_command(ctx, name)
        panels.setdefault(one.rich_help_panel, []).append((name, (one.help or "").partition("\n\n")[0]))
    yield from panels.items()


def _of(parameter: Any, ctx: Any) -> tuple[str, str]:
    """An option with its names and its kind, or an argument as the usage names it, and what is said of it."""
    words = (parameter.get_help_record(ctx) or ("", ""))[1] or parameter.help or ""
    if parameter.param_type_name != "option":
        return parameter.metavar or parameter.name.upper(), words
    kind = "" if parameter.is_flag else parameter.display_type_rich(ctx=ctx)
    return f"{', '.join(parameter.opts)} {kind or ''}".strip(), words


def _list(head: str, rows: Sequence[tuple[str, str]]) -> None:
    if rows:
        console.print(Text(f"{head}:", style="bold"))
    for name, words in rows:
        console.print(Padding(Text(name, style="bold cyan"), (0, 0, 0, 2)))
        console.print(Padding(Text(words), (0, 0, 0, 4)))
    if rows:
        console.print()


def _say(paragraph: str) -> None:
    if paragraph:
        console.print(Text(" ".join(paragraph.split()) + "\n"))
