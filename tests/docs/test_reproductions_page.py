"""docs/reproductions.md lists every scenario of the library that repeats something of a paper, once, as what it is.

The outcomes themselves take long to compute; that they are possible is checked here.
"""

import re
from pathlib import Path
from typing import get_args

import pytest

from scenarios.files.library import library
from scenarios.results.tree import Outcome
from scenarios.schema.load import load_scenario

PAGE = (Path(__file__).parents[2] / "docs" / "reproductions.md").read_text()
INDEX = PAGE[PAGE.index("\n## What was found") : PAGE.index("\n## Variants")]
ROW = re.compile(r"^\| ([^|]+) \| `([\w-]+)` \| ([^|]+) \| ([^|]+) \|$", re.MULTILINE)
SPECS = {name: spec for name in library() if (spec := load_scenario(name).scenario.reproduces) is not None}


def rows():
    """Name of the scenario → the paper it stands under, its item, outcome and reason."""
    found = {}
    for section in INDEX.split("\n### ")[1:]:
        for item, name, outcome, why in ROW.findall(section):
            assert name not in found
            found[name] = section.splitlines()[0], item, outcome, why
    return found


def test_every_reproduction_of_the_library_has_a_row():
    assert sorted(rows()) == sorted(SPECS)
    assert len(re.findall(r"^\| (?!item)", INDEX, flags=re.MULTILINE)) == len(SPECS)


@pytest.mark.parametrize("name", SPECS)
def test_a_row_says_what_the_scenario_reproduces(name):
    paper, item, outcome, why = rows()[name]
    spec = SPECS[name]
    assert paper in spec.paper
    assert item.partition(",")[0] == spec.item
    assert outcome in set(get_args(Outcome)) - {"not finished"}
    assert outcome != ("agrees" if spec.missing else "agrees in shape")
    assert why.endswith(".")
