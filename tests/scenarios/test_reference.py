"""The reference page is what the models say."""

from pathlib import Path

from pydantic import BaseModel

from scenarios.files import reference
from scenarios.schema import Scenario

PAGE = Path(__file__).parents[2] / "docs" / "scenario-reference.md"


def models() -> dict[type[BaseModel], str]:
    return {model: where for where, model in reference.places(Scenario)}


def test_the_page_is_up_to_date():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference.page(), "run: python -m scenarios.files.reference > docs/scenario-reference.md"


def test_every_model_has_its_section_and_its_sentence():
    page = reference.page()
    for model, where in models().items():
        assert (model.__doc__ or "").strip(), model
        assert not where or f"## `{where}`" in page
        for name in model.model_fields:
            assert f"| `{name}` |" in page


def test_kinds_bounds_defaults_and_units_are_said():
    page = reference.page()
    for row in (
        "| `topology` | a `kind` of `topology` | required |  |",
        "| `kind` | `ring` | required |  |",
        '| `step` | `auto` or number > 0 | `"auto"` |  |',
        "| `bandwidth` | number > 0 | none | bytes per second |",
        '| `noise` | mapping, see `algorithms[].noise` | `{"epsilon": 1.0}` |  |',
        "| `confidence` | number ≥ 0.5, < 1 | `0.95` | of all that is said, together |",
        "| `algorithms` | list of a `kind` of `algorithms[]`; at least 1 | required |  |",
    ):
        assert row in page


def test_no_unit_is_that_of_a_field_that_is_not_there():
    assert set(reference.UNITS) <= {name for model in models() for name in model.model_fields}
