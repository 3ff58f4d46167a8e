"""The picture of a network for papers has a key of every mark that is in it."""

import html
import re
from dataclasses import replace

import pytest

from scenarios.render.page.plan import Marks
from scenarios.render.page.report import figures
from tests.scenarios.filled import tree

LINKS = {
    "name": "ring of 6", "edges": [[k, (k + 1) % 6] for k in range(6)], "tapped": [[3, 4], [4, 5]],
    "sealed": [[3, 4]], "intercepted": [[0, 1]], "insiders": [2], "tapped_nodes": [4],
    "positions": [[1, 0.5], [0.75, 0.93], [0.25, 0.93], [0, 0.5], [0.25, 0.07], [0.75, 0.07]],
}  # fmt: skip
RADIO = LINKS | {"medium": "radio", "tapped": [], "sealed": [], "intercepted": [], "tapped_transmitters": [3, 4],
                 "disc": {"at": [0.1, 0.2], "range": 0.5}}  # fmt: skip


@pytest.mark.few("net0")
@pytest.mark.parametrize("net", [LINKS, RADIO, LINKS | {"insiders": [], "tapped_nodes": [], "intercepted": []}])
def test_every_mark_is_in_the_key_of_the_files(net, tmp_path):
    results = tree({"network": net})
    (one,) = figures(results)
    words = [entry.label for entry in one.key]
    assert words == [entry.label for entry in Marks.of(results.network).key]
    files = [tmp_path / f"network.{kind}" for kind in ("svg", "png", "pdf")]
    for file in files:
        assert one.save(file, 3.5, 100) == file
    text = html.unescape(files[0].read_text(encoding="utf-8"))
    assert set(words) <= set(re.findall(r"<text[^>]*>([^<]*)</text>", text))
    (bare,) = figures(results)
    replace(bare, key=()).save(tmp_path / "bare.png", 3.5, 100)
    height = [int.from_bytes((tmp_path / f"{name}.png").read_bytes()[20:24], "big") for name in ("network", "bare")]
    assert height[0] > height[1]
