"""The reference pages are what models, types and commands say."""

from pathlib import Path

import pytest
from pydantic import BaseModel

from netsim.transcript.message import COLUMNS
from netsim.transcript.stored import SCHEMA, SPOOLED
from scenarios.cli import reference
from scenarios.files.models import places
from scenarios.results.tree import Results
from scenarios.schema import Links, Scenario, spec
from scenarios.schema.spec import field_texts
from scenarios.sweep.points import Sweep

DOCS = Path(__file__).parents[3] / "docs"
KINDS = {kind for _, _, root in reference.DOCUMENTS for kind in (root, *dict(reference.described(root)).values())}


@pytest.mark.parametrize("page", reference.PAGES)
def test_a_page_is_up_to_date(page):
    file = "commands.md" if page == "commands" else f"{page}-reference.md"
    written = (DOCS / file).read_text(encoding="utf-8")
    assert written == reference.PAGES[page](), f"run: python -m scenarios.cli.reference {page} > docs/{file}"


# ── scenario ────────────────────────────────────────────────────────────────────────────────────────────
def models() -> dict[type[BaseModel], str]:
    return {model: where for where, model in places(Scenario)}


def test_every_model_has_its_section_and_its_sentence():
    page = reference.PAGES["scenario"]()
    for model, where in models().items():
        assert (model.__doc__ or "").strip(), model
        assert not where or f"## `{where}`" in page
        for name in model.model_fields:
            assert f"| `{name}` |" in page


def test_so_have_those_of_a_sweep():
    page = reference.PAGES["scenario"]().partition("## A sweep's file\n")[2]
    for _, model in places(Sweep):
        for name, field in model.model_fields.items():
            assert f"| `{name}` |" in page
            assert name == "law" or field.annotation is None or field_texts(model)[name].strip() in page
    assert "| `random` | mapping of dotted fields, of each a `law` of `random` | `{}` |" in page


def test_kinds_bounds_defaults_and_meanings_are_there():
    page = reference.PAGES["scenario"]()
    for row in (
        "| `topology` | a `kind` of `topology` | required | The graph of neighbors, and its mixing weights. |",
        "| `kind` | `ring` | required | Which of the possible kinds this is. |",
        '| `step` | `auto` or number > 0 | `"auto"` | α, the step size. "auto" is 1/(L + 1). |',
        "| `bandwidth` | number > 0 | none | Bytes per second each way; none: no limit. |",
        '| `noise` | mapping, see `algorithms[].noise` | `{"epsilon": 1.0}` | The budget that the noise is made for',
        "| `confidence` | number ≥ 0.5, < 1 | `0.95` | The joint confidence of all bounds. |",
        "| `algorithms` | list of a `kind` of `algorithms[]`; at least 1 | required | The algorithms, each run",
    ):
        assert row in page


def test_units_are_those_of_the_documentation():
    links = {name: spec.unit(Links, name) for name in ("bandwidth", "buffer", "timeout", "reliable", "loss")}
    assert links == {
        "bandwidth": "bytes per second",
        "buffer": "bytes",
        "timeout": "seconds",
        "reliable": "",
        "loss": "",
    }


# ── results ─────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("kind", sorted(KINDS, key=lambda one: one.__qualname__), ids=lambda one: one.__qualname__)
def test_every_type_and_every_field_has_a_docstring(kind):
    assert (kind.__doc__ or "").strip()
    assert not (kind.__doc__ or "").startswith(f"{kind.__name__}(")  # that of a dataclass without one
    texts = field_texts(kind)
    assert not [name for name, _, _ in reference._fields(kind) if not texts.get(name)]


def test_a_path_is_the_way_through_the_document():
    found = dict(reference.described(Results))
    assert {"algorithms[].audit.claim", "algorithms[].timeline.break", "algorithms[].measures.curves.NAME"} <= set(
        found
    )
    assert len(found) > 60


def test_values_are_in_the_words_of_a_file():
    page = reference.PAGES["results"]()
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
