"""The ledger: nothing is missing in it, what is there is not run again, and the page says what was found."""

import importlib
import inspect
import json
import pkgutil
import re
import shutil
from dataclasses import replace
from functools import cache
from math import inf
from pathlib import Path

import pytest

import netsim.algorithms
from netsim.algorithms import Algorithm
from netsim.algorithms.secret_sharing import SumOfStates
from netsim.errors import ScenarioError
from scenarios.build.experiment import Experiment
from scenarios.certificate import ledger as keeping
from scenarios.certificate.ledger import (
    ENTRIES,
    FOLDER,
    chosen,
    exact_in_words,
    rows,
    run_entry,
    stored_entry,
    write_page,
)
from scenarios.files.library import library
from scenarios.results.audit import EpsilonExact
from scenarios.results.findings import BROKEN, verdict
from scenarios.results.folder import read_results
from scenarios.schema.load import Located
from tests.netsim.algorithms.every import kinds
from tests.scenarios.command import cli

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "ledger.md"
FAST = ("thesis-algorithm-1", "uniform-mean")
pytestmark = pytest.mark.usefixtures("undrawn")


@cache
def subjects():
    """(entry, what the scenario says, what it builds) of every algorithm in the ledger."""
    return [
        (entry, one.spec, one.simulation.algorithm)
        for entry in ENTRIES
        for one in Experiment.of(entry.located.scenario).subjects
    ]


def concrete():
    """Every class of an algorithm that can run, wherever it stands in `netsim.algorithms`; faults are planted.

    A sum of states is secret sharing as its claim sees it: audited in its place, never run by a scenario."""
    found = set()
    for module in pkgutil.iter_modules(netsim.algorithms.__path__):
        if module.name == "planted_faults":
            continue
        members = vars(importlib.import_module(f"netsim.algorithms.{module.name}")).values()
        found |= {c for c in members if inspect.isclass(c) and issubclass(c, Algorithm) and not inspect.isabstract(c)}
    return {c for c in found if not issubclass(c, SumOfStates)}  # for audits of another, not to be run


RUN = keeping.run_study


def short(located, *rest, **options):
    """Run the algorithms of an entry that take one round or two."""
    few = [one for one in located.scenario.algorithms if one.rounds <= 2]
    scenario = located.scenario.model_copy(update={"algorithms": few})
    return RUN(Located(scenario, located.file, located.tree), *rest, **options)


def links(path):
    return [target for target in re.findall(r"\]\(([^)]+)\)", path.read_text()) if not target.startswith("http")]


class TestWhatIsInIt:
    @pytest.mark.slow
    def test_every_algorithm_and_every_kind(self):
        assert {type(algorithm) for _, _, algorithm in subjects()} == concrete()
        assert {spec.kind for _, spec, _ in subjects()} == kinds() - {"planted_fault", "python"}

    @pytest.mark.parametrize(
        ("kind", "field", "choices"),
        [
            ("dp_recal", "reading", {"as_analysed", "as_deployable", "fresh_noise", "sent_state"}),
            ("d_admm", "perturbation", {"primal", "dual"}),
            ("rw_admm", "activation", {"walk", "everybody", "bernoulli"}),
            ("walkman", "version", {"gradient", "prox"}),
            ("gradient_tracking", "variant", {"diging", "atc"}),
            ("private_gradient_descent", "state", {"exact", "released"}),
        ],
    )
    def test_every_variant(self, kind, field, choices):
        assert {getattr(spec, field) for _, spec, _ in subjects() if spec.kind == kind} == choices

    def test_every_file_is_an_entry_and_nothing_is_listed_twice(self):
        names = [entry.name for entry in ENTRIES]
        assert sorted(names) == sorted(path.stem for path in FOLDER.glob("*.yaml"))
        algorithms = [spec.name for _, spec, _ in subjects()]
        assert len(set(algorithms)) == len(algorithms)

    def test_all_verdicts_together_hold_at_95_percent(self):
        wrong = sum(1 - entry.located.scenario.audit.confidence for entry, _, _ in subjects())
        assert 0 < wrong <= 0.05

    @pytest.mark.few(14)
    @pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry.name)
    def test_an_entry_is_one_run_that_says_what_was_chosen(self, entry):
        scenario = entry.located.scenario
        assert scenario.name == entry.name
        assert scenario.audit is not None
        assert not scenario.variants
        assert not scenario.grid
        assert re.search(r"Chosen: |As the entr|Steps \"auto\"", scenario.description)
        Experiment.of(scenario)
        assert all((ROOT / "docs" / page).is_file() for page in entry.see)
        assert all(name in library() for name in entry.shipped)

    def test_names_are_chosen_in_the_ledgers_order_and_wrong_ones_refused(self):
        assert [entry.name for entry in chosen(["dpp2", "dmsp"])] == ["dmsp", "dpp2"]
        assert chosen([]) == ENTRIES
        with pytest.raises(ScenarioError, match="did you mean 'dpp2'"):
            chosen(["dpp"])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Results of the fast entries, without their long runs."""
    place = tmp_path_factory.mktemp("ledger")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(keeping, "run_study", short)
        for entry in chosen(FAST):
            run_entry(entry, place)
    return place


@pytest.fixture
def again(folder):
    """`run_study` that finds what the folder holds: for what is kept and told, and not what is found."""

    def study(located, place, **_):
        shutil.copytree(folder / located.scenario.name, place, dirs_exist_ok=True)
        return read_results(place)

    return study


def found(folder):
    return [row for entry in chosen(FAST) for row in rows(entry, stored_entry(entry, folder), folder)]


class TestWhatIsKept:
    def test_results_are_of_one_text_one_code_and_the_same_versions(self, folder, monkeypatch):
        (entry,) = chosen(["uniform-mean"])
        assert stored_entry(entry, folder) is not None
        for change in ((keeping, "program", lambda: "another"), (keeping, "versions", lambda: {"python": "4"})):
            with monkeypatch.context() as changed:
                changed.setattr(*change)
                assert stored_entry(entry, folder) is None
        with monkeypatch.context() as changed:
            changed.setitem(entry.__dict__, "text", entry.text + "# a remark\n")
            assert stored_entry(entry, folder) is None
        assert stored_entry(entry, folder) is not None

    def test_what_was_cut_off_is_not_there(self, folder, tmp_path):
        (entry,) = chosen(["uniform-mean"])
        place = tmp_path / entry.name
        place.mkdir()
        for name in (keeping.NOTE, "results.json"):
            (place / name).write_text((folder / entry.name / name).read_text())
        assert stored_entry(entry, tmp_path) is not None
        (place / "results.json").write_text('{"status": "interrupted"}')
        assert stored_entry(entry, tmp_path) is None
        (place / "results.json").write_text('{"status": "comp')
        assert stored_entry(entry, tmp_path) is None

    def test_every_algorithm_has_its_seconds(self, folder):
        assert all(row.seconds > 0 for row in found(folder))

    def test_an_interrupted_ledger_keeps_what_it_had(self, again, tmp_path, monkeypatch):
        ran = []

        def study(located, *rest, **options):
            ran.append(located.scenario.name)
            if ran == [*FAST]:
                raise KeyboardInterrupt
            return again(located, *rest, **options)

        monkeypatch.setattr(keeping, "run_study", study)
        asked = ["ledger", *FAST, "--folder", str(tmp_path), "--jobs", "1"]
        cli(*asked, ends=130, output="Algorithm 1, random penalties alone")
        cli(*asked, ends=0)
        cli(*asked, ends=0)
        assert ran == [*FAST, FAST[1]]
        cli("ledger", FAST[1], *asked[3:], "--again", ends=0)
        assert len(ran) == 4


class TestCommand:
    def test_rows_as_json(self, folder):
        done = cli("ledger", *FAST, "--folder", folder, "--json", ends=0)
        bounds = json.loads(done.stdout)
        assert [one["name"] for one in bounds] == [row.name for row in found(folder)]
        alone = next(one for one in bounds if one["name"] == "Algorithm 1, random penalties alone")
        assert alone["verdict"] == "unprotected"
        assert alone["numbers"]["epsilon_exact"]["lower"] == "inf"

    def test_a_refutation_is_no_failure_and_without_all_entries_there_is_no_page(self, folder):
        cli(
            "ledger", *FAST, "--folder", folder, "--out", folder / "page.md", ends=0, stdout="unprotected",
            stderr="without results yet: private-gradient-descent, dmsp",
        )  # fmt: skip
        assert not (folder / "page.md").exists()

    def test_wrong_input_is_one_line(self, tmp_path):
        cli("ledger", "nothing", ends=2, stderr="no entry of the ledger")
        (tmp_path / "uniform-mean").mkdir()
        (tmp_path / "uniform-mean" / "mine.txt").write_text("mine")
        cli("ledger", "uniform-mean", "--folder", tmp_path, ends=2, stderr="--folder")

    def test_an_entry_that_fails_does_not_sink_the_others(self, again, tmp_path, monkeypatch):
        def study(located, *rest, **options):
            if located.scenario.name == FAST[0]:
                raise ZeroDivisionError("a defect")
            return again(located, *rest, **options)

        monkeypatch.setattr(keeping, "run_study", study)
        cli(
            "ledger", *FAST, "--folder", tmp_path, "--jobs", "1", ends=70,
            stderr="thesis-algorithm-1: ZeroDivisionError: a defect", stdout="one release",
        )  # fmt: skip


class TestPage:
    def test_the_same_results_give_the_same_bytes_and_links_lead_somewhere(self, folder, tmp_path):
        for name in ("one.md", "two.md"):
            write_page(tmp_path / name, found(folder))
        assert (tmp_path / "one.md").read_bytes() == (tmp_path / "two.md").read_bytes()
        assert all((tmp_path / target).exists() for target in links(tmp_path / "one.md"))

    def test_witnesses_of_broken_claims_are_beside_it(self, folder, tmp_path):
        """Those that the results name; a file of a former run is none of them."""
        (entry,) = chosen(["thesis-algorithm-1"])
        place, kept_now = folder / entry.name, stored_entry(entry, folder)
        broken, former = place / "witness-algorithm-1-random-penalties-alone.json", place / "witness-former.json"
        algorithms = tuple(
            replace(one, audit=replace(one.audit, witness=broken.name if verdict(one) in BROKEN else None))
            for one in kept_now.results.algorithms
        )
        kept_now = replace(kept_now, results=replace(kept_now.results, algorithms=algorithms))
        for path in (broken, former):
            path.write_text("{}")
        try:
            written = write_page(tmp_path / "page.md", rows(entry, kept_now, folder))
        finally:
            for path in (broken, former):
                path.unlink()
        copy = "witnesses/thesis-algorithm-1-algorithm-1-random-penalties-alone.json"
        assert written == [tmp_path / "page.md", tmp_path / copy]
        assert links(tmp_path / "page.md").count(copy) == 2
        assert (tmp_path / copy).read_text() == "{}"

    def test_exact_in_words(self):
        def bounds(lower, estimate, upper, by_formula=False):
            ends = {"lower": lower, "estimate": estimate, "upper": upper}
            return exact_in_words(EpsilonExact(**ends, by_formula=by_formula, upper_bound_only=False))

        assert bounds(inf, inf, inf) == "∞"
        assert bounds(2.8, 2.93, inf, by_formula=True) == "2.93"
        assert bounds(0.1, 0.15, inf) == "≥ 0.1"
        assert bounds(0.1, 0.15, 0.2) == "0.1 … 0.2"
        assert bounds(0.0, 0.15, 0.2) == "≤ 0.2"
        assert bounds(0.0, 0.15, inf) == "not known"
        assert exact_in_words(None) == "–"


class TestCommittedPage:
    """docs/ledger.md is what `netsim ledger --out docs/ledger.md` writes."""

    def cells(self):
        lines = [line for line in PAGE.read_text().splitlines() if line.startswith("| ")]
        return {line.split(" | ")[0].removeprefix("| "): line.split(" | ") for line in lines[2:]}

    def test_it_has_every_algorithm_of_every_entry(self):
        assert list(self.cells()) == [spec.name for _, spec, _ in subjects()]

    def test_its_verdicts_are_those_of_a_run(self, folder):
        cells = self.cells()
        for row in found(folder):
            claimed, verdict = cells[row.name][1], cells[row.name][4]
            assert claimed == row.claimed
            assert verdict.partition(" (")[0].strip("*") == row.verdict

    def test_every_link_leads_somewhere(self):
        targets = links(PAGE)
        assert len(targets) > len(subjects())
        assert all((PAGE.parent / target).exists() for target in targets)

    def test_it_shows_what_papers_do_not_say(self):
        verdicts = {name: cells[4].partition(" (")[0].strip("*") for name, cells in self.cells().items()}
        assert verdicts["DiaDSP, step .02"] == verdicts["CPGT"] == "refuted"
        assert verdicts["DPP², K = 1, short step"] == "refuted"
        assert verdicts["DPP², r = .9"] == "vacuous"
        for reading in ("as analysed, with the exact u sent", "as deployable"):
            assert verdicts[f"DP-RECAL, {reading}"] == "unprotected"
        assert verdicts["DP-RECAL, fresh noise"] == "refuted"
        assert (
            verdicts["DP-RECAL repaired, sent state"] == verdicts["DP-RECAL repaired, on the same pair"] == "proven"
        )
