"""Figures of lessons and the links above them, on a desk and on a phone."""

from pathlib import Path

import pytest
from jinja2 import Environment, FileSystemLoader

import scenarios.lab
from scenarios.lab import figures

LETTERS = (
    "Math.min(...[...document.querySelectorAll('figure svg text')].map(t => { const m = t.getScreenCTM();"
    " return parseFloat(getComputedStyle(t).fontSize) * Math.hypot(m.a, m.b); }))"
)


def drawn() -> str:
    """Curves that begin at a level, as a claim's do in one dimension."""
    dimensions = [1, 4, 25, 100]
    lines = [figures.Curve("exact", dimensions, [1.0, 2.0, 5.0, 10.0])]
    return figures.curves(lines, "dimension d", "ε", log_x=True, level=(1.0, "claimed")).text


def test_the_words_of_a_level_are_in_the_key_and_not_among_the_points() -> None:
    picture, _, key = drawn().partition("<figcaption")
    assert ">claimed<" not in picture
    assert "╌╌ claimed</span>" in key


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_a_figure_can_be_read_at_every_width(chromium, tmp_path, width) -> None:
    beside = f'<div style="display: flex; flex-wrap: wrap"><div>{drawn()}</div><div>{drawn()}</div></div>'
    text = f'<!doctype html><meta name=viewport content="width=device-width"><body style="margin: 20px">{beside}'
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=width) as page:
        assert page.evaluate(LETTERS) >= 8.99
        assert page.sideways == 0
        scrolls = "[...document.querySelectorAll('figure > div')].map(e => e.scrollWidth > e.clientWidth)"
        assert page.evaluate(scrolls) == [width == 390] * 2


@pytest.mark.browser
@pytest.mark.parametrize("width", [390, 1280])
def test_the_links_cover_nothing_of_the_notebook(chromium, tmp_path, width) -> None:
    folder = Path(scenarios.lab.__file__).parent
    template = Environment(loader=FileSystemLoader(folder), autoescape=True).get_template("ways.html.j2")
    names = ["before", "page.html", "after"]
    head = template.render(lessons=[[one, one] for one in names])
    head = head.replace('location.pathname.split("/")[1]', '"page.html"')  # a file has no address of a lesson
    notebook = (
        '<div id="root"><div style="position: absolute; inset: 0; overflow: auto"><p style="text-align: center">'
        '<span class="own">kernel not found</span></p></div>'
        '<div class="own" style="position: fixed; top: 1rem; left: 1rem">!</div></div>'
    )
    text = f'<!doctype html><meta name=viewport content="width=device-width">{head}<body>{notebook}'
    (tmp_path / "page.html").write_text(text, encoding="utf-8")
    with chromium.open(tmp_path / "page.html", width=width) as page:
        links = "[...document.querySelectorAll('#netsim-ways a')].map(a => a.textContent)"
        assert page.evaluate(links) == ["All lessons", "← before", "next →"]
        bottom = page.evaluate("document.querySelector('#netsim-ways').getBoundingClientRect().bottom")
        tops = page.evaluate("[...document.querySelectorAll('.own')].map(e => e.getBoundingClientRect().top)")
        assert len(tops) == 2
        assert min(tops) >= bottom


def test_a_number_of_a_table_has_four_digits_as_everywhere():
    assert [figures._text(one) for one in (2.87654, 1234, True, "≥ 1")] == ["2.877", "1,234", "yes", "≥ 1"]
