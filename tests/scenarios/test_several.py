"""Several audits of one folder: a refutation stays, error is spent once, other code does not mix."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from netsim.errors import ScenarioError
from scenarios.build.progress import Silent
from scenarios.cli.app import app
from scenarios.results.audit import OtherAudit
from scenarios.results.folder import RunFolder, read_results
from scenarios.schema.load import parse
from scenarios.stages import reaudit as several
from scenarios.stages.reaudit import Reaudit
from scenarios.stages.runner import run_scenario
from scenarios.stages.study import run_study
from tests.scenarios.own_algorithm import MINE
from tests.scenarios.test_auditing import SMALL

runner = CliRunner()
GAUSS = """
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.claims import Clip
from netsim.mechanisms import Gaussian
from netsim.node import Node


@dataclass(frozen=True)
class Gauss(Algorithm):
    rounds: int = 6

    async def run(self, node: Node) -> None:
        x = node.zeros()
        for _ in range(self.rounds):
            heard = await node.exchange(x=node.privatize(x, Gaussian(0.1)))
            x = heard.mix("x") - 0.2 * Clip(1.0, "l2")(await node.gradient(x))
            node.estimate(x)
"""
OWN = SMALL[: SMALL.index("  - {kind")] + (
    "  - {kind: python, path: 'PATH', name: noisy, claim: {epsilon: EPSILON, delta: 0.01}}\n"
    "audit: {agent: 1, trials: 50, chunk: 500}\n"
)
EPSILON = 1.05


def made_at(confidence):
    return OtherAudit(draw=0, confidence=confidence)


def entry_of(folder):
    return json.loads((folder / "results.json").read_text())["algorithms"][0]


def audit(*asked):
    done = runner.invoke(app, ["audit", *map(str, asked), "--jobs", "1", "--json"])
    return done.exit_code, (json.loads(done.stdout) if done.exit_code in (0, 1) else done)


def own(tmp_path, epsilon=EPSILON):
    (tmp_path / "own.py").write_text(GAUSS)
    return OWN.replace("PATH", str(tmp_path / "own.py")).replace("EPSILON", str(epsilon))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Audited with 50 transcripts, which find nothing, and with 1,000, which refute the claim; then with 50 again."""
    place = tmp_path_factory.mktemp("several")
    run_scenario(parse(own(place)), place / "run")
    codes, stages = [0], [entry_of(place / "run")]
    for trials in (1000, 50):
        code, _ = audit(place / "run", "--trials", trials)
        codes.append(code)
        stages.append(entry_of(place / "run"))
    return place / "run", codes, stages


# ── what stays ──────────────────────────────────────────────────────────────────────────────────────────
def test_a_refutation_that_holds_is_not_taken_back_by_a_smaller_audit(folder):
    place, codes, (first, second, third) = folder
    assert codes == [0, 1, 1]
    assert [one["audit"]["verdict"] for one in (first, second, third)] == ["consistent", "refuted", "refuted"]
    (later,) = third["audit"]["later"]
    assert (later["verdict"], later["trials"], later["draw"]) == ("consistent", 50, 2)
    assert json.loads((place / "audit-noisy.draw2.json").read_text())["verdict"] == "consistent"
    assert json.loads((place / "audit-noisy.draw0.json").read_text()) == first["audit"]
    assert json.loads((place / "audit-noisy.json").read_text()) == third["audit"]
    assert {key: value for key, value in third.items() if key not in ("audit", "views")} == {
        key: value for key, value in second.items() if key not in ("audit", "views")
    }
    assert "No later audit takes a refutation back" in third["audit"]["besides"]


def test_json_tells_of_all_audits_and_at_which_confidence_they_hold(folder):
    place = folder[0]
    code, told = audit(place, "--trials", 50)  # there already
    (row,) = told["algorithms"]
    assert (code, row["verdict"], row["claim_broken"]) == (1, "refuted", True)
    assert [one["verdict"] for one in row["earlier"]] == ["consistent"]
    assert [one["verdict"] for one in row["later"]] == ["consistent"]
    assert row["joint_confidence"] == pytest.approx(1 - 0.05 - 0.05 / 2)
    assert row["epsilon_audited"]["confidence"] == pytest.approx(0.975)
    assert row["later"][0]["confidence"] == pytest.approx(1 - 0.05 / 6)
    assert row["later"][0]["joint_confidence"] == pytest.approx(1 - 0.05 - 0.05 / 2 - 0.05 / 6)


def test_the_page_over_variants_has_the_verdict_of_all_audits(tmp_path):
    run_study(parse(own(tmp_path).replace("trials: 50", "trials: 1000") + "grid: {seed: [0]}\n"), tmp_path / "run")
    code, _ = audit(tmp_path / "run", "--trials", 50)
    (variant,) = json.loads((tmp_path / "run" / "results.json").read_text())["variants"]
    assert (code, variant["algorithms"][0]["verdict"]) == (1, "refuted")


def test_the_timeline_is_that_of_the_audit_that_is_shown(folder):
    _, _, (first, second, _) = folder
    one, two = first["timeline"], second["timeline"]
    assert one["break"] is None
    assert two["break"]["activation"] == second["audit"]["first_violation"]
    assert two["budget"]["epsilon"] == second["over_time"]["exact"]["estimate"]
    assert one["budget"]["epsilon"] != two["budget"]["epsilon"]
    kept = [name for name in one if name not in ("break", "budget")]
    assert {name: one[name] for name in kept} == {name: two[name] for name in kept}


# ── what is spent ───────────────────────────────────────────────────────────────────────────────────────
def test_who_asks_until_an_audit_refutes_is_wrong_no_more_often_than_is_said():
    """20,000 folders of a sound mechanism, each asked up to 400 times at confidence 0.9; an audit errs as often as
    it may. Unshared, 0.1 each time, almost every folder would end refuted."""
    rng, folders, asked = np.random.default_rng(7), 20_000, 0.9
    wrong, made = np.zeros(folders, bool), []
    for before in range(400):
        made.append(made_at(several.share(asked, before)))
        wrong |= rng.random(folders) < 1 - made[-1].confidence
    spent = several.spent(made)
    assert spent <= 2 * (1 - asked)
    assert wrong.mean() <= spent + 4 * np.sqrt(spent * (1 - spent) / folders)
    assert wrong.mean() > 0.15  # the bound is not idle


def test_pressing_again_at_a_small_confidence_ends_before_anything_can_be_decided_by_chance(tmp_path):
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 50")), tmp_path / "run")
    for n in range(1, 4):
        code, told = audit(tmp_path / "run", "--again", "--confidence", "0.55")
        (row,) = told["algorithms"]
        assert code == 0 or row["claim_broken"]
        made = several.audits(read_results(tmp_path / "run").algorithms[0].audit)
        assert made[-1].confidence == pytest.approx(1 - 0.45 / (n * (n + 1)))
        assert several.spent(made) == pytest.approx(0.05 + 0.45 * (1 - 1 / (n + 1)))
        assert made[-1].joint_confidence == pytest.approx(1 - several.spent(made))


def test_no_audit_is_made_that_would_leave_less_than_a_half_together(tmp_path):
    run_scenario(parse(SMALL.replace("trials: 300", "trials: 50, confidence: 0.6")), tmp_path / "run")
    before = (tmp_path / "run" / "results.json").read_bytes()
    code, done = audit(tmp_path / "run", "--again")
    assert code == 2
    assert "spent 0.4 of error probability" in done.stderr
    assert (tmp_path / "run" / "results.json").read_bytes() == before
    with pytest.raises(ScenarioError):
        several.check(0.95, [made_at(0.9)] * 5)
    several.check(0.95, [made_at(0.95)] * 5)


# ── what is no part of it ───────────────────────────────────────────────────────────────────────────────
def test_other_code_is_not_audited_in_the_folder_of_the_old(tmp_path):
    (tmp_path / "own.py").write_text(MINE)
    text = own(tmp_path).replace("}, delta", ", delta").replace(", claim", ", parameters: {rounds: 2}, claim")
    (tmp_path / "own.py").write_text(MINE)
    run_scenario(parse(text), tmp_path / "run")
    files = {file: file.read_bytes() for file in (tmp_path / "run").iterdir() if file.is_file()}
    assert (tmp_path / "run" / "witness-noisy.json") in files
    (tmp_path / "own.py").write_text(MINE.replace("careful: bool = False", "careful: bool = True"))
    code, done = audit(tmp_path / "run", "--again")
    assert code == 2
    assert "the code of noisy is another one" in done.stderr
    assert "own.py --out OTHER" in done.stderr
    assert {file: file.read_bytes() for file in files} == files


class StopAtViews(Silent):
    def begin(self, stage, total):
        if "looking" in stage:
            raise KeyboardInterrupt


def test_a_new_audit_that_is_stopped_at_its_views_is_done_and_its_draw_counts(tmp_path):
    for name in ("run", "whole"):
        run_scenario(parse(SMALL.replace("trials: 300", "trials: 50")), tmp_path / name)
    asked = {"trials": 60, "views": "links"}

    def again(folder, progress=None):
        told = []
        Reaudit(RunFolder.open(folder), asked, progress or Silent(), told.append).run()
        return told

    with pytest.raises(KeyboardInterrupt):
        again(tmp_path / "run", StopAtViews())
    stopped = entry_of(tmp_path / "run")
    assert (stopped["audit"]["options"]["draw"], stopped["views"]) == (1, None)
    assert json.loads((tmp_path / "run" / "audit-noisy.json").read_text()) == stopped["audit"]
    told = again(tmp_path / "run")
    again(tmp_path / "whole")
    assert any("views follows" in one for one in told)
    after = entry_of(tmp_path / "run")
    assert after["views"] is not None
    assert after == entry_of(tmp_path / "whole")
    assert len(again(tmp_path / "run")) == 1
