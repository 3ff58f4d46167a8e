"""Figures inside a page: paths that look alike say so once, and are drawn as they were."""

import re
from xml.etree import ElementTree

from scenarios.render.page.drawing import BLUE, GREEN, _grouped, canvas, inline


def drawn(text: str) -> list[tuple[str, str, frozenset[str]]]:
    """Of each path, in order, its steps, what clips it, and its style, whether it or its group says so."""
    found = []
    for group in ElementTree.fromstring(f"<svg>{text}</svg>"):
        for path in list(group) or [group]:
            styles = [one.get("style", "") for one in {id(group): group, id(path): path}.values()]
            style = frozenset(word for one in styles for word in one.split("; ") if word)
            found.append((path.get("d"), path.get("clip-path") or group.get("clip-path", ""), style))
    return found


def bar(d: str, colour: str, opacity: str = "", clip: str = ' clip-path="url(#a)"') -> str:
    return f'<path d="{d}"{clip} style="fill: {colour}{opacity}"/>'


def test_what_is_drawn_and_in_which_order_stays():
    faint = "; opacity: 0.75"
    text = "".join(
        [
            *(bar(f"M{k} 0h1", "red", faint) for k in range(4)),
            *(bar(f"M{k} 1h1", "blue") for k in range(2)),
            *(bar(f"M{k} 2h1", "red", faint) for k in range(3)),
            *(bar(f"M{k} 3h1", "red", clip="") for k in range(3)),
        ]
    )
    short = _grouped(text)
    assert drawn(short) == drawn(text)
    assert len(short) < len(text)
    assert short.count("<g") == 3
    assert short.count("fill: blue") == 2, "two are not worth a group"
    assert all("opacity" not in group for group in re.findall("<g[^>]*>", short)), (
        "a group's would be of all together"
    )


def test_bars_of_a_figure_are_one_group():
    with canvas(300, 200) as (figure, axes):
        axes.bar(range(9), range(1, 10), color=BLUE)
        axes.bar(range(9), [-1] * 9, color=GREEN)
        text = str(inline(figure, "one", "bars"))
    for colour in ("var(--blue)", "var(--green)"):
        assert text.count(f"fill: {colour}") == 1
    assert len(re.findall(r"<g clip-path[^>]*>(?:<path d=\"[^\"]*\"/>){9}</g>", text)) == 2
