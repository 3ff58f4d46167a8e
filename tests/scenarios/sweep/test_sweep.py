"""Sweeps: the points, one table whatever the workers, resumption, and points that fail or are killed."""

import json
import math
import os
import re
import signal
import subprocess
import sys
import time
from functools import partial

import numpy as np
import pytest
from pyarrow import parquet

from netsim.errors import ScenarioError
from scenarios.build.duration import Silent
from scenarios.schema.load import parse
from scenarios.stages import beside
from scenarios.sweep import folder as folders
from scenarios.sweep import run as running
from scenarios.sweep.points import Sweep, load_sweep, points
from scenarios.sweep.run import run_sweep
from tests.scenarios.command import cli
from tests.scenarios.sweep.small import NOISY, SMALL

SCENARIO = SMALL + NOISY + "  - {kind: recal, name: walk, activations: 40}\n"
BASE = parse(SCENARIO)
GRID = Sweep.model_validate({"scenario": "small", "grid": {"links.loss": [0.0, 0.3], "topology.agents": [3, 5]}})
RELIABLE = Sweep.model_validate(
    {
        "scenario": "small", "grid": {"topology.agents": [3, 5]},
        "random": {"problem.ridge": {"law": "loguniform", "low": 0.01, "high": 1.0}}, "draws": 2, "repeats": 2,
    }
)  # fmt: skip


# ── points ──────────────────────────────────────────────────────────────────────────────────────────────
def test_the_grid_is_a_product_in_order():
    found = points(GRID, BASE)
    assert [tuple(one.fields.values()) for one in found] == [(0.0, 3), (0.0, 5), (0.3, 3), (0.3, 5)]
    assert [one.index for one in found] == [0, 1, 2, 3]
    assert found[2].tree["links"]["loss"] == 0.3


def test_draws_are_the_same_every_time_and_of_their_law():
    found = points(RELIABLE, BASE)
    assert len(found) == 2 * 2 * 2
    again = points(RELIABLE, BASE)
    assert [one.fields for one in found] == [one.fields for one in again]
    assert [one.seed for one in found] == [0, 1] * 4
    pairs = zip(found[::2], found[1::2], strict=True)
    assert all(a.fields == b.fields for a, b in pairs), "repeats differ in the seed alone"
    many = RELIABLE.model_copy(update={"grid": {}, "draws": 400, "repeats": 1})
    ridges = np.array([one.fields["problem.ridge"] for one in points(many, BASE)])
    assert ridges.min() >= 0.01
    assert ridges.max() <= 1.0
    # log10 is uniform on [-2, 0]: the mean of 400 is within 5 deviations (2/√12/20) of −1
    assert abs(np.log10(ridges).mean() + 1) < 5 * 2 / math.sqrt(12) / 20


@pytest.mark.parametrize(
    ("law", "check"),
    [
        ({"law": "uniform", "low": 2, "high": 4, "whole": True}, lambda v: v in (2, 3, 4)),
        ({"law": "uniform", "low": 2.0, "high": 4.0}, lambda v: 2 <= v <= 4),
        ({"law": "choice", "values": [3, 7]}, lambda v: v in (3, 7)),
    ],
)
def test_laws(law, check):
    spec = Sweep.model_validate({"scenario": "s", "random": {"topology.agents": law}})
    drawn = {spec.random["topology.agents"].draw(np.random.default_rng(k)) for k in range(40)}
    assert all(map(check, drawn))
    assert len(drawn) > 1


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("grid: {links.loss: [0.1]}\n", "scenario"),
        ("scenario: small\ngrid: {links.loss: []}\n", "at least one entry"),
        ("scenario: small\nrandom: {problem.ridge: {law: normal}}\n", "unknown law"),
        ("scenario: small\nrandom: {problem.ridge: {law: uniform, low: 2, high: 1}}\n", "low must be below high"),
        ("scenario: small\ndraws: 3\n", "draws goes with random"),
        ("scenario: small\ngrid: {a: [1]}\nrandom: {a: {law: choice, values: [1]}}\n", "a is in grid, too"),
        ("scenario: small\ngrid: {seed: [1, 2]}\n", "varied by repeats"),
        (
            "scenario: small\ngrid:\n  a:\n  - 1\n  - 2\n  - 1.0\n",
            "sweep.yaml:6: grid.a[2] = 1.0: there twice: it is entry 0",
        ),
        ("scenario: small\ngrid: {a: [{b: 1}, {b: 1.0}]}\n", "grid.a[1] = {b: 1.0}: there twice"),
        ("scenario: small\ngird: {a: [1]}\n", "did you mean 'grid'"),
        ("- 3\n", "mapping"),
        ("scenario: [\n", "not valid YAML"),
    ],
)
def test_wrong_sweeps_get_a_good_message(text, says):
    with pytest.raises(ScenarioError) as caught:
        load_sweep(text, "sweep.yaml")
    assert says in str(caught.value)
    assert "sweep.yaml" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("grid: {links.loss: [0.1, 0.2]}", []),
        ("repeats: 2", []),
        ("grid: {links.loss: [0.1, 0.2], audit: [null, true, 1]}", []),
        (
            "random: {links.loss: {law: uniform, low: 0, high: 1}}",
            ["The sweep has one point: its random fields are drawn once. draws: 20"],
        ),
        ("random: {links.loss: {law: uniform, low: 0, high: 1}}\ndraws: 2", []),
        ("grid: {links.loss: [0.1]}", ["The sweep has one point: no field has several values"]),
    ],
)
def test_a_sweep_of_one_point_is_remarked(text, says):
    remarks = load_sweep(f"scenario: small\n{text}\n", "sweep.yaml").remarks()
    assert [one[: len(said)] for one, said in zip(remarks, says, strict=True)] == says


def test_a_point_that_does_not_fit_is_named_before_anything_runs(tmp_path):
    wrong = GRID.model_copy(update={"grid": {"links.loss": [0.1, 1.5]}})
    with pytest.raises(ScenarioError, match=r"point 1: links.loss = 1.5: out of range"):
        run_sweep(wrong, BASE, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_parts_that_do_not_fit_are_told_for_all_points_before_anything_runs_or_is_written(tmp_path):
    """What the schema cannot see: a graph that falls apart, and more agents than records."""
    graph = {"kind": "edges", "agents": 4, "edges": [[0, 1], [2, 3]]}
    wrong = GRID.model_copy(
        update={"grid": {"topology": [{"kind": "ring", "agents": n} for n in (4, 9999)] + [graph]}}
    )
    with pytest.raises(ScenarioError) as caught:
        run_sweep(wrong, BASE, tmp_path / "out", jobs=1)
    first, second = str(caught.value).splitlines()
    assert first.startswith("point 1: ")
    assert second.startswith("point 2: topology")
    assert "2 components" in second
    assert not (tmp_path / "out").exists()


# ── runs ────────────────────────────────────────────────────────────────────────────────────────────────
def read(folder):
    return parquet.read_table(folder / folders.TABLE)


def test_the_table_is_the_same_for_any_number_of_workers_and_says_what_its_columns_are(tmp_path):
    one = run_sweep(RELIABLE, BASE, tmp_path / "one", jobs=1)
    run_sweep(RELIABLE, BASE, tmp_path / "two", jobs=2)
    assert (one.status, one.complete, one.failed) == ("complete", 8, ())
    alone, shared = read(tmp_path / "one"), read(tmp_path / "two")
    assert alone.equals(shared)
    assert alone.num_rows == 16, "one for each algorithm of each point"
    assert alone.column_names[:3] == ["topology.agents", "problem.ridge", "point"]
    assert alone.schema.field("gradient_error").metadata[b"meaning"].startswith(b"of inferred gradients")
    walks = alone.filter([name == "walk" for name in alone["algorithm"].to_pylist()])
    assert max(walks["gradient_error"].to_pylist()) < 1e-8
    assert set(walks["count"].to_pylist()) == {40}


def test_a_failed_point_is_a_row_and_is_tried_again(tmp_path):
    loose = Sweep.model_validate({"scenario": "small", "grid": {"links.reliable": [True, False]}})
    lossy = parse(SCENARIO + "links: {loss: 0.5}\n")
    found = run_sweep(loose, lossy, tmp_path / "out", jobs=1)
    assert (found.status, found.complete, found.failed) == ("complete", 1, (1,))
    rows = read(tmp_path / "out").to_pylist()
    (failed,) = [row for row in rows if row["status"] == "failed"]
    assert "waits for" in failed["error"], "a lost packet on an unreliable link: somebody waits forever"
    assert failed["algorithm"] is None
    again = run_sweep(loose, lossy, tmp_path / "out", jobs=1)
    assert again.failed == (1,)


def test_what_is_done_is_not_done_again(tmp_path, monkeypatch):
    run_sweep(GRID.model_copy(update={"grid": {"topology.agents": [3, 5]}}), BASE, tmp_path / "out", jobs=1)
    before = read(tmp_path / "out")
    done = []
    monkeypatch.setattr(running, "one_point", lambda point, *_: done.append(point.index))
    again = run_sweep(GRID.model_copy(update={"grid": {"topology.agents": [3, 5]}}), BASE, tmp_path / "out", jobs=1)
    assert done == []
    assert again.complete == 2
    assert read(tmp_path / "out").equals(before)


def test_another_sweep_s_folder_is_refused(tmp_path):
    run_sweep(GRID.model_copy(update={"grid": {"topology.agents": [3]}}), BASE, tmp_path / "out", jobs=1)
    with pytest.raises(ScenarioError, match=r"another sweep \(other: grid\.topology\.agents\)"):
        run_sweep(GRID, BASE, tmp_path / "out", jobs=1)
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "thesis.tex").touch()
    with pytest.raises(ScenarioError, match="no sweep's"):
        run_sweep(GRID, BASE, tmp_path / "mine", jobs=1)


@pytest.mark.slow
def test_kept_folders_are_results_folders(tmp_path):
    spec = Sweep.model_validate({"scenario": "small", "grid": {"topology.agents": [3]}, "keep": True})
    run_sweep(spec, BASE, tmp_path / "out", jobs=1)
    assert (tmp_path / "out" / "000000" / "report.html").exists()


@pytest.mark.slow
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGTERM])
def test_an_interrupted_sweep_keeps_its_points_and_goes_on(tmp_path, stop):
    path = tmp_path / "small.yaml"
    path.write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nrepeats: 12\n")
    out = tmp_path / "out"
    command = [sys.executable, "-m", "scenarios.cli.app", "sweep", str(tmp_path / "sweep.yaml"), "--out", str(out)]
    child = subprocess.Popen(
        [*command, "--jobs", "1"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, preexec_fn=_listening
    )
    deadline = time.monotonic() + 60
    while len(list((out / "points").glob("*.json"))) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(stop)
    said = child.communicate(timeout=60)
    assert child.returncode == 130, said
    assert "Continue with: netsim sweep" in said[1]
    kept = read(out).num_rows
    assert 2 * 2 <= kept < 12 * 2
    cli(*command[3:], "--jobs", "1", ends=0)
    assert read(out).num_rows == 12 * 2


@pytest.mark.parametrize("there", [True, False])
def test_ctrl_c_while_points_are_checked_says_how_to_go_on(tmp_path, monkeypatch, there):
    def stop(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(running, "_check", stop)
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\nrepeats: 2\n")
    out = tmp_path / "out"
    if there:
        out.mkdir()
    kept = "the folder has the points that were done" if there else "no point was run yet"
    words = [f"Interrupted: {kept}", "Continue with:", f"--out {out} --jobs 1"]
    cli("sweep", tmp_path / "sweep.yaml", "--out", out, "--jobs", "1", ends=130, stderr=words)


def _listening():
    """A child of a shell's background job would ignore it."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def test_it_is_shown_what_each_point_does(tmp_path, monkeypatch):
    seen, begun = set(), []

    class Shown(Silent):
        def begin(self, *stage):
            begun.append(stage)

        def doing(self, lines):
            seen.update(lines)

    def run_point(point, keep, progress):
        progress.begin("descent: auditing", 40)
        progress.advance(10)
        time.sleep(0.2)
        return REAL(point, keep)

    monkeypatch.setattr(beside, "EVERY", 0.01)
    monkeypatch.setattr(running, "one_point", run_point)
    two = Sweep.model_validate({"scenario": "small", "grid": {"topology.agents": [3, 4]}, "repeats": 2})
    found = run_sweep(two, BASE, tmp_path / "out", jobs=1, progress=Shown())
    assert found.complete == 4
    settings = ("agents=3, seed=0", "agents=3, seed=1", "agents=4, seed=0", "agents=4, seed=1")
    assert {f"point {k} ({one}): descent: auditing: 10 of 40" for k, one in enumerate(settings)} <= seen
    ((stage, points_, seconds),) = begun[-1:]
    assert (stage, points_, seconds > 0) == ("4 points", 4, True)  # as long as `check` says


# ── workers that die ────────────────────────────────────────────────────────────────────────────────────
def killed_once(marker, point, keep, *_):
    """The first worker that gets point 1 is killed, as by a cluster's memory limit; the next one is not."""
    if point.index == 1 and not os.path.exists(marker):
        open(marker, "w").close()
        os.kill(os.getpid(), signal.SIGKILL)
    return REAL(point, keep)


def killed_always(point, keep, *_):
    if point.index == 1:
        os.kill(os.getpid(), signal.SIGKILL)
    return REAL(point, keep)


REAL = running.one_point
FOUR = Sweep.model_validate({"scenario": "small", "grid": {"topology.agents": [3, 4, 5, 6]}})


@pytest.mark.slow
def test_a_killed_process_sinks_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "one_point", partial(killed_once, str(tmp_path / "killed")))
    found = run_sweep(FOUR, BASE, tmp_path / "out", jobs=2)
    assert (tmp_path / "killed").exists()
    assert (found.complete, found.failed) == (4, ())


@pytest.mark.slow
def test_a_point_that_kills_whoever_runs_it_is_a_row(tmp_path, monkeypatch):
    monkeypatch.setattr(running, "one_point", killed_always)
    monkeypatch.setattr(running, "_DEATHS", 1)  # a pool less to begin anew
    found = run_sweep(FOUR, BASE, tmp_path / "out", jobs=2)
    assert (found.complete, found.failed) == (3, (1,))
    (failed,) = [one for one in found.results if one.status == "failed"]
    assert "killed" in failed.error


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
def test_the_command_prints_and_keeps(tmp_path):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\ngrid: {topology.agents: [3, 4]}\n")
    out = tmp_path / "out"
    cli(
        "sweep", tmp_path / "sweep.yaml", "-o", "seed=7", "--out", out, "--jobs", "1", ends=0,
        output="2 of 2 points done",
    )  # fmt: skip
    kept = json.loads((out / "sweep.json").read_text())
    assert kept["sweep"]["grid"] == {"topology.agents": [3, 4]}
    assert (kept["scenario"]["seed"], "-o seed=7" in kept["command"]) == (7, True)
    (tmp_path / "seeds.yaml").write_text("scenario: small.yaml\nrepeats: 2\n")
    shown = cli("sweep", tmp_path / "seeds.yaml", "--out", tmp_path / "seeds", "--jobs", "1", ends=0).stdout
    assert re.search(r"point +seed", shown)
    cli("sweep", tmp_path / "nothing.yaml", ends=2, output="no readable file")
    nobody = ["sweep", str(tmp_path / "sweep.yaml"), "--cluster", "nonsense://x"]
    cli(*nobody, ends=2)


@pytest.mark.slow
def test_a_point_that_is_known_may_have_an_infinite_epsilon(tmp_path):
    base = parse(SCENARIO + "audit: {trials: 50, chunk: 50}\n")
    sweep = Sweep.model_validate({"scenario": "small", "grid": {"algorithms[0].scale": [0.5, 0.0]}})
    first = run_sweep(sweep, base, tmp_path / "out", jobs=1)
    before = parquet.read_table(tmp_path / "out" / "sweep.parquet")
    assert math.inf in before["epsilon_exact_lower"].to_pylist()
    again = run_sweep(sweep, base, tmp_path / "out", jobs=1)
    assert parquet.read_table(tmp_path / "out" / "sweep.parquet").equals(before)
    assert again.results == first.results
