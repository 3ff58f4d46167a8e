"""The pages of algorithms have every one, and say what the code and its docstrings say."""

import re
from pathlib import Path

import pytest

from scenarios.cli import reference
from tests.docs.algorithms_table import claims, table
from tests.netsim.algorithms.every import EXAMPLES, exported, kinds

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "algorithms.md").read_text()


@pytest.mark.slow
def test_the_table_is_what_the_code_says():
    """Else: put what `python -m tests.docs.algorithms_table` prints in its place."""
    assert table() in PAGE


SECTIONS = re.split(r"^## (?=`)", reference.PAGES["algorithms"](), flags=re.MULTILINE)[1:]
KINDS = [re.findall(r"`(\w+)`", section.splitlines()[0]) for section in SECTIONS]


def test_every_kind_has_one_section():
    named = [kind for some in KINDS for kind in some]
    assert sorted(named) == sorted(kinds() - {"planted_fault", "python"})  # of the gallery, and of one's own


def test_every_exported_algorithm_is_in_the_table():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)) == {one.__name__ for one in exported()}


@pytest.mark.parametrize(
    ("section", "of"), list(zip(SECTIONS, KINDS, strict=True)), ids=["-".join(some) for some in KINDS]
)
def test_a_file_says_where_it_is_from_and_what_is_claimed_if_anything_is(section, of):
    examples = [one for name, one in EXAMPLES.items() if name.partition(",")[0] in of]
    assert examples
    assert "Source" in section
    assert bool(re.search(r"\bClaims?\b", section)) == any(claims(one) != "none" for one in examples)
