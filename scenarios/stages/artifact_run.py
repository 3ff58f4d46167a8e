"""Run the scenario beside this file, offline, and compare what comes of it with expected.json: python run.py

Exit status: 0 every verdict is the expected one, 1 some is not, 2 a package is missing; else what netsim said.
"""

import json
import os
import subprocess
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

NUMBERS = ("epsilon_claimed", "epsilon_exact_lower", "epsilon_exact_upper", "epsilon_audited", "final_error")


def summary(results: Any) -> dict[str, dict[str, object]]:
    """Verdict and numbers of every algorithm of a results.json, by variant and name."""
    runs: list[tuple[str, Any]] = [(one["name"], one) for one in results.get("variants") or ()] or [("", results)]
    found: dict[str, dict[str, object]] = {}
    for variant, run in runs:
        for entry in run["algorithms"]:
            audit: Any = entry.get("audit") or {}
            exact: Any = audit.get("epsilon_exact") or {}
            curve: Any = entry.get("convergence") or {}
            known = audit | {"epsilon_exact_lower": exact.get("lower"), "epsilon_exact_upper": exact.get("upper")}
            known["final_error"] = entry.get("final", curve.get("final"))
            name = f"{variant}: {entry['name']}" if variant else str(entry["name"])
            found[name] = {key: known.get(key) for key in ("verdict", *NUMBERS)}
    return found


def main(here: Path) -> int:
    lines = (here / "requirements.txt").read_text(encoding="utf-8").split()
    for name, wanted in (line.split("==") for line in lines):
        try:
            found = version(name)
        except PackageNotFoundError:
            print(f"{name} is not installed: python -m pip install -r requirements.txt")
            return 2
        if found != wanted:
            print(f"{name} is {found} here, {wanted} there: last digits may differ")
    settings = os.environ | {"PYTHONPATH": str(here / "code"), "NETSIM_DATA": str(here / "data")}
    command = [sys.executable, "-m", "scenarios.entry", "run", "scenario.yaml", "--out", "results", "--replace"]
    status = subprocess.run(command, cwd=here, env=settings, check=False).returncode
    if status not in (0, 1, 3):
        return status
    expected = json.loads((here / "expected.json").read_text(encoding="utf-8"))
    found = summary(json.loads((here / "results" / "results.json").read_text(encoding="utf-8")))
    wrong = 0
    for name in dict.fromkeys((*expected, *found)):
        one, other = expected.get(name, {}), found.get(name, {})
        same = one.get("verdict") == other.get("verdict") and name in found and name in expected
        apart = [key for key in NUMBERS if one.get(key) != other.get(key)]
        digits = f"; other digits: {', '.join(apart)}" if apart else "; every number to the last digit"
        wrong += not same
        said = f"as expected, {other.get('verdict')}{digits}" if same else f"expected {one}, found {other}"
        print(f"{name}: {said}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main(Path(__file__).resolve().parent))
