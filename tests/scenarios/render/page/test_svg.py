"""Figures inside a page: colours that follow the page, ids of their own, and keys of what is drawn."""

import re
from xml.etree import ElementTree

import pytest

from scenarios.render.page.drawing import BLUE, GREEN, ORANGE, Drawing, Entry, canvas, series


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
    bars = [group for group in root.iter("g") if group.get("style") == "fill: var(--blue)"]
    assert [len(group) for group in bars] == [9]
    assert 'class="s s3"' in text
    assert not re.search(r"#(?!one-)[0-9a-z]{6}\b", text)


def test_two_drawings_share_no_id():
    one, two = ({*re.findall(r' id="([^"]+)"', drawn(name))} for name in ("one", "two"))
    assert one
    assert not one & two
    assert set(re.findall(r'(?:href="#|url\(#)([^")]+)', drawn("one"))) == one


def test_paths_that_look_alike_say_so_once_and_each_has_its_opacity():
    with canvas(300, 200) as (figure, axes):
        axes.bar(range(9), range(1, 10), color=BLUE)
        axes.bar(range(2), [-1] * 2, color=GREEN)
        axes.bar(range(9), [-1] * 9, color=ORANGE, alpha=0.4)
        text = str(Drawing("one", "bars", figure).svg)
    path = r"<path d=\"[^\"]*\""
    assert len(re.findall(rf'<g clip-path="[^"]*" style="fill: var\(--blue\)">(?:{path}/>){{9}}</g>', text)) == 1
    assert text.count("fill: var(--green)") == 2, "two are not worth a group"
    faint = rf'<g clip-path="[^"]*" style="fill: var\(--orange\)">(?:{path} style="opacity: 0.4"/>){{9}}</g>'
    assert len(re.findall(faint, text)) == 1


def test_what_is_nearly_transparent_is_still_there():
    with canvas(300, 200) as (figure, axes):
        axes.axhspan(0.25, 0.75, color=GREEN, alpha=0.09, linewidth=0)
        text = str(Drawing("one", "a region", figure).svg)
    assert "fill: var(--green); opacity: 0.09" in text


def test_a_path_of_steps_ends_where_it_did():
    """Rounding does not add up along it."""
    with canvas(300, 200) as (figure, axes):
        axes.plot(range(2000), [3.0 * k + (k * k) % 7 for k in range(2000)], **series(0))
        axes.plot([0, 1999], [0, 3.0 * 1999 + 1999 * 1999 % 7], **series(1))
        text = str(Drawing("one", "lines", figure).svg)
    ends = []
    for path in re.findall(r'<g class="s s\d"><path d="([^"]*)"', text):
        at = [0.0, 0.0]
        for letter, numbers in re.findall(r"([Mlhv])([^a-zA-Z]+)", path):
            x, *y = map(float, re.findall(r"-?(?:\d+\.?\d*|\.\d+)", numbers))
            if letter == "M":
                at = [x, *y]
            else:
                at[0] += x if letter in "lh" else 0
                at[1] += x if letter == "v" else y[0] if letter == "l" else 0
        ends.append(at)
    assert len(ends) == 2
    assert ends[0] == pytest.approx(ends[1], abs=0.11)


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
