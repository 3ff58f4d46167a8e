"""The reference of results is what the types say, and every key and column has a meaning."""

from pathlib import Path

import pytest

from netsim.transcript.message import COLUMNS
from netsim.transcript.stored import SCHEMA, SPOOLED
from scenarios.cli import results_page
from scenarios.results.tree import Results
from scenarios.schema.spec import field_texts

PAGE = Path(__file__).parents[3] / "docs" / "results-reference.md"
KINDS = {
    kind for _, _, root in results_page.DOCUMENTS for kind in (root, *dict(results_page.described(root)).values())
}


def test_the_page_is_up_to_date():
    written = PAGE.read_text(encoding="utf-8")
    assert written == results_page.page(), "run: python -m scenarios.cli.results_page > docs/results-reference.md"


@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda one: one.__qualname__), ids=lambda one: one.__qualname__)
def test_every_type_and_every_field_has_a_docstring(kind):
    assert (kind.__doc__ or "").strip()
    assert not (kind.__doc__ or "").startswith(f"{kind.__name__}(")  # that of a dataclass without one
    texts = field_texts(kind)
    assert not [name for name, _, _ in results_page.keys(kind) if not texts.get(name)]


def test_a_path_is_the_way_through_the_document():
    places = dict(results_page.described(Results))
    assert {"algorithms[].audit.claim", "algorithms[].timeline.break", "algorithms[].measures.curves.NAME"} <= set(
        places
    )
    assert len(places) > 60


def test_values_are_in_the_words_of_a_file():
    page = results_page.page()
    for row in (
        "| `edges` | list of [whole number, whole number] |",
        "| `from` | number |",
        "| `epsilon` | list of number or `null` |",
        "| `scenario` | [scenario](scenario-reference.md) |",
        "| `options` | `audit` of a scenario or `null` |",
        "| `audit` | mapping, see `algorithms[].audit` or `null` |",
        "| `variant` | `string` | its name; null where the scenario has no variants |",
    ):
        assert row in page, row


def test_a_spool_has_the_columns_that_are_described():
    assert set(SCHEMA.names) == {*COLUMNS, *SPOOLED}
