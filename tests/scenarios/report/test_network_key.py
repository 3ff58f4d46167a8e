"""The picture of a network for papers has a key of every mark that is in it."""

import html
import re

import pytest

from scenarios.render.page.drawing import collected
from scenarios.render.page.export import _network, _write
from scenarios.render.page.plan import LINES, Marks

LINKS = {
    "name": "ring of 6", "edges": [[k, (k + 1) % 6] for k in range(6)], "tapped": [[3, 4], [4, 5]],
    "sealed": [[3, 4]], "meddled": [[0, 1]], "insiders": [2], "tapped_nodes": [4], "heard": [],
    "positions": [[1, 0.5], [0.75, 0.93], [0.25, 0.93], [0, 0.5], [0.25, 0.07], [0.75, 0.07]],
}  # fmt: skip
RADIO = LINKS | {"medium": "radio", "tapped": [], "sealed": [], "meddled": [], "heard": [3, 4],
                 "disc": {"at": [0.1, 0.2], "range": 0.5}}  # fmt: skip


@pytest.mark.parametrize("net", [LINKS, RADIO, LINKS | {"insiders": [], "tapped_nodes": [], "meddled": []}])
def test_every_mark_is_in_the_key_of_the_files(net, tmp_path):
    with collected() as drawn:
        (one,) = _network({"network": net})
    words = [said for _, said in Marks.of(net).drawn]
    assert [entry.label for entry in one.key] == words
    assert all(LINES[drawing] for drawing, _ in Marks.of(net).drawn)
    files, _ = _write(one, drawn[0], tmp_path / "network", ["svg", "png", "pdf"], 100, 3.5)
    assert files == ["network.svg", "network.png", "network.pdf"]
    text = html.unescape((tmp_path / "network.svg").read_text(encoding="utf-8"))
    assert set(words) <= set(re.findall(r"<text[^>]*>([^<]*)</text>", text))
    bare = one.__class__(**(vars(one) | {"key": []}))
    _write(bare, drawn[0], tmp_path / "bare", ["png"], 100, 3.5)
    height = [int.from_bytes((tmp_path / f"{name}.png").read_bytes()[20:24], "big") for name in ("network", "bare")]
    assert height[0] > height[1]
