"""How an extra is installed, said in one way."""

import runpy
import sys
import tomllib
from pathlib import Path

import pytest

from netsim.errors import install

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize("extra", ["lab", "cluster", "accounting", "proof", "torch"])
def test_an_extra_is_there_and_said_for_a_clone_too(extra):
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert extra in project["optional-dependencies"]
    assert f'pip install -e ".[{extra}]" in a clone' in install(extra)
    assert f'pip install "{project["name"]}[{extra}]"' in install(extra)


def test_no_message_says_it_in_another_way():
    files = [file for part in ("netsim", "attacks", "scenarios") for file in (ROOT / part).rglob("*.py")]
    said = [file.name for file in files if 'install "netsim-lab' in file.read_text(encoding="utf-8")]
    assert said == ["errors.py"]


def test_a_python_in_which_it_is_not_installed_says_how_it_is(monkeypatch):
    monkeypatch.setattr(sys, "path", [*sys.path])
    monkeypatch.setattr("importlib.metadata.entry_points", lambda **_: ())
    with pytest.raises(
        SystemExit, match=r"netsim: not installed for .*: pip install -e \"\.\" in a clone of netsim, or pip "
    ):
        runpy.run_module("netsim", run_name="__main__")
