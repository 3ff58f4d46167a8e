"""The reference page is what the models say."""

from pathlib import Path

from pydantic import BaseModel

from scenarios.schema import Links, Scenario, reference, spec

PAGE = Path(__file__).parents[3] / "docs" / "scenario-reference.md"


def models() -> dict[type[BaseModel], str]:
    return {model: where for where, model in reference.places(Scenario)}


def test_the_page_is_up_to_date():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference.page(), "run: python -m scenarios.schema.reference > docs/scenario-reference.md"


def test_every_model_has_its_section_its_sentence_and_the_bounds_and_defaults_of_its_fields():
    page = reference.page()
    for model, where in models().items():
        assert (model.__doc__ or "").strip(), model
        assert not where or f"## `{where}`" in page
        for name in model.model_fields:
            assert f"| `{name}` |" in page
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
        "bandwidth": "bytes per second", "buffer": "bytes", "timeout": "seconds", "reliable": "", "loss": "",
    }  # fmt: skip
