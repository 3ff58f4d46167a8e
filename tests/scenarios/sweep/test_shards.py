"""A sweep in shares that share a folder, what comes back from JSON, and points on a cluster's threads."""

import subprocess
import sys
from functools import partial

import pytest
from pyarrow import parquet

from netsim.errors import ScenarioError
from scenarios.build.duration import Silent
from scenarios.cli import run as command
from scenarios.schema.load import parse
from scenarios.sweep import folder as folders
from scenarios.sweep import run as clusters
from scenarios.sweep import run as running
from scenarios.sweep.folder import PointResult, Points, packed
from scenarios.sweep.points import Shard, Sweep, points
from scenarios.sweep.run import Cluster, Order, at_worker, run_sweep
from tests.scenarios.command import cli
from tests.scenarios.sweep.small import NOISY, SMALL

SCENARIO = SMALL + NOISY
BASE = parse(SCENARIO)
FIVE = Sweep.model_validate({"scenario": "small.yaml", "grid": {"topology.agents": [3, 4, 5, 6, 7]}})


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The table of one process."""
    place = tmp_path_factory.mktemp("alone")
    run_sweep(FIVE, BASE, place, jobs=1)
    return (place / folders.TABLE).read_bytes()


# ── shares ──────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize("of", [1, 2, 3, 8])
def test_shares_are_all_of_it_and_each_point_is_in_one(of):
    found = points(FIVE, BASE)
    shares = [Shard(number, of).share(found) for number in range(1, of + 1)]
    assert sorted(point.index for share in shares for point in share) == [0, 1, 2, 3, 4]
    assert max(map(len, shares)) - min(map(len, shares)) <= 1


@pytest.mark.parametrize("text", ["", "3", "0/4", "5/4", "1/0", "a/b", "1/2/3", "-1/2"])
def test_a_wrong_share_is_said(text):
    with pytest.raises(ScenarioError, match=r"such as 3/8"):
        Shard.read(text)


@pytest.mark.slow
@pytest.mark.parametrize("order", [(1, 2, 3), (3, 1, 2)])
def test_the_table_does_not_depend_on_the_shares_or_their_order(tmp_path, alone, order):
    there = [run_sweep(FIVE, BASE, tmp_path / "out", jobs=1, shard=Shard(number, 3)).there for number in order]
    assert there[-1] == 5
    assert (tmp_path / "out" / folders.TABLE).read_bytes() == alone


@pytest.mark.slow
def test_a_share_tells_of_its_own_points_and_the_command_without_shares_does_the_rest(tmp_path, alone):
    found = run_sweep(FIVE, BASE, tmp_path / "out", jobs=1, shard=Shard(2, 2))
    assert (found.points, found.complete, found.all, found.there) == (2, 2, 5, 2)
    assert parquet.read_table(tmp_path / "out" / folders.TABLE)["point"].to_pylist() == [1, 3]
    run_sweep(FIVE, BASE, tmp_path / "out", jobs=1)
    assert (tmp_path / "out" / folders.TABLE).read_bytes() == alone


@pytest.mark.slow
def test_shares_at_the_same_time_in_one_folder(tmp_path, alone):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\ngrid: {topology.agents: [3, 4, 5, 6, 7]}\n")
    words = [sys.executable, "-m", "scenarios.cli.app", "sweep", str(tmp_path / "sweep.yaml"), "--jobs", "1"]
    words += ["--out", str(tmp_path / "out"), "--shard"]
    jobs = [
        subprocess.Popen([*words, f"{number}/2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for number in (1, 2)
    ]
    said = [one.communicate(timeout=120) for one in jobs]
    assert [one.returncode for one in jobs] == [0, 0], said
    assert (tmp_path / "out" / folders.TABLE).read_bytes() == alone
    assert sum("It has 5 of the sweep's 5 points" in out for out, _ in said) >= 1
    assert sorted(one.name for one in (tmp_path / "out").iterdir()) == ["points", "sweep.json", "sweep.parquet"]


@pytest.mark.slow
def test_a_point_that_comes_while_the_table_is_written_is_in_it(tmp_path, monkeypatch, alone):
    """The other share ends between the look at its points and the table's last byte."""
    run_sweep(FIVE, BASE, tmp_path / "other", jobs=1)
    write = folders.write_table

    def meanwhile(*arguments):
        write(*arguments)
        for path in (tmp_path / "other" / "points").iterdir():
            path.replace(tmp_path / "out" / "points" / path.name)

    monkeypatch.setattr(folders, "write_table", meanwhile)
    assert run_sweep(FIVE, BASE, tmp_path / "out", jobs=1, shard=Shard(1, 5)).there == 5
    assert (tmp_path / "out" / folders.TABLE).read_bytes() == alone


def test_a_folder_that_another_process_just_began_is_not_taken_for_a_stranger_s(tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / f"{folders.MANIFEST}.0123").touch()
    assert run_sweep(FIVE, BASE, tmp_path / "out", jobs=1, shard=Shard(1, 5)).complete == 1


def test_of_two_sweeps_that_begin_in_one_folder_at_once_one_goes_on(tmp_path, monkeypatch):
    other = FIVE.model_copy(update={"repeats": 2})
    write, begun = folders.write_text, []

    def slowly(path, tree):
        write(path, tree)
        if not begun:  # while the first one writes, the second one comes
            begun.append(True)
            folders.prepare(tmp_path, other, BASE, "other")

    monkeypatch.setattr(folders, "write_text", slowly)
    with pytest.raises(ScenarioError, match="holds the results of another sweep"):
        folders.prepare(tmp_path, FIVE, BASE, "first")
    folders.prepare(tmp_path, other, BASE, "other")
    assert sorted(one.name for one in tmp_path.iterdir()) == [folders.DONE, folders.MANIFEST]


def test_the_command_wants_a_folder_for_shares(tmp_path):
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\ngrid: {topology.agents: [3, 4]}\n")
    cli("sweep", tmp_path / "sweep.yaml", "--shard", "1/2", ends=2, output="--out FOLDER")
    out = ["--out", str(tmp_path / "out"), "--jobs", "1", "--shard"]
    cli("sweep", tmp_path / "sweep.yaml", *out, "3/2", ends=2, output="--shard")
    cli("sweep", tmp_path / "sweep.yaml", *out, "1/2", ends=0, output=("1 of the sweep's 2 points", "netsim sweep"))


def test_a_scheduler_file_that_is_not_there_is_said(tmp_path, monkeypatch):
    pytest.importorskip("distributed")
    monkeypatch.setattr(command, "_WAIT", 0.1)
    (tmp_path / "small.yaml").write_text(SCENARIO)
    (tmp_path / "sweep.yaml").write_text("scenario: small.yaml\ngrid: {topology.agents: [3, 4]}\n")
    nobody = ["sweep", str(tmp_path / "sweep.yaml"), "--cluster", str(tmp_path / "cluster.json")]
    cli(*nobody, ends=2, output="no such file")


# ── resumed ─────────────────────────────────────────────────────────────────────────────────────────────
def test_infinities_and_nan_come_back_as_numbers(tmp_path):
    (point, *_) = points(FIVE, BASE)
    kept = Points(tmp_path, [point], ["topology.agents"])
    (tmp_path / folders.DONE).mkdir()
    row = {"algorithm": "noisy", "epsilon_exact_upper": float("inf"), "final_error": float("nan"), "verdict": "inf"}
    attack = {"algorithm": "noisy", "attack": "a", "psnr": float("inf")}
    kept.add(PointResult(point.fields, 0, 0, "complete", None, (row,), (attack,)))
    found = kept.result(point)
    (back,) = found.rows
    assert back["epsilon_exact_upper"] == float("inf")
    assert back["final_error"] != back["final_error"]
    assert back["verdict"] == "inf", "a text stays one"
    assert found.attacks[0]["psnr"] == float("inf")
    assert kept.write_table() == 1
    assert parquet.read_table(tmp_path / folders.TABLE)["epsilon_exact_upper"].to_pylist() == [float("inf")]


# ── a worker of a cluster ───────────────────────────────────────────────────────────────────────────────
def order(keep=False, versions=None, directory="."):
    return Order(points(FIVE, BASE)[0], keep, versions or clusters.versions(), directory)


def test_a_worker_with_other_versions_computes_nothing():
    found, archive, _ = at_worker(running.one_point, order(versions={"numpy": "0.1"}))
    assert found.status == "failed"
    assert "other versions: numpy is" in found.error
    assert archive is None


@pytest.mark.slow
def test_a_folder_to_keep_comes_back_from_a_worker(tmp_path):
    found, archive, _ = at_worker(running.one_point, order(keep=True))
    assert found.status == "complete"
    (point, *_) = found = points(FIVE, BASE)
    for _ in range(2):  # a former one is replaced
        Points(tmp_path, found, []).keep(point, archive)
    assert (tmp_path / "000000" / "report.html").stat().st_size > 1000
    assert [one.name for one in tmp_path.iterdir()] == ["000000"]
    assert packed(tmp_path / "000000")


def test_a_relative_path_means_the_asker_s(tmp_path, monkeypatch):
    seen = []

    def look(point, keep):
        seen.append(clusters.os.getcwd())
        return PointResult.failed(point, "looked")

    before = clusters.os.getcwd()
    at_worker(look, order(directory=str(tmp_path)))
    at_worker(look, order(directory=str(tmp_path / "nowhere")))
    assert seen == [str(tmp_path), before]
    assert clusters.os.getcwd() == before


class Told(Silent):
    def __init__(self):
        self.words = []

    def say(self, sentence):
        self.words.append(sentence)


@pytest.mark.slow
def test_on_workers_with_several_threads_that_come_late(tmp_path, monkeypatch, alone):
    """Nobody is there for a while, as in a queue; then four threads in one process."""
    distributed = pytest.importorskip("distributed")
    monkeypatch.setattr(clusters, "LOOK", 0.2)
    printed = Told()

    def say(sentence):
        Told.say(printed, sentence)
        dask.scale(1)

    printed.say = say
    with (
        distributed.LocalCluster(n_workers=0, threads_per_worker=4, processes=False, dashboard_address=None) as dask,
        distributed.Client(dask) as client,
    ):
        found = run_sweep(FIVE, BASE, tmp_path / "out", client=client, progress=printed)
    assert (found.status, found.complete) == ("complete", 5)
    assert "no worker is there yet: 5 point(s) wait" in printed.words[0]
    assert (tmp_path / "out" / folders.TABLE).read_bytes() == alone


class Answering:
    """A client whose futures are done at once: with an error a given number of times, then with an answer."""

    def __init__(self, errors, guilty):
        self.left, self.guilty = errors, guilty
        self.alone, self.open = [], 0

    def submit(self, call, run_point, one, *, key, pure):
        index = one.point.index
        error = self.left > 0 and (index in self.guilty)
        self.left -= error
        return Future(self, None if error else call(run_point, one), error and KILLED())

    def cancel(self, futures):
        assert futures == []


class Future:
    def __init__(self, client, answer, error):
        self.answer, self.error, self.status = answer, error, "error" if error else "finished"

    def add_done_callback(self, done):
        done(self)

    def result(self):
        return self.answer

    def exception(self):
        return self.error


def KILLED():  # noqa: N802
    distributed = pytest.importorskip("distributed")
    return distributed.KilledWorker("key", None, 3)


@pytest.mark.slow
@pytest.mark.parametrize(("errors", "failed"), [(2, []), (4, [1, 2])])
def test_points_blamed_for_a_killed_worker_are_tried_alone(tmp_path, errors, failed):
    found = points(FIVE, BASE)
    printed = Told()
    client = Answering(errors, {1, 2})
    workers = Cluster(running.one_point, client, Points(tmp_path, found, []), False, printed)
    done = {one.point: one for one in workers.each(found)}
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert [k for k in sorted(done) if done[k].status == "failed"] == failed
    assert all("was killed" in done[k].error for k in failed)
    assert [words.partition(":")[0] for words in printed.words] == [
        f"workers were killed at point {k}" for k in (1, 2)
    ]


@pytest.mark.slow
def test_a_scheduler_that_is_gone_interrupts(tmp_path, monkeypatch):
    gone = Answering(0, set())
    lost = partial(Future, gone, None, None)

    def submit(call, run_point, one, *, key, pure):
        future = lost()
        future.status = "cancelled" if one.point.index == 3 else "finished"
        future.answer = call(run_point, one)
        return future

    monkeypatch.setattr(gone, "submit", submit)
    monkeypatch.setattr(gone, "cancel", lambda futures: None)
    pytest.importorskip("distributed")
    found = run_sweep(FIVE, BASE, tmp_path / "out", client=gone)
    assert (found.status, found.there) == ("interrupted", 3)
