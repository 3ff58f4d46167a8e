"""Every example of the README and the docs runs as written, the demo with fewer transcripts."""

import ast
import os
import re
import shlex
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from scenarios.schema.load import load_scenario

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
OPENS_NOTHING = ("make demo",)
"""Commands that set up an environment of their own: a clean checkout tries them, a test does not."""
pytestmark = pytest.mark.docs
BROKEN = ("eavesdropper-on-dp-recal", "cpgt-eq-23", "witness")
"""Scenarios that find a claim not to hold, and a witness that confirms it: `netsim` exits with 1."""
FILE = re.compile(r"# ([\w-]+\.(?:py|yaml|yml))\n")
"""The first line of a block that is a file of this name; commands of the page find it in their folder."""
SHORTER = {
    "eavesdropper-on-dp-recal": {
        "audit.trials": 200, "replicas": 4, "algorithms[0].activations": 800,
        **{f"algorithms[{k}].per_agent": 8 for k in (1, 2, 3, 4)},
    },
    "lossy-tap": {"algorithms[0].activations": 1000},
    "cpgt-eq-23": {"audit.trials": 200},
    "private-descent": {"audit.trials": 100, "algorithms[*].rounds": 8},
}  # fmt: skip
"""Settings with which a page runs a shipped scenario, for its size alone: the statuses are those of the whole one."""
STATUS = re.compile(r" +# exit status (\d+)$")


def write_files(page: Path, folder: Path) -> None:
    for block in blocks(page, "python") + blocks(page, "yaml"):
        if named := FILE.match(block):
            (folder / named[1]).write_text(block)


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(), flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_python_blocks_run_in_order(page, tmp_path):
    source = "\n\n".join(block for block in blocks(page, "python") if not FILE.match(block))
    if not source:
        pytest.skip("no Python on this page that is not a file")
    write_files(page, tmp_path)
    script = tmp_path / f"{page.stem}_blocks.py"
    script.write_text(source)
    done = subprocess.run([sys.executable, script], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr[-3000:]


def test_a_page_that_is_one_file_gives_no_name_a_second_meaning():
    """What a function of an early block reads must not be what a later block has put there."""
    page = ROOT / "docs" / "audit-your-own.md"
    source = "\n\n".join(block for block in blocks(page, "python") if not FILE.match(block))
    given = [name for statement in ast.parse(source).body for name in bound(statement)]
    assert {"found", "pair", "audited"} <= set(given)
    assert [name for name, times in Counter(given).items() if times > 1] == []


def bound(statement: ast.stmt) -> list[str]:
    """The names that a statement of a module gives a meaning, but for those of loops."""
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        return [statement.name]
    if isinstance(statement, ast.Import | ast.ImportFrom):
        return [alias.asname or alias.name for alias in statement.names]
    targets = statement.targets if isinstance(statement, ast.Assign) else []
    return [one.id for target in targets for one in ast.walk(target) if isinstance(one, ast.Name)]


def commands(page: Path) -> list[str]:
    lines = [line for block in blocks(page, "console") for line in block.splitlines()]
    return [line.removeprefix("$ ") for line in lines if line.startswith("$ ")]


@pytest.mark.parametrize("page", [page for page in PAGES if commands(page)], ids=lambda page: page.name)
def test_commands_work_in_order(page, tmp_path):
    write_files(page, tmp_path)
    for command in commands(page):
        if command not in OPENS_NOTHING:
            works(command, tmp_path)


def test_the_demo_is_a_smaller_run_of_a_scenario():
    """`make demo` would set up an environment; what it would run can be checked."""
    recipe = subprocess.run(["make", "-n", "demo"], cwd=ROOT, capture_output=True, text=True, check=True).stdout
    words = shlex.split(recipe[recipe.index("netsim run") :].partition(";")[0])
    assert set(words[3::2]) == {"-o"}
    demo, whole = load_scenario(words[2], words[4::2]).scenario, load_scenario(words[2]).scenario
    assert 0 < demo.audit.trials <= whole.audit.trials / 10
    for small, large in zip(demo.algorithms, whole.algorithms, strict=True):
        (size,) = {"activations", "per_agent"} & small.model_fields_set
        assert 0 < getattr(small, size) < getattr(large, size)


def works(command: str, folder: Path) -> None:
    told = STATUS.search(command)
    words = shlex.split(STATUS.sub("", command))
    assert words[0] in (".venv/bin/netsim", ".venv/bin/python")
    main = "import sys; from scenarios.cli.app import main; sys.argv[0] = 'netsim'; main()"
    if words[1] in ("run", "deploy"):
        words += [word for setting in SHORTER.get(words[2], {}).items() for word in ("-o", "{}={}".format(*setting))]
    program = ["-c", main] if words[0] == ".venv/bin/netsim" else []
    done = subprocess.run(
        [sys.executable, *program, *words[1:]], cwd=folder, capture_output=True, text=True, check=False,
        env=os.environ | {"COLUMNS": "100"},
    )  # fmt: skip
    expected = int(told[1]) if told else int(any(name in words for name in BROKEN))
    assert done.returncode == expected, f"{command}: {done.stdout[-2000:]}{done.stderr[-2000:]}"
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_file_of_a_page_is_run_or_read(page):
    """A Python file by a command or by another file; YAML can at least be read."""
    text = page.read_text()
    for block in blocks(page, "python") + blocks(page, "yaml"):
        YAML(typ="safe").load(block) if block in blocks(page, "yaml") else ast.parse(block)
        if (named := FILE.match(block)) and named[1].endswith(".py"):
            stem = named[1].removesuffix(".py")
            assert any(
                use in text
                for use in (
                    f".venv/bin/python {named[1]}", f"from {stem} import", f"audit {named[1]}",
                    f"=python3 {named[1]}",
                )
            )  # fmt: skip


def test_no_page_solves_a_challenge():
    """It shows what a solution is made of; the answer is for the reader to find."""
    for page in PAGES:
        assert not re.search(r"right\(answer\)|netsim attack challenges/", page.read_text()), page


def test_there_is_something_to_test():
    assert sum(bool(blocks(page, "python")) for page in PAGES) >= 4
    assert sum(len(commands(page)) for page in PAGES) >= 8
