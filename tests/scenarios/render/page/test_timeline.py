"""The network and the timeline: what results.json tells of packets, and a page that plays them in a browser."""

import hashlib
import json
import math
import re
from base64 import b64encode
from dataclasses import replace
from itertools import pairwise

import pandas as pd
import pytest

from netsim.errors import DeadlockError
from netsim.transcript.packet_log import PacketLog
from scenarios.build.duration import Silent
from scenarios.build.experiment import Experiment
from scenarios.render.page import network as played
from scenarios.render.page.report import render
from scenarios.results.folder import RunFolder, read_results
from scenarios.results.numbers import show_epsilon
from scenarios.results.run import Timeline
from scenarios.results.tree import AlgorithmResult, loads
from scenarios.schema.load import parse
from scenarios.stages.reaudit import Reaudit
from scenarios.stages.runner import run_scenario
from scenarios.stages.timeline import EVENTS, Chronicle
from tests.scenarios.filled import filled
from tests.scenarios.small import SMALL

QUICK = SMALL.replace("{images: true}", "{}").replace("trials: 100, chunk: 100", "trials: 60, chunk: 60")
QUICK = QUICK.replace("per_agent: 6", "per_agent: 12").replace("activations: 240", "activations: 600")
"""Its break is amid many packets."""


def encoded(entry):
    """What the script gets of an algorithm's results."""
    return played._encoded(entry)


def broken_in_words(broken):
    return played._broken_in_words(broken, "activation")


NEW = filled(AlgorithmResult, {"name": "new"})
FIFTY = """\
name: fifty
seed: 4
problem:
  kind: ridge
  data: {name: synthetic, kind: regression, records: 150, dimension: 4, noise: 0.1}
  ridge: 0.5
topology: {kind: random_geometric, agents: 50, radius: 0.24, seed: 3}
links: {delay: {kind: lognormal, median: 0.02, sigma: 0.5}, loss: 0.1, reliable: true}
link_overrides:
  - {between: [[0, 1]], law: {delay: {kind: constant, seconds: 0.02}, reliable: true, encrypted: true}}
adversary: {links: all, capture_loss: 0.2}
downtimes: [{agents: [3], outages: {kind: scheduled, intervals: [[0.2, 0.6]]}}]
algorithms: [{kind: private_gradient_descent, name: descent, rounds: 12, step: 0.05}]
"""


@pytest.fixture(scope="module")
def small(tmp_path_factory):
    """Results of the small scenario, as results.json has them."""
    folder = tmp_path_factory.mktemp("small")
    run_scenario(parse(QUICK), folder / "out", page=False)
    return read_results(folder / "out")


def chronicle(text):
    """The chronicle of the first algorithm of a scenario."""
    (subject,) = Experiment.of(parse(text).scenario).subjects
    diary = PacketLog()
    run = subject.simulation.run(packet_log=diary)
    return Chronicle(run, diary), run, diary


def page_of(results, folder):
    render(results, folder / "report.html")
    return folder / "report.html"


def named(results, name):
    return next(a for a in results.algorithms if a.name == name)


# ── results.json ────────────────────────────────────────────────────────────────────────────────────────
def test_links_and_packets_agree_with_the_traffic(small):
    for entry in small.algorithms:
        links, shown, traffic = entry.links, entry.timeline, entry.run.traffic
        assert links.by == "link"
        assert sorted(links.between) == sorted(small.network.edges)
        assert sum(links.bytes) == traffic["bytes_sent"]
        assert sum(links.packets) == traffic["packets_sent"] == shown.packets
        assert sum(links.lost) == traffic["packets_lost"]
        assert all(0.01 <= delay <= 0.03 for delay in links.delay)
        columns = [
            getattr(shown, k) for k in ("sent", "arrived", "sender", "receiver", "kind", "number", "fate", "captured")
        ]
        assert len({len(c) for c in columns}) == 1
        assert len(shown.sent) == sum(w.packets for w in shown.windows) <= EVENTS
        assert shown.packets == len(shown.sent) + sum(w.left_out_before for w in shown.windows)
        assert list(shown.sent) == sorted(shown.sent)
        assert set(shown.captured) == {"yes"}
        lost = [arrived is None for arrived in shown.arrived]
        assert lost == [fate != "arrived" for fate in shown.fate]


def test_the_break_is_the_message_that_the_audit_names(small):
    leaky, safe = named(small, "leaky"), named(small, "told")
    broken = leaky.timeline.break_
    first = min(leaky.audit.unprotected_fields, key=lambda field: field.message)
    assert (broken.kind, broken.number) == (first.kind, first.number)
    assert broken.activation == leaky.audit.first_violation
    assert (broken.agent, broken.why, broken.epsilon) == (1, "unprotected", math.inf)
    shown = leaky.timeline
    here = [k for k in range(len(shown.sent)) if encoded(leaky)["f"][k] & played.BREAK]
    assert {(shown.sender[k], shown.number[k], shown.activation[k]) for k in here} == {
        (1, first.number, broken.activation)
    }
    assert shown.sent[here[0]] == broken.time
    assert safe.timeline.break_ is None
    budget = safe.timeline.budget
    proven, whole = safe.over_time.exact.lower[: len(budget.epsilon)], safe.audit.epsilon_exact.lower
    assert budget.epsilon == tuple(min(level, whole) for level in proven) != ()
    assert list(budget.time) == sorted(budget.time)


def test_the_player_and_the_table_say_one_number_of_one_moment(small):
    safe = named(small, "told")
    exact = safe.over_time.exact
    claimed = (exact.lower[2] + exact.lower[3]) / 2
    claim = replace(safe.audit.claim, epsilon=claimed)
    entry = replace(safe, audit=replace(safe.audit, claim=claim, first_violation=4))
    subject = next(one for one in Experiment.of(parse(QUICK).scenario).subjects if one.spec.name == "told")
    diary = PacketLog()
    told = Chronicle(subject.simulation.run(packet_log=diary), diary)
    shown = replace(safe.timeline, break_=told._break(entry), budget=told._budget(entry))
    so_far = f"≥ {show_epsilon(exact.lower[3])}"
    assert max(shown.budget.epsilon) <= safe.audit.epsilon_exact.lower, "not above the card's"
    assert f"the exact ε so far is then {so_far}, against {show_epsilon(claimed)}" in broken_in_words(shown.break_)
    assert encoded(replace(entry, timeline=shown))["budget"]["e"][shown.budget.activation.index(4)] == so_far


def test_a_lossy_tap_an_encrypted_link_and_who_is_down():
    shown, run, diary = chronicle(FIFTY)
    results = shown.timeline(NEW)
    assert results.down == (Timeline.Downtime(agent=3, start=0.2, until=0.6),)
    assert {"yes", "missed", "sealed"} == set(results.captured)
    heard = sum(shown._captured(p) in ("yes", "sealed") for p in [*diary.head, *diary.tail])
    assert heard == sum(r.event == "air" for r in run.views[0].transcript)
    between = [k for k, pair in enumerate(zip(results.sender, results.receiver, strict=True)) if set(pair) == {0, 1}]
    assert {results.captured[k] for k in between} <= {"sealed", "missed"}


def test_a_network_of_many_links_is_told_by_sender():
    text = FIFTY.replace("radius: 0.24", "radius: 0.4").replace("rounds: 12", "rounds: 2")
    shown, run, _ = chronicle(re.sub(r"link_overrides:\n.*\n", "", text))
    links = shown.links()
    assert links.by == "sender"
    assert links.sender == tuple(range(50))
    assert sum(links.bytes) == run.traffic["bytes_sent"]


class Short(PacketLog):
    """Keeps the first twenty packets and the last ten, or eight on either side of what it is asked to look for."""

    def __init__(self, first=20, last=10, sought=None):
        super().__init__(min(first, 20), min(last, 10), sought, around=8)


@pytest.mark.slow
def test_a_break_that_the_diary_let_go_is_looked_for_in_the_same_run_once_more(small, tmp_path, monkeypatch):
    """A long run in small: only twenty packets are kept from its beginning, and the claim breaks at the 45th."""
    monkeypatch.setattr("scenarios.stages.runner.PacketLog", Short)
    monkeypatch.setattr("scenarios.stages.timeline.PacketLog", Short)
    monkeypatch.setattr("scenarios.stages.timeline.EVENTS", 40)
    monkeypatch.setattr("scenarios.stages.timeline.LEAST", 40)
    leaky = re.sub(r"  - \{kind: (recal|dp_recal, name: told).*\n", "", QUICK)
    run_scenario(parse(leaky), tmp_path / "out", page=False)
    results = read_results(tmp_path / "out")
    shown, whole = results.algorithms[0].timeline, named(small, "leaky").timeline
    assert shown.break_ == whole.break_
    assert [(w.why, w.packets, w.left_out_before) for w in shown.windows] == [
        ("the beginning", 16, 0), ("around the break", 13, 24), ("the end", 8, 91),
    ]  # fmt: skip
    here = [*range(16), *range(40, 53), *range(144, 152)]
    for name in ("sent", "arrived", "sender", "receiver", "kind", "number", "activation", "fate", "captured"):
        assert getattr(shown, name) == tuple(getattr(whole, name)[k] for k in here)
    made = encoded(results.algorithms[0])
    assert next(k for k, mark in enumerate(made["f"]) if mark & played.BREAK) == 20
    assert "13 (around the break)" in made["said"]


FAILING = """\
name: fails
seed: 3
problem:
  kind: ridge
  data: {name: synthetic, kind: regression, records: 60, dimension: 4, noise: 0.1}
  ridge: 0.5
topology: {kind: ring, agents: 6}
links: {delay: {kind: constant, seconds: 0.02}, loss: 0.05, reliable: false}
adversary: {links: all, capture_loss: 0.2}
audit: {agent: 1, adjacency: {change: 1.0}, trials: 60, chunk: 60}
algorithms: [{kind: private_gradient_descent, name: descent, rounds: 12, step: 0.05}]
"""


@pytest.mark.few("none")
@pytest.mark.parametrize("spool", ["temporary", "none"])
def test_a_run_that_fails_has_its_timeline_up_to_there(tmp_path, spool):
    """A lost packet of a link that is not reliable: everybody waits forever."""
    text = FAILING + f"transcript: {{spool: {spool}}}\n"
    with pytest.raises(DeadlockError):
        run_scenario(parse(text), tmp_path / "out")
    results = read_results(tmp_path / "out")
    (entry,) = results.algorithms
    shown = entry.timeline
    assert (results.status, entry.run.stopped) == ("failed", "failed")
    assert shown.packets == len(shown.sent) == sum(entry.links.packets) > 12
    assert set(shown.fate) == {"arrived", "lost"}
    assert set(shown.captured) == {"yes", "missed"}
    assert max(shown.sent) <= shown.ended
    kept = pd.read_parquet(tmp_path / "out" / "transcript-descent.parquet")
    assert (kept["event"] == "air").sum() == shown.captured.count("yes")
    page = (tmp_path / "out" / "report.html").read_text()
    when = f"failed at {shown.ended:.4g} s of virtual time"
    assert f"The run {when}. Its timeline ends there" in page
    assert f"descent: the rest of the run, which {when}" in page
    assert encoded(entry)["said"].startswith(f"The run {when}. All {shown.packets} packets until then")
    said = list[str]()
    assert not Reaudit(RunFolder.open(tmp_path / "out"), {}, Silent(), said.append).run()
    assert said == ["descent was never run to its end: netsim run, with this folder, does that."]


def test_rounds_and_the_audited_agents_activations_are_marked(small):
    """A round where its first message begins; of a walk each activation of the agent that the audit looks at."""
    leaky = named(small, "leaky")
    shown, made = leaky.timeline, encoded(leaky)
    assert made["u"] == 1
    columns = zip(shown.activation, shown.sender, shown.kind, strict=True)
    assert [date for _, date, _ in made["m"]] == sorted({k for k, i, kind in columns if i == 1 and kind != "ack"})
    rounds, _, _ = chronicle(FIFTY.replace("rounds: 12", "rounds: 3"))
    entry = filled(AlgorithmResult, {"name": "descent", "convergence": {"unit": "rounds"}})
    entry = replace(entry, timeline=rounds.timeline(entry), links=rounds.links())
    made, shown = encoded(entry), entry.timeline
    assert len(shown.windows) == 2
    dates = {date: place for place, date, begins in made["m"] if begins}
    sent = [k for k, kind in enumerate(shown.kind) if kind == "exchange" and not shown.attempt[k]]
    early = [k for k in sent if k < shown.windows[0].packets]
    assert set(dates) >= {shown.activation[k] for k in early}
    for date in {shown.activation[k] for k in early}:
        first = min(shown.sent[k] for k in early if shown.activation[k] == date)
        assert made["t"][made["p"].index(dates[date])] == pytest.approx(first, rel=1e-6)
    assert made["u"] is None


# ── what the script gets ────────────────────────────────────────────────────────────────────────────────
def test_places_keep_the_order_of_time(small):
    for entry in small.algorithms:
        shown = encoded(entry)
        assert shown["p"] == sorted(shown["p"])
        assert shown["t"] == sorted(shown["t"])
        for sent, start, end, arrived in zip(
            entry.timeline.sent, shown["a"], shown["b"], entry.timeline.arrived, strict=True
        ):
            assert math.isclose(shown["t"][start], sent, rel_tol=1e-6)
            assert (end < 0) == (arrived is None)
            assert end < 0 or shown["p"][end] > shown["p"][start]


def test_what_takes_no_time_is_played_one_after_the_other():
    pair = {"sender": [0, 1, 0, 1], "receiver": [1, 0, 1, 0], "number": [0, 0, 1, 1], "attempt": [0] * 4}
    shown = {
        **pair, "packets": 4, "sent": [0.0] * 4, "arrived": [0.0] * 4, "kind": ["exchange"] * 4, "bytes": [8] * 4,
        "activation": [1, 1, 2, 2], "fate": ["arrived"] * 4, "captured": ["no"] * 4,
        "windows": [{"why": "everything", "packets": 4, "left_out_before": 0}],
    }  # fmt: skip
    made = encoded(filled(AlgorithmResult, {"name": "instant", "timeline": shown}))
    assert [made["p"][k] for k in made["a"]] == [0, 0, 1, 1]
    assert [made["p"][k] for k in made["b"]] == [1, 1, 2, 2]


@pytest.mark.slow
def test_one_script_may_run_and_no_other(small, tmp_path):
    text = page_of(small, tmp_path).read_text()
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1]
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    assert len(scripts) == 1
    assert f"script-src 'sha256-{b64encode(hashlib.sha256(scripts[0].encode()).digest()).decode()}'" in policy
    assert "default-src 'none'" in policy
    assert "unsafe-inline" not in policy.split("script-src")[1]
    first, *rest = small.algorithms
    nasty = replace(small, algorithms=(replace(first, name="</script><script>alert(1)</script>"), *rest))
    assert page_of(nasty, tmp_path).read_text().count("<script") == 2


@pytest.mark.slow
def test_a_page_without_packets_runs_no_script(small, tmp_path):
    bare = replace(small, algorithms=tuple(replace(one, timeline=None, links=None) for one in small.algorithms))
    text = page_of(bare, tmp_path).read_text()
    assert "<script" not in text
    assert "runs no script" in text
    assert 'id="network"' in text


# ── in a browser ────────────────────────────────────────────────────────────────────────────────────────
PLACE = "Number(document.getElementById('player').dataset.place)"


@pytest.mark.slow
@pytest.mark.browser
def test_it_plays_pauses_and_goes_to_the_break(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path)) as page:
        assert page.evaluate("document.getElementById('player').dataset.playing") == "false"  # not by itself
        lengths = page.evaluate(
            "[...document.querySelectorAll('#curves figure svg path')].map(p => p.getTotalLength())"
        )
        assert max(lengths) > 100
        page.click("#play")
        page.wait_for(f"{PLACE} > 0.2")
        first = page.wait_for("document.querySelector('.moving')?.getAttribute('transform')")
        page.wait_for(f"document.querySelector('.moving')?.getAttribute('transform') !== {json.dumps(first)}")
        page.click("#play")
        stopped = page.evaluate(PLACE)
        page.wait(0.3)
        assert page.evaluate(PLACE) == stopped
        page.click("#to-break")
        broken = named(small, "leaky").timeline.break_
        said = page.evaluate("document.getElementById('now').textContent")
        assert said.startswith(f"1 → {broken.to[0]}: {broken.kind} {broken.number} (captured), breaks the claim")
        assert "exact ε so far ∞" in page.evaluate("document.getElementById('budget').textContent")
        index = page.evaluate("Number(document.getElementById('player').dataset.packet)")
        shown = named(small, "leaky").timeline
        assert (shown.sender[index], shown.number[index], shown.sent[index]) == (
            1, broken.number, broken.time,
        )  # fmt: skip
        assert page.evaluate("document.querySelectorAll('.moving .halo').length") == 1
        page.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_keys_move_it(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path), width=390, dark=True) as page:
        page.focus("#timeline")
        page.press("ArrowRight", 3)
        third = page.evaluate(PLACE)
        page.press("ArrowLeft")
        assert 0 < page.evaluate(PLACE) < third
        page.press("End")
        assert page.evaluate(PLACE) == pytest.approx(
            page.evaluate("Number(document.getElementById('scrub').max)"), abs=1e-3
        )
        page.press("Home")
        assert page.evaluate(PLACE) == 0
        page.press(" ")
        page.wait_for(f"{PLACE} > 0")
        page.press(" ")
        assert page.evaluate("document.getElementById('player').dataset.playing") == "false"
        page.press("b")
        assert "breaks the claim" in page.evaluate("document.getElementById('now').textContent")
        assert page.sideways == 0
        page.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_without_motion_packets_stand_midway(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path), still=True) as page:
        page.click("#play")
        page.wait_for(f"{PLACE} > 0")
        where = "document.querySelector('.moving:not(:has(.lost))').getAttribute('transform')"
        midway = page.evaluate(
            "(() => { const run = JSON.parse(document.getElementById('timeline-data').textContent).algorithms[1];"
            "const agents = [...document.querySelectorAll('#net-agents .agent')];"
            "const spots = agents.map(e => e.transform.baseVal[0].matrix);"
            "const i = Number(document.querySelector('.moving:not(:has(.lost))').dataset.packet);"
            "const a = spots[run.s[i]], b = spots[run.r[i]];"
            "return `translate(${((a.e + b.e) / 2).toFixed(1)} ${((a.f + b.f) / 2).toFixed(1)})`; })()"
        )
        assert page.evaluate(where) == midway
        page.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_links_and_agents_say_their_values_on_hover_and_focus(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path)) as page:
        page.focus("#net-links .link")
        said = page.evaluate("document.getElementById('info-text').textContent")
        assert re.match(r"Link 0–1, tapped: [\d,]+ packets, .*% lost; \d+ repeated; mean delay 0\.02\d* s", said)
        page.hover("#net-agents .agent")
        page.wait_for("document.getElementById('info-text').textContent.startsWith('Agent 0: ')")
        page.evaluate("document.getElementById('choose-algorithm').value = '2'")
        page.evaluate("document.getElementById('choose-algorithm').dispatchEvent(new Event('change'))")
        assert page.evaluate("document.getElementById('to-break').hidden")
        page.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_without_a_script_the_picture_and_the_tables_are_there(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path), scripts=False) as page:
        assert page.evaluate("document.getElementById('timeline').hidden")
        assert page.evaluate("document.querySelectorAll('#net-links .link').length") == 6
        assert page.evaluate("document.querySelectorAll('tr.breaks').length") >= 1


@pytest.mark.slow
@pytest.mark.browser
def test_fifty_agents_play_too_on_a_page_that_stays_small(chromium, small, tmp_path):
    shown, run, _ = chronicle(FIFTY)
    entry = replace(named(small, "told"), leakage=None, audit=None)
    entry = replace(entry, timeline=shown.timeline(entry), links=shown.links())
    topology = run.simulation.topology
    edges = tuple((i, j) for i, j in topology.edges)
    places = tuple((x, y) for x, y in ((topology.positions - topology.positions.min(0)) / 2).tolist())
    net = replace(small.network, edges=edges, tapped=edges, positions=places, sealed=((0, 1),))
    path = page_of(replace(small, algorithms=(entry,), network=net), tmp_path)
    assert path.stat().st_size < 500_000
    with chromium.open(path) as page:
        page.focus("#timeline")
        page.press("ArrowRight", 5)
        assert page.evaluate("document.querySelectorAll('.moving').length") > 10
        page.assert_clean()


@pytest.mark.slow
@pytest.mark.browser
def test_packets_cover_no_number_and_the_axis_has_one_notation(chromium, small, tmp_path):
    with chromium.open(page_of(small, tmp_path), width=390) as page:
        near = page.evaluate(
            "Math.min(...[...document.querySelectorAll('#net-moving .moving')].flatMap(e => { const m ="
            " e.transform.baseVal[0].matrix; return [...document.querySelectorAll('#net-agents .agent')].map(a => {"
            " const at = a.transform.baseVal[0].matrix, body = a.querySelector('.ring').r.baseVal.value;"
            " return Math.hypot(m.e - at.e, m.f - at.f) - body; }); }))"
        )
        assert near >= 3.5
        words = page.evaluate("[...document.querySelectorAll('#lanes text')].map(e => e.textContent)")
        assert set(words) & {"s", "ms", "µs", "step"}
        assert not any("e" in word for word in words if word[:1].isdigit())


APART = """[...document.querySelectorAll('#lanes .date-text')].map(e => e.getBoundingClientRect())
  .map(r => [r.left, r.right]).sort((a, b) => a[0] - b[0])"""
INSTANT = """\
name: instant
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: ring, agents: 5}
adversary: {links: all}
algorithms: [{kind: private_gradient_descent, name: descent, rounds: 8, step: 0.05}]
"""


@pytest.fixture(scope="module")
def instant(tmp_path_factory):
    """The page of rounds that take no time."""
    folder = tmp_path_factory.mktemp("instant")
    run_scenario(parse(INSTANT), folder)
    return folder / "report.html"


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_numbers_of_rounds_stand_apart(chromium, instant, width):
    with chromium.open(instant, width=width) as page:
        ends = page.evaluate(APART)
        assert len(ends) > 3
        assert all(right + 2 <= left for (_, right), (left, _) in pairwise(ends))


LATE = """\
name: late
seed: 3
problem: {kind: ridge, data: {name: synthetic, kind: regression, records: 20, dimension: 2}, ridge: 0.5}
topology: {kind: complete, agents: 4}
links: {delay: {kind: lognormal, median: 0.02, sigma: 0.5}}
adversary: {links: all}
algorithms: [{kind: private_gradient_descent, name: descent, rounds: 6, step: 0.05}]
audit: {agent: AGENT, trials: 60, chunk: 60, adjacency: {change: 1.0, norm: l2}}
"""
"""An agent that is late sends the message of two rounds at once."""


@pytest.mark.browser
def test_a_break_where_the_next_round_begins_says_so(chromium, tmp_path):
    lossy = LATE.replace("sigma: 0.5}}", "sigma: 0.5}, loss: 0.2, reliable: true}")
    run_scenario(parse(lossy.replace("AGENT", "2")), tmp_path)
    with chromium.open(tmp_path / "report.html", width=1280) as page:
        page.click("#to-break")
        text = "[...document.querySelectorAll('.break-text')].map(e => e.textContent)"
        assert page.evaluate(text) == ["agent 2, round 2 (3 begins at once): no noise protects it"]


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
@pytest.mark.parametrize("agent", range(2))
def test_the_break_names_its_agent_and_round_and_hides_no_number(chromium, tmp_path, width, agent):
    run_scenario(parse(LATE.replace("AGENT", str(agent))), tmp_path)
    with chromium.open(tmp_path / "report.html", width=width) as page:
        page.click("#to-break")
        (said,) = page.evaluate("[...document.querySelectorAll('.break-text')].map(e => e.textContent)")
        assert re.fullmatch(rf"agent {agent}, round 2: (no noise protects it|breaks the claim)", said)
        line, (left, right), edge = page.evaluate(
            "['.break', '.break-text', '#lanes'].map(e => document.querySelector(e).getBoundingClientRect())"
            ".map((r, k) => [r.left, [r.left, r.right], r.right][k])"
        )
        assert left >= 0
        assert right <= edge + 1
        assert 0 < line < edge
        caption, *numbers = page.evaluate(
            "[...document.querySelectorAll('#lanes .date-text')].map(e => e.textContent)"
        )
        assert caption == "round"
        assert numbers == [str(k + 1) for k in range(len(numbers))]
        assert page.evaluate("document.querySelectorAll('#lanes .date').length") == len(numbers) >= 3


@pytest.fixture(scope="module")
def late(tmp_path_factory):
    """The page of a run whose break is amid its packets."""
    folder = tmp_path_factory.mktemp("late")
    run_scenario(parse(LATE.replace("AGENT", "1")), folder)
    return folder / "report.html"


def test_the_table_of_packets_says_how_many_it_leaves_out_and_what_breaks_once(late):
    (entry,) = loads((late.parent / "results.json").read_text()).algorithms
    page = late.read_text().partition("The first packets, and those around the break")[2].partition("</details>")[0]
    left = [int(one.replace(",", "")) for one in re.findall(r"… ([\d,]+) (?:more )?packets?", page)]
    rows = page.count('<th scope="row"')
    assert len(left) == 2
    assert rows + sum(left) == entry.timeline.packets
    assert re.sub(r"</?span>", "", page).count("<code>netsim trace . --algorithm descent</code>, in this folder") == 1
    said = re.search(r"</strong> (.*?)</p>", page)[1]
    assert said.startswith("Agent 1, round 2 at ")
    assert said.count("no noise protects it") == 1


def test_what_is_left_out_between_windows_is_counted(late):
    (entry,) = loads((late.parent / "results.json").read_text()).algorithms
    shown = entry.timeline
    cut = [{"why": "a", "packets": 4, "left_out_before": 0}]
    cut += [{"why": "b", "packets": len(shown.sent) - 4, "left_out_before": 1000}]
    windows = tuple(Timeline.Window(**one) for one in cut)
    before = sum(gap for _, _, gap in played._chosen(shown))
    assert sum(gap for _, _, gap in played._chosen(replace(shown, windows=windows))) == before + 1000


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_row_that_breaks_the_claim_is_of_one_colour(chromium, late, width):
    with chromium.open(late, width=width) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        rows = page.evaluate(
            "[...document.querySelectorAll('tr.breaks')].map(row => [row, ...row.children]"
            ".map(e => getComputedStyle(e).backgroundColor))"
        )
        assert rows
        for row, head, *cells in rows:
            assert row == head != "rgba(0, 0, 0, 0)"
            assert set(cells) == {"rgba(0, 0, 0, 0)"}


@pytest.mark.browser
def test_an_axis_of_steps_is_called_so(chromium, instant):
    with chromium.open(instant, width=390) as page:
        words = page.evaluate("[...document.querySelectorAll('#lanes text')].map(e => e.textContent)")
        assert "step" in words
        assert "the axis counts steps" in page.evaluate("document.querySelector('#windows').textContent")


def test_acknowledgements_of_rounds_that_take_no_time_are_played_in_their_rounds(instant):
    entry = loads((instant.parent / "results.json").read_text()).algorithms[0]
    starts = played._played(entry.timeline)
    where = [(kind, starts.places[k]) for kind, k in zip(entry.timeline.kind, starts.start, strict=True)]
    last = max(place for kind, place in where if kind != "ack")
    late = [place for kind, place in where if kind == "ack" and place > last]
    assert late
    assert max(late) <= last + 1
    assert len(late) <= 2 * sum(kind != "ack" and place == last for kind, place in where)


def test_a_table_of_traffic_has_numbers_first_and_no_column_of_one_word(instant):
    table = next(
        one for one in re.findall(r"<table.*?</table>", instant.read_text(), re.DOTALL) if "Mean delay" in one
    )
    assert "descent: every link tapped" in table
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', table) == [
        "Link", "Packets", "Bytes", "Lost", "Repeated", "Mean delay",
    ]  # fmt: skip


def test_a_heading_of_words_is_where_its_words_are(instant):
    """Numbers are at the right, and words at the left."""
    for table in re.findall(r"<table.*?</table>", instant.read_text(), re.DOTALL):
        heads = re.findall(r'<th scope="col"(?: class="(\w+)")?', table.partition("<tbody>")[0])
        for row in re.findall(r"<tr.*?</tr>", table.partition("<tbody>")[2], re.DOTALL):
            cells = re.findall(r'<t[hd](?! scope="row")(?: class="(\w+)")?(?! colspan)', row)
            if len(cells) + 1 == len(heads):
                assert [one == "text" for one in cells] == [one == "text" for one in heads[1:]], table[:200]
