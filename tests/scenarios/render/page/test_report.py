"""The page of a scenario: whole, self-contained, the same for the same results, honest about what is missing."""

import base64
import copy
import io
import json
import math
import re
from html.parser import HTMLParser
from itertools import combinations
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from markupsafe import Markup

from scenarios.render import plain_words, sentences
from scenarios.render.page.charts import carried_on, hidden
from scenarios.render.page.drawing import Drawing, Scale, picture
from scenarios.render.page.epsilons import epsilons, noise
from scenarios.render.page.report import _headed, _whole_words, render
from scenarios.render.page.report import page as page_of
from scenarios.results.attacks import GradientResult
from scenarios.results.audit import AuditResult
from scenarios.results.findings import deadline_note
from scenarios.results.numbers import count, exact, fixed, plural, show
from scenarios.results.tree import AlgorithmResult
from tests.scenarios.filled import SCENARIO, filled, tree

AGENTS = 8
NASTY = '<script>alert("x")</script> & a name so long that no figure can hold it without cutting it somewhere'


# ── a realistic sample ──────────────────────────────────────────────────────────────────────────────────
def _digit(agent: int) -> np.ndarray:
    y, x = np.mgrid[0:8, 0:8]
    ring = np.exp(-((np.hypot(x - 3.5, (y - 3.5) * (1 + 0.05 * agent)) - 2.4 + 0.15 * agent) ** 2))
    bar = np.exp(-((x - 2 - 0.4 * agent) ** 2) / 1.5) * (y > 0) * (y < 7)
    return np.clip(ring if agent % 2 else bar, 0, 1)


def _images(error: float, rng: np.random.Generator) -> dict[str, Any]:
    guesses = {odd: np.mean([_digit(i) for i in range(odd, AGENTS, 2)], axis=0) for odd in (0, 1)}
    agents = []
    for i in range(AGENTS):
        original, guess = _digit(i), guesses[i % 2]
        rebuilt = original + error * rng.standard_normal((8, 8))
        mse, prior = np.mean((rebuilt - original) ** 2), np.mean((guess - original) ** 2)
        agents.append(
            {
                "agent": i, "original": original.ravel().tolist(), "rebuilt": rebuilt.ravel().tolist(),
                "guess": guess.ravel().tolist(), "mse": float(mse), "mse_prior": float(prior),
                "skill": float(1 - mse / prior), "largest_error": float(np.abs(rebuilt - original).max()),
                "label_correct": 1.0 if error < 1 else 0.5,
            }
        )  # fmt: skip
    return {"shape": [8, 8], "range": [0, 1], "agents": agents, "exact": error < 1e-6, "note": "one image each"}


def _gradients(error: float, rng: np.random.Generator) -> dict[str, Any]:
    curve = (error * np.exp(0.4 * rng.standard_normal(392))).tolist()
    curve[3] = 0.0
    return {
        "attack": "attacks.closed_form.recal.infer", "estimated": 392, "queries": 400, "inferred": [49] * AGENTS,
        "hidden": [1] * AGENTS, "worst": max(curve), "median": float(np.median(curve)), "baseline": 0.19,
        "curve": curve,
    }  # fmt: skip


def _run(floor: float, rng: np.random.Generator) -> dict[str, Any]:
    k = np.arange(1, 401)
    median = np.maximum(np.exp(-k / 40), floor) * np.exp(0.1 * rng.standard_normal(400))
    return {
        "convergence": {
            "unit": "activations", "count": k.tolist(), "median": median.tolist(), "low": (0.6 * median).tolist(),
            "high": (1.7 * median).tolist(), "final": float(median[-1]), "replicas": 20,
        },
        "run": {
            "activations": [51, 49, 50, 50, 48, 52, 50, 50],
            "largest_activations": 52,
            "time": 412.25,
            "traffic": {
                "packets_sent": 1204, "packets_delivered": 1180, "packets_lost": 23, "bytes_sent": 1_233_408,
                "bytes_delivered": 1_208_320, "bytes_lost": 24_064, "bytes_in_flight": 1024,
            },
        },
    }  # fmt: skip


def _game(audited: float, correct: int) -> dict[str, Any]:
    return {
        "epsilon_audited": audited, "trials": 10_000, "correct": correct, "guesses": 10_000,
        "accuracy_lower": correct / 10_000 - 0.005, "ceiling": 7.61, "confidence": 0.975,
    }  # fmt: skip


def _audit(verdict: str, reason: str, exact: Any, audited: float, **more: Any) -> dict[str, Any]:
    lower, estimate, upper = exact
    level = 0.6 if estimate in ("inf", math.inf) else estimate
    return {
        "verdict": verdict,
        "reason": reason,
        "pair": "agent 2 holds its 22 records, or the same with record 0 replaced by its opposite",
        "trials": 10_000,
        "confidence": 0.95,
        "first_violation": None,
        "unprotected": None,
        "claim": {
            "epsilon": 1.0, "delta": 1e-5, "source": "DP-RECAL, Theorem 4",
            "adjacency": "one record of one agent replaced", "norm": "ℓ2", "gradient_change": 0.0909,
            "failed_conditions": [],
        },
        "epsilon_claimed": 1.0,
        "epsilon_exact": {
            "lower": lower, "estimate": estimate, "upper": upper, "by_formula": lower == upper,
            "upper_bound_only": False,
        },
        "epsilon_audited": audited,
        "white_box": _game(audited, 9_998 if audited > 1 else 6_020),
        "black_box": _game(audited * 0.7, 9_998 if audited > 1 else 5_400),
        "growth": [
            {"activation": k, "estimate": level * math.sqrt(k / 50), "lower": 0.9 * level * math.sqrt(k / 50)}
            for k in range(1, 51)
        ],
        "checks": {"mean_exp_minus_loss": [0.9987, 1.0021], "noise_law_p": [0.41, 0.083]},
    } | more  # fmt: skip


def _algorithm(name: str, summary: str, floor: float, error: float, **parts: Any) -> dict[str, Any]:
    rng = np.random.default_rng(len(name))
    status = "done" if parts.get("audit") else "no claim"
    return (
        {"name": name, "kind": "dp_recal", "summary": summary, "audit_status": status}
        | _run(floor, rng)
        | {"gradients": _gradients(error, rng), "images": _images(error, rng), "audit": None}
        | parts
    )


def _leak(name: str, activation: int) -> dict[str, Any]:
    message = (
        f"agent 2 sends {name!r} to agent 3 at its activation {activation}, a deterministic function of its "
        "private gradients (the two worlds differ by 1.2e-02 relative)"
    )
    return {
        "verdict": "unprotected", "reason": f"{message}: no noise protects it, so ε = ∞, not 1 as claimed.",
        "unprotected": message, "first_violation": activation,
    }  # fmt: skip


def sample() -> dict[str, Any]:
    """The results of a scenario like the one that is shipped."""
    inf = ("inf", "inf", "inf")
    consistent = "Nothing measured is proven to exceed the claimed ε = 1 at δ = 10⁻⁵, and {} of it was found."
    ring = [[i, (i + 1) % AGENTS] for i in range(AGENTS)]
    angles = 2 * np.pi * np.arange(AGENTS) / AGENTS
    return {
        "name": "eavesdropper-on-dp-recal",
        "title": "An eavesdropper on DP-RECAL",
        "description": "A baton walks a ring of eight agents that fit a classifier together. Somebody listens to "
        "every link. Does the published noise keep their data private?",
        "status": "complete",
        "command": "netsim run eavesdropper-on-dp-recal.yaml --seed 7",
        "versions": {"netsim-lab": "0.1.0", "python": "3.11.9", "numpy": "2.4.6"},
        "seed": 7,
        "scenario": {
            "name": "eavesdropper-on-dp-recal", "audit": {"trials": 10_000, "confidence": 0.95, "agent": 2},
        },
        "notes": ["NumPy's samplers are models for experiments, not deployable mechanisms."],
        "problem": {
            "kind": "logistic", "data": "digits (0 against 1)", "agents": AGENTS, "dimension": 64, "records": 360,
            "records_per_agent": [45] * AGENTS, "smoothness": 1.83, "strong_convexity": 0.01,
            "optimum_residual": 3.1e-13, "optimum_is_zero": False,
        },
        "network": {
            "name": "ring of 8", "edges": ring,
            "positions": np.column_stack([(1 + np.cos(angles)) / 2, (1 + np.sin(angles)) / 2]).tolist(),
            "tapped": ring[:6], "tapped_nodes": [2], "spectral_gap": 0.195,
        },
        "algorithms": [
            _algorithm("RECAL", "The baton walks, no noise; claims nothing.", 1e-14, 2e-14),
            _algorithm(
                "DP-RECAL, as analysed", "As its convergence proof reads: the exact u travels beside its noisy copy.",
                1e-2, 4e-13, audit=_audit("", "", inf, 6.92) | _leak("u", 1),
            ),
            _algorithm(
                "DP-RECAL, as deployable", "As it could be deployed: only the noisy ũ and x⁺ are sent.", 6e-2, 3e-12,
                audit=_audit("", "", inf, 6.87) | _leak("x", 2),
            ),
            _algorithm(
                "DP-RECAL, fresh noise",
                "An attempt at a repair: fresh noise also inside the proximal step that makes x⁺.", 9e-2, 3.0,
                audit=_audit("consistent", consistent.format("84%"), (0.81, 0.843, 0.88), 0.31, black_box=None),
            ),
            _algorithm(
                "DP-RECAL, sent state", "Repair: after sending, the agent keeps what it sent.", 2e-1, 8.0,
                gradients={"refused": "sent_state: no inversion is known"},
                images={"refused": "sent_state: no inversion is known"},
                audit=_audit("consistent", consistent.format("49%"), (0.489, 0.489, 0.489), 0.0),
            ),
        ],
    }  # fmt: skip


def alone(place: int) -> dict[str, Any]:
    """The sample with one of its algorithms."""
    return sample() | {"algorithms": sample()["algorithms"][place : place + 1]}


# ── reading the page ────────────────────────────────────────────────────────────────────────────────────
VOID = {"wbr", "meta", "link", "img", "br", "use", "path"}


class Page(HTMLParser):
    """What a page holds: ids, references, headings, sources, and whether its tags close in order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.source = text
        self.ids: list[str] = []
        self.references: list[str] = []
        self.links: list[str] = []
        self.tags: list[str] = []
        self.unlabelled: list[str] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.feed(text)
        assert self.open == []

    @property
    def text(self) -> str:
        return re.sub(r"\s+", " ", " ".join(self.words))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        self.tags.append(tag)
        self.ids += [given["id"]] if "id" in given else []
        self.links += [given[name] for name in ("src", "href", "xlink:href", "action", "data") if name in given]
        self.references += [v[1:] for n, v in given.items() if n == "href" and v.startswith("#")]
        self.references += [m for v in given.values() for m in re.findall(r"url\(#([^)]+)\)", v)]
        self.references += given.get("aria-labelledby", "").split()
        if (tag == "img" and not given.get("alt")) or (tag == "th" and "scope" not in given):
            self.unlabelled.append(tag)
        if tag == "svg" and not (given.get("aria-label") or given.get("aria-hidden")):
            self.unlabelled.append(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        if not self.open or self.open[-1] != "style":
            self.words.append(data)


@pytest.fixture
def read(tmp_path):
    def read(results: dict[str, Any]) -> Page:
        render(tree(results), tmp_path / "report.html")
        return Page((tmp_path / "report.html").read_text(encoding="utf-8"))

    return read


@pytest.fixture
def written(read, monkeypatch):
    """`read` for what is written beside figures: they are made, and not drawn, which is most of a page's time."""
    monkeypatch.setattr(Drawing, "svg", Markup())
    return read


@pytest.mark.slow
def test_the_page_is_whole_labelled_and_needs_nothing_but_itself(read):
    results = sample()
    before = copy.deepcopy(results)
    page = read(results)
    assert results == before
    assert read(sample()).source == page.source
    assert {"verdicts", "epsilons", "images", "curves", "repeat"} <= set(page.ids)
    assert page.tags.count("h1") == 1
    assert page.tags.count("img") == 3 * AGENTS * 4
    assert page.unlabelled == []
    for words in (
        "DP-RECAL, Theorem 4", "one record of one agent replaced", "netsim run eaves", "1,233,408",
        "sent_state: no inversion is known", "some choose the thresholds, the others are guessed",
    ):  # fmt: skip
        assert words in page.text
    assert len(page.ids) == len(set(page.ids))
    assert set(page.references) <= set(page.ids)
    assert all(link.startswith(("#", "data:")) for link in page.links)
    assert "script" not in page.tags
    assert not re.search(r"@import|url\((?!#)", page.source)
    assert "http" not in page.source.replace("http-equiv", "")


@pytest.mark.slow
def test_it_is_small_even_for_ten_algorithms(read):
    results = sample()
    results["algorithms"] = [a | {"name": f"{a['name']} {i}"} for a in results["algorithms"] for i in (1, 2)]
    page = read(results)
    without_images = re.sub(r"data:image/png;base64,[^\"]*", "", page.source)
    assert len(without_images.encode()) < 500_000


def test_the_strongest_finding_comes_first(written):
    page = written(sample())
    words = re.findall(r'<span class="word \w+"><span aria-hidden="true">.</span>([^<]+)', page.source)
    assert words == ["unprotected", "unprotected", "consistent", "consistent", "no claim"]
    assert "2 of 4 audited privacy claims do not hold: 2 unprotected. The others: 2 consistent." in page.text
    fewer = sample()
    fewer["algorithms"].remove(
        next(a for a in fewer["algorithms"] if (a.get("audit") or {}).get("verdict") == "consistent")
    )
    assert (
        "2 of 3 audited privacy claims do not hold: 2 unprotected. The other one is consistent."
        in written(fewer).text
    )


@pytest.mark.parametrize(
    "commands", [(), ("",), ("-o audit.trials=2",), ("netsim witness w.json",), ("-o a=1", "netsim witness w")]
)
def test_how_steps_are_meant_is_said_where_there_are_such(written, monkeypatch, commands):
    steps = [SimpleNamespace(words="do it", command=one) for one in commands]
    monkeypatch.setattr(plain_words, "all_steps", lambda *_: steps)
    text = written(sample()).text
    assert ("Options are added to" in text) is any(one.startswith("-") for one in commands)
    assert ("runs in this folder" in text) is any("witness" in one for one in commands)


@pytest.mark.slow
def test_names_are_escaped(read):
    results = sample()
    for algorithm in results["algorithms"]:
        algorithm["name"] = NASTY
    results["title"] = results["description"] = results["network"]["name"] = NASTY
    results["notes"] = [NASTY]
    page = read(results)
    assert "script" not in page.tags
    assert "<script" not in page.source
    assert NASTY in page.text


@pytest.mark.few("inf0")
@pytest.mark.parametrize("infinity", ["inf", math.inf])
def test_infinity_is_written_and_drawn(read, infinity):
    results = alone(1)
    exact = results["algorithms"][0]["audit"]["epsilon_exact"]
    exact |= dict.fromkeys(("lower", "estimate", "upper"), infinity)
    page = read(results)
    assert "inf" not in re.findall(r"[a-z]+", page.text)
    wide = page.source[page.source.index('class="plot wide"') : page.source.index('class="plot narrow"')]
    assert wide.count(">∞</text>") == 2  # the end of the axis, and the arrow to it
    assert 'class="over"><dt>ε exact</dt><dd>∞' in page.source
    assert "exact ∞, audited at least 6.92" in page.source


def test_not_a_number_and_zero_do_not_break_the_charts(read):
    results = sample()
    for algorithm in results["algorithms"]:
        algorithm["convergence"]["median"][5] = "nan"
        algorithm["convergence"]["median"][6:] = [0.0] * 394
        algorithm["convergence"]["high"][-1] = "inf"
    page = read(results)
    assert "nan" not in re.sub(r"base64,[^\"]*", "", page.source).lower().replace("finance", "")
    assert "10⁻¹⁷" in page.text


def test_an_error_as_large_as_numbers_get_is_drawn(read):
    results = sample()
    for algorithm in results["algorithms"]:
        algorithm["convergence"]["median"][-2:] = [1e200, 1.7e308]
    with np.errstate(over="raise"):
        assert "convergence" in read(results).source
    whole, cut = Scale.around(3.0, 2.0), Scale.around(150.0, 170.0)
    assert whole.limits == (1.0, 5.0)
    assert cut.low == -20.0
    assert math.isfinite(10 ** (cut.high + 0.05 * (cut.high - cut.low)))


@pytest.mark.parametrize(
    ("left", "audit", "says"),
    [
        ({"audit_status": "not reached"}, "audit", "The run ended before this audit."),
        ({"audit_status": "interrupted"}, "the rest of the audit", "This audit was interrupted."),
        (
            {"audit_status": "interrupted", "audit_begun": {"transcripts": 3000, "trials": 10_000}},
            "the rest of the audit",
            "This audit was interrupted: 3,000 of 10,000 transcripts of each world are kept.",
        ),
    ],
)
def test_an_interrupted_run_says_what_is_missing_and_what_continues_it(written, left, audit, says):
    results = sample() | {"status": "interrupted", "command": "netsim run mine -o seed=2"}
    results["algorithms"] = results["algorithms"][:2]
    results["algorithms"][1] |= {"images": None, "audit": None} | left
    results["scenario"]["attacks"] = {"images": True}
    results["scenario"]["algorithms"] = [
        SCENARIO["algorithms"][0] | {"name": n} for n in ("RECAL", "DP-RECAL, as analysed", "A <third>")
    ]
    page = written(results)
    assert "This scenario was interrupted." in page.text
    assert f"DP-RECAL, as analysed: images, {audit}" in page.text
    assert "A <third>: not begun" in page.text
    assert left["audit_status"] in page.text
    assert says in page.text
    assert (
        "Continue with netsim run mine -o seed=2 --out FOLDER , where FOLDER is the folder of this page." in page.text
    )
    assert "FOLDER" not in written(results | {"status": "complete"}).text


def test_what_was_not_asked_for_is_not_missed(written):
    results = sample() | {"status": "interrupted"}
    results["algorithms"][-1] |= {"audit": None, "images": None}
    results["scenario"] |= {"audit": None, "attacks": {"gradients": True, "images": False}}
    assert "Missing:" not in written(results).text


def test_what_was_not_asked_has_no_section_and_is_not_said_to_claim_nothing(written):
    results = sample()
    results["scenario"] |= {"audit": None, "attacks": {"gradients": True, "images": False}}
    for algorithm in results["algorithms"]:
        algorithm |= {"audit": None, "audit_status": "not requested", "images": None}
    page = written(results)
    assert "This scenario asks for no audit." in page.text
    assert "Nothing is claimed here" not in page.text
    assert not {"epsilons", "images"} & set(page.ids)
    assert set(page.references) <= set(page.ids)
    results["scenario"] |= {"audit": {"agent": 2}, "attacks": {"images": True}}
    assert "images" not in set(written(results).ids)  # asked for, but the run ended before


@pytest.mark.few(1)
@pytest.mark.parametrize("part", ["convergence", "run", "gradients", "images", "audit"])
def test_any_part_may_be_missing(read, part):
    results = alone(3)
    for algorithm in results["algorithms"]:
        algorithm[part] = None
    read(results)


@pytest.mark.few(1)
@pytest.mark.parametrize("part", ["gradients", "images", "audit"])
def test_a_refused_part_gives_its_reason(written, part):
    results = sample()
    for algorithm in results["algorithms"]:
        algorithm |= {part: {"refused": "because <it> would not"}}
        algorithm |= {"audit_status": "refused"} if part == "audit" else {}
    assert "ecause <it> would not" in written(results).text


@pytest.mark.parametrize("algorithms", [0, 1])
def test_few_algorithms_and_nothing_else(read, algorithms):
    bare = {"name": "bare", "algorithms": [{"name": "only"}] * algorithms}
    page = read(bare | {"status": "interrupted"})
    assert "No privacy claim was audited." in page.text
    assert "svg" not in page.tags


@pytest.mark.few("inf-exact5-1.0-vacuous")
@pytest.mark.parametrize(
    ("claimed", "exact", "audited", "verdict"),
    [
        (None, (0.2, 0.3, 0.4), 0.1, "undefined"), (0.5, (0.7, 0.75, 0.8), 0.6, "refuted"),
        (25.0, (0.0, 0.0, 0.0), 0.0, "vacuous"), (9.0, (1.0, 2.0, "inf"), "nan", "underpowered"),
        (0.0, (0.0, 0.0, 0.0), 0.0, "consistent"), (math.inf, (1.0, 1.0, 1.0), 1.0, "vacuous"),
    ],
)  # fmt: skip
def test_every_verdict_has_a_picture(read, claimed, exact, audited, verdict):
    results = alone(4)
    results["algorithms"][0]["audit"] = _audit(
        verdict, "Because.", exact, 0.0, epsilon_claimed=claimed, epsilon_audited=audited
    )
    page = read(results)
    assert verdict in page.text
    assert page.source.count("<svg viewBox") == 5  # two of the epsilons, convergence, budget, network


@pytest.mark.parametrize(
    ("interval", "shown"), [((0.0567, 0.0567, "inf"), "0.0567 … ∞"), ((0.05, 0.06, 0.07), "0.05 … 0.07")]
)
def test_exact_is_the_same_interval_on_card_and_chart(read, interval, shown):
    results = alone(4)
    results["algorithms"][0]["audit"] = _audit("consistent", "Because.", interval, 0.03)
    page = read(results)
    assert f"<dt>ε exact</dt><dd>{shown}</dd>" in page.source
    assert f"exact {shown}, audited at least 0.03" in page.source
    assert page.source.count(f">{shown}</text>") == 2
    assert "a lower end where no formula and no bound closes it" in page.text


@pytest.mark.few(2)
@pytest.mark.parametrize("claimed", [0.001, 0.05, 0.065, 50.0])
@pytest.mark.parametrize(
    "interval", [(0.0567, 0.0567, "inf"), (0, 0.06, "inf"), (0.05, 0.06, 0.07), (0.001, 0.06, 40.0), (3.0, 9.0, 60.0)]
)
def test_no_stroke_goes_through_the_number_of_the_exact_lane(interval, claimed):
    audit = filled(AuditResult, _audit("consistent", "Because.", interval, 0.03, epsilon_claimed=claimed))
    chart = epsilons([("one", filled(AlgorithmResult, {"name": "one"} | {"audit": audit}))], "")
    for figure in (chart.drawing.figure, chart.narrow.figure):
        figure.draw_without_rendering()
        (axes,) = figure.axes
        text = exact(audit.epsilon_exact)
        (label,) = (t for t in axes.texts if t.get_text() == text and t.get_position()[1] == 2)
        if label.get_bbox_patch() is not None:
            continue  # the number stands on paper
        box = label.get_window_extent()
        strokes = [line.get_window_extent() for line in axes.lines if line.get_linewidth() > 1]
        strokes += [t.arrow_patch.get_window_extent() for t in axes.texts if getattr(t, "arrow_patch", None)]
        assert not any(box.overlaps(stroke) for stroke in strokes)
        assert axes.get_window_extent().x0 <= box.x0
        assert box.x1 <= axes.get_window_extent().x1


def test_traffic_that_never_was_takes_no_row(written):
    results = sample()
    for algorithm in results["algorithms"]:
        algorithm["run"]["traffic"] |= {"packets_lost": 0, "packets_dropped": 0, "bytes_duplicated": 0}
    results["algorithms"][0]["run"]["traffic"]["bytes_duplicated"] = 7
    text = written(results).text
    assert "Bytes duplicated" in text
    assert "Packets lost" in text
    assert "Packets dropped" not in text


@pytest.mark.slow
def test_traffic_has_a_row_for_a_quantity_and_a_column_for_an_algorithm(written):
    results = sample()
    assert "Packets rejected" not in written(results).text
    results["algorithms"][1]["rejected"] = 31
    page = written(results)
    rows = re.findall(r'<tr><th scope="row">([^<]+)</th>((?:<td[^>]*>[^<]*</td>)+)</tr>', page.source)
    cells = {name: re.findall(r"<td[^>]*>([^<]*)</td>", row) for name, row in rows}
    assert cells["Bytes delivered"] == ["1,208,320"] * 5
    assert sorted(cells["Packets rejected"]) == ["0"] * 4 + ["31"]


@pytest.mark.parametrize(
    ("gradients", "short", "full"),
    [
        ({"hidden": [1, 1, 1], "inferred": [1, 1, 1]}, "1 each", ""),
        ({"hidden": [1, 2, 0], "inferred": [4, 3, 5]}, "1, 2, 0", ""),
        ({"hidden": [5, 0, 0], "inferred": [0, 0, 5]}, "5, –, 0", ""),
        ({"hidden": [5, 5, 0], "inferred": [1, 1, 0]}, "5 each (2 agents)", ""),
        (
            {"hidden": [1] * 3 + [9] * 7 + [0] * 2, "inferred": [8] * 3 + [0] * 7 + [9, 0]},
            "1: 3 agents; all: 7 agents; none: 1 agent",
            "agent 0: 1, agent 1: 1, agent 2: 1, agent 3: 9, agent 4: 9, agent 5: 9, agent 6: 9, agent 7: 9, "
            "agent 8: 9, agent 9: 9, agent 10: 0, agent 11: –",
        ),
        ({"hidden": list(range(1, 10)), "inferred": [1] * 9}, "1 to 9, median 5", None),
        ({"hidden": [], "inferred": []}, "–", ""),
    ],
)
def test_hidden_gradients_are_summed_up_where_there_are_many_agents(gradients, short, full):
    gradients = filled(GradientResult, gradients)
    assert hidden(gradients)[0] == short
    assert hidden(gradients)[1] == full if full is not None else hidden(gradients)[1].endswith("agent 8: 9")


def test_the_full_list_of_hidden_gradients_is_in_the_cells_title(written):
    results = alone(0)
    results["algorithms"][0]["gradients"] |= {"hidden": [1] * 5 + [2] * 5, "inferred": [3] * 10}
    assert 'title="agent 0: 1, ' in written(results).source


@pytest.mark.few(2)
@pytest.mark.parametrize(
    ("curve", "more", "named"),
    [
        ([1.0, 3.0, 2.0, 3.0], {"noise": True}, True), ([1.0, 3.0, 2.0, 3.0], {"noise": False}, False),
        ([1.0, 3.0, 2.0, 3.0], {}, False),
        ([1.0, 3.0, 2.0, 3.0], {"noise": True, "outside_model": "outside …"}, False),
        ([1.0, 3.0, 0.2, 0.3], {"noise": True}, False), ([1.0, 1e3, 1e6, 1e9], {"noise": True}, False),
        ([1.0, 3.0, 3.0, "inf"], {"noise": True}, False), ([2.0, "nan", 3.0, 3.0], {"noise": True}, False),
        ([], {"noise": True}, False),
    ],
)  # fmt: skip
def test_a_cause_is_named_only_where_it_is_one(written, curve, more, named):
    results = sample()
    entry = results["algorithms"][0] | more
    entry["convergence"] |= {"median": curve, "count": [1, 2, 3, 4], "low": curve, "high": curve}
    other = results["algorithms"][1]
    text = written(results | {"algorithms": [entry, other]}).text
    assert "Above 1 an estimate is worse than the starting point" in text
    assert ("Noise larger than the solution: RECAL." in text) == named


@pytest.mark.parametrize(
    ("names", "listed"),
    [
        (["A", "B, noisy", "C"], "all 3 algorithms"), (["A", "B"], "A, B"), (["A, b", "C, d"], "A, b; C, d"),
        (["A", "B", "C"], "A, B, C"),
    ],
)  # fmt: skip
def test_names_of_several_are_one_list(written, names, listed):
    results = sample()
    curve = {"median": [1.0, 3.0, 2.0, 3.0], "count": [1, 2, 3, 4], "low": [1.0] * 4, "high": [1.0] * 4}
    entries = [copy.deepcopy(results["algorithms"][0]) | {"name": name, "noise": True} for name in names]
    for one in entries:
        one["convergence"] |= curve
    still = [] if listed.startswith("all") else [results["algorithms"][1]]
    assert f"Noise larger than the solution: {listed}." in written(results | {"algorithms": entries + still}).text


def test_nothing_inferred_has_no_median(read):
    results = alone(0)
    nothing = {"estimated": 0, "queries": 306, "median": None, "worst": None, "baseline": None, "curve": []}
    results["algorithms"][0]["gradients"] |= nothing
    page = read(results)
    assert "None of 306 private gradients could be inferred from what was tapped." in page.text
    assert "∞" not in page.text


def test_a_few_bad_estimates_are_not_hidden_by_the_median(written):
    results = alone(0)
    assert ", the worst 238" not in written(results).text
    results["algorithms"][0]["gradients"] |= {"median": 3e-15, "worst": 238.0}
    assert "median error 3 × 10⁻¹⁵, the worst 238" in written(results).text


def test_who_listens_and_what_the_audit_listens_to(written):
    results = alone(1)
    assert "The audit's listener records all that agent 2 sends and receives" in written(results).text
    results["network"] |= {"insiders": [3]}
    assert "Does the adversary learn the gradients?" in written(results).text
    results["network"] |= {"insiders": [], "medium": "radio"}
    text = written(results).text
    assert "The audit's listener records all that agent 2 and its neighbors transmit" in text
    assert "392 of 400 private gradients recovered by the adversary" in text


@pytest.mark.parametrize(
    ("doors", "inferred", "unit", "deadline", "told"),
    [
        ([], [0, 0, 0], "rounds", 0.1, True), ([1], [0, 5, 0], "rounds", 0.1, True),
        ([1], [0, 5, 1], "rounds", 0.1, False), ([], [0, 0, 0], "activations", 0.1, False),
        ([], [0, 0, 0], "rounds", None, False),
    ],
)  # fmt: skip
def test_why_a_deadline_hides_gradients(doors, inferred, unit, deadline, told):
    results = tree({"scenario": {"exchange": {"deadline": deadline}}, "network": {"tapped_nodes": doors}})
    entry = {"convergence": {"unit": unit}, "gradients": {"attack": "a", "inferred": inferred}}
    assert (deadline_note(results, filled(AlgorithmResult, entry)) is not None) == told


def test_the_network_is_told_and_its_marks_explained(read):
    results = alone(0)
    results["network"] |= {
        "insiders": [7], "sealed": [[0, 1]], "intercepted": [[1, 2]],
        "settings": [["stragglers", "agents <4>"], ["stragglers", "agents 5"], ["medium", "radio"]],
    }  # fmt: skip
    page = read(results)
    for words in (
        "tapped, but encrypted", "active adversary in the middle", "insider", "tapped at its door",
        "recorded at one of its ends", "stragglers agents <4> agents 5 medium radio", "1 with an active adversary",
    ):  # fmt: skip
        assert words in page.text
    assert "link without a tap" not in page.text
    plain = read(alone(0)).text
    assert not [w for w in ("but encrypted", "active adversary in", "insider:", "and its range") if w in plain]
    results["network"] |= {
        "medium": "radio", "disc": {"at": [0, 0], "range": 0.5}, "eavesdropper": {"at": [10, 20.5], "range": 3.0},
    }  # fmt: skip
    text = read(results).text
    assert "the eavesdropper, and its range" in text
    assert "the eavesdropper (▼) is at (10, 20.5), its range is 3" in text


@pytest.mark.slow
@pytest.mark.browser
def test_the_table_of_gradients_fits_a_window_of_1200_pixels(chromium, tmp_path):
    results = sample()
    for algorithm in results["algorithms"][:4]:
        algorithm["gradients"] |= {"hidden": list(range(16)), "inferred": [20] * 16}
    render(tree(results), tmp_path / "report.html")
    with chromium.open(tmp_path / "report.html", width=1200) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        table = "document.querySelector('[aria-label=\"Inferred gradients\"]')"
        assert page.evaluate(f"{table}.scrollWidth <= {table}.clientWidth")


@pytest.mark.parametrize("place", [0, 4])
def test_skill_is_explained_where_there_is_some(written, place):
    results = alone(place)
    results["scenario"] |= {"attacks": {"gradients": True, "images": False}}
    assert ("Skill 1 is the image" in written(results).text) is (place == 0)


@pytest.mark.slow
@pytest.mark.browser
def test_a_card_holds_its_numbers_and_a_command_is_whole_in_a_window_of_1280_pixels(chromium, tmp_path):
    results = alone(3) | {
        "command": f"netsim run mine {' '.join(f'-o algorithms[{k}].per_agent=12' for k in range(8))}"
    }
    results["algorithms"][0]["audit"] |= {
        "epsilon_exact": {"lower": 0.7193, "estimate": 0.73, "upper": 0.7416}, "epsilon_audited": 0.002959,
    }  # fmt: skip
    render(tree(results), tmp_path / "report.html")
    with chromium.open(tmp_path / "report.html", width=1280) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        for shown in (".stats dd", "#repeat pre[aria-label='Command line']"):
            boxes = f"[...document.querySelectorAll({json.dumps(shown)})]"
            assert page.evaluate(f"{boxes}.length") > 0
            assert page.evaluate(f"{boxes}.filter(e => e.scrollWidth > e.clientWidth).map(e => e.textContent)") == []


def test_a_failed_run_says_why(written):
    words = "agent 3 waits for <nobody> (1 packet was lost; links that are `reliable` send it again)"
    error = {"type": "DeadlockError", "message": words, "hint": "Set `links.reliable: true`."}
    text = written(alone(0) | {"status": "failed", "error": error}).text
    assert (
        "This scenario failed. DeadlockError: agent 3 waits for <nobody> (1 packet was lost; links that are" in text
    )
    assert " Set links.reliable: true" in text
    assert "`" not in text


# ── numbers and pictures ────────────────────────────────────────────────────────────────────────────────
@pytest.mark.parametrize(
    ("value", "text"),
    [
        (math.inf, "∞"), (-math.inf, "−∞"), (math.nan, "–"), (None, "–"), (0, "0"), (1.0, "1"), (0.4893, "0.489"),
        (-0.25, "−0.25"), (12345, "12345"), (3.14e-13, "3.14 × 10⁻¹³"), (1e-5, "10⁻⁵"), (2e7, "2 × 10⁷"),
        (99999.7, "100000"), (9999.97, "10000"), (0.99999, "1"), (9.999e-4, "10⁻³"),
    ],
)  # fmt: skip
def test_numbers_as_people_read_them(value, text):
    assert show(value) == text


def test_a_share_just_short_of_one_is_not_called_one():
    assert fixed(0.99999999) == "> 0.999"
    assert fixed(1.0) == "1.000"
    assert fixed(-1e-9) == "0.000"
    assert count(1234567) == "1,234,567"


def test_a_picture_is_the_png_of_its_values():
    image = pytest.importorskip("PIL.Image")
    uri = picture([0, 0.5, 2.0, math.nan, -1, 1.0], (2, 3), (0, 1))
    opened = image.open(io.BytesIO(base64.b64decode(uri.split(",")[1])))
    assert opened.size == (3, 2)
    assert np.asarray(opened).tolist() == [[0, 128, 255], [128, 0, 255]]


def test_the_scale_keeps_order_from_zero_to_infinity():
    values = [0.0, 0.01, 0.5, 1.0, 40.0, math.inf]
    scale = Scale.over(values)
    places = [scale.at(v) for v in values]
    assert places == sorted(places)
    assert scale.limits == (places[0], places[-1])
    labels = dict(scale.ticks())
    assert labels[scale.zero] == "0"
    assert labels[scale.infinity] == "∞"
    assert all(math.isclose(scale.at(float(t)), p, abs_tol=1e-9) for p, t in scale.ticks() if t not in "0∞")


@pytest.mark.parametrize(
    ("median", "baseline", "nothing"),
    [
        (37.3, 0.27, True), (0.3, 0.19, True), (37.3, None, True), (37.3, 1e9, True), (0.3, 1e9, False),
        (0.3, None, False),
    ],
)  # fmt: skip
def test_an_estimate_no_better_than_guessing_is_nothing_learned(written, median, baseline, nothing):
    """A guess: 0, whose error is at most 1, or the gradient of the public quadratic term."""
    given = alone(2)
    given["algorithms"][0]["gradients"] |= {"median": median, "worst": 2 * median, "baseline": baseline}
    text = written(given).text
    assert ("No gradient learned: estimates of " in text) is nothing
    assert (f"estimated from the wire, median error {median}" in text) is not nothing


def cells(**audit):
    """The cells of the table of evidence, by their label."""
    results = alone(4)
    results["algorithms"][0]["audit"] = _audit("consistent", "", (0.2, 0.3, 0.4), 0.1) | audit
    row = r'<th scope="row">([^<]+)(?:<span>[^<]*</span>)?</th><td>([^<]*)</td>'
    page = page_of(tree(results)).replace("\u00a0", " ")
    return dict(re.findall(row, page.partition('class="evidence')[2]))


@pytest.mark.slow
def test_a_formula_for_the_estimate_closes_no_upper_end():
    open_above = {"lower": 2.93, "estimate": 2.93, "upper": "inf", "by_formula": True}
    claim = {"delta": 0.0, "gradient_change": 1.0, "norm": "ℓ1"}
    told = cells(epsilon_exact=open_above, claim=claim)
    assert told["How ε exact was found"] == (
        "the estimate is by a formula, from the noise of the releases; up to ∞, for a transcript that was not seen "
        "may cost more, and no bound over all of them was found"
    )
    closed = cells(epsilon_exact=open_above | {"upper": 2.93}, claim=claim)
    assert closed["How ε exact was found"] == "the estimate is by a formula, from the noise of the releases"
    assert told["Change of the gradient"] == "1 in ℓ2; the claim is stated in ℓ1"


@pytest.mark.parametrize(
    ("delta", "more", "said"),
    [
        (0.0, {}, "a transcript that was not seen may cost more, and no bound over all of them was found"),
        (0.0, {"verdict": "vacuous"}, "and no bound over all of them was looked for, as the claim is vacuous"),
        (1e-5, {}, "10,000 transcripts of each world are too few: at δ = 10⁻⁵ it takes about 600,000"),
        (1e-2, {"bound": {"epsilon": 0.5, "conditions": []}}, "a transcript that was not seen may cost more"),
        (1e-2, {"not_judged_from": 7}, "noise below the rounding of the values it covers was not judged"),
        (1e-2, {"leaks": [{"share": 0.1, "message": "it"}]}, "no noise protects a message of some transcripts"),
    ],
)
def test_a_card_says_why_an_epsilon_has_no_upper_end(written, delta, more, said):
    results = alone(3)
    audit = results["algorithms"][0]["audit"]
    audit |= {"epsilon_exact": {"lower": 0.7, "estimate": 0.7, "upper": "inf", "by_formula": True}, **more}
    audit["claim"] |= {"delta": delta}
    card = written(results).text.partition("Why ε exact has no upper end (∞): ")[2].partition(".")[0]
    assert card.endswith(said)
    audit["epsilon_exact"] |= {"upper": 0.7}
    assert "Why ε exact" not in written(results).text
    audit["epsilon_exact"] |= {"lower": "inf", "estimate": "inf", "upper": "inf"}
    assert "Why ε exact" not in written(results).text


def test_the_final_errors_of_several_algorithms_stand_in_the_open(written):
    results = sample()
    named = [(one["name"], one["convergence"]["final"]) for one in results["algorithms"] if one.get("convergence")]
    line = "; ".join(f"{name} {show(final)}" for name, final in sorted(named, key=lambda pair: pair[1]))
    open_ = written(results).text.partition("Rebuilt")[0]
    assert f"Final relative error ({sentences.ENDS}): {line}." in open_
    assert "Final relative error (0" not in written(alone(0)).text


@pytest.mark.parametrize(
    ("law", "said"),
    [
        ("Gaussian", "σ = 0.5"),
        ("Laplace", "b = 0.5"),
        ("perturbed objective: Laplace", "b = 0.5"),
        ("Modulo", "scale = 0.5"),
    ],
)
def test_the_scale_of_noise_has_its_letter(law, said):
    where = SimpleNamespace(mechanism=law, scale=(0.5, 0.5))
    assert noise(SimpleNamespace(where=where)) == f"{law}, {said}"
    assert noise(SimpleNamespace(where=SimpleNamespace(mechanism=law, scale=(0.5, 2.0)))) == f"{law}, {said} to 2"
    assert noise(SimpleNamespace(where=None)) == ""


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_numbers_of_a_card_stand_apart(chromium, tmp_path, width):
    results = alone(3)
    results["algorithms"][0]["audit"] |= {
        "epsilon_exact": {"lower": 0.7193, "estimate": 0.73, "upper": 0.7416}, "epsilon_audited": 0.002959,
    }  # fmt: skip
    render(tree(results), tmp_path / "report.html")
    with chromium.open(tmp_path / "report.html", width=width) as page:
        boxes = page.evaluate(
            "[...document.querySelectorAll('.stats dt, .stats dd')].map(e => { const r = document.createRange();"
            " r.selectNodeContents(e); const b = r.getBoundingClientRect();"
            " return [b.left, b.right, b.top, b.bottom]; })"
        )
        assert len(boxes) == 6
        for a, b in combinations(boxes, 2):
            beside = min(a[3], b[3]) - max(a[2], b[2]) > 2
            assert not beside or max(a[0], b[0]) - min(a[1], b[1]) >= 9
        assert page.sideways <= 0


@pytest.mark.slow
def test_self_checks_say_whether_they_passed():
    checks = {
        "mean_exp_minus_loss": [0.9987, 1.25], "mean_passed": [True, False],
        "noise_law_p": [0.41, 1e-6], "noise_law_passed": [True, False],
    }  # fmt: skip
    told = cells(checks=checks)
    assert told["Mean of e⁻ᴸ"] == "0.9987 ✓ passed, 1.25 ✗ failed"
    assert told["Noise follows its law"] == "0.41 ✓ passed, 10⁻⁶ ✗ failed"
    assert cells()["Noise follows its law"] == "0.41, 0.083"


def test_code_in_a_sentence_is_broken_between_words_alone():
    text = '<code>netsim witness a-b.json -o a=b</code> <pre tabindex="0"><code>netsim witness c-d</code></pre>'
    words = "netsim witness <span>a-b.json</span> <span>-o</span> a=b"
    assert _whole_words(text) == text.replace("netsim witness a-b.json -o a=b", words)


def test_a_cell_has_the_heading_of_its_column():
    heads = ["Agent", ("What & how", "text"), "Cost"]
    rows = (
        '<tr><th scope="row">3</th><td class="text">a</td><td>1</td></tr><tr><td>b</td><td>2</td></tr>'
        '<tr><th scope="row">all</th><td colspan="2">c</td></tr><tr><td colspan="3">…</td></tr>'
    )
    named = rows.replace('"row">3', '"row" data-head="Agent">3')
    for cell in ('<td class="text"', "<td>b"):
        named = named.replace(cell, f'{cell.rstrip(">b")} data-head="What &amp; how"{">b" if "b" in cell else ""}')
    assert _headed(rows, heads) == re.sub(r"<td(?=>\d)", '<td data-head="Cost"', named)


def test_a_line_ends_in_no_number():
    assert _whole_words("b_1 = 2 × 10⁻³, 2 × 3, 5 % of") == "b_1\u00a0=\u00a02\u00a0×\u00a010⁻³, 2 × 3, 5\u202f% of"


@pytest.mark.parametrize("transcripts", [1, 20])
def test_which_transcript_an_image_is_rebuilt_from_is_said(written, transcripts):
    given = alone(2)
    given["algorithms"][0]["images"]["transcripts"] = transcripts
    text = written(given).text
    assert f"estimates of the gradients in {plural(transcripts, 'transcript')}" in text
    assert ("the image is rebuilt from the first; skill and label are of all of them" in text) is (transcripts > 1)


def test_a_long_name_is_broken_after_its_dots():
    found = _whole_words("<code>attacks.closed_form.recal</code> <code>a.json 0.5.1</code>")
    assert found == "<code>attacks.<wbr>closed_form.<wbr>recal</code> <code>a.json 0.5.1</code>"


def test_a_budget_that_is_infinite_stays_so_to_the_end_of_the_others():
    assert carried_on(30, [1], [math.inf], [5.0]) == [[1, 30], [math.inf] * 2, [5.0] * 2]
    assert carried_on(30, [1], [2.0], [1.0]) == [[1], [2.0], [1.0]]


@pytest.mark.parametrize("priced", [0, 1, 2, 3])
def test_prices_of_views_stand_open_after_the_verdicts_where_few_algorithms_have_them(written, priced):
    """What a scenario asks for beside verdicts is seen without a click, unless it would push all else away."""
    view = {"name": "door 0", "taps": "the door", "kind": "door", "pair": [0.5, 0.5]}
    prices = {"views": [view], "conditions": ["noise is Gaussian"], "delta": 1e-5}
    entries = [{"name": f"a{k}"} | ({"prices": prices} if k < priced else {}) for k in range(3)]
    text = written({"algorithms": entries}).source
    assert ("The exact ε of every view" in text) is (priced > 0)
    assert re.findall(r'<section id="(\w+)"', text)[:2] == ["verdicts", "prices" if priced else "curves"]
    before, _, _ = text.partition('<section id="prices"')
    assert (before.count("<details") > before.count("</details")) is (priced == 3)


COSTS = [{"activation": k, "cost": [0.1, 0.2, 0.3]} for k in (1, 2)]


def test_a_figure_alone_in_a_section_has_the_width_of_the_page(written):
    time = {"unit": "rounds", "vacuous_above": 20, "claimed": {"count": [1, 2], "epsilon": [0.1, 0.2]}}
    audits = [{"verdict": "consistent", "loss_breakdown": {"activations": one}} for one in ([], COSTS)]
    entries = [{"name": f"a{k}", "audit": one, "over_time": time} for k, one in enumerate(audits)]
    text = written({"algorithms": entries}).source
    beside = [
        len(re.findall("<figure", one)) for one in re.findall(r'<div class="charts rest">(.*?)</div>', text, re.S)
    ]
    assert beside == [2]
