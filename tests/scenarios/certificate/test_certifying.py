"""The command `netsim certificate`."""

import pytest

from scenarios.certificate import certificate as module
from scenarios.certificate import rows as kinds
from tests.scenarios.certificate import sabotaged
from tests.scenarios.command import cli


@pytest.fixture
def games_alone(monkeypatch):
    chosen = [case for case in kinds.cases() if case.part == "game"][:2]
    monkeypatch.setattr(module, "cases", lambda: chosen)
    return chosen


def test_the_same_arguments_write_the_same_bytes(games_alone, tmp_path):
    for name in ("one", "two"):
        options = ["--out", str(tmp_path / f"{name}.md"), "--json", str(tmp_path / f"{name}.json"), "--jobs", "1"]
        cli("certificate", "--repetitions", "5", *options, ends=0)
    assert (tmp_path / "one.md").read_bytes() == (tmp_path / "two.md").read_bytes()
    assert (tmp_path / "one.json").read_bytes() == (tmp_path / "two.json").read_bytes()
    text = (tmp_path / "one.md").read_text()
    assert "netsim certificate --repetitions 5 --out" in text
    assert "40 games" in text


def test_without_a_file_the_page_is_printed(games_alone):
    done = cli("certificate", "--repetitions", "2", "--seed", "3", "--jobs", "1", ends=0)
    assert done.stdout.startswith("# The auditor's certificate")
    assert "--repetitions 2 --seed 3 --out" in done.stdout


def test_a_certificate_that_does_not_hold_says_so(games_alone, monkeypatch):
    broken = [kinds.GameCase(c.name, c.draw, c.delta, sabotaged.without_the_sign) for c in games_alone]
    monkeypatch.setattr(module, "cases", lambda: broken)
    cli(
        "certificate", "--repetitions", "5", "--jobs", "1", ends=1,
        stdout=("**It does not hold:**", "randomized response: game above the truth in 20 of 20, at least"),
    )  # fmt: skip


def test_resume_goes_on_from_the_file(games_alone, tmp_path, monkeypatch):
    file = tmp_path / "numbers.json"
    command = ["certificate", "--json", str(file), "--out", str(tmp_path / "page.md"), "--jobs", "1", "--resume"]
    cli(*command, "--repetitions", "3", ends=0)  # of no file: from the beginning
    cli(*command, "--repetitions", "3", "--seed", "1", ends=2)
    before = file.read_bytes()
    monkeypatch.setattr(module, "repeated", None)
    cli(*command, "--repetitions", "3", ends=0)
    assert file.read_bytes() == before
    file.write_text("{}")
    cli(*command, "--repetitions", "3", ends=2, stderr="no certificate")
    assert not list(tmp_path.glob("*.part"))


@pytest.mark.parametrize(
    ("options", "field"),
    [
        (["--resume"], "--resume"), (["--repetitions", "0"], "--repetitions"), (["--seed", "-1"], "--seed"),
        (["--out", "/nowhere/page.md"], "--out"), (["--json", "/nowhere/page.json"], "--json"),
        (["--out", "/"], "--out = '/': a folder"), (["--json", "/"], "--json = '/': a folder"),
        (["--out", "/dev/full/page.md"], "--out"), (["--out", "/proc/page.md"], "cannot be written"),
        (["--out", "same", "--json", "./same"], "--json = 'same': the page is written there"),
        (["--jobs", "0"], "--jobs"),
    ],
)  # fmt: skip
def test_wrong_input_is_refused_at_once(options, field, tmp_path, monkeypatch):
    def never(_case):
        raise AssertionError

    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(module, "repeated", never)
    cli("certificate", *options, ends=2, stderr=field)
    assert not list(tmp_path.iterdir())
