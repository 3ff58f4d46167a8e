"""Figures and tables for papers: one file a figure, at the width that is asked for, standing for itself."""

import csv
import io
import json
import re
from typing import ClassVar
from xml.etree import ElementTree

import pytest

from scenarios.build.duration import Silent
from scenarios.render.page.export import export_figures, export_tables
from scenarios.render.page.report import figures, page
from scenarios.results.tree import loads
from tests.scenarios.filled import tree
from tests.scenarios.render.page.test_report import sample
from tests.worlds import refusal

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def exported(tmp_path_factory):
    folder = tmp_path_factory.mktemp("figures")
    results = sample()
    results["algorithms"] = results["algorithms"][:3]
    results = tree(results)
    found = export_figures(figures(results), folder, formats=["svg", "png", "pdf"], dpi=100, width="89mm")
    return results, folder, found


def test_every_figure_of_the_page_is_there_once_in_every_format_with_its_curves_and_their_key(exported):
    results, folder, found = exported
    on_page = set(re.findall(r'data-figure="([^"]+)"', page(results))) - {"wide"}
    assert len(found) == len(on_page) + 1 >= 5  # the network of the page plays: its picture is drawn for the export
    for one in found:
        assert one.files == [f"{one.name}.{kind}" for kind in ("svg", "png", "pdf")]
        assert all((folder / file).stat().st_size > 500 for file in one.files)
    titles = {one.title for one in found}
    assert titles >= {"The three epsilons", "Does it converge?", "How fast is privacy spent?", "Network"}
    names = [a.name for a in results.algorithms]
    curve = next(one for one in found if one.title == "Does it converge?")
    assert sorted(curve.key) == sorted(names)
    text = (folder / f"{curve.name}.svg").read_text()
    for k in range(len(names)):
        assert f'id="series-{k}"' in text
    words = "".join(ElementTree.fromstring(text).itertext())
    for name in names:
        assert name in words


def test_files_are_as_wide_as_was_asked_stand_for_themselves_and_say_where_the_numbers_are_from(exported):
    """An SVG is whole XML with letters of about eight points, asks for nothing, and says what it shows."""
    _, folder, found = exported
    for one in found:
        text = (folder / f"{one.name}.svg").read_text()
        root = ElementTree.fromstring(text)
        assert float(root.get("width").removesuffix("pt")) == pytest.approx(89 / 25.4 * 72, abs=0.5)
        png = (folder / f"{one.name}.png").read_bytes()
        assert png.startswith(b"\x89PNG")
        assert int.from_bytes(png[16:20]) == pytest.approx(89 / 25.4 * 100, abs=1.5)
        assert (folder / f"{one.name}.pdf").read_bytes().startswith(b"%PDF")
        assert root.find(f"{SVG}title").text == one.words
        assert "var(" not in text
        assert not re.search(r'href="(?!#)', text)
        assert "sans-serif" in text or not list(root.iter(f"{SVG}text"))
        sizes = {float(v) for v in re.findall(r"font(?:-size)?: (?:\w+ )*?([0-9.]+)px", text)}
        if one.title != "The three epsilons":  # drawn for its own width, and scaled
            assert 6.5 <= min(sizes) <= max(sizes) <= 11, one.name
    told = json.loads((folder / "figures.json").read_text())
    assert [one["name"] for one in told] == [one.name for one in found]
    curve = next(one for one in found if one.title == "Does it converge?")
    assert "median over replicas" in curve.caption
    assert (folder / f"{curve.name}.txt").read_text().endswith("Numbers: results.json.\n")


@pytest.mark.slow
def test_what_is_exported_twice_is_the_same_and_the_page_is_not_changed(exported, tmp_path):
    results, folder, found = exported
    before = page(results)
    export_figures(figures(results), tmp_path, formats=["svg"], width="89mm")
    assert (tmp_path / found[0].files[0]).read_bytes() == (folder / found[0].files[0]).read_bytes()
    assert page(results) == before


def test_a_study_has_its_figures_too(study, tmp_path):
    found = export_figures(figures(loads((study / "results.json").read_text())), tmp_path, formats=["svg"])
    assert [one.title for one in found] == ["Errors"]
    assert len(found[0].key) > 1


def test_a_width_with_no_room_is_said_in_words(tmp_path, recwarn):
    """Without a word of the drawing library's; what has room is there."""
    results = sample()
    results["algorithms"] = results["algorithms"][:3]
    error = refusal(export_figures, figures(tree(results)), tmp_path, formats=["svg"], width="1in")
    assert "too narrow for the axes and words of “The three epsilons”" in str(error)
    assert "all other figures are written" in str(error)
    assert [str(one.message) for one in recwarn if "layout" in str(one.message)] == []
    assert not [*tmp_path.glob("*three-epsilons*")]
    assert [*tmp_path.glob("*.svg")]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"formats": ["gif"]}, "--format"), ({"width": "3 miles"}, "--width"), ({"width": "0.1in"}, "--width"),
        ({"width": "1.2.3in"}, "--width"), ({"dpi": 1}, "--dpi"),
    ],
)  # fmt: skip
def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, options, field):
    assert refusal(export_figures, figures(tree(sample())), tmp_path / "figures", **options).field == field
    assert not (tmp_path / "figures").exists()


# ── the table ───────────────────────────────────────────────────────────────────────────────────────────
def test_the_csv_has_the_numbers_in_full(tmp_path):
    results = sample()
    assert export_tables({"a": tree(results)}, tmp_path) == ["epsilons.csv", "epsilons.tex"]
    rows = list(csv.DictReader(io.StringIO((tmp_path / "epsilons.csv").read_text())))
    assert [row["algorithm"] for row in rows] == [a["name"] for a in results["algorithms"]]
    for row, entry in zip(rows, results["algorithms"], strict=True):
        audit = entry["audit"] or {}
        if audit.get("epsilon_claimed") is not None:
            assert float(row["epsilon_claimed"]) == float(audit["epsilon_claimed"])
            assert float(row["epsilon_exact_lower"]) == float(audit["epsilon_exact"]["lower"])
        else:
            assert row["epsilon_claimed"] == ""


def test_the_latex_has_a_row_for_each_algorithm_and_escapes_names(tmp_path):
    results = sample()
    results["algorithms"][0]["name"] = r"50% _x_ & {\y} ε"
    export_tables({"a": tree(results)}, tmp_path)
    text = (tmp_path / "epsilons.tex").read_text()
    body = text.split(r"\midrule")[1].split(r"\bottomrule")[0].strip().splitlines()
    assert len(body) == len(results["algorithms"])
    assert all(len(re.findall(r"(?<!\\)&", row)) == 5 for row in body)
    assert body[0].startswith(r"50\% \_x\_ \& \{\textbackslash{}y\} $\varepsilon$ &")
    assert r"$\infty$" in text
    export_tables({"a": tree(results), "b": tree(results)}, tmp_path)
    several = (tmp_path / "epsilons.tex").read_text()
    assert r"\begin{tabular}{llrrrrl}" in several


def renamed(name):
    results = sample()
    results["algorithms"] = results["algorithms"][:3]
    for place, one in enumerate(results["algorithms"]):
        one["name"] = f"{name} {place}"
    return tree(results)


@pytest.mark.slow
def test_dollars_in_a_name_are_no_mathematics(tmp_path):
    results = renamed(r"$\x$ costs $a$")
    assert r"$\x$ costs $a$ 1" in page(results)
    found = export_figures(figures(results), tmp_path, formats=["svg", "pdf"])
    epsilons = next(one for one in found if one.title == "The three epsilons")
    assert r"$\x$ costs $a$ 1" in (tmp_path / epsilons.files[0]).read_text()


@pytest.mark.slow
@pytest.mark.filterwarnings("error")
def test_letters_that_the_font_lacks_are_told_once(tmp_path):
    class Told(Silent):
        said: ClassVar[list[str]] = []

        def say(self, sentence):
            self.said.append(sentence)

    results = renamed("雑音")
    assert "雑音 1" in page(results)
    export_figures(figures(results), tmp_path, formats=["svg", "png"], dpi=40, progress=Told())
    assert Told.said == ["The font of PDF and PNG figures has no 雑音; SVG figures show it."]
