"""Sets of transcripts that refute a claim at δ > 0: written once, confirmed and proven; a planted one is refused."""

import base64
import copy
import json
import random
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from attacks.audit.loss import aimed
from attacks.audit.witness import Place, TranscriptSet, log_threshold
from attacks.audit.witness_values import Witness
from netsim.adversary import PublicKnowledge
from netsim.codecs import FLOAT64
from netsim.errors import ScenarioError
from netsim.models.model import Zero
from scenarios.build.experiment import Experiment
from scenarios.schema.load import parse
from scenarios.stages.witness import Audited, completed, confirm, file_of, make_set, save
from scenarios.stages.witness_file import WitnessFile
from tests.attacks.audit.test_check_witness import altered, worlds
from tests.scenarios.command import cli

check = pytest.importorskip("attacks.audit.check_set", reason="needs python-flint or mpmath: the extra `proof`")
ROOT = Path(__file__).parents[3]
GAUSSIAN = """\
name: by-frequency
seed: 3
problem: {kind: ridge, ridge: 0.01, data: {name: synthetic, records: 60, dimension: 4}}
topology: {kind: ring, agents: 5}
algorithms: [{kind: nids, name: noisy, rounds: 20, noise: gaussian, scale: {epsilon: 1.0, delta: 1.0e-3}}]
attacks: {gradients: false}
audit: {agent: 1, adjacency: {change: 0.1, direction: coordinate}, trials: 100, chunk: 50, confidence: 0.99}
"""


def found(text):
    """What a run's audit would hand over."""
    experiment = Experiment.of(parse(text).scenario)
    subject, pair = experiment.subjects[0], experiment.pair
    claim = subject.simulation.claim(experiment.adjacency, 20, subject.delta)
    return experiment, subject, Audited(pair, claim, 20, Place(0, 0, 0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sets")
    assert save(file_of(folder, "noisy"), *found(GAUSSIAN)) == file_of(folder, "noisy")
    file = completed(WitnessFile.read(file_of(folder, "noisy")))
    file_of(folder, "proof").write_text(file.text())
    return folder


@pytest.fixture
def tree(folder):
    return json.loads(file_of(folder, "proof").read_text())


def why(tree):
    """Why nothing is proven, one line."""
    with pytest.raises(check.check.Unproven) as error:
        check.prove(tree)
    assert "\n" not in str(error.value)
    return str(error.value)


# ── planted sets ────────────────────────────────────────────────────────────────────────────────────────
def with_numbers(tree, change):
    """The numbers of all transcripts but the first, changed."""
    numbers = np.frombuffer(base64.b64decode(tree["sample"]["numbers"]), dtype="<f8").copy()
    tree["sample"]["numbers"] = base64.b64encode(np.asarray(change(numbers), dtype="<f8").tobytes()).decode()


def moved(tree, place, by):
    with_numbers(tree, lambda numbers: np.where(np.arange(numbers.size) == place, numbers + by, numbers))


def first_transcript_again(tree):
    for name in ("losses", "log_weights"):
        tree["sample"][name][1] = tree["sample"][name][0]
    rows = tree["transcript"]["rows"]
    with_numbers(tree, lambda _: [x for row in rows for value in row["values"].values() for x in value])


def dropped(tree):
    """What is left is a set of the same form, and proves less."""
    tree["sample"] |= {"transcripts": 1, "numbers": ""}
    tree["sample"]["losses"].pop()
    tree["sample"]["log_weights"].pop()


def one_message_twice(tree):
    """One that was received, with other numbers the second time, in one transcript."""
    tree["transcript"]["rows"].append(next(r for r in tree["transcript"]["rows"] if r["event"] == "received"))
    with_numbers(tree, lambda numbers: [*numbers, 1.0, 2.0, 3.0, 4.0])


def scaled(tree, name, factor):
    tree[name] *= factor


ANOTHER = "transcript 0 has another loss or weight"
PLANTED = {
    "worlds swapped": (lambda t: t.update(world=1 - t["world"]), "another loss or weight"),
    "an altered transcript": (lambda t: moved(t, 0, 1e-6), "transcript 1 has another loss or weight"),
    "the first transcript again": (first_transcript_again, "no two draws are the same"),
    "half a transcript": (lambda t: with_numbers(t, lambda x: x[: x.size // 2]), "a malformed file"),
    "no number": (lambda t: moved(t, 5, np.nan), "numbers that are not finite"),
    "a transcript dropped": (dropped, "no proof of ε ≥"),
    "dropped without a word": (lambda t: t["sample"].update(transcripts=1, numbers=""), "not 1 finite numbers"),
    "the last message left out": (lambda t: t["transcript"]["rows"].pop(), "a malformed file"),
    "narrower": (lambda t: scaled(t["sample"], "lower", 1 + 2e-9), "no proof of ε ≥"),  # the file has 1e-9 to spare
    "below the claim": (lambda t: t["sample"].update(lower=t["claim"]["epsilon"]), "is not above ε"),
    "lighter": (
        lambda t: scaled(t["sample"]["log_weights"], 1, 1 + 1e-8), "transcript 1 has another loss or weight"
    ),
    "another loss": (lambda t: scaled(t["sample"]["losses"], 0, 1 - 1e-8), ANOTHER),
    "another tilt": (lambda t: scaled(t["sample"]["tilting"], "theta", 1 + 1e-8), ANOTHER),
    "another direction": (lambda t: scaled(t["sample"]["tilting"]["shifts"]["3"], 0, -1), ANOTHER),
    "no tilt": (lambda t: (t.update(chunk=0), t["sample"].update(tilting=None)), ANOTHER),
    "another noise": (
        lambda t: scaled(t["account"]["releases"][1], "scale", 1 + 1e-9), "release 1: the code draws Gaussian"
    ),
    "surer": (lambda t: t["scenario"]["audit"].update(confidence=0.9999), "no proof of ε ≥"),
    "hardly sure": (lambda t: t["scenario"]["audit"].update(confidence=0.5), "none at a confidence of 0.5"),
    "more to look at": (lambda t: t.update(activations=30), "activations: 30, and an agent has 20 of them"),
    "world 0 by another number": (lambda t: t.update(world=t["world"] - 2), "world: neither 0 nor 1"),
    "another chunk": (lambda t: t.update(chunk=7), "a set is of the first chunk"),
    "from the second on": (lambda t: t.update(replica=1), "a set is of the first chunk"),
    "one message twice": (one_message_twice, "two messages are exchange"),
    "at no delta": (lambda t: t["claim"].update(delta=0.0), "the algorithm's formula has"),
    "another graph": (lambda t: t["proof"]["graph"].__setitem__(1, [0, 3]), "proof.graph"),
}  # fmt: skip


@pytest.mark.parametrize("what", PLANTED)
def test_planted_sets_are_rejected(tree, what):
    change, said = PLANTED[what]
    change(tree)
    assert said in why(tree)


# ── what is confirmed and proven ────────────────────────────────────────────────────────────────────────
def test_it_says_what_is_proven_what_is_statistical_and_what_is_trusted(tree):
    says = check.prove(tree)
    count = tree["sample"]["transcripts"]
    assert says.startswith("refuted at confidence 0.99: ε ≥ ")
    for part in (f"ε ≥ {tree['sample']['lower']}", f"proven: {count} transcripts", "probability 0.01 at most"):
        assert part in says
    assert f"they are the first of world {tree['world']}, chunk {tree['chunk']} of seed 3, draw 0" in says
    del tree["sample"]
    assert "refutes no claim of δ > 0" in why(tree)


def test_plain_transcripts_are_a_set_too(tmp_path, monkeypatch):
    """Where no noise is tilted all weights are 1, and more transcripts are asked."""
    monkeypatch.setattr(aimed.Aiming, "tilted", lambda self, _delta, most: self.simulate(aimed.TILTED, most, plain))
    file = make_set(*found(GAUSSIAN))
    assert file.chunk == 0
    assert file.sample["tilting"] is None
    assert set(file.sample["log_weights"]) == {0.0}
    assert confirm(file).verdict == "refuted"
    assert check.prove(json.loads(completed(file).text())).startswith("refuted")


def plain(stream):
    return stream


def test_a_file_is_small_and_read_and_written_to_the_same_bytes(folder):
    path = file_of(folder, "noisy")
    file = WitnessFile.read(path)
    assert file.intact
    assert file.text().encode() == path.read_bytes()
    assert len(file.text()) < 100_000
    assert file.proof is None


def test_the_command_confirms_and_proves_it(folder):
    path = file_of(folder, "noisy")
    cli(
        "witness", path, ends=1, env={"COLUMNS": "200"},
        output="above the claimed ε = 1 at δ = 0.001, if they are the first that the seed drew.",
    )  # fmt: skip
    proven = cli("witness", path, "--prove", "--json", ends=1)
    assert json.loads(proven.output)["proven"]


def test_a_replay_takes_nothing_from_the_file(folder, tree):
    """Who seals it anew is told what the transcripts prove."""

    def after(**changes):
        return confirm(WitnessFile.model_validate({**tree, "sample": {**tree["sample"], **changes}}).sealed())

    assert after().remarks == ()
    lower = after(lower=9.0)
    assert lower.verdict == "refuted"
    assert lower.remarks[0].startswith("The file has ε ≥ 9.0, and its transcripts prove 1.")
    weights = after(log_weights=[0.0] * tree["sample"]["transcripts"])
    assert weights.remarks[0].startswith("Other log weights than the file's: ")
    with pytest.raises(ScenarioError, match="not those of 0 transcripts"):
        after(transcripts=1)


MALFORMED = {
    "a shift of three numbers": lambda s: s["tilting"]["shifts"]["0"].pop(),
    "a shift of no number": lambda s: s["tilting"]["shifts"].update({"0": ["x"]}),
    "a shift of no release": lambda s: s["tilting"]["shifts"].update({"99": s["tilting"]["shifts"]["0"]}),
    "an infinite tilt": lambda s: s["tilting"].update(theta="inf"),
    "a tilt the other way": lambda s: s["tilting"].update(theta=-0.5), "no base64": lambda s: s.update(numbers="?"),
    "no text": lambda s: s.update(numbers=7), "no count": lambda s: s.update(transcripts="2"),
    "no transcript": lambda s: s.update(transcripts=0), "no numbers": lambda s: s.pop("numbers"),
}  # fmt: skip


@pytest.mark.few(6)
@pytest.mark.parametrize("what", MALFORMED)
def test_a_malformed_set_is_told_in_one_line(tree, tmp_path, what):
    MALFORMED[what](tree["sample"])
    path = tmp_path / "file.json"
    path.write_text(WitnessFile.model_validate(tree).sealed().text())
    for options in ([], ["--prove"]):
        done = cli("witness", path, *options)
        assert done.exit_code in (0, 2), done.output
        assert "Traceback" not in done.output
        assert done.exit_code == 2 or "ot confirmed" in done.output
    why(tree)


@pytest.mark.parametrize("what", ["another chunk", "from the second on"])
def test_neither_is_one_of_another_chunk_confirmed(tree, what):
    PLANTED[what][0](tree)
    with pytest.raises(ScenarioError, match="a set is of the first chunk"):
        confirm(WitnessFile.model_validate(tree).sealed())


@pytest.mark.slow
def test_the_intervals_of_mpmath_prove_it_too(folder):
    """In another process, where python-flint cannot be imported."""
    pytest.importorskip("mpmath", reason="needs mpmath: the extra `proof`")
    code = f"""
import runpy, sys
sys.modules["flint"] = None
sys.argv = ["check", {str(file_of(folder, "proof"))!r}]
sys.path.insert(0, {str(Path(check.__file__).parent)!r})
runpy.run_path({str(Path(check.__file__))!r}, run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert "statistical: " in done.stdout


def test_the_seed_draws_it_again_and_no_other_set(folder, tree):
    """The one thing that no file shows."""

    def drawn(change):
        altered = copy.deepcopy(tree)
        change(altered)
        return completed(WitnessFile.model_validate(altered).sealed())

    for what in ("an altered transcript", "the first transcript again", "another tilt", "no tilt"):
        with pytest.raises(ScenarioError, match="the seed draws other transcripts"):
            drawn(PLANTED[what][0])
    assert drawn(lambda _: None).sample == tree["sample"]


def test_a_claim_that_holds_has_no_set():
    """EXTRA, with the same accounting, on the same pair."""
    none = make_set(*found(GAUSSIAN.replace("kind: nids", "kind: extra")))
    assert none.cause == "set too large"
    assert none.sentence.startswith("There is no witness file: at δ > 0 it takes a set of transcripts")


def test_a_set_pays_for_every_look():
    assert log_threshold(40, 0.95) == pytest.approx(np.log(4 * 40 / 0.05))


# ── altered files ───────────────────────────────────────────────────────────────────────────────────────
def true(tree):
    """Whether a set is one, as floats have it."""
    proof, agent, sample = tree["proof"], tree["agent"], tree["sample"]
    algorithm, setting = check.check.built(proof["algorithm"]), check.check.built(proof["setting"])
    public = PublicKnowledge(
        algorithm=algorithm, agents=setting.agents, dimension=setting.dimension,
        neighbors=(tuple(proof["neighbors"]),) * setting.agents,
        weights=(np.array(proof["weights"]),) * setting.agents,
        regularizer=Zero(), loss="", ridge=0.0, codec=FLOAT64, records=setting.records,
    )  # fmt: skip
    rows = [{**row, "time": 0.0, "attempt": 0, "size": 0} for row in tree["transcript"]["rows"]]
    record = {**tree["transcript"], "rows": rows, "dither": []}
    record["coins"] = {**record["coins"], "generator": "PCG64"}
    chosen = TranscriptSet.of_plain(Witness.of_plain(agent, record), sample, sample["transcripts"])
    both = worlds(tree)
    with np.errstate(all="ignore"):
        samples = (one.sample(public) for one in chosen.transcripts)
        found = chosen.evidence(samples, both[tree["world"]], both[1 - tree["world"]])
    looks, confidence = max(tree["activations"], algorithm.horizon), tree["scenario"]["audit"]["confidence"]
    lower = found.lower(tree["claim"]["delta"], looks, confidence)
    return tree["claim"]["epsilon"] < sample["lower"] <= lower * (1 + 1e-8) and np.allclose(
        [found.losses, found.log_weights], [sample["losses"], sample["log_weights"]], atol=1e-8
    )


@pytest.mark.slow
def test_an_altered_set_is_proven_only_where_it_is_still_true(tree):
    rng, proven, refused = random.Random(11), 0, list[str]()
    for _ in range(60):
        changed, where = altered(tree, rng)
        try:
            check.prove(changed)
        except check.check.Unproven as error:
            refused.append(str(error))
            continue
        proven += 1
        assert true(changed), where
    assert proven
    assert len(refused) > 20
    assert all(one and "\n" not in one for one in refused)
