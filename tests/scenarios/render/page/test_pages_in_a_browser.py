"""Report, study and comparison as a browser shows them: clean, on a phone, in the dark, by keyboard."""

from dataclasses import replace

import pytest

from scenarios.render.compared_runs import read_runs
from scenarios.render.comparison import Comparison
from scenarios.render.page.report import render
from scenarios.render.page.several import comparison_page
from scenarios.results.tree import loads
from tests.scenarios.filled import tree
from tests.scenarios.render.page.test_reading import contrast
from tests.scenarios.render.page.test_report import sample

pytestmark = pytest.mark.browser
KINDS = ("report", "study", "comparison")
LUMINOUS = """(() => {
  const rgb = c => (c.match(/[\\d.]+/g) || []).map(Number);
  const behind = e => { for (; e; e = e.parentElement) {
    const c = rgb(getComputedStyle(e).backgroundColor);
    if (c.length === 3 || c[3] === 1) return c.slice(0, 3); } return [255, 255, 255]; };
  const hex = c => '#' + c.slice(0, 3).map(v => Math.round(v).toString(16).padStart(2, '0')).join('');
  const found = new Set();
  for (const e of document.querySelectorAll('body *')) {
    if (e.closest('svg') && e.tagName !== 'text') continue;
    const own = [...e.childNodes].some(n => n.nodeType === 3 && n.data.trim());
    if (!own || !e.getClientRects().length) continue;
    const style = getComputedStyle(e);
    found.add(hex(rgb(e.tagName === 'text' ? style.fill : style.color)) + ' ' + hex(behind(e)));
  }
  return [...found];
})()"""
"""The colours of all text and what is behind it, as computed by the browser, in pairs."""
OVERFLOWING = """[...document.querySelectorAll('main *')].filter(e =>
  e.scrollWidth > e.clientWidth + 1 && ['auto', 'scroll'].includes(getComputedStyle(e).overflowX)
  && !(e.tabIndex >= 0)).map(e => e.tagName + '.' + e.className)"""
"""What can be scrolled sideways and cannot be reached by keyboard."""


@pytest.fixture(scope="module")
def pages(pair, study, tmp_path_factory):
    """A file of each kind of page."""
    folder = tmp_path_factory.mktemp("pages")
    render(tree(sample()), folder / "report.html")
    render(loads((study / "results.json").read_text()), folder / "study.html")
    text = comparison_page(Comparison(read_runs([str(one) for one in pair])))
    (folder / "comparison.html").write_text(text, encoding="utf-8")
    return folder


@pytest.mark.parametrize(("width", "rows"), [(1280, 1), (390, 4)])
def test_images_of_ten_attacks_stand_in_one_row_where_there_is_room(chromium, tmp_path, width, rows):
    tile = [0.0, 1.0, 1.0, 0.0]
    attacks = [{"attack": f"attack {k}", "agents": [{"agent": 0, "rebuilt": [tile], "skill": 0.5}]} for k in range(9)]
    found = {
        "image": True, "shape": [2, 2], "range": [0, 1], "originals": [{"agent": 0, "records": [tile]}],
        "attacks": attacks,
    }  # fmt: skip
    render(tree({"algorithms": [{"name": "one", "reconstructions": found}]}), tmp_path / "report.html")
    with chromium.open(tmp_path / "report.html", width=width) as page:
        tops = page.evaluate(
            "[...document.querySelectorAll('.strip img')].map(e => Math.round(e.getBoundingClientRect().top))"
        )
        assert len(tops) == 10
        assert len(set(tops)) == rows


def test_no_table_of_a_run_is_wider_than_a_phone(chromium, pages):
    """But one whose cells are of several rows, which cannot be a block for each row."""
    with chromium.open(pages / "report.html", width=390, height=844) as page:
        page.evaluate("document.querySelectorAll('details').forEach(one => { one.open = true; })")
        tables = "[...document.querySelectorAll('.scroll')].filter(e => !e.querySelector('td[rowspan]'))"
        assert page.evaluate(f"{tables}.length") >= 3
        wide = f"{tables}.filter(e => e.scrollWidth > e.clientWidth + 1).map(e => e.getAttribute('aria-label'))"
        assert page.evaluate(wide) == []
        beside = "[...document.querySelectorAll('.stacks td')].filter(e => e.dataset.head).length"
        assert page.evaluate(beside) > 20


@pytest.mark.few("dark-report")
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_it_is_clean_fits_a_phone_and_can_be_read(chromium, pages, kind, dark):
    with chromium.open(pages / f"{kind}.html", width=390, height=844, dark=dark) as page:
        assert page.sideways <= 0
        assert page.evaluate("document.querySelectorAll('main svg path').length") > 5
        pairs = [pair.split() for pair in page.evaluate(LUMINOUS)]
        assert len(pairs) >= 3
        for ink, ground in pairs:
            assert contrast(ink, ground) >= 4.5, (ink, ground)
        assert page.evaluate(OVERFLOWING) == []
        page.assert_clean()


@pytest.mark.parametrize("kind", KINDS)
def test_it_fits_a_desk(chromium, pages, kind):
    with chromium.open(pages / f"{kind}.html", width=1200) as page:
        assert page.sideways <= 0
        page.assert_clean()


NARROW = """[...document.querySelectorAll('main *')].flatMap(e => {
  const words = [...e.childNodes].filter(n => n.nodeType === 3 && n.data.trim());
  if (e.closest('svg, th') || !words.length || !e.checkVisibility()) return [];
  const range = document.createRange(); range.selectNodeContents(e);
  const lines = new Set([...range.getClientRects()].map(box => Math.round(box.top))).size;
  const letters = e.textContent.trim().replace(/\\s+/g, ' ').length;
  return lines > 3 && letters / lines < 8 ? [e.tagName + ' ' + letters + ' letters in ' + lines + ' lines'] : [];
})"""
"""Texts, but heads of rows and columns, of several lines that have a few letters each."""


@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("kind", [*KINDS, "membership"])
def test_no_text_is_a_column_of_a_few_letters(chromium, pages, kind, width):
    path = pages / f"{kind}.html"
    if kind == "membership":
        render(
            tree(sample() | {"algorithms": [one | {"membership": MEMBERSHIP} for one in sample()["algorithms"]]}),
            path,
        )
    with chromium.open(path, width=width) as page:
        page.evaluate(OPEN_ALL)
        assert page.evaluate(NARROW) == []


RATE = {"rate": 0.5, "low": 0.4, "high": 0.6, "of": 100}
MEMBERSHIP = {
    "agent": 0, "adjacency": "replace", "holding": 1, "trials": 100, "roc": {"alarms": [0, 1], "found": [0, 1]},
    "levels": [{"level": 0.05, "found": RATE, "alarms": RATE, "power": 0.5, "allowed": 0.137}],
    "auc": {"estimate": 0.5, "low": 0.4, "high": 0.6}, "advantage": {"estimate": 0.0, "low": -0.1, "high": 0.1},
    "confidence": 0.95, "claim": {"epsilon": 1.0, "delta": 1e-3, "broken": False},
}  # fmt: skip


WIDER = """[...document.querySelectorAll('.scroll')].filter(e => e.scrollWidth > e.clientWidth + 1)
  .map(e => e.getAttribute('aria-label') + ' ' + e.scrollWidth + ' in ' + e.clientWidth)"""
"""Tables of which a column is out of sight."""


@pytest.mark.parametrize("width", [1280, 390])
def test_all_columns_of_a_comparison_are_in_sight(chromium, pair, tmp_path, width):
    """Also where each name has several words, and a number a power of ten."""
    runs = [replace(run, label=f"{run.label}/20261130-0930{k}") for k, run in enumerate(read_runs([*map(str, pair)]))]
    (tmp_path / "page.html").write_text(comparison_page(Comparison(runs)), encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=width) as page:
        page.evaluate(OPEN_ALL)
        page.evaluate("document.querySelectorAll('tbody th').forEach(e => e.textContent = 'a private descent, slow')")
        seen = [one for one in page.evaluate(WIDER) if width > 1000 or one.startswith(COMPARED)]
        assert seen == []


COMPARED = ("Fields that differ", "Verdicts", "Ratios", "How they end")
"""Tables of a comparison alone, which a phone has as lists."""
OPEN_ALL = "document.querySelectorAll('details').forEach(one => { one.open = true; })"


ROW_HEADS = """[...document.querySelectorAll('.numbers tbody th')].filter(one => {
  one.textContent = 'TwoExchanges';
  const range = document.createRange(); range.selectNodeContents(one);
  return new Set([...range.getClientRects()].map(box => Math.round(box.top))).size > 1; }).length"""
"""Tables of numbers that break a name of their rows within the word."""


def test_a_name_of_a_row_is_not_broken_within_a_word(chromium, pages):
    with chromium.open(pages / "report.html", width=390) as page:
        page.evaluate(OPEN_ALL)
        assert page.evaluate("document.querySelectorAll('.numbers tbody th').length") > 3
        assert page.evaluate(ROW_HEADS) == 0


CUT = """[...document.querySelectorAll('.scroll')].flatMap(box => [...box.querySelectorAll('caption > span')]
  .filter(e => e.getBoundingClientRect().right > box.getBoundingClientRect().right + 1).map(e => e.textContent))"""
"""Captions of tables of which a part is out of sight."""
POWERS = """[...document.querySelectorAll('td')].filter(e => / × 10[⁻⁰¹²³⁴-⁹]/.test(e.textContent)).length"""
"""Cells with a number in which a line may end."""


@pytest.mark.parametrize("kind", KINDS)
def test_captions_and_numbers_are_whole_on_a_phone(chromium, pages, kind):
    with chromium.open(pages / f"{kind}.html", width=390) as page:
        page.evaluate(OPEN_ALL)
        assert page.evaluate("document.querySelectorAll('caption > span').length") > 0
        assert page.evaluate(CUT) == []
        assert page.evaluate(POWERS) == 0


def test_a_link_to_an_anchor_in_a_closed_section_opens_it(chromium, pages):
    with chromium.open(pages / "report.html") as page:
        opened = "[...document.querySelectorAll('details[open] section')].map(one => one.id)"
        assert page.evaluate(opened) == []
        page.evaluate("location.hash = '#evidence'")
        page.wait_for(f"{opened}.length > 0")
        assert page.evaluate(opened) == ["evidence"]


RING = """(e => e === document.body ? null : e.closest('svg.net') ? 'solid' : getComputedStyle(e).outlineStyle)(
    document.activeElement)"""
"""Whether a ring is around what has the focus; in the network the mark itself draws it."""


@pytest.mark.parametrize("kind", KINDS)
def test_the_keyboard_reaches_everything(chromium, pages, kind):
    """Tab by tab: first the skip link, which is seen then; every link, summary and region that scrolls; a ring is
    drawn around each."""
    with chromium.open(pages / f"{kind}.html", width=390) as page:
        wanted = page.evaluate(
            "[...document.querySelectorAll('a[href], summary, button, select, input, [tabindex=\"0\"]')]"
            ".filter(e => e.checkVisibility({contentVisibilityAuto: true}) && !e.disabled).length"
        )
        page.press("Tab")
        assert page.evaluate("document.activeElement.className") == "skip"
        assert page.evaluate("document.activeElement.getBoundingClientRect().x") >= 0
        reached = 1
        while reached < wanted:
            page.press("Tab")
            ring = page.evaluate(RING)
            assert ring == "solid", (reached, wanted)
            reached += 1
        page.press("Tab")
        assert page.evaluate("document.activeElement === document.body")
        page.focus(".skip")
        page.press("Enter")
        assert page.evaluate("document.querySelector(location.hash) !== null")


def test_pointing_at_a_name_brings_out_its_curve(chromium, pages):
    with chromium.open(pages / "report.html", width=1200, still=True) as page:
        page.evaluate(OPEN_ALL)
        figure = "#curves figure:first-of-type"
        faded = f"[...document.querySelectorAll('{figure} .s')].map(e => getComputedStyle(e).opacity < 0.2)"
        assert not any(page.evaluate(faded))
        page.focus(f"{figure} .key .k1")
        page.press("Tab")
        page.wait_for(f"{faded}.some(Boolean)")
        kept = f"[...document.querySelectorAll('{figure} .s2')].map(e => getComputedStyle(e).opacity)"
        assert set(page.evaluate(kept)) == {"1"}
        page.hover(f"{figure} .key .k0")
        page.wait_for(f"getComputedStyle(document.querySelector('{figure} .s0')).opacity === '1'")


def test_tables_of_a_comparison_stack_on_a_phone(chromium, pages):
    with chromium.open(pages / "comparison.html", width=390) as page:
        for part in ("verdicts", "differences", "sure"):
            over = "(e => e.scrollWidth - e.clientWidth)"
            assert page.evaluate(f"{over}(document.querySelector('#{part} .scroll'))") <= 1, part
            heads = f"[...document.querySelectorAll('#{part} td')].every(e => e.dataset.head)"
            assert page.evaluate(heads), part


def test_a_table_that_goes_on_shows_it(chromium, pages):
    """On a small window the table of evidence is cut at the right, and a shade is there; at its end it is covered."""
    with chromium.open(pages / "report.html", width=760) as page:
        page.evaluate(OPEN_ALL)
        wide = page.evaluate("(e => e.scrollWidth - e.clientWidth)(document.querySelector('#evidence .scroll'))")
        assert wide > 50
        background = page.evaluate(
            "getComputedStyle(document.querySelector('#evidence .scroll')).backgroundAttachment"
        )
        assert background == "local, local, scroll, scroll"


SEEN = """[...document.querySelectorAll('main section')].filter(e => e.checkVisibility({contentVisibilityAuto: true}))
  .map(e => e.id)"""
"""The sections that are open, in order."""


@pytest.mark.parametrize("width", [390, 1280])
def test_images_and_network_follow_the_verdicts_and_all_else_is_closed(chromium, pages, width):
    with chromium.open(pages / "report.html", width=width) as page:
        assert page.evaluate(SEEN) == ["verdicts", "images", "network"]
        assert width == 390 or page.evaluate("document.documentElement.scrollHeight") <= 6000
        assert page.sideways <= 0


def test_no_figure_of_all_algorithms_stands_twice(chromium, pages):
    """Each figure's drawing has a name of its own, and ε by activation is drawn of each algorithm or of all."""
    with chromium.open(pages / "report.html", width=1280) as page:
        named = page.evaluate("[...document.querySelectorAll('svg[data-figure]')].map(e => e.dataset.figure)")
        assert len(named) == len(set(named)) >= 5
        assert ("budget" in named) is not any(name.endswith("-time") for name in named)


def test_a_command_in_a_sentence_is_broken_at_no_hyphen(chromium, pages):
    """A name of a file stands on one line on a phone, too, wherever it would fit one."""
    with chromium.open(pages / "report.html", width=390) as page:
        page.evaluate(OPEN_ALL)
        broken = """[...document.querySelectorAll(':not(pre) > code > span')].filter(e => e.checkVisibility() &&
          e.getBoundingClientRect().height > 2.2 * parseFloat(getComputedStyle(e).fontSize) &&
          e.getBoundingClientRect().width < 0.8 * e.parentElement.parentElement.clientWidth).map(e => e.innerHTML)"""
        assert page.evaluate(broken) == []
        assert page.evaluate("document.querySelectorAll(':not(pre) > code > span').length") > 0
