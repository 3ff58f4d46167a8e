"""Witness files: saved once, confirmed anywhere; an altered file, another claim or other data confirm nothing."""

import json
import math
import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from attacks.audit.loss.aimed import WORST_CASE
from attacks.audit.loss.comparison import compare_worlds
from attacks.audit.witness import Place, best
from attacks.audit.witness_values import Witness
from netsim import randomness
from netsim.simulation import Simulation
from scenarios.build.experiment import Experiment
from scenarios.files.library import library
from scenarios.schema.load import expanded, parse, validated
from scenarios.stages import witness
from scenarios.stages.witness import Audited, confirm, file_of, make, save
from scenarios.stages.witness_file import WitnessFile, fingerprint
from scenarios.stages.worlds import worlds
from tests.scenarios.command import cli
from tests.scenarios.small import SMALL

ROOT = Path(__file__).parents[3]
CODED = """\
name: coded
seed: 3
problem: {kind: sensors, divisor: 180, data: {name: sensors, records: 180, dimension: 10}}
topology: {kind: ring, agents: 6}
messages: {codec: {kind: float16}}
algorithms: [{kind: diadsp, name: coded, rounds: 12, step: 0.02, ratio: 0.9, target: {epsilon: 1.0}}]
attacks: {gradients: false}
audit: {agent: 1, adjacency: {change: 1.0, direction: even}, trials: 100, chunk: 50}
"""


def audited(text, name, variant=None):
    """What a run's audit would hand over, by its first chunk of either world."""
    located = parse(text) if variant is None else {v.name: v for v in expanded(parse(text))}[variant].located
    experiment = Experiment.of(located.scenario)
    subject = next(one for one in experiment.subjects if one.spec.name == name)
    pair, rounds = experiment.pair, getattr(subject.spec, "rounds", None) or 12
    simulate = worlds(subject.simulation, pair.agent, pair.hypotheses[1], experiment.scenario.audit.together)
    ways = (pair.hypotheses, pair.hypotheses[::-1])
    explained = [[compare_worlds(simulate(w, 0), pair.agent, *ways[w])] for w in (0, 1)]
    claim = subject.simulation.claim(experiment.adjacency, rounds, subject.delta)
    return experiment, subject, Audited(pair, claim, rounds, best(explained).place)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("witnesses")
    for slug, of in {
        "cpgt": audited(library()["cpgt-eq-23"], "CPGT", "even"),
        "leaky": audited(SMALL.replace("per_agent: 6", "per_agent: 12"), "leaky"),  # other coins lead elsewhere
        "coded": audited(CODED, "coded"),
    }.items():
        assert save(file_of(folder, slug), *of) == folder / f"witness-{slug}.json"
    return folder


def changed(folder, tmp_path, slug, change, seal=False):
    """A copy in which something was altered, sealed anew or not."""
    tree = json.loads(file_of(folder, slug).read_text())
    change(tree)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(tree))
    if seal:
        path.write_text(WitnessFile.read(path).sealed().text())
    return path


# ── what is confirmed ───────────────────────────────────────────────────────────────────────────────────
def test_cpgt_is_refuted_by_one_transcript(folder):
    """‖Δ‖₁ = √10·‖Δ‖₂ under noise for ℓ2: the loss comes near √10 times the claim."""
    found = confirm(WitnessFile.read(file_of(folder, "cpgt")))
    assert found.verdict == "refuted"
    assert 2.5 < found.account.total < math.sqrt(10)
    assert found.claim.epsilon == pytest.approx(1)
    assert found.account.identical
    assert found.remarks == ()
    assert found.account.items[found.first_above].activation == 1


def test_an_uncovered_message_shows_itself_and_not_delta(folder):
    found = confirm(WitnessFile.read(file_of(folder, "leaky")))
    assert found.verdict == "unprotected"
    assert found.account.total == math.inf
    assert "'x'" in found.reason
    assert "One transcript cannot show that more than δ = 0.001 of them leak; the audit did." in found.reason
    assert found.first_above is None


def test_of_noise_that_is_not_on_the_wire_a_message_is_no_deterministic_function(folder):
    found = confirm(WitnessFile.read(file_of(folder, "leaky")))
    sentence = "sends 'x', a deterministic function of its private gradients (apart by 1)"
    uncovered = replace(found.account.uncovered, sentence=sentence)
    (item, *_) = confirm(WitnessFile.read(file_of(folder, "coded"))).account.items
    account = replace(found.account, uncovered=uncovered, items=(item, replace(item, counts=False, message=None)))
    said = witness._reason(account, found.claim, "round")
    assert "a function of its private gradients and of noise that is not on the wire (apart by 1); no noise" in said
    assert "deterministic" in witness._reason(replace(account, items=(item,)), found.claim, "round")


def test_releases_that_a_codec_rounded_are_priced_as_they_were_sent(folder):
    found = confirm(WitnessFile.read(file_of(folder, "coded")))
    assert found.verdict == "refuted"
    assert all(item.counts for item in found.account.items)


@pytest.mark.parametrize("slug", ["cpgt", "leaky", "coded"])
def test_a_file_read_and_written_has_the_same_bytes(folder, slug):
    path = file_of(folder, slug)
    file = WitnessFile.read(path)
    assert file.intact
    assert file.text().encode() == path.read_bytes()


@pytest.mark.slow
def test_another_process_in_another_folder_says_the_same(folder, tmp_path):
    """With other hashes, and without a data folder."""
    environment = {k: v for k, v in os.environ.items() if k != "NETSIM_DATA"}
    environment |= {"PYTHONHASHSEED": "4711", "PYTHONPATH": str(ROOT)}
    for slug, word in (("cpgt", "refuted"), ("leaky", "unprotected")):
        path = file_of(folder, slug)
        done = subprocess.run(
            [sys.executable, "-m", "scenarios.cli.app", "witness", str(path), "--json"],
            cwd=tmp_path, env=environment, capture_output=True, text=True,
        )  # fmt: skip
        assert done.returncode == 1, done.stderr
        answer = json.loads(done.stdout)
        assert answer == confirm(WitnessFile.read(path)).as_plain()
        assert answer["verdict"] == word
        assert answer["account"] == json.loads(path.read_text())["account"]


def test_nothing_is_simulated_and_no_stream_of_the_seed_is_drawn_from(folder, monkeypatch):
    def never(*_args, **_options):
        raise AssertionError

    for name in ("noise_of", "dither_of", "coins_of"):
        monkeypatch.setattr(randomness, name, never)
    monkeypatch.setattr(Simulation, "run", never)
    for slug in ("cpgt", "leaky", "coded"):
        assert confirm(WitnessFile.read(file_of(folder, slug))).verdict is not None


def test_the_seed_world_chunk_and_replica_give_the_transcript_again(folder):
    """What only a run knows: that the other agents do send such messages."""
    for slug in ("cpgt", "leaky", "coded"):
        file = WitnessFile.read(file_of(folder, slug))
        experiment = Experiment.of(validated(file.scenario, "").scenario)
        pair, chunk = experiment.pair, experiment.scenario.audit.together
        simulate = worlds(experiment.subjects[0].simulation, file.agent, pair.hypotheses[1], chunk)
        again = Witness.of(simulate(file.world, file.chunk).replica(file.replica), file.agent)
        assert json.dumps(again.as_plain()) == json.dumps(file.transcript)


# ── what is not ─────────────────────────────────────────────────────────────────────────────────────────
EDITS = {
    "a value that was sent": ("cpgt", lambda t: turned(sent(t, 0)["values"]["y"])),
    "a value that came": ("cpgt", lambda t: came(t)["values"]["x"].__setitem__(0, 0.5)),
    "an unreleased value": ("leaky", lambda t: sent(t, 1)["values"]["x"].__setitem__(0, 0.5)),
    "the claim": ("cpgt", lambda t: t["claim"].update(epsilon=0.5)),
    "the scenario's step": ("cpgt", lambda t: t["scenario"]["algorithms"][0].update(step=0.01)),
    "the rounds of the claim": ("cpgt", lambda t: t.update(activations=3)),
    "the world": ("cpgt", lambda t: t.update(world=1 - t["world"])),
    "the replica": ("cpgt", lambda t: t.update(replica=t["replica"] + 1)),
    "the coins": ("leaky", lambda t: t["transcript"]["coins"].update(state="0x1")),
    "a stored loss": ("cpgt", lambda t: t["account"]["releases"][1].update(loss=9.0)),
    "the seal": ("cpgt", lambda t: t.update(seal="0")),
}


def turned(values):
    """The first value on the other side of both worlds' values."""
    values[0] *= -1e3


def came(tree):
    return next(row for row in tree["transcript"]["rows"] if row["event"] == "received")


def sent(tree, number):
    return [row for row in tree["transcript"]["rows"] if row["event"] == "sent"][number]


NAMED = {
    "a value that was sent": ": message 0, sent by agent 0 at t = 0.0 s (values.y[0]: ",
    "a value that came": ": message 1, from agent 1 to agent 0 at t = 0.0 s (values.x[0]: 0.5 here, ",
    "the claim": ", though no message was: something else in it. ",
    "the scenario's step": ": its scenario, seed, world or replica, or messages in it: ",
    "the seal": ", though no message was: something else in it. ",
}
"""The message that is not as it was, which the run is simulated again for."""
WIDE = {"COLUMNS": "500"}
"""A terminal in which no sentence is broken."""


@pytest.mark.few("a value that came")
@pytest.mark.parametrize("edit", EDITS)
def test_one_number_altered_is_noticed(folder, tmp_path, edit):
    slug, change = EDITS[edit]
    path = changed(folder, tmp_path, slug, change)
    done = cli("witness", path, ends=2, env=WIDE)
    assert done.output.startswith(f"The file was altered after it was written{NAMED.get(edit, '')}")
    assert " What follows is of the file as it is, and no finding." in done.output
    assert "Not confirmed" in done.output
    assert "< " not in done.output
    ended = cli("witness", path, "--json", ends=2)
    assert json.loads(ended.output)["verdict"] == "not confirmed"
    assert json.loads(ended.output)["first_above"] is None


@pytest.mark.slow
def test_who_seals_it_anew_changes_what_is_computed_or_is_told(folder, tmp_path):
    """A transcript is judged by the agent's code; the claim, by its formula; a loss, by the law of the noise."""

    def after(edit, slug="cpgt"):
        return confirm(WitnessFile.read(changed(folder, tmp_path, slug, EDITS[edit][1], seal=True)))

    claim = after("the claim")
    assert claim.claim.epsilon == pytest.approx(1)
    assert claim.remarks == ("Another claim than the file's: epsilon: 0.5 stored, 1 found.",)
    loss = after("a stored loss")
    assert loss.verdict == "refuted"
    assert loss.account.items[1].loss < 3
    assert "releases[1].loss: 9 stored" in loss.remarks[0]
    value = after("a value that was sent")
    before = confirm(WitnessFile.read(file_of(folder, "cpgt")))
    assert abs(value.account.items[1].loss - before.account.items[1].loss) > 0.01
    assert "Other losses than the file's" in value.remarks[-1]
    for edit in ("an unreleased value", "the coins"):
        other = after(edit, "leaky")
        assert other.verdict is None
        assert other.account is None
        assert "does not send this transcript" in other.reason
    assert after("the world").account.total < 0


@pytest.mark.slow
def test_a_sound_mechanism_has_no_witness_and_its_best_transcript_confirms_nothing(tmp_path):
    experiment, subject, found = audited(library()["cpgt-eq-23"], "DiaDSP", "coordinate")
    path = tmp_path / "witness-sound.json"
    path.write_text("of a former run")
    assert save(path, experiment, subject, found).cause == "one loses too little"
    assert not path.exists()
    file, shown = make(experiment, subject, found, found.where)
    assert shown is None
    path.write_text(file.text())
    cli(
        "witness", path, ends=0,
        output=("Not confirmed: The loss of this transcript is 0.9", "not above the claimed ε ="),
    )  # fmt: skip


def test_of_what_an_active_adversary_did_there_is_no_witness(tmp_path):
    meddler = "active_adversaries: [{links: [[0, 1]], actions: [{kind: delay, seconds: 0.01}]}]\n"
    experiment, subject, found = audited(CODED + meddler, "coded")
    assert save(tmp_path / "witness.json", experiment, subject, found).cause == "active adversary"
    file, shown = make(experiment, subject, found, found.where)
    assert shown == "refuted"
    assert confirm(file).verdict is None
    assert confirm(file).reason.startswith("There was an active adversary, and no claim is about one (The loss of ")


def test_at_delta_above_0_a_loss_is_no_witness(tmp_path):
    """The repaired DP-RECAL: no uncovered message, and Gaussian noise."""
    experiment, subject, found = audited(SMALL, "told")
    assert save(tmp_path / "w.json", experiment, subject, found).cause == "set too large"
    file, _ = make(experiment, subject, found, Place(0, 0, 3))
    confirmed = confirm(file)
    assert confirmed.verdict is None
    assert "at δ = 0.001 one transcript refutes nothing" in confirmed.reason
    assert confirmed.first_above is None


# ── other files, other data ─────────────────────────────────────────────────────────────────────────────
WRONG = {
    "the seed": (lambda t: t["scenario"].update(seed=2), "agent 0 holds other records"),
    "the data's seed": (lambda t: t["scenario"]["problem"]["data"].update(seed=1), "agent 0 holds other records"),
    "all fingerprints": (lambda t: t["data"].update(everybody="0"), "the agents hold other records"),
    "the adjacency": (lambda t: t["scenario"]["audit"]["adjacency"].update(change=0.5), "not adjacent"),
    "a change too large": (lambda t: t["pair"]["change"]["slope"].__setitem__(0, 0.4), "not adjacent"),
    "a change of nothing": (lambda t: t["pair"].update(change={}), "records: missing"),
    "a change by a class": (
        lambda t: t["pair"]["change"].update(moved="Problem"), "no objective that is",
    ),
    "a change of a field": (
        lambda t: t["pair"].update(change={"records": {"x": 1}}), "not fields of",
    ),
    "the agent": (lambda t: t.update(agent=2), "agent 2 holds other records"),
    "no agent": (lambda t: (t["scenario"]["audit"].pop("agent"), t.update(agent=77)), "agent = 77: no such agent; "),
    "the algorithm": (lambda t: t.update(algorithm="EXTRA"), "not in the scenario"),
    "a field of the scenario": (lambda t: t["scenario"].update(agents=3), "unknown field"),
    "no audit": (
        lambda t: (t["scenario"].update(audit=None), only(t).pop("target")),
        "not the one that the scenario audits; allowed: none",
    ),
    "the format": (lambda t: t.update(format="netsim transcript"), "not a netsim witness"),
    "the version": (lambda t: t.update(version=2), "another version of the format; allowed: 1"),
    "a missing field": (lambda t: t.pop("pair"), "pair: missing"),
    "a row": (lambda t: t["transcript"]["rows"][0].pop("time"), "time: missing"),
    "a dimension": (lambda t: came(t)["values"].update(x=[1.0]), "where points have 10"),
}  # fmt: skip


def only(tree):
    return tree["scenario"]["algorithms"][0]


@pytest.mark.few(9)
@pytest.mark.parametrize("wrong", WRONG)
def test_what_is_no_witness_or_of_other_data_is_told_in_one_line(folder, tmp_path, wrong):
    change, message = WRONG[wrong]
    done = cli("witness", changed(folder, tmp_path, "cpgt", change), ends=2, stderr=message)
    assert done.stderr.strip().count("\n") == 0


@pytest.mark.parametrize("text", ["", "[1, 2]", '{"format": NaN}', "[" * 100_000])
def test_what_is_no_json_is_told(tmp_path, text):
    path = tmp_path / "file.json"
    path.write_text(text)
    cli("witness", path, ends=2)
    cli("witness", tmp_path / "nowhere.json", ends=2)


@pytest.mark.parametrize(
    "change",
    [
        lambda t: t.update(says="\ud800"), lambda t: t["claim"].update({"\udfff": 1}),
        lambda t: t["account"].update(deep=deep(45)), lambda t: t["account"].update(deep=deep(900)),
    ],
)  # fmt: skip
def test_text_that_is_none_and_lists_too_deep_are_no_witness(folder, tmp_path, change):
    cli("witness", changed(folder, tmp_path, "cpgt", change), ends=2, stderr="no JSON")


def deep(levels):
    """Lists within lists."""
    tree = []
    for _ in range(levels):
        tree = [tree]
    return tree


def test_a_defect_is_no_finding(folder, monkeypatch):
    def broken(_file, _progress):
        raise ZeroDivisionError("of a defect")

    monkeypatch.setattr("scenarios.stages.witness.confirm", broken)
    cli("witness", file_of(folder, "cpgt"), ends=70, stderr="of a defect")


def test_the_rounds_of_the_claim_are_the_scenarios(folder, tmp_path):
    """A smaller Θ, sealed anew, would make a smaller claim of a sound mechanism."""
    path = changed(folder, tmp_path, "cpgt", EDITS["the rounds of the claim"][1], seal=True)
    found, before = confirm(WitnessFile.read(path)), confirm(WitnessFile.read(file_of(folder, "cpgt")))
    assert found.claim == before.claim
    assert found.remarks == ("The file says Θ = 3; the scenario's algorithm has 30.",)


@pytest.mark.parametrize("name", ["cpgt-cpgt", "dp-recal-dp-recal-as-deployable", "dpp2-dpp-k-1-short-step"])
def test_a_claim_in_words_of_an_earlier_version_is_no_other_claim(name):
    committed = ROOT / "docs" / "witnesses" / f"{name}.json"
    file = WitnessFile.read(committed)
    found = confirm(file)
    assert found.verdict is not None
    assert not [one for one in found.remarks if "Another claim" in one]
    tree = json.loads(committed.read_text())
    tree["claim"]["adjacency"].update(relation="one of these", gradient_change=0.25)
    other = WitnessFile.model_validate(tree).sealed()
    (said,) = [one for one in confirm(other).remarks if "Another claim" in one]
    assert "adjacency.gradient_change: 0.25 stored" in said
    assert "adjacency.relation: 'one of these' stored" in said


WALK = """\
name: walk
seed: 3
problem: {kind: logistic, data: {name: synthetic, records: 60, dimension: 4, norm_bound: 1.0}, ridge: 0.5}
topology: {kind: ring, agents: 5}
algorithms: [{kind: rw_admm, name: walk, activations: 60, noise: laplace, scale: 1.0}]
attacks: {gradients: false}
audit: {agent: 1, adjacency: {change: 1.0, norm: l1}, trials: 100, chunk: 50}
"""


@pytest.mark.slow
def test_a_walk_that_was_longer_than_its_claim_says_confirms_nothing():
    experiment, subject, found = audited(WALK, "walk")
    file, _ = make(experiment, subject, found, Place(0, WORST_CASE, 0))
    active = max(item.activation for item in confirm(file).account.items) - 1
    assert 1 < active < 60
    for activations, refused in ((active, False), (active - 1, True), (0, True)):
        confirmed = confirm(file.model_copy(update={"activations": activations}).sealed())
        reason = (
            f"The agent has {active} activations in this transcript, and the claim would be that of {activations}"
        )
        assert confirmed.reason.startswith(reason) == refused
        assert confirmed.verdict is None or not refused


def test_a_fingerprint_tells_data_apart_and_not_last_bits(folder):
    problem = Experiment.of(parse(SMALL).scenario).problem
    one = problem.objectives[0]
    near, far = (type(one)(one.features * factor, one.labels, one.ridge) for factor in (1 + 2**-50, 1 + 1e-5))
    assert fingerprint([one]) == fingerprint([near]) != fingerprint([far])
    assert fingerprint(problem.objectives) != fingerprint(problem.objectives[::-1])


def test_numbers_written_another_way_are_the_same_file(folder, tmp_path):
    """Other indents, 1 for 1.0: what is sealed are numbers."""

    def whole(tree):
        return int(tree) if isinstance(tree, float) and tree.is_integer() else tree

    def walk(tree):
        if isinstance(tree, dict):
            return {key: walk(value) for key, value in tree.items()}
        return [walk(value) for value in tree] if isinstance(tree, list) else whole(tree)

    path = tmp_path / "w.json"
    path.write_text(json.dumps(walk(json.loads(file_of(folder, "cpgt").read_text())), indent=7))
    found = confirm(WitnessFile.read(path))
    assert found.file.intact
    assert found.verdict == "refuted"
    assert found.remarks == ()


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────
def test_the_command_tells_releases_sum_and_verdict(folder):
    done = cli(
        "witness", file_of(folder, "cpgt"), ends=1, env=WIDE,
        output=("CPGT of cpgt-eq-23", "Claim: ε = 1 at δ = 0 (CPGT, eq. 23"),
    )  # fmt: skip
    lines = done.output.splitlines()
    marked = [line for line in lines if "< above" in line]
    assert len(marked) == 1
    assert "Laplace(1.07)" in marked[0]
    assert "…" in done.output  # sixty releases are not all shown
    assert "Loss of what went over each link: 0 to 1: 2.921, 0 to 5: 2.921." in done.output
    assert "Refuted: The loss of this transcript is 2.921, above the claimed ε = 1 by round 1" in done.output


def test_the_command_marks_the_uncovered_message(folder):
    lines = cli("witness", file_of(folder, "leaky")).output.splitlines()
    marked = [k for k, line in enumerate(lines) if "< uncovered" in line]
    assert len(marked) == 1
    found = confirm(WitnessFile.read(file_of(folder, "leaky")))
    (to,) = found.account.uncovered_to
    assert lines[marked[0]].split()[:3] == ["2", "x", "→"]
    assert lines[marked[0]].split()[3] == str(to)
    assert lines[marked[0] - 1].split()[0] == "1"
    after = [line.split() for line in lines[marked[0] + 1 :] if "Laplace(" in line or "Gaussian(" in line]
    assert len(after) > 3
    assert {cells[-1] for cells in after} == {"∞"}
    (sums,) = [line for line in lines if line.startswith("Loss of what went over each link")]
    assert f"{found.file.agent} to {to}: ∞" in sums


def test_rows_name_the_field_and_all_can_be_shown(folder):
    """CPGT sends x and y in every round; ε is held against the claim of the whole run, and says so."""
    path = file_of(folder, "cpgt")
    releases = json.loads(path.read_text())["account"]["releases"]
    assert [one["field"] for one in releases[:4]] == ["x", "y", "x", "y"]
    brief, whole = cli("witness", path, env=WIDE).stdout, cli("witness", path, "--all", env=WIDE).stdout
    assert "the claim for the whole run" in brief
    rows = [line.split() for line in whole.splitlines() if line.strip()[:1].isdigit()]
    assert [(int(row[0]), row[1]) for row in rows] == [(one["activation"], one["field"]) for one in releases]
    hidden = len(releases) - sum(line.strip()[:1].isdigit() for line in brief.splitlines())
    assert (f"… stands for {hidden:,} of" in brief) == (hidden > 0)
    assert "stands for" not in whole


def test_a_file_without_names_of_fields_has_no_other_losses(folder, tmp_path):
    def older(tree):
        for one in tree["account"]["releases"]:
            del one["field"]

    path = changed(folder, tmp_path, "cpgt", older, seal=True)
    assert not [line for line in confirm(WitnessFile.read(path)).remarks if line.startswith("Other losses")]


# ── proofs in ball arithmetic ───────────────────────────────────────────────────────────────────────────
class TestProof:
    """`netsim witness FILE --prove`; the checker itself is tested in tests/attacks/audit/test_check_witness.py."""

    check = pytest.importorskip("attacks.audit.check_witness", reason="needs the extra `proof`")

    def test_what_the_checker_proves_is_printed(self, folder):
        for slug, word in (("cpgt", "refuted"), ("leaky", "unprotected")):
            done = cli("witness", file_of(folder, slug), "--prove")
            assert (done.exit_code, done.output.split(":")[:2]) == (1, ["Proven", f" {word}"])
        found = cli("witness", file_of(folder, "coded"), "--prove", "--json", ends=0)
        assert json.loads(found.stdout) == {
            "proven": False,
            "says": "exchange message 0: a code by Float16, of Laplace noise, is not read here",
        }

    def test_records_are_in_the_file_of_out_alone(self, folder, tmp_path):
        path, out = file_of(folder, "cpgt"), tmp_path / "proof.json"
        assert "proof" not in json.loads(path.read_text())
        assert self.check.main([str(path)]) == 1
        cli("witness", path, "--out", str(out), ends=1)
        assert WitnessFile.read(out).intact
        assert self.check.main([str(out)]) == 0
        cli("witness", out, "--prove", ends=1)

    def test_an_altered_file_and_other_data_are_no_witness(self, folder, tmp_path):
        path = changed(folder, tmp_path, "cpgt", lambda tree: tree.update(replica=3))
        cli("witness", path, "--prove", ends=2)
        out = tmp_path / "proof.json"
        cli("witness", file_of(folder, "cpgt"), "--out", str(out), ends=1)
        tree = json.loads(out.read_text())
        tree["proof"]["objective"]["answers"][0] += 1e-3
        out.write_text(json.dumps(tree))
        out.write_text(WitnessFile.read(out).sealed().text())
        cli("witness", out, "--prove", ends=2, output="not what the scenario gives here")
