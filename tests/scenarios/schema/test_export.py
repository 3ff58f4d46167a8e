"""The JSON Schemas: complete, named in every shipped file, true of all of them, and of no wrong one they can tell."""

import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from scenarios.files.document import plain, read_yaml
from scenarios.files.library import EXTENDS, library
from scenarios.files.models import dump, places, tag_field
from scenarios.schema import Scenario, json_schema
from scenarios.schema.load import MARK, load_scenario, schema_file, schema_line, with_schema_line
from scenarios.schema.spec import public_name
from scenarios.sweep.points import Sweep
from scenarios.sweep.points import json_schema as sweep_schema
from tests.scenarios.command import cli
from tests.scenarios.files.mistaken import FILES, SWEEPS, UNTOLD

MODELS = [model for root in (Scenario, Sweep) for _, model in places(root)]
VALIDATOR = Draft202012Validator(json_schema())
SWEEP_VALIDATOR = Draft202012Validator(sweep_schema())


def test_the_files_are_those_of_the_models():
    """`netsim schema --out` writes them."""
    assert json.loads(schema_file().read_text(encoding="utf-8")) == json_schema()
    assert json.loads(schema_file("sweep").read_text(encoding="utf-8")) == sweep_schema()
    Draft202012Validator.check_schema(json_schema())
    Draft202012Validator.check_schema(sweep_schema())


def test_every_field_has_a_title_a_description_and_its_default():
    for schema, root in ((json_schema(), Scenario), (sweep_schema(), Sweep)):
        for _, model in places(root):
            part = schema if model is root else schema["$defs"][model.__name__]
            assert part["title"] == public_name(model)
            assert part["description"]
            for name, field in model.model_fields.items():
                said = part["properties"][name]
                assert said["title"], (model, name)
                assert len(said["description"]) > 3, (model, name)
                assert field.is_required() or name == tag_field(model) or "default" in said, (model, name)


def test_units_are_in_the_descriptions():
    links = json_schema()["$defs"]["LinkSpec"]["properties"]
    assert links["bandwidth"]["description"].startswith("Bytes per second")
    assert links["reliable"]["default"] is True


@pytest.mark.few(4)
@pytest.mark.parametrize("name", sorted(library()))
def test_every_shipped_file_names_its_schema_and_is_valid(name):
    text = library()[name]
    folder = schema_file().parent.parent / "library"
    first = text.partition("\n")[0]
    assert (folder / first.removeprefix(MARK)).resolve() == schema_file().resolve()
    tree = plain(read_yaml(text, name))
    assert list(VALIDATOR.iter_errors(tree)) == []
    scenario = load_scenario(name).scenario if EXTENDS in tree else Scenario.model_validate(tree)
    assert list(VALIDATOR.iter_errors(plain(read_yaml(dump(scenario, full=True), name)))) == []


def test_the_line_for_a_file_elsewhere_names_the_installed_schema(tmp_path):
    line = schema_line()
    assert Path(line.strip().removeprefix(MARK).removeprefix("file://")) == schema_file()
    assert with_schema_line(with_schema_line("name: a\n")) == line + "name: a\n"
    assert schema_line("sweep", schema_file().parent) == f"{MARK}sweep.schema.json\n"


@pytest.mark.parametrize("name", sorted(set(FILES) - UNTOLD))
def test_a_schema_refuses_what_the_loader_refuses(name):
    assert not VALIDATOR.is_valid(plain(read_yaml(FILES[name][0], name)))


@pytest.mark.parametrize("name", sorted(set(SWEEPS) - UNTOLD))
def test_the_sweeps_too(name):
    assert not SWEEP_VALIDATOR.is_valid(plain(read_yaml(SWEEPS[name][0], name)))


@pytest.mark.slow
def test_the_command_prints_or_writes_either(tmp_path):
    assert json.loads(cli("schema").output) == json_schema()
    cli("schema", "--sweep", "--out", tmp_path / "s.json", ends=0, output=f"{MARK}s.json")
    assert json.loads((tmp_path / "s.json").read_text(encoding="utf-8")) == sweep_schema()
    cli("schema", "--out", tmp_path / "no" / "s.json", ends=2)
