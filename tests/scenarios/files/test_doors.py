"""Files of scenarios that no one can read to their end, or that hold what no text has: one line each, at once."""

import os

import pytest

from netsim.errors import ScenarioError
from netsim.files import DEEPEST, parse_json
from scenarios.build.experiment import Experiment
from scenarios.schema.load import load_scenario
from tests.scenarios.small import TINY

CSV = "problem.data={name: csv, path: FILE}"
GRAPH = "topology={kind: file, path: FILE, format: edges}"
CODE = "algorithms=[{kind: python, path: FILE.py}]"
TEXTS = {
    "megabytes": ("a: [" + "1, " * 400_000 + "1]", "1,200,006 bytes; at most 400,000 are read"),
    "a null byte": ("name: a\0b\n", "is no text file"),
    "half of a pair of surrogates": (b"name: \xed\xa0\x80\n", "is not in UTF-8"),
    "lists in lists": ("a: " + "[" * 3000, "too deep within each other"),
    "mappings in mappings": ("{a: " * 3000, "too deep within each other"),
    "a number of 5,000 digits": (f"seed: {'9' * 5000}\n", "a number of too many digits"),
    "an anchor in itself": ("a: &a [*a]\n", "an alias of what it is in"),
}


@pytest.mark.parametrize("case", TEXTS)
def test_a_text_that_nobody_means(case, tmp_path):
    text, problem = TEXTS[case]
    (tmp_path / "s.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    with pytest.raises(ScenarioError, match=problem) as caught:
        load_scenario(tmp_path / "s.yaml")
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("setting", ["", "extends", CSV, GRAPH, CODE])
def test_a_pipe_or_a_device_does_not_hang(setting, tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    (tmp_path / "pipe").symlink_to(tmp_path / "pipe.py")
    (tmp_path / "s.yaml").write_text("extends: pipe\n" if setting == "extends" else TINY)
    place = tmp_path / ("s.yaml" if setting else "pipe")
    settings = [setting.replace("FILE", str(tmp_path / "pipe"))] if "=" in setting else []
    with pytest.raises(ScenarioError, match="a pipe or a device"):
        Experiment.of(load_scenario(place, settings).scenario)


@pytest.mark.parametrize("name", ["x" * 300, "a\0b", "\ud800"])
def test_names_that_no_file_can_have(name, tmp_path):
    with pytest.raises(ScenarioError):
        load_scenario(str(tmp_path / name))


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("[" * 100_000, "nested"), ("[" * (DEEPEST + 1) + "]" * (DEEPEST + 1), "nested"), ('"\\ud800"', "surrogates"),
        ("1" * 5000, "digits"),
    ],
)  # fmt: skip
def test_json_that_nobody_means(text, problem):
    with pytest.raises(ValueError, match=problem):
        parse_json(text)
