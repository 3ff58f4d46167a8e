"""The page of commands is what the command line says."""

from pathlib import Path

from typer.main import get_command

from scenarios.cli import commands_page as commands
from scenarios.cli.app import app

PAGE = Path(__file__).parents[2] / "docs" / "commands.md"


def test_the_page_is_up_to_date():
    assert PAGE.read_text(encoding="utf-8") == commands.page(), (
        "run: python -m scenarios.cli.commands_page > docs/commands.md"
    )


def test_every_command_has_its_section_and_every_parameter_its_row():
    page = commands.page()
    found = dict(commands.leaves((), get_command(app)))
    assert {("run",), ("check",), ("witness",)} <= found.keys()
    for words, command in found.items():
        section = page.split(f"\n## `{' '.join(words)}`\n")[1].split("\n## ")[0]
        assert command.help.splitlines()[0] in section
        for one in command.params:
            if one.param_type_name == "option" and not one.hidden:
                assert all(f"`{name}`" in section for name in one.opts)
                assert one.help, f"{words} {one.opts}: an option without a word"
