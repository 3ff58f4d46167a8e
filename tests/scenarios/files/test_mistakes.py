"""Wrong files, `extends`, options and sweeps get whole messages: file, line, field, value and what is allowed."""

import pytest

from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.files import document
from scenarios.files.document import plain_scalar, read_yaml
from scenarios.schema.load import expanded, load_scenario, parse
from scenarios.stages.runner import checked
from scenarios.sweep.points import load_sweep, points
from tests.scenarios.command import cli
from tests.scenarios.files.mistaken import FILES, GOOD, SWEEPS


def said(text, settings=()):
    """What is said of a file, at whatever stage before time 0 it is found."""
    with pytest.raises(ScenarioError) as caught:
        built(text, settings)
    return str(caught.value)


def built(text, settings):
    located = parse(text, "small.yaml", settings)
    expanded(located)
    checked(located)


def test_the_good_file_is_good():
    Experiment.of(parse(GOOD).scenario)


@pytest.mark.parametrize("name", FILES)
def test_a_wrong_file_gets_its_whole_message(name):
    text, message = FILES[name]
    assert said(text) == message


@pytest.mark.parametrize("name", SWEEPS)
def test_a_wrong_sweep_gets_its_whole_message(name, tmp_path, monkeypatch):
    text, message = SWEEPS[name]
    monkeypatch.chdir(tmp_path)
    (tmp_path / "small.yaml").write_text(GOOD)
    with pytest.raises(ScenarioError) as caught:
        points(load_sweep(text, "sweep.yaml"), parse(GOOD, "small.yaml"))
    assert str(caught.value) == message


def test_what_a_file_takes_from_its_base_is_told_with_the_line_of_the_base(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(GOOD.replace("loss: 0.1", "loss: 1.1\n  relaible: true"))
    (tmp_path / "own.yaml").write_text("extends: base.yaml\nname: own\nseed: x\n")
    with pytest.raises(ScenarioError) as caught:
        load_scenario("own.yaml")
    assert str(caught.value).splitlines() == [
        "own.yaml:3: seed = 'x': wrong type: text; allowed: a whole number",
        "base.yaml:8: links.loss = 1.1: out of range; allowed: >= 0.0 and < 1.0",
        "base.yaml:9: links.relaible = true: unknown field; did you mean 'reliable'?; allowed: delay, loss, bandwidth, "
        "buffer, reliable, timeout, reordering, duplication, outages, encrypted, authenticated",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("extends: bsae.yaml\n", "own.yaml:1: extends = 'bsae.yaml': no such file, and no shipped scenario of this name; "
         "did you mean base.yaml?; allowed: a path, or a name that `netsim list` shows"),
        ("name: own\nextends: privat-descent\n", "own.yaml:2: extends = 'privat-descent': no such file, and no shipped "
         "scenario of this name; did you mean 'private-descent'?; allowed: a path, or a name that `netsim list` shows"),
        ("extends: broken.yaml\n", "broken.yaml:2: not valid YAML: a tab, where only spaces may be; allowed: use spaces: "
         "YAML is indented with spaces, two a level, never with tabs"),
        ("extends: own.yaml\n", "own.yaml:1: extends = 'own.yaml': extends itself (own.yaml → own.yaml); allowed: a "
         "file that does not lead back here"),
        ("extends: [base.yaml]\n", "own.yaml:1: extends = [base.yaml]: wrong type; allowed: the name of a shipped "
         "scenario, or a path"),
    ],
)  # fmt: skip
def test_extends(tmp_path, monkeypatch, text, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "base.yaml").write_text(GOOD)
    (tmp_path / "broken.yaml").write_text("name: a\n\ttitle: b\n")
    (tmp_path / "own.yaml").write_text(text)
    with pytest.raises(ScenarioError) as caught:
        load_scenario("own.yaml")
    assert str(caught.value) == message


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (["links.loss"], "-o = 'links.loss': no setting; allowed: FIELD=VALUE, such as links.loss=0.2"),
        (["replicas=1e9"], "-o replicas = 1000000000.0: out of range; allowed: 1 … 10000000"),
        (["replicas=1e3"], "-o replicas = 1000.0: wrong type: a number that YAML reads as one with a fraction; did you "
         "mean 1000?; allowed: a whole number"),
        (["links.loss=2", "topology.agents=6.5"], "-o topology.agents = 6.5: wrong type: a number with a fraction; "
         "allowed: a whole number\n-o links.loss = 2: out of range; allowed: >= 0.0 and < 1.0"),
        (["algorithms.rounds=5"], "-o algorithms.rounds = 5: algorithms is a list: say which entry; allowed: "
         "algorithms[0] … algorithms[1]"),
        (["algorithms[plain].rounds=5"], "-o algorithms[plain].rounds = 5: algorithms is a list; did you mean "
         "'algorithms[0]'?; allowed: algorithms[0] … algorithms[1]"),
        (["algorithms[7].rounds=5"], "-o algorithms[7].rounds = 5: algorithms[7] is no entry of the list; allowed: "
         "algorithms[0] … algorithms[1]"),
        (["topology[*].agents=5"], "-o topology[0].agents = 5: there is no topology[0]: topology is a mapping, and no "
         "list; allowed: a path in the file"),
        (["algorithm[0].rounds=5"], "-o algorithm[0].rounds = 5: there is no list algorithm; did you mean "
         "'algorithms'?; allowed: a path in the file"),
        (["links.loss.rate=5"], "-o links.loss.rate = 5: there is no links.loss.rate: links.loss is no mapping; allowed: "
         "a path in the file"),
        (["seed=3,replicas=4"], "-o = 'seed=3,replicas=4': several settings; did you mean -o seed=3 -o replicas=4?; "
         "allowed: one -o each; a text in quotes"),
        (["seed=[1"], "-o = 'seed=[1': the value is not valid YAML: not closed by ], or a comma is missing; allowed: "
         "a comma or ]"),
        (["links.reliable=no"], "-o links.reliable = 'no': wrong type: text; did you mean false?; allowed: true or "
         "false"),
        (["algorithms[1].noise.epsilon=-1"], "-o algorithms[1].noise.epsilon = -1: out of range; allowed: > 0.0"),
    ],
)  # fmt: skip
def test_options(settings, message):
    assert said(GOOD, settings) == message


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1e-5", 1e-5), ("1E-5", 1e-5), (".5", 0.5), ("+2.", 2.0), ("-3", -3), ("0o17", 15), ("0xff", 255),
        ("true", True), ("~", None), ("", None), ("yes", "yes"), ("on", "on"), ("2024-01-01", "2024-01-01"),
        ("1_000", "1_000"), ("nan", "nan"), ("-.inf", float("-inf")), ("1e", "1e"), ("12:30", "12:30"),
    ],
)  # fmt: skip
def test_scalars_are_those_of_yaml_1_2(text, value):
    assert repr(plain_scalar(text)) == repr(value)
    assert repr(read_yaml(f"a: {text}", "a.yaml")["a"]) == repr(value)


def test_anchors_merge_keys_and_byte_order_marks(tmp_path, monkeypatch):
    tree = read_yaml("a: &x {b: 1, c: 2}\nd: {<<: *x, c: 3}\ne: *x\n", "a.yaml")
    assert tree == {"a": {"b": 1, "c": 2}, "d": {"c": 3, "b": 1}, "e": {"b": 1, "c": 2}}
    assert tree["d"].places["b"].line == 1
    assert tree["d"].places["c"].line == 2
    (tmp_path / "bom.yaml").write_bytes(b"\xef\xbb\xbf" + GOOD.encode())
    assert load_scenario(tmp_path / "bom.yaml").scenario.name == "small"
    with pytest.raises(ScenarioError, match="an alias of what it is in"):
        read_yaml("a: &x [*x]\n", "a.yaml")
    monkeypatch.setattr(document, "MOST", 10_000)
    levels = "\n".join(f"a{k}: &a{k} [{', '.join([f'*a{k - 1}'] * 9)}]" for k in range(1, 9))
    with pytest.raises(ScenarioError, match="more than 10,000 values"):
        read_yaml(f"a0: &a0 [1, 2, 3]\n{levels}\n", "bomb.yaml")


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        (b"", "f.yaml:1: the file is empty; allowed: name: …, topology: …, algorithms: …"),
        (b"- a\n", "f.yaml:1: file = [a]: a mapping of fields is needed (the hyphens make it a list); allowed: name: "
         "…, topology: …, algorithms: …"),
        (b"[1, 2]\n", "f.yaml:1: file = [1, 2]: a mapping of fields is needed (the brackets make it a list); allowed: "
         "name: …, topology: …, algorithms: …"),
        (b"\x89PNG\0\0", "f.yaml:1: is no text file; allowed: a YAML file"),
        (b"name: a\ntitle: caf\xe9\n", "f.yaml:2: is not in UTF-8 (byte 18: 0xe9); allowed: the same file, saved as "
         "UTF-8"),
        ("name: a\n".encode("utf-16"), "f.yaml:1: is in UTF-16; allowed: the same file, saved as UTF-8"),
        (b"name: !!python/object:os.system x\n", "f.yaml:1: name = '!!python/object:os.system': tags are not read: "
         "nothing in a file is run; allowed: the value without a tag"),
    ],
)  # fmt: skip
def test_files_that_are_none(tmp_path, monkeypatch, raw, message):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "f.yaml").write_bytes(raw)
    with pytest.raises(ScenarioError) as caught:
        load_scenario("f.yaml")
    assert str(caught.value) == message


def test_folders_and_files_that_are_not_there(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "mine.yaml").write_text(GOOD)
    for source, says in (
        (".", "file = '.': is a folder; allowed: a file of it: mine.yaml"),
        ("mnie.yaml", "scenario = 'mnie.yaml': no such file, and no shipped scenario of this name; did you mean "
         "mine.yaml?; allowed: a path, or a name that `netsim list` shows"),
        ("mine", "scenario = 'mine': no such file, and no shipped scenario of this name; did you mean "
         "mine.yaml?; allowed: a path, or a name that `netsim list` shows"),
    ):  # fmt: skip
        with pytest.raises(ScenarioError) as caught:
            load_scenario(source)
        assert str(caught.value) == says


def test_the_command_tells_all_of_them_one_a_line(tmp_path):
    (tmp_path / "f.yaml").write_text(GOOD.replace("loss: 0.1", "loss: 2").replace("agents: 6", "agents: 1"))
    done = cli("check", tmp_path / "f.yaml", ends=2)
    lines = done.output.splitlines()
    assert [line.partition("f.yaml:")[2] for line in lines[:2]] == [
        "5: topology.agents = 1: out of range; allowed: 3 … 1000000",
        "8: links.loss = 2: out of range; allowed: >= 0.0 and < 1.0",
    ]
    assert lines[2] == "2 mistakes"
