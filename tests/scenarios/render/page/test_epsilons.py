"""The three epsilons where one is infinite, and over time, where rounds are whole numbers, however few they are."""

import math
import re
from itertools import pairwise, product

import numpy as np
import pytest
from matplotlib.backends.backend_agg import FigureCanvasAgg

from scenarios.render.page.charts import charts
from scenarios.render.page.drawing import Series
from scenarios.render.page.epsilons import epsilons, loss_charts
from scenarios.render.page.plan import by_distance
from scenarios.render.sentences import Finding, at_hops, searched
from scenarios.results.audit import AuditResult
from scenarios.results.tree import AlgorithmResult
from scenarios.results.views import ViewPrices
from tests.scenarios.filled import filled

NOT_KNOWN = dict.fromkeys(("lower", "estimate", "upper"), math.nan)
NOTHING = {"epsilon_claimed": None, "epsilon_audited": math.nan, "epsilon_exact": NOT_KNOWN} | {
    game: {"ceiling": math.nan} for game in ("white_box", "black_box", "classifier")
}


@pytest.mark.parametrize("rounds", [2, 3, 4, 6, 13, 200])
def test_ticks_stand_at_whole_rounds(rounds):
    at = list(range(1, rounds + 1))
    time = {
        "unit": "rounds",
        "vacuous_above": 20,
        "claimed": {"count": at, "epsilon": [0.1 * k for k in at]},
        "exact": {"count": at, "estimate": [0.1 * k for k in at], "lower": [0.09 * k for k in at]},
    }
    errors = {"unit": "rounds", "count": at, **{name: [1.0] * rounds for name in ("median", "low", "high")}}
    errors |= {"final": 1.0, "replicas": 1}
    parts = {"name": "one", "over_time": time, "audit": filled(AuditResult, {}), "convergence": errors}
    made = filled(AlgorithmResult, parts)
    for chart in (loss_charts(Finding(made), "x")[0], charts([(Finding(made), Series(0))], "the links")[0]):
        texts = re.findall(r"<text[^>]*>([^<]*)</text>", chart.drawing.svg)
        ticks = texts[: texts.index("rounds")]
        assert len(ticks) >= 2
        assert all(tick.replace(",", "").isdigit() for tick in ticks)


@pytest.mark.parametrize("exceeds", [None, {"exact": 0.3, "claimed": 0.2}])
def test_the_key_over_time_has_what_is_drawn(exceeds):
    at = [1, 2, 3]
    time = {
        "unit": "rounds",
        "vacuous_above": 20,
        "claimed": {"count": at, "epsilon": [0.1, 0.2, 0.4]},
        "exact": {"count": at, "estimate": [0.1, 0.3, 0.4], "lower": [0.1, 0.3, 0.4]},
        "exceeds": exceeds,
        "exceeds_from": exceeds and 2,
    }
    parts = {"name": "one", "over_time": time, "audit": filled(AuditResult, {})}
    chart = loss_charts(Finding(filled(AlgorithmResult, parts)), "x")[0]
    assert ("first above what is claimed of a run that ends there" in [one.label for one in chart.key]) is (
        exceeds is not None
    )


def test_an_audited_epsilon_at_another_level_than_that_of_the_verdict_is_explained():
    time = {
        "unit": "rounds", "vacuous_above": 20, "claimed": {"count": [1, 2], "epsilon": [1.0, 1.0]},
        "exact": {"count": [1, 2], "estimate": [2.0, 2.0], "lower": [2.0, 2.0]},
        "audited": {"count": [1, 2], "epsilon": [4.351, 4.351], "ceiling": [4.351, 4.351]},
    }  # fmt: skip
    for whole, said in ((4.036, True), (4.351, False)):
        audit = {"epsilon_audited": whole, "confidence": 0.95, "white_box": {"confidence": 0.98333}}
        parts = {"name": "one", "over_time": time, "audit": filled(AuditResult, audit)}
        caption = " ".join(loss_charts(Finding(filled(AlgorithmResult, parts)), "x")[0].caption)
        assert ("ends at 4.351 here and is ≥ 4.036 with the verdict" in caption) is said
        assert ("each by itself at 98.33" in caption) is said


def over_time(claimed, exact, first=1, **more):
    """The figure of ε claimed from round 1 on, and of ε exact from the `first` on."""
    rounds = list(range(1, len(claimed) + 1))
    time = {
        "unit": "rounds",
        "vacuous_above": 20,
        "claimed": {"count": rounds, "epsilon": claimed},
        "exact": {"count": rounds[first - 1 :][: len(exact)], "estimate": exact, "lower": exact},
    }
    parts = {"name": "one", "over_time": time | more, "audit": filled(AuditResult, {})}
    return next(
        (
            one
            for one in loss_charts(Finding(filled(AlgorithmResult, parts)), "x")
            if one.title == "The three epsilons over time"
        ),
        None,
    )


def test_an_infinite_epsilon_over_time_goes_on_to_the_end_of_the_run_and_one_finite_point_is_no_figure():
    none = [None] * 30
    assert over_time(none, [0.5], 2) is None
    chart = over_time(none, [math.inf], 2)
    (curve,) = (one for one in chart.drawing.figure.axes[0].lines if one.get_marker() == "o")
    assert list(curve.get_xdata()) == [2, 30]
    assert [one.label.split(":")[0] for one in chart.key] == ["exact, of this pair; band"], "nothing is claimed"


@pytest.mark.parametrize("rising", [[1.0, 3.0, math.inf], [0.01, 1.0, 1e6], [100.0, 99.0, 98.0]])
def test_the_region_where_epsilon_means_nothing_begins_at_a_tick(rising):
    (axes,) = over_time(rising, rising).drawing.figure.axes
    ticks = dict(zip([one.get_text() for one in axes.get_yticklabels()], axes.get_yticks(), strict=True))
    (region,) = (one for one in axes.patches if one.get_alpha() == 0.09)
    assert region.get_y() == pytest.approx(ticks["20"]) == pytest.approx(math.log10(20))
    (low, high), places = axes.get_ylim(), sorted(ticks.values())
    assert min(b - a for a, b in pairwise(places)) > 0.05 * (high - low)


@pytest.mark.parametrize(
    "rising",
    [
        [0.01 * 1.4**k for k in range(30)],
        [100 * 0.99**k for k in range(30)],
        [0.1] * 25 + [math.inf] * 5,
        [math.inf] * 30,
    ],
)
def test_no_curve_crosses_the_name_of_the_region_where_epsilon_means_nothing(rising):
    figure = over_time(rising, rising).drawing.figure
    FigureCanvasAgg(figure).draw()
    (axes,) = figure.axes
    (name,) = (one for one in axes.texts if "vacuous" in one.get_text())
    box = name.get_window_extent()
    assert axes.bbox.y0 <= box.y0 < box.y1 <= axes.bbox.y1 + 1
    for line in axes.lines:
        if len(line.get_xdata()) == 30:
            x, y = axes.transData.transform(line.get_xydata()).T
            across = [at for at in range(round(box.x0), round(box.x1)) if x[0] <= at <= x[-1]]
            assert not any(box.y0 < y < box.y1 for y in np.interp(across, x, y))


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({"exact_vacuous_from": 3, "proven_vacuous_from": 3}, ["3: the exact ε of the pair is ∞ from there on."]),
        (
            {"exact_vacuous_from": 2, "proven_vacuous_from": 3},
            ["2: the exact ε of the pair is estimated above 20 from there on.",
             "3: the exact ε of the pair is ∞ from there on."],
        ),
        (
            {"exact_vacuous_from": 3, "proven_vacuous_from": 3, "exceeds_from": 3,
             "exceeds": {"exact": math.inf, "claimed": 0.3}},
            ["3: the exact ε is first proven to be above what is claimed of a run that ends there: ∞, not 0.3."],
        ),
        (
            {"exact_vacuous_from": 3, "proven_vacuous_from": 3, "undefined_from": 1, "condition": "no clip: x"},
            ["1: the claim is undefined from there on (no clip: x).",
             "3: the exact ε of the pair is ∞ from there on."],
        ),
    ],
)  # fmt: skip
def test_what_begins_at_a_round_is_said_once_and_in_order(more, said):
    caption = over_time([0.1, 0.2, 0.3], [1.0, 2.0, math.inf], **more).caption
    assert [one.removeprefix("Round ") for one in caption[:-1]] == said


def ring(*claims):
    """Pairs of a row of agents whose exact ε halves by the hop, then is 0, with a claim at each distance."""
    agents = range(len(claims) + 1)
    hops = tuple(tuple(abs(u - v) for v in agents) for u in agents)
    amounts = {hop: (0.5**hop, 0.25, 0.25, 0.0, 0.0, 0.0)[min(hop - 1, 5)] for hop in agents[1:]}
    ends = tuple(tuple(amounts.get(hop, math.nan) for hop in row) for row in hops)
    claimed = tuple(tuple(claims[hop - 1] if hop else math.nan for hop in row) for row in hops)
    return filled(ViewPrices.PairPrices, {"lower": ends, "upper": ends, "claimed": claimed, "hops": hops})


@pytest.mark.parametrize("far", [1e-9, 1e-3, 0.0, 1e6])
def test_claims_of_pairs_lie_within_the_axis(far):
    (axes,) = by_distance(ring(0.5, 0.5, 0.5, far, far, far), "x").drawing.figure.axes
    low, high = axes.get_ylim()
    assert all(low < y < high for line in axes.lines for y in line.get_ydata())
    assert axes.get_ylabel() == "ε (logarithmic; 0 is beneath)"


def test_a_figure_by_distance_has_words_for_all_distances():
    words = by_distance(ring(*6 * [0.5]), "x").drawing.words
    assert words == "ε by distance: 0.5 at 1 hop; 0.25 at 2 and 3 hops; 0 from 4 hops on."


@pytest.mark.parametrize(
    ("amounts", "words"),
    [
        ("abbc", "a at 1 hop, b at 2 and 3 hops, c at 4 hops"),
        ("aabbbccc", "a at 1 and 2 hops, b at 3 to 5 hops, c from 6 hops on"),
        ("aaa", "a at 1 to 3 hops"),
    ],
)
def test_amounts_alike_at_several_distances_are_together(amounts, words):
    assert ", ".join(at_hops(list(enumerate(amounts, 1)))) == words


def test_amounts_at_many_distances_end_with_a_bound():
    agents = range(31)
    hops = tuple(tuple(abs(u - v) for v in agents) for u in agents)
    ends = tuple(tuple(1 / hop if hop else math.nan for hop in row) for row in hops)
    pairs = filled(ViewPrices.PairPrices, {"lower": ends, "upper": ends, "hops": hops})
    (words,) = searched(filled(ViewPrices, {"pairs": pairs}))
    assert words.endswith(" 0.09091 at 11 hops, at most 0.08333 from 12 hops on.")


def test_the_key_of_claims_of_pairs_has_the_stroke_that_is_drawn():
    ends = ((math.nan, 0.5), (0.5, math.nan))
    found = filled(ViewPrices.PairPrices, {"lower": ends, "upper": ends, "claimed": ends, "hops": ((0, 1), (1, 0))})
    chart = by_distance(found, "x")
    (axes,) = chart.drawing.figure.axes
    assert {line.get_marker() for line in axes.lines} == {"o", "_"}
    assert [one.lines[0]["marker"] for one in chart.key] == ["o", "_"]
    assert "M-1 0h2" in chart.key[1].swatch


@pytest.mark.parametrize(("bare", "shown"), [((), 0), ((2,), 1), ((2, 3), 2)])
@pytest.mark.parametrize("noisy", [True, False])
def test_bars_have_the_infinity_of_an_unprotected_field(bare, shown, noisy):
    """At the activation that first sends it, also where nothing else was released; else there is no figure."""
    costs = [{"activation": k, "cost": [0.1, 0.2, 0.3]} for k in (1, 2, 3, 4)] if noisy else []
    fields = [{"name": "u", "activation": k, "path": "3→4", "reason": "none"} for k in bare]
    audit = {"loss_breakdown": {"activations": costs}, "unprotected_fields": fields}
    made = filled(AlgorithmResult, {"name": "one", "audit": filled(AuditResult, audit)})
    figures = [one for one in loss_charts(Finding(made), "x") if one.title == "Where it is spent"]
    assert len(figures) == (noisy or shown > 1)  # one bar alone is no figure
    for one in figures:
        assert len(re.findall(r">∞</text>", one.drawing.svg)) == shown
        assert ("no noise protects" in " ".join(one.caption)) is (shown > 0)
        assert ("The other bars are the cost of what has noise" in " ".join(one.caption)) is (shown > 0 and noisy)


@pytest.mark.parametrize("unit", ["rounds", "activations"])
def test_what_is_counted_has_the_word_of_the_algorithm(unit):
    breakdown = {"activations": [{"activation": k, "cost": [0.1, 0.2, 0.3]} for k in (1, 2)]}
    costs = {"loss_breakdown": breakdown | {"releases": [{"where": {"mechanism": "clipped Gaussian"}}]}}
    parts = {"name": "one", "convergence": {"unit": unit}, "audit": filled(AuditResult, costs)}
    (chart,) = loss_charts(Finding(filled(AlgorithmResult, parts)), "x")
    assert f"{unit} of the audited agent" in chart.drawing.svg
    assert f"Cost of all releases of a{'n' * (unit[0] == 'a')} {unit[:-1]}" in chart.caption[0]
    assert "‖Δ‖₂²/σ², a pure number" in chart.caption[0]
    assert "nats" not in chart.caption[0]


def spread(*values):
    """All combinations, so that the first some are of all parts of the grid."""
    grid = list(product(*values))
    step = next(step for step in (7, 11, 13) if math.gcd(step, len(grid)) == 1)
    return [grid[step * k % len(grid)] for k in range(len(grid))]


def drawn(audit):
    """The axes of the wide and of the narrow drawing of one audit."""
    made = filled(AlgorithmResult, {"name": "plain", "audit": filled(AuditResult, audit)})
    chart = epsilons([("plain", made)], "")
    for drawing in (chart.drawing, chart.narrow):
        FigureCanvasAgg(drawing.figure).draw()
        yield from drawing.figure.axes


@pytest.mark.parametrize(
    ("audit", "words"),
    [
        ({"epsilon_claimed": 1.0}, ["claimed", "above"]),
        ({"epsilon_exact": {"lower": 0.1, "estimate": 0.1, "upper": 0.1}}, ["exact"]),
        ({"epsilon_claimed": 1.0, "epsilon_audited": 0.1}, ["claimed", "audited", "above"]),
        ({"epsilon_audited": 0.1, "white_box": {"ceiling": 4.0}}, ["audited", "the"]),
    ],
)
def test_the_key_of_the_three_epsilons_has_what_is_drawn(audit, words):
    made = filled(AlgorithmResult, {"name": "plain", "audit": filled(AuditResult, NOTHING | audit)})
    assert [re.split("[ :]", one.label)[0] for one in epsilons([("plain", made)], "").key] == words


@pytest.mark.parametrize(
    ("claimed", "audited", "label"),
    [
        (1.0, 0.1, "ε (logarithmic)"),
        (1.0, 0.0, "ε (logarithmic; 0 beyond the dotted line)"),
        (math.inf, 0.0, "ε (logarithmic; 0 and ∞ beyond the dotted lines)"),
    ],
)
def test_the_axis_names_what_is_beyond_its_dotted_lines(claimed, audited, label):
    audit = NOTHING | {"epsilon_claimed": claimed, "epsilon_audited": audited}
    assert {axes.get_xlabel() for axes in drawn(audit)} == {label}


def test_a_name_that_is_cut_keeps_the_run_that_it_is_of():
    made = filled(AlgorithmResult, {"name": "plain", "audit": filled(AuditResult, {"verdict": "underpowered"})})
    runs = [f"private descent, decaying noise{long} · {run}" for long in ("", 40 * "a") for run in ("pd1", "pd2")]
    texts = [
        text.get_text()
        for axes in epsilons([(run, made) for run in runs], "").narrow.figure.axes
        for text in axes.texts
    ]
    cut = [text for text in texts if "…" in text]
    assert [text.rpartition(" · ")[2] for text in cut] == ["pd1", "pd2", "pd1", "pd2"]


@pytest.mark.parametrize(
    "names",
    [
        ["DP-RECAL, as analysed · demo-seed", "DP-RECAL, as deployable · demo-seed", "DP-RECAL, as analysed · demo"],
        [f"noisy · a-folder-with-a-rather-long-name-{k}" for k in "ab"],
    ],
)
def test_names_that_are_cut_stay_different(names):
    made = filled(AlgorithmResult, {"name": "plain", "audit": filled(AuditResult, {"verdict": "unprotected"})})
    (axes,) = epsilons([(name, made) for name in names], "").narrow.figure.axes
    heads = [text.get_text() for text in axes.texts if text.get_fontweight() == "bold"]
    assert len({*heads}) == len(names)
    assert max(map(len, heads)) <= 33
    if len(names) == 3:
        assert heads == ["… analysed · demo-seed", "… deployable · demo-seed", "DP-RECAL, as analysed · demo"]


@pytest.mark.parametrize("audited", [0.0, 0.5])
@pytest.mark.parametrize(("lower", "upper"), [(0.2568, 0.2711), (5.1234, 5.2234), (0.9123, 0.9234)])
def test_a_number_stands_on_the_side_of_the_claim_that_its_mark_is_on(audited, lower, upper):
    exact = {"lower": lower, "estimate": lower, "upper": upper}
    worse = {"epsilon_exact": {"lower": math.inf, "estimate": math.inf, "upper": math.inf}, "epsilon_claimed": 1.0}
    both = [{"epsilon_exact": exact, "epsilon_audited": audited, "epsilon_claimed": 1.0}, worse]
    made = [filled(AlgorithmResult, {"name": "plain", "audit": filled(AuditResult, one)}) for one in both]
    chart = epsilons([("plain", one) for one in made], "")
    for drawing in (chart.drawing, chart.narrow):
        FigureCanvasAgg(drawing.figure).draw()
        (axes,) = drawing.figure.axes
        claim = axes.transData.transform((0, 0))[0]
        for text in axes.texts:
            if text.get_text() and (lane := text.get_position()[1]) in (2, 3):
                box, value = text.get_window_extent(), lower if lane == 2 else audited
                assert box.x1 < claim if value < 1 else box.x0 > claim, text.get_text()
                assert axes.bbox.x0 <= box.x0 < box.x1 <= axes.bbox.x1 + 1


@pytest.mark.parametrize(("lower", "label"), [(math.inf, "∞"), (0.385, "0.385 … ∞")])
def test_an_infinite_epsilon_is_one_mark_and_an_open_interval_a_bar(lower, label):
    interval = {"lower": lower, "estimate": math.inf, "upper": math.inf}
    audit = {"verdict": "unprotected", "epsilon_exact": interval, "epsilon_audited": 4.04, "epsilon_claimed": None}
    for axes in drawn(audit):
        end = next(tick for tick in axes.xaxis.get_majorticklabels() if tick.get_text() == "∞").get_position()[0]
        bars = [one for one in axes.texts if getattr(one, "arrow_patch", None) and one.xy[1] == 2]
        marks = [
            line.get_xdata() for line in axes.lines if line.get_marker() == "o" and list(line.get_ydata()) == [2]
        ]
        (text,) = (one for one in axes.texts if one.get_text() and one.get_position()[1] == 2)
        assert text.get_text() == label
        if math.isinf(lower):
            assert bars == []
            assert marks == [[end]]
            assert abs(text.get_position()[0] - end) < 0.1, "beside the mark"
        else:
            (bar,) = bars
            assert bar.xy[0] == pytest.approx(end)
            assert math.log10(0.385) <= bar.xyann[0] < end
            assert marks == []


@pytest.mark.few(30)
@pytest.mark.parametrize(
    ("claimed", "audited", "lower", "estimate"),
    spread([0.1, 0.5, 1.0, 1.3, 3.0], [0.0, 1.3, 3.0], [0.12, 0.5, 1.37, 5.0], [1.0, math.inf]),
)
def test_an_arrow_to_infinity_leaves_out_its_own_number(claimed, audited, lower, estimate):
    interval = {"lower": lower, "estimate": lower * estimate, "upper": math.inf}
    numbers = {"epsilon_exact": interval, "epsilon_audited": audited, "epsilon_claimed": claimed}
    for axes in drawn(numbers):
        (text,) = (one for one in axes.texts if one.get_text() and one.get_position()[1] == 2)
        strokes = [
            (one.xyann[0], one.xy[0]) for one in axes.texts if getattr(one, "arrow_patch", None) and one.xy[1] == 2
        ]
        assert strokes
        strokes += [one.get_xdata() for one in axes.lines if list(one.get_ydata()) == [2, 2]]
        box = text.get_window_extent()
        for ends in strokes:
            begin, end = (axes.transData.transform((at, 0))[0] for at in ends)
            assert end <= box.x0 + 1 or begin >= box.x1 - 1, text.get_text()


@pytest.mark.few(30)
@pytest.mark.parametrize(
    ("claimed", "audited", "interval"),
    spread(
        [0.5, 0.8, 1.0, 1.3, 3.643, 5.0],
        [0.0, 0.118, 0.884, 1.06, 5.3],
        [(0.257, 0.271), (0.7223, 0.7416), (0.76, 3.41), (1.23, math.inf), (5.1, 5.2)],
    ),
)
def test_a_number_is_beside_its_mark_and_covers_no_line_of_the_claim(claimed, audited, interval):
    lower, upper = interval
    exact = {"lower": lower, "estimate": lower, "upper": upper}
    numbers = {"epsilon_exact": exact, "epsilon_audited": audited, "epsilon_claimed": claimed}
    for axes in drawn(numbers):
        at = axes.transData.transform((math.log10(claimed), 0))[0]
        for text in axes.texts:
            box = text.get_window_extent()
            if text.get_position()[1] in (2, 3) and text.get_text():
                assert not box.x0 < at < box.x1, text.get_text()
                lane = text.get_position()[1]
                for mark in axes.lines:  # its own dot or square
                    if mark.get_marker() in ("o", "s") and list(mark.get_ydata()) == [lane]:
                        dot = axes.transData.transform((mark.get_xdata()[0], 0))[0]
                        assert not box.x0 - 2 < dot < box.x1 + 2, text.get_text()
                        if math.isfinite(upper) or lane == 3:
                            ends = [axes.transData.transform((math.log10(one), 0))[0] for one in (lower, upper)]
                            low, high = (dot, dot) if lane == 3 else (min(dot, *ends), max(dot, *ends))
                            behind = min(abs(box.x0 - at), abs(box.x1 - at)) < 30
                            away = max(low - box.x1, box.x0 - high)
                            assert away < (90 if lane == 3 else 60) or (behind and away < 150), (
                                "beside its own dot or square, or where there is no room just behind the line"
                            )
                assert axes.bbox.x0 + 3 <= box.x0 < box.x1 <= axes.bbox.x1 + 1, text.get_text()


@pytest.mark.parametrize(("claimed", "audited", "lower", "upper"), [
    (2.0, 0.0, 20, 30), (1.0, 0.0, 5.1, 5.2), (0.1, 0.0, 1.23, math.inf), (0.1, 0.9, 0.257, 0.271),
])  # fmt: skip
def test_what_was_audited_is_written_beside_its_mark(claimed, audited, lower, upper):
    interval = {"lower": lower, "estimate": lower, "upper": upper}
    for axes in drawn({"epsilon_exact": interval, "epsilon_audited": audited, "epsilon_claimed": claimed}):
        (text,) = (one for one in axes.texts if one.get_text() and one.get_position()[1] == 3)
        (mark,) = (one for one in axes.lines if one.get_marker() == "s")
        at, box = axes.transData.transform((mark.get_xdata()[0], 0))[0], text.get_window_extent()
        assert max(box.x0 - at, at - box.x1) < 110, text.get_text()


@pytest.mark.parametrize("audited", [0.5, 0.85, 0.9, 1.5])
def test_the_line_of_the_claim_lies_over_arrows_and_none_of_what_is_proven_below_it_crosses_it(audited):
    interval = {"lower": 0.4, "estimate": 0.5, "upper": math.inf}
    numbers = {"epsilon_exact": interval, "epsilon_audited": audited, "epsilon_claimed": 1.0}
    for axes in drawn(numbers):
        (line,) = (one for one in axes.lines if list(one.get_xdata()) == [0.0, 0.0])
        arrows = [one for one in axes.texts if getattr(one, "arrow_patch", None)]
        assert all(line.get_zorder() > one.get_zorder() for one in arrows)
        (end,) = (one.xy[0] for one in arrows if one.xy[1] == 3)
        (start,) = (one.xyann[0] for one in arrows if one.xy[1] == 3)
        assert start == pytest.approx(math.log10(audited))
        assert end > start
        assert (end < 0) is (audited < 1)
