"""An algorithm of somebody's own, from its file to a verdict: in YAML, from the command line, in other processes."""

import json
from pathlib import Path

import pytest

from scenarios.schema import Scenario
from scenarios.schema import own_code as owncode
from scenarios.schema.load import parse
from scenarios.stages.runner import checked, run_scenario
from tests.scenarios.command import cli
from tests.scenarios.own_algorithm import MINE
from tests.worlds import refusal

pytestmark = pytest.mark.usefixtures("undrawn")
YAML = """
name: own
topology: {kind: ring, agents: 4}
problem: {kind: logistic, data: {name: synthetic, records: 24, dimension: 3, norm_bound: 1.0}, ridge: 0.5}
algorithms:
  - {kind: python, path: "mine.py:TwoExchanges", parameters: {rounds: 3}, claim: {epsilon: 3.0}}
audit: {agent: 1, trials: 100, chunk: 50}
"""


@pytest.fixture(autouse=True)
def file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "mine.py"
    path.write_text(MINE)
    return path


def refused(settings=(), text=YAML):
    return refusal(lambda: checked(parse(text, "own.yaml", settings)))


@pytest.mark.parametrize(
    ("claim", "handed"),
    [
        ("null", 1e-3),
        ("{delta: 0}", 0.0),
        ("{delta: 1.0e-5}", 1e-5),
        ("{epsilon: 1}", 1e-3),
        ("{epsilon: 1, delta: 0}", 1e-3),
        ("{epsilon: 1, delta: 0.1}", 0.1),
    ],
)
def test_a_delta_of_0_is_one(claim, handed):
    """`claim` is handed 0 where the scenario says 0; beside an ε of the scenario's own nothing asks for it."""
    located = parse(YAML.replace("{epsilon: 3.0}", claim), "own.yaml")
    assert located.scenario.algorithms[0].delta_handed == handed


def test_a_class_without_parameters_needs_no_constructor(tmp_path):
    """Its signature is that of `object`: what it takes there is no parameter of an algorithm."""
    text = "from netsim.algorithms import Algorithm\nfrom netsim.mechanisms import Laplace\n\n"
    text += "class Plain(Algorithm):\n    async def run(self, node):\n"
    text += "        x = node.privatize(node.zeros(), Laplace(1.0))\n"
    text += "        node.estimate((await node.exchange(x=x)).mix('x'))\n"
    (tmp_path / "plain.py").write_text(text)
    plain = YAML.replace("mine.py:TwoExchanges", "plain.py:Plain")
    found = checked(parse(plain.replace(", parameters: {rounds: 3}", ""), "own.yaml"))
    assert type(found.subjects[0].simulation.algorithm).__name__ == "Plain"
    assert "Plain has no such parameter" in str(refused(text=plain))


def test_a_file_names_an_own_algorithm_and_its_claim():
    experiment = checked(parse(YAML))
    algorithm = experiment.subjects[0].simulation.algorithm
    assert (algorithm.rounds, algorithm.step, algorithm.noisy, algorithm.horizon) == (3, 0.3, True, 3)
    assert experiment.scenario.algorithms[0].name == "TwoExchanges"
    claim = experiment.subjects[0].simulation.claim(experiment.adjacency, 3, 0.0)
    assert (claim.epsilon, claim.failed_conditions) == (3.0, ())


def test_without_a_claim_it_is_measured():
    experiment = checked(parse(YAML.replace(", claim: {epsilon: 3.0}", "")))
    claim = experiment.subjects[0].simulation.claim(experiment.adjacency, 3, 0.0)
    assert claim.epsilon is None
    assert claim.failed_conditions == ("no ε is claimed of it",)


def test_a_schedule_is_given_as_a_number_or_by_its_kind():
    def scale(said):
        said = {"algorithms[0].parameters.scale": said}
        located = parse(YAML, settings=[f"{key}={json.dumps(value)}" for key, value in said.items()])
        return checked(located).subjects[0].simulation.algorithm.scale

    assert scale(2)(7) == 2
    assert scale({"kind": "geometric", "first": 1.0, "ratio": 0.5})(2) == 0.25


@pytest.mark.parametrize(
    ("setting", "field", "words"),
    [
        ("path=other.py:TwoExchanges", "path", "no such file"),
        ("path=mine.py:TwoExchange", "path", "no class 'TwoExchange'"),
        ("path=mine.py:Laplace", "path", "is no algorithm"),
        ("path=nowhere.at_all:Mine", "path", "no module named 'nowhere'"), ("path=mine", "path", "names no class"),
        ("path='mine.\"x\":Mine'", "path", "names no class"), ("parameters={}", "parameters.rounds", "missing"),
        ("parameters={rounds: 3, stepp: 1}", "parameters.stepp", "did you mean 'step'?"),
        ("parameters={rounds: three}", "parameters.rounds", "wrong type: text; allowed: a whole number"),
        ("parameters={rounds: 3, careful: 1}", "parameters.careful", "did you mean true?; allowed: true or false"),
        ("parameters={rounds: 3, scale: {kind: geometric}}", "parameters.scale", "wrong type"),
    ],
)  # fmt: skip
def test_each_mistake_is_one_clear_error_before_time_0(setting, field, words):
    error = refused([f"algorithms[0].{setting}"])
    assert error.field == f"-o algorithms[0].{field}"
    assert words in str(error)


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "async def run",
            "def run",
            "'await' outside async function; allowed: async def run(self, node: Node)",
        ),
        (
            "step: float = 0.3",
            "step: list = []",
            "(line 15 of mine.py); allowed: a tuple, or field(",
        ),
        ("step: float = 0.3", "step: Weight = 0.3", "(line 15 of mine.py); is an import missing?"),
        (MINE[MINE.index("    async") :], "    def run(self, node):\n        pass\n", "no coroutine"),
        ("@dataclass(frozen=True)\n", "", "it is no dataclass"),
        ("@dataclass(frozen=True)", "@dataclass", "cannot inherit non-frozen"),
        ("from netsim.node import Node", "import nodee", "No module named 'nodee' (line 6 of mine.py)"),
        ("class TwoExchanges(Algorithm):", "class TwoExchanges(Algorithm)", "no Python"),
        ("async def run", "async def runn", "does not define run"),
    ],
)
def test_code_that_cannot_be_run_says_why(file, old, new, words):
    assert old in MINE
    file.write_text(MINE.replace(old, new))
    assert words in str(refused())


def test_the_line_of_a_syntax_error_is_that_of_the_code(file):
    file.write_text(MINE.replace("    step: float = 0.3", "    step: float ="))
    error = refused()
    assert (error.file, error.line) == ("mine.py", 15)
    assert "line 15" not in str(error)


def test_a_condition_of_its_own_names_the_parameter(file):
    check = (
        "\n    def check(self, setting):\n        from netsim.errors import ScenarioError\n"
        "        raise ScenarioError('step', self.step, 'too large', '< 0.1')\n"
    )
    file.write_text(MINE + check)
    assert refused().field == "algorithms[0].parameters.step"


@pytest.mark.parametrize(
    ("words", "delta"),
    [([], "0.001"), (["--delta", "0"], "0.0"), (["--delta", "1e-5"], "1e-05")],
)
def test_a_claim_is_handed_the_delta_of_the_command_line(file, words, delta):
    file.write_text(MINE + "\n    def claim(self, adjacency, setting, delta):\n        raise ValueError(delta)\n")
    cli("audit", "mine.py", "-o", "rounds=2", *words, ends=2, stderr=f"ValueError: {delta} (with rounds = 2)")


@pytest.mark.parametrize("words", [[], ["--json"]])
def test_an_error_in_a_claim_is_one_line_before_anything_runs(file, tmp_path, words):
    claim = "\n    def claim(self, *_):\n        return inverse(0)\n\ndef inverse(x):\n    return 1 / x\n"
    file.write_text(MINE + claim)
    line = (MINE + claim).count("\n")
    done = cli(
        "audit", "mine.py", "-o", "rounds=2", "--out", "out", *words, ends=2,
        stderr=f"mine.py:{line}: claim() = 'TwoExchanges': ZeroDivisionError: division by zero (with rounds = 2); ",
    )  # fmt: skip
    assert "Traceback" not in done.stderr
    assert done.stderr.count("by zero") == 1
    assert not (tmp_path / "out").exists()
    assert not words or json.loads(done.stdout)["exit_status"] == 2


def test_a_file_that_is_changed_is_loaded_anew_and_its_siblings_count(file, tmp_path):
    first = owncode.load("mine.py:TwoExchanges")
    file.write_text(MINE.replace("0.3", "0.4"))
    second = owncode.load("mine.py:TwoExchanges")
    assert first.sha256 != second.sha256
    assert second.algorithm(rounds=1).step == 0.4
    (tmp_path / "beside_mine.py").write_text("def half(x):\n    return x / 2\n")
    file.write_text("from beside_mine import half\n" + MINE)
    third = owncode.load("mine.py:TwoExchanges").sha256
    import beside_mine  # pyright: ignore[reportMissingImports]

    Path(beside_mine.__file__).write_text("def half(x):\n    return x / 4\n")
    assert owncode.load("mine.py:TwoExchanges").sha256 != third


@pytest.mark.slow
def test_a_run_keeps_which_code_it_was_and_two_processes_write_the_same_bytes(file, tmp_path):
    one, two = tmp_path / "one", tmp_path / "two"
    results = run_scenario(parse(YAML), one, page=False)
    run_scenario(parse(YAML), two, jobs=2, page=False)
    audit = results.algorithms[0].audit
    assert audit.verdict == "unprotected"
    assert audit.claim.epsilon == 3.0
    assert (one / "audit-twoexchanges.json").read_bytes() == (two / "audit-twoexchanges.json").read_bytes()
    (resolved,) = json.loads((one / "manifest.json").read_text())["resolved"]
    assert resolved["file"] == str(file)
    assert resolved["sha256"] == owncode.load("mine.py").sha256
    cli("witness", one / "witness-twoexchanges.json", ends=1, output="to the last bit")


@pytest.mark.slow
def test_from_a_file_to_a_verdict_with_a_page_in_one_command(tmp_path):
    asked = ["mine.py:TwoExchanges", "-o", "rounds=2", "-o", "agents=4", "--epsilon", "3", "--trials", "100"]
    done = cli("audit", *asked, "--jobs", "1", "--out", "out", ends=1, output="unprotected")
    said = " ".join(done.output.split())
    assert "Private data leaves in a message without noise: ε is ∞, not 3 as claimed." in said
    assert "One record of one agent replaced (a gradient by 0." in said
    assert "at most, in ℓ2, as data are bounded); this pair uses " in said
    assert "Add noise to 'z', or do not send it" in said
    assert "packets" not in said
    shown = cli("audit", "out", "--verbose", ends=1)
    assert "packets" in shown.output
    told = json.loads((tmp_path / "out" / "results.json").read_text())["algorithms"][0]["audit"]["claim"]
    assert told["norm"] == "no norm of its own"
    assert "netsim witness out/witness-twoexchanges.json" in done.output
    assert (tmp_path / "out" / "report.html").exists()
    scenario = json.loads((tmp_path / "out" / "manifest.json").read_text())["scenario"]
    assert scenario["topology"]["agents"] == 4
    assert Scenario.model_validate(scenario).algorithms[0].parameters == {"rounds": 2}


@pytest.mark.slow
def test_what_claims_nothing_and_protects_something_is_done(tmp_path):
    asked = ["mine.py", "-o", "rounds=2", "-o", "careful=true", "--trials", "100", "--jobs", "1", "--out", "out"]
    cli("audit", *asked, ends=0, output=("no claim", "--epsilon E"))


def test_a_claim_of_nothing_is_as_none(tmp_path):
    """The cost is computed and printed, as of a class without a `claim`."""
    Path("mine.py").write_text(MINE + "\n    def claim(self, adjacency, setting, delta):\n        return None\n")
    asked = ["mine.py", "-o", "rounds=1", "-o", "careful=true", "--trials", "50", "--jobs", "1", "--out", "out"]
    cli("audit", *asked, ends=0, output=("no claim", "ε exact ", "--epsilon E"))


@pytest.mark.slow
def test_json_has_the_verdict_and_nothing_else(tmp_path):
    asked = ["mine.py", "-o", "rounds=2", "--trials", "100", "--jobs", "1", "--out", "out", "--json"]
    done = cli("audit", *asked)
    told = json.loads(done.stdout)
    assert (done.exit_code, told["exit_status"]) == (1, 1)
    assert told["exit_reason"] == "nothing is claimed, and nothing is protected: TwoExchanges is unprotected"
    assert told["algorithms"][0]["epsilon_exact"]["lower"] == "inf"


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        (["mine.py:TwoExchanges"], "-o rounds: missing"), (["mine.py", "-o", "round=2"], "did you mean 'rounds'?"),
        (["mine.py", "-o", "rounds=2", "-o", "topology=rnig"], "-o topology = 'rnig'"),
        (["mine.py", "-o", "rounds=2", "-o", "agents=99"], "-o agents = 99"),
        (["mine.py", "-o", "rounds"], "no setting"), (["mine.py", "-o", "rounds=2", "--again"], "--again"),
        (["mine.py:Other"], "no class 'Other'"), (["private-descent", "--epsilon", "1"], "--epsilon"),
    ],
)  # fmt: skip
def test_wrong_input_is_told_in_the_words_of_the_command_line(asked, words):
    cli("audit", *asked, ends=2, stderr=words)


def audits(*arguments, **said):
    """The audit of mine.py, of one round, into the folder `kept`."""
    own = ["audit", "mine.py:TwoExchanges", "-o", "rounds=1", "--out", "kept", "--jobs", "1"]
    return cli(*own, *arguments, **said)


class TestAFolderThatHoldsAnAudit:
    WORDS = (
        "kept holds an audit of twoexchanges that is done: it is replaced, and this one has the same seed. Choosing "
        "among such audits proves less than each says. `netsim audit kept --again`, with --trials, --confidence or "
        "--games, makes one more that counts."
    )

    @pytest.mark.slow
    def test_is_told_of_before_the_next_replaces_it(self):
        first, refused = audits("--trials", "50"), audits("--trials", "60")
        assert "--out = 'kept': holds finished results of twoexchanges, with other fields" in refused.stderr
        second = audits("--trials", "60", "--replace")
        other = audits("--trials", "60", "-o", "seed=5", "--json", "--replace")
        assert "proves less" not in first.output
        assert second.stdout.count(self.WORDS) == 1
        assert second.stdout.index(self.WORDS) < second.stdout.index("Report:")
        assert (refused.exit_code, first.exit_code) == (2, second.exit_code)
        assert second.exit_code == other.exit_code
        assert other.stderr.count(self.WORDS.replace("the same seed", "another seed")) == 1
        assert json.loads(other.stdout)["exit_status"] == other.exit_code

    @pytest.mark.slow
    def test_that_was_interrupted_is_none(self):
        audits("--trials", "50")
        path = Path("kept/results.json")
        path.write_text(json.dumps(json.loads(path.read_text()) | {"status": "interrupted"}))
        assert "proves less" not in audits("--trials", "50").output

    @pytest.mark.slow
    def test_of_another_name_is_refused(self, file):
        audits("--trials", "50")
        held = Path("kept/results.json").read_bytes()
        file.write_text(MINE.replace("TwoExchanges", "Other"))
        result = cli(
            "audit", "mine.py:Other", "-o", "rounds=1", "--out", "kept", "--trials", "50", ends=2,
            stderr="--out = 'kept': holds the results of another scenario, 'twoexchanges'",
        )  # fmt: skip
        assert "proves less" not in result.output
        assert Path("kept/results.json").read_bytes() == held
