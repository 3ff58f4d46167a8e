"""docs/algorithms.md has every algorithm, and its table is what the code says."""

import re
from pathlib import Path

import pytest

from tests.docs.algorithms_table import claims, table
from tests.netsim.algorithms.every import EXAMPLES, exported, kinds

PAGE = (Path(__file__).parents[2] / "docs" / "algorithms.md").read_text()


@pytest.mark.slow
def test_the_table_is_what_the_code_says():
    """Else: put what `python -m tests.docs.algorithms_table` prints in its place."""
    assert table() in PAGE


def test_every_kind_has_one_section_and_every_section_a_kind():
    headings = [re.findall(r"`(\w+)`", line) for line in PAGE.splitlines() if line.startswith("### ")]
    told = [kind for heading in headings for kind in heading]
    assert sorted(told) == sorted(kinds() - {"planted_fault", "python"})  # of the gallery, and of one's own


def test_every_exported_algorithm_is_in_the_table():
    assert set(re.findall(r"^\| `(\w+)` \|", PAGE, flags=re.MULTILINE)) == {one.__name__ for one in exported()}


@pytest.mark.parametrize("name", [name for name in EXAMPLES if "," not in name] + ["dp_recal, reading: sent_state"])
def test_a_section_says_where_it_is_from_and_what_is_claimed_if_anything_is(name):
    example = EXAMPLES[name]
    kind, claim = example.fields["kind"], claims(example)
    section = re.search(rf"^### [^\n]*`{kind}`.*?(?=^##|\Z)", PAGE, flags=re.MULTILINE | re.DOTALL)[0]
    assert "Source" in section
    assert bool(re.search(r"Claims?(:|,| \()", section)) == (claim != "none")
