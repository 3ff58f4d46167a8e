"""Whether a page can be read: contrast, headings in order, the claim first, bands that are told, and its size."""

import copy
import json
import re
from itertools import pairwise
from pathlib import Path

import pytest

from scenarios.render.page.report import environment, page
from scenarios.schema.load import load_scenario
from scenarios.stages.runner import run_scenario
from tests.scenarios.filled import tree
from tests.scenarios.render.page.test_report import Page, sample

STYLE = Path("scenarios/render/page/style.css").read_text(encoding="utf-8")
SCHEMES = [
    dict(re.findall(r"--(\w+):\s*(#[0-9a-f]{6})\b", block)) for block in re.findall(r":root \{(.*?)\}", STYLE, re.S)
]
LIGHT = SCHEMES[0]
DARK = LIGHT | SCHEMES[1]


def luminance(colour: str) -> float:
    """Relative luminance of WCAG 2.1."""
    parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [v / 12.92 if v <= 0.03928 else ((v + 0.055) / 1.055) ** 2.4 for v in parts]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a: str, b: str) -> float:
    light, dark = sorted((luminance(a), luminance(b)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def test_the_measure_of_contrast_is_right():
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#777777", "#ffffff") == pytest.approx(4.48, abs=0.01)


@pytest.mark.parametrize("scheme", [LIGHT, DARK], ids=["light", "dark"])
def test_text_lines_and_marks_have_contrast(scheme):
    for ground in ("paper", "panel", "soft"):
        for ink in ("ink", "muted", "bad", "fair", "good", "open", "none"):
            assert contrast(scheme[ink], scheme[ground]) >= 4.5, (ink, ground)
    for tone in ("bad", "fair", "good", "open", "none"):  # the words of verdicts are in the panel's colour
        assert contrast(scheme["panel"], scheme[tone]) >= 4.5, tone
    assert contrast(scheme["blue"], scheme["panel"]) >= 4.5  # ∞ is written in it
    for colour in ("orange", "green", "vermillion", "purple", "sky"):  # lines and marks
        assert contrast(scheme[colour], scheme["panel"]) >= 3, colour


def headings(source: str) -> list[int]:
    return [int(level) for level in re.findall(r"<h([1-6])[ >]", source)]


@pytest.mark.slow
def test_the_claim_and_its_picture_come_before_everything_else():
    text = page(tree(sample()))
    levels = headings(text)
    assert levels[0] == levels.count(1) == 1
    assert all(b <= a + 1 for a, b in pairwise(levels))
    places = [text.index(part) for part in (
        'id="verdicts-title"', 'id="epsilons"', '<ol class="verdicts">', 'id="images"', 'id="network"',
        'id="evidence"', 'id="curves"', 'id="repeat"',
    )]  # fmt: skip
    assert places == sorted(places)
    assert "δ = 10⁻⁵; adjacent: one record of one agent replaced." in Page(text).text
    assert "hold together at 95\u202f% confidence" in text


@pytest.mark.slow
def test_what_differs_between_claims_is_not_told_of_all():
    results = sample()
    audits = [a["audit"] for a in results["algorithms"] if (a["audit"] or {}).get("claim")]
    audits[0]["claim"] = audits[0]["claim"] | {"delta": 0.01}
    assert "adjacent: one record" in Page(page(tree(results))).text
    assert "δ = " not in Page(page(tree(results))).text.split("smaller is more private.")[1][:40]


def leaking() -> dict:
    """The sample with what leaks by query; of its last algorithm not every gradient is identifiable."""
    results = sample()
    for k, entry in enumerate(results["algorithms"][:3]):
        errors = [10.0**-k, 2.0 * 10.0**-k, 4.0 * 10.0**-k]
        entry["leakage"] = {
            "by_query": {"query": [1, 2, 3], "identifiable": [1.0, 1.0, 1.0 if k else 0.5], "median": errors,
                         "low": [0.5 * v for v in errors], "high": [2 * v for v in errors]},
            "by_agent": [],
        }  # fmt: skip
    return results


@pytest.mark.slow
def test_every_curve_has_its_interval_and_says_which():
    text = page(tree(leaking()))
    for title, told in (
        ("Does it converge?", "median over replicas, band: 5 % to 95 %"),
        ("learn the gradients?", "band: 5 % to 95 % of them"),
        ("How fast is privacy spent?", "band: down to what is proven"),
        ("Of how many is there an estimate?", "A count over all agents, without an interval"),
    ):
        figure = next(f for f in re.findall(r"<figure>.*?</figure>", text, re.S) if title in f)
        assert told in figure.replace("\u202f%", " %"), title
        assert "fill-opacity: 0.2" in figure or title == "Of how many is there an estimate?"


@pytest.mark.slow
def test_a_share_below_one_has_a_figure_and_a_whole_one_has_none():
    results = leaking()
    assert "Of how many is there an estimate?" in page(tree(results))
    assert "(guesses)" not in page(tree(results))
    results["algorithms"][0]["gradients"] |= {"median": 30.0, "worst": 40.0, "baseline": 0.5}
    text = page(tree(results))
    assert "RECAL (guesses)" in text
    assert "Guesses: noise makes the estimates no better than guessing." in text
    results["algorithms"][0]["leakage"]["by_query"]["identifiable"] = [1.0] * 3
    assert "Of how many is there an estimate?" not in page(tree(results))


@pytest.mark.slow
def test_a_curve_can_be_brought_out_by_pointing_and_by_keyboard():
    text = page(tree(sample()))
    figure = next(f for f in re.findall(r"<figure>.*?</figure>", text, re.S) if "Does it converge?" in f)
    for k in re.findall(r'<li class="k k(\d+)" tabindex="0">', figure):
        assert f'class="s s{k}"' in figure
        assert f"figure:has(.k{k}:hover, .s{k}:hover) .s:not(.s{k})" in text
        assert f":has(.k{k}:focus-visible) .s:not(.s{k})" in text


# ── what is absent ──────────────────────────────────────────────────────────────────────────────────────
WHY = "a.yaml:3: problem.data.name = 'mnist': not in the data folder /here; allowed: download: true"


def absent() -> dict:
    reason = f"variant big cannot be run, its data set is not present: {WHY}"
    curve = {"label": "x, small", "x": [1, 2], "y": [1.0, 0.5], "low": [0.9, 0.4], "high": [1.1, 0.6]}
    figure = {"title": "One", "x": "rounds", "y": "error", "log": True, "curves": [curve], "absent": [reason]}
    answers = [
        {"variant": "big", "result": "cannot be checked", "found": "", "reason": reason},
        {"variant": "small", "result": "holds", "found": "1", "reason": ""},
    ]
    variant = {"fields": {}, "report": None, "problem": None, "algorithms": []}
    return {
        "name": "s", "title": "S", "status": "complete", "versions": {}, "seed": 1, "scenario": {},
        "variants": [
            variant | {"name": "big", "status": "data not present", "error": WHY},
            variant | {"name": "small", "status": "complete", "error": None},
        ],
        "figures": [figure, figure | {"title": "Two"}, figure | {"title": "Three", "curves": []}],
        "reproduction": {
            "paper": "P", "item": "Figure 1", "shows": "it", "outcome": "agrees", "sentence": "", "reasons": [],
            "checks": [{"statement": "a", "criterion": "b", "answers": answers}] * 3,
        },
    }  # fmt: skip


def test_what_is_absent_is_told_in_full_once():
    results = absent()
    before = copy.deepcopy(results)
    text = Page(page(tree(results))).text
    assert results == before
    assert text.count("not in the data folder") == 2  # above all, and in the table of variants, in its own row
    assert text.count("cannot be run") == 0
    assert text.count("big: data not present") == 2  # of two figures in one line, and of the one that is not drawn
    assert "Nothing to draw: Three (big: data not present)." in text


def test_a_figure_with_many_curves_has_small_ones_on_the_same_axes():
    results = absent()
    curve = results["figures"][0]["curves"][0]
    results["figures"] = [results["figures"][0] | {"curves": [curve | {"label": f"c{k}"} for k in range(9)]}]
    panels = page(tree(results)).partition('<div class="charts panels">')[2].partition("</details>")[0]
    assert re.findall("<p>(.*?)</p>", panels) == [f"c{k}" for k in range(9)]
    ticks = {tuple(re.findall(r"<text[^>]*>([^<]*)</text>", one)) for one in panels.split("<p>")[1:]}
    assert len(ticks) == 1
    results["figures"][0]["curves"] = results["figures"][0]["curves"][:3]
    assert "charts panels" not in page(tree(results)).partition("</style>")[2]


def test_a_curve_without_a_band_is_named():
    results = absent()
    curve = results["figures"][0]["curves"][0]
    bare = curve | {"label": "bare", "low": [], "high": []}
    figures = [results["figures"][0] | {"curves": [curve, bare]}]
    assert "No band: bare." in page(tree(results | {"figures": figures}))


# ── size ────────────────────────────────────────────────────────────────────────────────────────────────
@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("lossy-tap", []), ("radio-corner", []), ("man-in-the-middle", ["audit.trials=50", "replicas=2"]),
    ],
)  # fmt: skip
def test_the_page_of_a_shipped_scenario_is_small(name, settings, tmp_path):
    run_scenario(load_scenario(name, settings), tmp_path)
    text = (tmp_path / "report.html").read_text(encoding="utf-8")
    assert len(re.sub(r"data:image/png;base64,[^\"]*", "", text).encode()) < 500_000
    levels = headings(text)
    assert all(b <= a + 1 for a, b in pairwise(levels))
    assert json.loads((tmp_path / "results.json").read_text())["algorithms"]


def test_what_a_description_has_in_backticks_is_code_and_nothing_else_is_markup():
    shown = environment().from_string("{{ text|coded }}").render(text="`a < b` & <i>c</i>, one ` alone")
    assert shown == "<code>a &lt; b</code> &amp; &lt;i&gt;c&lt;/i&gt;, one ` alone"
