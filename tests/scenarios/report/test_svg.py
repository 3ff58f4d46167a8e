"""Figures inside a page: colours that follow the page, ids of their own, and keys of what is drawn."""

import re
from xml.etree import ElementTree

from scenarios.render.page.drawing import BLUE, GREEN, Drawing, Entry, canvas, series


def drawn(name: str) -> str:
    with canvas(300, 200) as (figure, axes):
        axes.bar(range(9), range(1, 10), color=BLUE)
        axes.plot(range(9), [2.71828] * 9, color=GREEN, marker="o", **series(3))
        return str(Drawing(name, "9 bars < 6.9283", figure).svg)


def test_a_drawing_is_whole_and_has_colours_of_the_page():
    text = drawn("one")
    root = ElementTree.fromstring(text)
    assert root.get("aria-label") == "9 bars < 6.9283"
    assert root.get("data-figure") == "one"
    assert text.count("fill: var(--blue)") == 9
    assert 'class="s s3"' in text
    assert not re.search(r"#(?!one-)[0-9a-z]{6}\b", text)


def test_two_drawings_share_no_id():
    one, two = ({*re.findall(r' id="([^"]+)"', drawn(name))} for name in ("one", "two"))
    assert one
    assert not one & two
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn("one"))) == one


def test_coordinates_have_one_decimal():
    assert not re.search(r' d="[^"]*\d\.\d\d', drawn("one"))


def test_an_entry_of_a_key_draws_its_lines():
    swatch = Entry(
        "both", ({"color": BLUE, "linewidth": 6}, {"color": GREEN, "linestyle": "none", "marker": "D"})
    ).swatch
    root = ElementTree.fromstring(swatch)
    assert [len(group) for group in root] == [1, 1]
    assert "var(--blue)" in swatch
    assert "var(--green)" in swatch
