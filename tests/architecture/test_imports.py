"""What an import loads: heavy libraries come with the work that needs them."""

import ast
import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

import netsim

ROOT = Path(netsim.__file__).parents[1]
HEAVY = {
    "numpy", "scipy", "networkx", "simpy", "pydantic", "rich", "matplotlib", "sklearn", "pyarrow", "pandas", "polars",
    "duckdb",
}  # fmt: skip
HEAVY |= {"joblib", "distributed", "dask", "torch", "marimo", "dp_accounting", "PIL", "jinja2", "ruamel"}


@cache
def loaded(statement: str) -> set[str]:
    """Modules that a fresh interpreter has after a statement."""
    script = f"import sys\n{statement}\nprint(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True, cwd=ROOT)
    return set(done.stdout.split())


def test_netsim_alone_loads_none_of_them():
    assert not loaded("import netsim") & HEAVY


@pytest.mark.slow
@pytest.mark.parametrize(
    ("module", "allowed"),
    [
        ("netsim.simulation", {"numpy", "scipy", "networkx", "simpy"}),
        ("attacks.inference", {"numpy", "scipy", "networkx"}),
    ],
)
def test_what_a_simulation_needs_and_no_more(module, allowed):
    assert loaded(f"import {module}") & HEAVY <= allowed


def test_the_simulator_does_not_wait_for_statistics():
    assert "scipy.stats" not in loaded("import netsim.simulation")


@pytest.mark.parametrize("word", ["check", "run"])
def test_a_typo_is_told_before_what_runs_a_scenario_is_loaded(word, tmp_path):
    (tmp_path / "typo.yaml").write_text("name: t\ntopolgy: {kind: ring, agents: 4}\n")
    there = loaded(
        f"sys.argv = ['netsim', '{word}', '{tmp_path / 'typo.yaml'}']\n"
        "from scenarios.cli.app import main\n"
        "try: main()\n"
        "except SystemExit as end: assert end.code == 2"
    )
    assert "scenarios.schema.load" in there
    later = {"scipy.stats", "scipy.optimize", "scipy.spatial", "matplotlib", "joblib", "scenarios.stages.study"}
    assert not there & later


def test_every_name_of_the_package_is_what_its_home_has():
    tree = ast.parse(Path(netsim.__file__).read_text(encoding="utf-8"))
    typed = {
        alias.name: node.module
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith("netsim.")
        for alias in node.names
    }
    assert typed == netsim._HOMES
    assert sorted(typed) == sorted(netsim.__all__)
    for name, home in typed.items():
        assert getattr(netsim, name) is getattr(sys.modules[home], name)
    assert set(netsim.__all__) <= set(dir(netsim))
    with pytest.raises(AttributeError, match="no attribute 'Simulator'"):
        _ = netsim.Simulator
