"""What is said before an audit that was read is replaced by another one in its folder."""

import shlex
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from netsim.errors import ScenarioError
from scenarios.findings import DONE
from scenarios.kept import read_results
from scenarios.schema import Scenario
from scenarios.study import COMPLETE, FAILED


def remark(folder: Path, scenario: Scenario) -> str:
    """What to know where `folder` holds a finished audit of a scenario of this name; nothing where it holds none.

    An audit that was interrupted goes on, and is not meant.
    """
    try:
        found = read_results(folder)
    except (ScenarioError, OSError, ValueError):
        return ""
    if found.get("name") != scenario.name or found.get("status") not in (COMPLETE, FAILED) or not _audited(found):
        return ""
    seed = "the same seed" if found.get("seed") == scenario.seed else "another seed"
    return (
        f"{folder} holds an audit of {scenario.name} that is done: it is replaced, and this one has {seed}. Choosing "
        f"among such audits proves less than each says. `netsim audit {shlex.quote(str(folder))} --again`, with "
        f"--trials, --confidence or --games, makes one more that counts."
    )


def _audited(found: Mapping[str, Any]) -> bool:
    """Whether an algorithm, of whatever variant, has an audit that is done."""
    return any(
        entry.get("audit_status") == DONE
        for part in (found, *found.get("variants", []))
        for entry in part.get("algorithms", [])
    )
