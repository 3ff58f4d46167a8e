"""The page of a sweep: lines or heat maps over any two fields, as the table has them."""

import json
import math
import re
from itertools import product

import numpy as np
import pytest
from pyarrow import parquet

from netsim.errors import ScenarioError
from scenarios.render.page.drawing import Series
from scenarios.render.page.sweep import (
    _COLUMNS,
    SweptTable,
    _alike,
    _tables,
    constant,
    figures,
    outcome,
    sweep_page,
    unchanging,
)
from scenarios.results import tables
from scenarios.sweep.folder import COLUMNS, PointResult, write_table
from tests.scenarios.command import cli

SCALES, ROUNDS = (0.02, 0.05, 0.2, 1.0), (4, 8, 16, 32)


def rows(repeats=1):
    """Two algorithms at a grid of 4 × 4 points; the second is the same everywhere."""
    found = []
    for k, (scale, rounds) in enumerate((s, r) for s in SCALES for r in ROUNDS for _ in range(repeats)):
        for name, error, verdict in (("mine", scale / rounds + k % repeats, "refuted"), ("other", 2.0, "consistent")):
            claimed = math.inf if scale == SCALES[0] else rounds / scale
            row = {"scale": scale, "rounds": rounds, "point": k, "algorithm": name, "final_error": error}
            found.append(row | {"epsilon_claimed": claimed, "verdict": verdict})
    return found


def table(fields=("scale", "rounds"), **options):
    return SweptTable("small", "netsim sweep small.yaml", "0", fields, rows(**options))


def test_two_fields_of_several_values_are_a_heat_map_of_each_algorithm():
    ((words, charts),) = figures(table())
    assert words == "scale and rounds"
    titles = [one.title for one in charts]
    assert titles == ["mine: Final relative error", "mine: ε claimed", "other: ε claimed"]
    first = charts[0].drawing.figure.axes[0]
    assert [text.get_text() for text in first.texts][:4] == ["0.00500", "0.00250", "0.00125", "0.00063"]
    assert sum(text.get_text() == "∞" for text in charts[1].drawing.figure.axes[0].texts) == 4
    assert constant(table())["final_error"] == "Final relative error: other 2"
    assert "other: 2 everywhere, not drawn." in charts[0].caption


def test_one_field_is_a_line_with_the_median_and_whiskers():
    ((_, charts),) = figures(table(repeats=3), ["rounds"], ["final_error"])
    (one,) = charts
    line = one.drawing.figure.axes[0].lines[0]
    assert list(line.get_xdata()) == list(ROUNDS)
    middle = sorted(s + k for s in (x / 4 for x in SCALES) for k in range(3))
    assert line.get_ydata()[0] == pytest.approx((middle[5] + middle[6]) / 2)
    assert "Each marker: the median of 12 points; whiskers: from the least to the most." in one.caption


def test_how_many_points_a_marker_has_is_said_where_it_is_so():
    """The error changes with scale, rounds and seed, packets with the rounds, and a claim with both."""
    found = []
    for k, (scale, rounds, seed) in enumerate(product((0.5, 1.0), (2, 4), range(3))):
        numbers = {"final_error": scale * rounds + seed, "epsilon_claimed": rounds / scale, "packets": 10 * rounds}
        found.append({"scale": scale, "rounds": rounds, "point": k, "algorithm": "mine", **numbers})
    several = SweptTable("small", "x", "0", ("scale", "rounds"), found)
    ((_, charts),) = figures(several)
    said = {one.title: one.caption for one in charts}
    assert said["Final relative error"][1:] == (
        "Each marker: the median of 3 points; whiskers: from the least to the most.",
    )
    assert said["ε claimed"][1:] == said["Packets"][1:] == ()
    assert said["ε claimed"][0].endswith("; a smaller one promises more privacy.")
    page = sweep_page(several, figures(several))
    assert page.count("Each marker") == 1
    assert "Each marker" in page.partition("<h3>Final relative error</h3>")[2].partition("</figure>")[0]


def test_an_axis_does_not_repeat_the_title_above_it_and_has_its_name_in_a_file(tmp_path):
    drawn = figures(table(), ["rounds"], ["final_error"])
    assert sweep_page(table(), drawn).count("Final relative error</text>") == 0
    drawn[0][1][0].save(tmp_path / "one.svg")
    assert "Final relative error</text>" in (tmp_path / "one.svg").read_text(encoding="utf-8")


def test_few_values_of_the_second_are_lines():
    few = [row for row in rows() if row["rounds"] in ROUNDS[:2]]
    ((_, charts),) = figures(SweptTable("small", "", "0", ("scale", "rounds"), few), of=["epsilon_claimed"])
    assert [entry.label for one in charts for entry in one.key] == [
        "mine, rounds 4", "mine, rounds 8", "other, rounds 4", "other, rounds 8"
    ]  # fmt: skip
    assert "∞ at 4 places, not drawn." in charts[0].caption


NAMES = ("mine", "other", "third")


def swept(rounds=(10, 20), losses=(0.0, 0.1)):
    """The rounds of "mine" and the loss of every link are swept, and the ridge is drawn anew at each of two draws;
    "other" follows the ridge alone, and "third" is the same everywhere."""
    found = []
    for k, (r, loss, draw) in enumerate(product(rounds, losses, range(2))):
        ridge = 0.014509354052531443 * (k + 1)
        fields = {"algorithms[0].rounds": r, "links.loss": loss, "problem.ridge": ridge, "point": k}
        numbers = {"mine": r * (1 + loss) + draw, "other": ridge, "third": 2.0}
        found += [fields | {"algorithm": name, "epsilon_claimed": value} for name, value in numbers.items()]
    fields = ("algorithms[0].rounds", "links.loss", "problem.ridge")
    return SweptTable("small", "", "0", fields, found, NAMES, ("problem.ridge",))


def test_what_an_axis_does_not_touch_is_level_and_what_is_constant_is_drawn():
    (words, (one,)), *_ = figures(swept())
    assert words == "rounds of mine and loss"
    assert [entry.label for entry in one.key] == [
        "mine, loss 0", "mine, loss 0.1", "other, loss 0 (4 points)", "other, loss 0.1 (4 points)", "third (8 points)"
    ]  # fmt: skip
    plot = one.drawing.figure.axes[0]
    assert plot.get_xlabel() == "rounds of mine"
    across = [line for line in plot.lines if list(line.get_xdata()) == [0, 1]]
    others = [np.median([0.014509354052531443 * k for k in ks]) for ks in ((1, 2, 5, 6), (3, 4, 7, 8))]
    assert [line.get_ydata()[0] for line in across] == pytest.approx([*others, 2.0])
    assert "ridge is drawn anew at every point: it changes along an axis too." in one.caption
    assert any(
        line.startswith("A line with its marker at the right end does not depend on rounds") for line in one.caption
    )


def test_an_axis_that_is_drawn_is_no_caution():
    ((_, charts),) = figures(swept(), ["problem.ridge"])
    assert not any("drawn anew" in line for one in charts for line in one.caption)


def test_where_a_heat_map_is_drawn_an_untouched_algorithm_is_a_line_over_what_touches_it():
    ((_, charts),) = figures(swept((1, 2, 3, 4), (0.0, 0.1, 0.2, 0.3)), ["algorithms[0].rounds", "links.loss"])
    assert [one.title for one in charts] == ["mine: ε claimed", "other: ε claimed"]
    heat, line = (one.drawing.figure.axes[0] for one in charts)
    assert (heat.get_xlabel(), heat.get_ylabel()) == ("rounds of mine", "loss")
    assert line.get_xlabel() == "loss"
    assert "third: 2 everywhere, not drawn." in charts[0].caption


def grid(numbers, **fixed):
    """Two algorithms at 4 × 4 points; `numbers` are of the rounds and the loss."""
    found = []
    for k, (r, loss) in enumerate(product((5, 10, 20, 40), (0.0, 0.1, 0.2, 0.3))):
        fields = {"algorithms[0].rounds": r, "links.loss": loss, "point": k, **fixed}
        found += [fields | {"algorithm": name} | numbers(name, r, loss) for name in NAMES[:2]]
    return SweptTable("small", "", "0", ("algorithms[0].rounds", "links.loss", *fixed), found, NAMES[:2])


def test_what_changes_along_one_field_alone_is_a_line_over_it_for_all_algorithms_at_once():
    """The claim goes by the rounds, the time by the loss, the error by both."""

    def numbers(name, r, loss):
        own = 1.0 if name == "mine" else 2.0
        claimed = r / 10 if name == "mine" else 3.0
        return {"epsilon_claimed": claimed, "time": own + loss, "final_error": own * (loss + 1 / r)}

    small = grid(numbers)
    ((_, charts),) = figures(small)
    assert [(one.title, one.drawing.figure.axes[0].get_xlabel()) for one in charts] == [
        ("mine: Final relative error", "rounds of mine"),
        ("other: Final relative error", "loss"),
        ("ε claimed", "rounds of mine"),
        ("Virtual seconds", "loss"),
    ]
    assert [entry.label for entry in charts[3].key] == ["mine", "other"]
    assert all(len(one.drawing.figure.axes[0].texts) == 0 for one in charts[1:])


def test_an_algorithm_has_one_look_on_the_whole_page():
    small = grid(lambda name, r, loss: {"packets": r if name == "mine" else 7, "epsilon_claimed": r + loss})
    ((_, charts),) = figures(small, ["algorithms[0].rounds"])
    looks = {entry.label.partition(" (")[0]: set() for one in charts for entry in one.key}
    for one in charts:
        for entry in one.key:
            looks[entry.label.partition(" (")[0]].add(entry.index)
    assert {name: len(found) for name, found in looks.items()} == {"mine": 1, "other": 1}
    assert looks["mine"] != looks["other"]


def test_an_algorithm_has_one_colour_whether_one_or_several_curves_are_its():
    """The time goes by the loss alone; the claim by both, of which three rounds are drawn as three curves."""
    few = [row for row in swept((10, 20, 30)).rows if row["algorithm"] != "third"]
    for row in few:
        loss = row["links.loss"]
        row |= {"time": loss, "epsilon_claimed": row["algorithms[0].rounds"] * (1 + loss)}
    fields = ("links.loss", "rounds of all")
    small = SweptTable("small", "", "0", fields, [row | {fields[1]: row["algorithms[0].rounds"]} for row in few])
    ((_, charts),) = figures(small)
    colours: dict[str, set[str]] = {}
    for one in charts:
        curves = {line.get_gid(): line for line in one.drawing.figure.axes[0].lines}
        for entry in one.key:
            name = entry.label.partition(",")[0]
            colours.setdefault(name, set()).add(curves[f"series-{entry.index}"].get_color())
        assert len({entry.index for entry in one.key}) == len(one.key)
    assert [len(one.key) for one in charts] == [6, 2]
    assert [len(found) for found in colours.values()] == [1, 1]
    assert colours["mine"] != colours["other"]


def test_seeds_of_one_point_are_told_apart_beside_a_field_that_is_a_seed():
    found = [row | {"seed": 3 + k, "data.seed": k // 2} for k, row in enumerate(rows()[:4])]
    text = sweep_page(small := SweptTable("small", "", "0", ("data.seed",), found), figures(small))
    heads = re.findall(r'<th scope="col">([^<]*)</th>', text)
    assert heads[:3] == ["Algorithm", "data.seed", "seed"]
    assert "<dt><code>seed</code></dt><dd>3, 4, 5, 6</dd>" in text
    assert "Everything was run with 4 seeds of the scenario (<code>repeats</code>)" in text
    alone = SweptTable("small", "", "0", ("scale", "rounds"), [row | {"seed": 3} for row in rows()])
    assert '<th scope="col">seed</th>' not in sweep_page(alone, figures(alone))


@pytest.mark.parametrize(
    ("values", "written"),
    [
        ((215_000, 220_000, 228_000), {"220,000"}),
        ((20, 30, 40), {"30.0"}),
        ((200, 22_000, 3e5), {"100,000", "1,000"}),
    ],
)
def test_large_numbers_of_an_axis_have_commas(values, written):
    given = [{"loss": 0.1 * k, "algorithm": "mine", "packets": value} for k, value in enumerate(values)]
    given += [{"loss": 20_000, "algorithm": "mine", "packets": values[-1]}]
    ((_, (one,)),) = figures(SweptTable("small", "", "0", ("loss",), given))
    axes = one.drawing.figure.axes[0]
    one.drawing.svg  # noqa: B018 (ticks are placed when it is drawn)
    assert written <= {label.get_text().replace("$", "") for label in axes.get_yticklabels()}
    assert [label.get_text() for label in axes.get_xticklabels()][-1] == "20,000"


def test_where_nothing_changes_along_a_pair_there_is_no_figure_of_it():
    found = []
    for k, (rounds, loss, seed) in enumerate(product((1, 2), (0.0, 0.1), (3, 4))):
        fields = {"rounds": rounds, "loss": loss, "seed": seed, "point": k, "algorithm": "mine"}
        found.append(fields | {"packets": 5 + 10 * loss, "time": float(rounds)})
    pairs = figures(SweptTable("small", "", "0", ("rounds", "loss", "seed"), found))
    assert {words: [one.title for one in drawn] for words, drawn in pairs} == {
        "rounds and loss": ["Packets", "Virtual seconds"],
        "rounds and seed": ["Virtual seconds"],
        "loss and seed": ["Packets"],
    }


@pytest.mark.parametrize(
    ("values", "texts", "unit"),
    [
        ([0.5, 1, 16], ["0.50", "1.00", "16.00"], ""),
        ([177800, 247360], ["177,800", "247,360"], ""),
        ([1.5e-9, 2.25e-8], ["0.15", "2.25"], "10⁻⁸"),
        ([1e-9, 3.0], ["1.0 × 10⁻⁹", "3.0 × 10⁰"], ""),
        ([0.002, 30.0, math.inf], ["0.002", "30", "∞"], ""),
        ([0.0, math.inf], ["0", "∞"], ""),
        ([-0.25, 0.5], ["−0.25", "0.50"], ""),
    ],
)
def test_numbers_of_a_map_have_one_form(values, texts, unit):
    assert _alike(values) == (texts, unit)


def test_a_field_of_one_value_is_no_axis_and_no_column():
    small = grid(lambda name, r, loss: {"packets": r, "verdict": None}, audit="null")
    text = sweep_page(small, figures(small))
    assert "At every point: <code>audit</code> = null." in text
    assert '<th scope="col">audit</th>' not in text
    assert "<dt><code>audit</code></dt>" not in text


def test_what_several_captions_say_is_said_once():
    small = swept((1, 2, 3, 4), (0.0, 0.1, 0.2, 0.3))
    for row in small.rows:
        row["packets"] = row["epsilon_claimed"] * 2
    text = sweep_page(small, figures(small, ["algorithms[0].rounds", "links.loss"]))
    assert text.count("ridge is drawn anew at every point") == 1


def test_a_constant_infinity_is_said():
    small = swept()
    for row in small.rows:
        if row["algorithm"] == "third":
            row["epsilon_claimed"] = math.inf
    (_, (one,)), *_ = figures(small)
    assert "third (8 points): ∞, not drawn." in one.caption


@pytest.mark.parametrize(
    ("moves", "said"),
    [
        (lambda r, loss: {"epsilon_claimed": r}, ["loss"]),
        (lambda r, loss: {"epsilon_claimed": r, "verdict": "refuted" if loss > 0.2 else "consistent"}, []),
        (lambda r, loss: {"final_error": loss if r == 5 else math.inf}, []),
        (lambda r, loss: {"final_error": math.nan}, ["rounds of mine", "loss"]),
    ],
)
def test_a_field_that_changes_nothing_is_said(moves, said):
    small = grid(lambda _, r, loss: moves(r, loss))
    lines = [f"{word} changes nothing: all else being the same, so is every number and verdict." for word in said]
    assert unchanging(small) == lines
    text = sweep_page(small, figures(small))
    assert [line for line in lines if line in text] == lines
    assert unchanging(swept()) == []  # the ridge is another one at every point


def test_numbers_of_the_page_are_short():
    small = swept()
    text = sweep_page(small, figures(small, ["links.loss"]))
    assert "0.0145," in text
    assert "0.01450935" not in text
    assert '<th scope="col">rounds of mine</th>' in text


def test_no_look_of_one_figure_has_the_marker_of_another():
    looks = [Series(k) for k in range(8)]
    assert len({one.marker for one in looks}) == 8
    assert len({(one.marker, one.colour) for one in map(Series, range(56))}) == 56


def test_a_column_that_was_measured_can_be_an_axis():
    ((words, charts),) = figures(table(), ["epsilon_claimed"], ["final_error"])
    assert words == "ε claimed"
    assert len(charts) == 1


@pytest.mark.parametrize(("over", "of", "said"), [(["scal"], [], "--over"), ([], ["final"], "--of")])
def test_what_is_no_column_is_named(over, of, said):
    with pytest.raises(ScenarioError, match=f"{said} = '.*': unknown.*; allowed: "):
        figures(table(), over, of)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A sweep's folder with the table above, and one point that failed."""
    place = tmp_path_factory.mktemp("sweep")
    points = [
        PointResult({"links.a.scale": r["scale"], "rounds": r["rounds"]}, r["point"], 0, "complete", None,
                    ({key: r.get(key) for key in tables.COLUMNS},))
        for r in rows()
    ]  # fmt: skip
    points.append(PointResult({"links.a.scale": 9.0, "rounds": 4}, 99, 0, "failed", "<out of memory>"))
    write_table(points, ["links.a.scale", "rounds"], place / "sweep.parquet")
    text = {"scenario": {"name": "small"}, "command": "netsim sweep small.yaml", "versions": {"netsim-lab": "7.1"}}
    (place / "sweep.json").write_text(json.dumps(text))
    assert "final_error" in COLUMNS
    return place


def report(folder, *options, **said):
    return cli("report", folder, *options, **said)


def test_the_command_writes_page_and_figures(folder):
    done = report(folder, "--figures", "--format", "svg", "--into", str(folder / "drawn"), ends=0)
    text = (folder / "report.html").read_text()
    assert "A sweep of small" in text
    assert "&lt;out of memory&gt;" in text
    assert "1 of 17 points failed</strong>, and is in no figure" in text
    assert "netsim-lab 7.1" in text
    assert len(list((folder / "drawn").glob("*.svg"))) == 3
    assert "Writing 3 figures, over scale and rounds\n" in done.output
    assert "--over" not in done.output
    report(folder, "--over", "rounds", "--of", "final_error", ends=0)


def test_the_figures_are_those_over_the_first_fields_and_the_rest_is_said(folder, monkeypatch):
    monkeypatch.setattr("scenarios.sweep.folder.swept", lambda _: swept())
    done = report(folder, "--figures", "--format", "svg", "--into", str(folder / "first"), ends=0)
    assert len(list((folder / "first").glob("*.svg"))) == 1
    assert "Writing 1 figure, over rounds of mine and loss" in done.output
    more = sum(len(charts) for _, charts in figures(swept())[1:])
    assert f"The page has {more} more, over other fields: choose them with --over, quantities with --of" in " ".join(
        done.output.split()
    )


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--over", "rounds,links.a.scale,point"], "one or two"),
        (["--over", "round"], "rounds"),
        (["--over", "scale"], "unknown; did you mean 'links.a.scale'?"),
        (["--over", "error"], "unknown; did you mean 'final_error'?"),
        (["--over", "image_skill"], "no point of this sweep has a number there"),
        (["--of", "image_skill"], "no point of this sweep has a number there"),
        (["--tables"], "sweep.parquet"),
    ],
)
def test_mistakes_are_named(folder, options, said):
    done = report(folder, *options, ends=2)
    assert said in done.output.replace("\n", " ")


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda table: table.drop_columns(["algorithm"]), "damaged (it has no column 'algorithm'); allowed: the tab"),
        (lambda table: table.slice(0, 0), "damaged (it has no rows); allowed: the table of a sweep: `netsim sweep F"),
    ],
)
def test_a_table_that_is_no_sweeps_is_named(folder, tmp_path, change, said):
    (tmp_path / "sweep.json").write_text((folder / "sweep.json").read_text())
    parquet.write_table(change(parquet.read_table(folder / "sweep.parquet")), tmp_path / "sweep.parquet")
    done = report(tmp_path, ends=2)
    assert f"{tmp_path}/sweep.parquet: {said}" in done.output


def test_a_table_of_before_it_was_known_what_is_learned_is_read(folder, tmp_path):
    (tmp_path / "sweep.json").write_text((folder / "sweep.json").read_text())
    table = parquet.read_table(folder / "sweep.parquet")
    parquet.write_table(table.drop_columns(["learned"]), tmp_path / "sweep.parquet")
    assert "Report:" in report(tmp_path).output


def test_over_is_of_a_sweep_alone(tmp_path):
    (tmp_path / "results.json").write_text("{}")
    assert "no sweep's" in report(tmp_path, "--over", "rounds").output.replace("\n", " ")


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_it_is_clean_and_fits(chromium, folder, tmp_path, width):
    fields = ("scale", "rounds")
    small = SweptTable("small", "x", "0", fields, rows())
    (tmp_path / "page.html").write_text(sweep_page(small, figures(small)), encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=width) as one:
        assert one.sideways <= 0
        assert one.evaluate("document.querySelectorAll('#figures figure svg').length") == 3
        assert one.evaluate("document.querySelectorAll('details[open]').length") == 0
        one.click(".more > summary")
        assert one.evaluate("document.querySelectorAll('details[open] tbody tr').length") == 32
        one.assert_clean()


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("fields", [("algorithms[0].scale.epsilon", "links.loss"), ("a", "b", "c", "d", "e", "f")])
def test_every_column_of_its_table_is_in_sight(chromium, tmp_path, width, fields):
    names = ["plain descent", "private descent, decaying noise"]
    found = [
        dict.fromkeys(fields, k / 7) | dict.fromkeys(_COLUMNS, (k + 1) * 1.01e-16) | {"point": k}
        | {"algorithm": names[k % 2], "verdict": "unprotected", "packets": 1_234_567 + k, "bytes": 1_234_567 + k}
        for k in range(8)
    ]  # fmt: skip
    table = SweptTable("small", "x", "0", fields, found, tuple(names))
    (tmp_path / "page.html").write_text(sweep_page(table, []), encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=width) as one:
        one.click(".more > summary")
        assert one.sideways <= 0
        assert one.evaluate("document.querySelectorAll('tbody tr').length") >= 16  # in two tables or more
        wide = "[...document.querySelectorAll('.scroll')].map(e => e.scrollWidth - e.clientWidth)"
        assert max(one.evaluate(wide)) <= 1


def test_what_no_row_differs_in_is_no_column():
    heads = [head for heads, _ in _tables(table()) for head in heads]
    assert heads == ["Algorithm", "scale", "rounds", "Verdict", "Final relative error", "ε claimed"]


@pytest.mark.browser
@pytest.mark.parametrize(("width", "beside"), [(390, False), (1280, True)])
def test_a_chart_alone_fills_its_card(chromium, tmp_path, width, beside):
    small = table()
    (tmp_path / "page.html").write_text(sweep_page(small, figures(small, ["scale"], ["epsilon_claimed"])))
    with chromium.open(tmp_path / "page.html", width=width) as one:
        box = "document.querySelector('#figures figure {}').getBoundingClientRect()"
        gap = one.evaluate(f"{box.format('figcaption')}.left - {box.format('svg')}.right")
        assert (0 < gap < 60) is beside
        assert one.sideways <= 0


def audited(**claims):
    """Two algorithms at three points, with what they claim: the first is proven but at one, the second bare."""
    words = {"mine": ("proven", "vacuous", "proven"), "bare": ("unprotected",) * 3}
    return SweptTable("small", "x", "0", ("scale",), [
        {"scale": k, "point": k, "algorithm": name, "verdict": words[name][k], "epsilon_claimed": claims.get(name)}
        for k in range(3) for name in words
    ])  # fmt: skip


def test_verdicts_stand_in_the_open_and_what_claims_nothing_has_no_claim_refuted():
    page = sweep_page(small := audited(mine=1.0), figures(small))
    assert "repeats" not in page
    text = re.sub(r"\s*<[^>]*>\s*", "|", page.partition('id="verdicts"')[2].partition("<details>")[0])
    silent = "Audited without a claimed number: bare, unprotected at every point (3)."
    assert f"|No claim was shown to be false at any point. {silent}|" in text
    assert "|mine|||proven|at 2 of 3 points, where scale is 0 or 2;|vacuous|at 1 of 3 points, where s" in text
    assert "|bare|||unprotected|at every point (3)|" in text
    assert next(iter(constant(small).values())) == "Claims refuted or unprotected, share: mine 0"
    assert "bare 1" in next(iter(constant(audited(mine=1.0, bare=2.0)).values()))
    unaudited = SweptTable("small", "x", "0", ("scale",), [row | {"verdict": None} for row in small.rows])
    assert ">Nothing was audited at any point.</h2>" in sweep_page(unaudited, [])
    assert "Verdict" not in _tables(unaudited)[0][0]


@pytest.mark.parametrize(
    ("verdict", "claimed", "said"),
    [
        (lambda scale, loss: "refuted" if scale > 2 else "consistent", 1.0, "6 points, where scale is 3"),
        (lambda scale, loss: "unprotected" if scale < 3 else "proven", 1.0, "6 points, where scale is 2 or less"),
        (lambda scale, loss: "refuted" if loss else "vacuous", 1.0, "6 points, where loss is 0.1"),
        (lambda scale, loss: "refuted" if scale + loss > 3 else "proven", 1.0, "6 points"),
        (lambda scale, loss: "refuted", 1.0, "The claim is false at every point (6): mine."),
        (lambda scale, loss: "proven", 1.0, "No claim was shown to be false at any point."),
        (lambda scale, loss: "unprotected", None, "mine, unprotected at every point (6)."),
        (lambda scale, loss: None, 1.0, "Nothing was audited at any point."),
    ],
)
def test_what_came_of_the_claims_and_where_it_turns_is_said_first(verdict, claimed, said):
    found = [
        {"scale": scale, "loss": loss, "point": k, "algorithm": "mine", "epsilon_claimed": claimed}
        | {"verdict": verdict(scale, loss)}
        for k, (scale, loss) in enumerate(product((1, 2, 3), (0.0, 0.1)))
    ]
    small = SweptTable("small", "x", "0", ("scale", "loss"), found)
    assert outcome(small).endswith(said if said.endswith(".") else f"of {said}: mine.")
    sound = [row | {"algorithm": "other", "verdict": "proven"} for row in found if row["verdict"] and claimed]
    both = outcome(SweptTable("small", "x", "0", ("scale", "loss"), found + sound))
    assert both.endswith(" Not shown to be false at any point: other.") == (
        "6 points" in said or said.startswith("The claim is false")
    )


def test_a_number_of_all_points_is_explained_beside_it():
    found = [
        {"scale": k, "point": k, "algorithm": "mine", "epsilon_audited": 0.0, "final_error": 196.0} for k in range(3)
    ]
    page = sweep_page(small := SweptTable("small", "x", "0", ("scale",), found), figures(small))
    for words in (
        "ε audited, at least: mine 0. What guessing the data set from the messages proves, measured; at 0 the "
        "transcripts prove nothing, which need not be private: N of each world can prove about ln(N/3) at most.",
        "mine 196. How far from the optimum a run ends (0: the optimum, 1: as far from it as zero is, above 1: ",
    ):
        assert words in page


def test_numbers_that_differ_by_rounding_are_the_same():
    row = {"algorithm": "mine", "packets": 3}
    found = [row | {"scale": k, "point": k, "epsilon_claimed": 1 + k * 2.0**-52} for k in range(3)]
    small = SweptTable("small", "x", "0", ("scale",), found)
    assert [*constant(small).values()] == ["ε claimed: mine 1", "Packets: mine 3"]


def test_an_epsilon_has_the_same_digits_everywhere():
    row = {"algorithm": "mine", "epsilon_claimed": 69.47113, "final_error": 1.23456}
    found = [row | {"scale": k, "point": k, "packets": k} for k in range(2)]
    small = SweptTable("small", "x", "0", ("scale",), found)
    assert [*constant(small).values()] == ["Final relative error: mine 1.23", "ε claimed: mine 69.47"]
    several = [row | {"epsilon_claimed": value} for row, value in zip(small.rows, (69.47113, 2.0), strict=True)]
    ((_, cells),) = _tables(SweptTable("small", "x", "0", ("scale",), several))
    assert [one[2] for one in cells] == ["69.47", "2"]


@pytest.mark.parametrize(
    ("numbers", "said"),
    [
        ({"mine": 1.0, "other": 1.0, "third": 2.0}, "Drawn one over the other: mine; other."),
        ({"mine": 1.0, "other": 1.5, "third": 2.0}, None),
        ({"mine": 2.0, "other": 2.0, "third": 2.0}, "Drawn one over the other: mine; other; third."),
    ],
)
def test_lines_that_hide_one_another_are_named(numbers, said):
    found = [
        {"scale": k, "point": k, "algorithm": name, "packets": value * k}
        for k in (1, 2, 3)
        for name, value in numbers.items()
    ]
    ((_, (one,)),) = figures(SweptTable("small", "x", "0", ("scale",), found), ["scale"], ["packets"])
    assert [line for line in one.caption if line.startswith("Drawn")] == ([said] if said else [])


def test_gradients_learned_are_not_those_with_an_estimate():
    """Where it is known which estimates are better than guessing, these are drawn in the place of all."""
    found = [
        {"scale": k, "point": k, "algorithm": "mine", "identifiable": 0.9 + k / 100, "learned": k / 10}
        for k in range(3)
    ]
    titles = [[one.title for one in figures(SweptTable("s", "", "0", ("scale",), found))[0][1]]]
    for row in found:
        row.pop("learned")
    ((_, charts),) = figures(SweptTable("s", "", "0", ("scale",), found))
    assert [*titles, [one.title for one in charts]] == [
        ["Share of gradients learned"], ["Share of gradients with an estimate"]
    ]  # fmt: skip
    assert "Under noise it may be no better than guessing." in charts[0].caption[0]


def test_what_is_the_same_at_every_point_names_those_it_is_of_where_others_have_no_number():
    whole = audited(mine=1.0)
    other = [row | {"algorithm": "other"} for row in whole.rows if row["algorithm"] == "mine"]
    both = SweptTable("small", "x", "0", ("scale",), [*whole.rows, *other])
    assert "Claims refuted or unprotected, share: mine 0; other 0" in constant(both).values()
