"""`netsim data`: what is known of the sets is so, and what is here is found as their loaders look for it."""

import gzip
import json

import numpy as np
import pytest

from netsim.problems import load
from netsim.problems.data import FACTS, LOADERS, facts, stored
from netsim.problems.data.cache import Cache, fetched
from tests.scenarios.command import cli

ROW = "39, State-gov, 77516, Bachelors, 13, Never-married, Clerical, Own, White, Male, 2174, 0, 40, X, <=50K\n"


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    monkeypatch.setenv("NETSIM_DATA", str(tmp_path))
    return tmp_path


def test_every_set_has_facts_and_those_that_are_here_are_so():
    assert list(FACTS) == list(LOADERS)
    for name in ("digits", "breast_cancer"):
        found = load(name)
        assert (found.records, found.dimension) == (facts(name).records, facts(name).dimension)


def test_a_set_is_here_when_its_loader_would_find_it(folder):
    assert stored("digits") == ()
    assert [one.present for one in stored("adult")] == [False, False]
    (folder / "adult").mkdir()
    (folder / "adult" / "adult.data").write_text(ROW)
    assert [(one.part, one.present) for one in stored("adult")] == [("train", True), ("test", False)]
    (folder / "covtype").mkdir()
    with gzip.open(folder / "covtype" / "covtype_ramp_test.csv.gz", "wt") as file:
        np.savetxt(file, np.zeros((2, 55)), delimiter=",", header="x", comments="")
    (found,) = stored("covtype")
    assert (found.present, found.original) == (True, False)
    listed = {one["name"]: one for one in json.loads(cli("data", "list", "--json").stdout)["data"]}
    assert [listed[name]["present"] for name in ("covtype", "mnist", "digits", "csv")] == [True, False, True, None]
    assert "train only" in cli("data", "list").output


def test_where_is_the_folder(folder):
    assert cli("data", "where").stdout == f"{folder}\n"


def test_a_download_is_told_and_one_that_cannot_be_is_status_70(folder, monkeypatch):
    def answers(url, progress):
        progress(0, 4)
        progress(len(ROW), 4)
        return ROW.encode()

    def silent(url, progress=None):
        raise OSError("no network")

    monkeypatch.setattr("netsim.problems.data.fetched", silent)
    cli("data", "fetch", "adult", "--part", "train", ends=70, stderr=("cannot be downloaded", "no network"))
    monkeypatch.setattr("netsim.problems.data.fetched", answers)
    other = cli("data", "fetch", "adult", "--part", "train", "--json")
    assert other.exit_code == 70  # not what was published
    assert "SHA-256" in json.loads(other.stdout)["error"]["message"]
    (folder / "adult").mkdir()
    (folder / "adult" / "adult.data").write_text(ROW)
    cli("data", "fetch", "adult", "--part", "train", ends=0, output="adult, train: is there: 1 records")


@pytest.mark.parametrize("words", [["nothing"], ["csv"], ["covtype", "--part", "test"]])
def test_what_cannot_be_fetched_is_wrong_input(words):
    cli("data", "fetch", *words, ends=2)


def test_bytes_are_told_as_they_arrive_and_an_answer_that_is_short_is_none(folder):
    file = folder / "a.bin"
    file.write_bytes(b"x" * 100_000)
    told = []
    assert fetched(file.as_uri(), lambda new, size: told.append((new, size))) == b"x" * 100_000
    assert told == [(0, 100_000), (65_536, 100_000), (34_464, 100_000)]
    assert Cache().folder == folder
