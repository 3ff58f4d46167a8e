"""Figures of a page as files for papers: SVG, PNG, PDF, a caption each, and the three epsilons as LaTeX and CSV.

The figures are those of the page, drawn by the same functions from the same numbers, and written by matplotlib,
which drew them: it is there anyway, lays a figure out anew at the width that is asked for, so that its letters stay
readable, and embeds its font in a PDF. A converter of the page's SVG would need a library of the system, and would
only scale. What a page draws without matplotlib is its own drawing as SVG, colours written out, and nothing else.
"""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, cast

from netsim.errors import ScenarioError
from scenarios.places import RESULTS
from scenarios.report import plan
from scenarios.report.drawings import Drawing, Entry, drawings
from scenarios.report.formats import part
from scenarios.report.legend import LINES, Marks, swatch
from scenarios.report.printing import LETTER, LINE, POINTS, SMALLEST, SWATCH, save
from scenarios.report.svg import Drawn, collected
from scenarios.telling import Progress, Silent

Result = Mapping[str, Any]
FORMATS = ("svg", "png", "pdf")
EPSILONS_WIDE = 8.5
"""Inches on the page from which on the three epsilons are drawn wide."""
_STYLE = Path(__file__).with_name("style.css")
_FONTS = {"sans": "sans-serif", "serif": "serif", "mono": "monospace"}


@dataclass(frozen=True)
class Exported:
    """A figure that was written: its `name` (of its files too), `title`, `caption`, what it says in words, which
    curves it has (`key`), where its numbers are from, and its `files`."""

    name: str
    title: str
    caption: str
    words: str
    key: list[str]
    source: str
    files: list[str]


def export_figures(
    results: Result,
    folder: Path,
    *,
    formats: Sequence[str] = FORMATS[:2],
    dpi: int = 300,
    width: str | float = "3.5in",
    source: str = RESULTS,
    progress: Progress | None = None,
) -> list[Exported]:
    """Every figure of the page of `results` (of one run, or of a scenario with variants) as files in `folder`.

    `width` is in inches, or a text with its unit (in, cm, mm, pt); heights keep the page's proportions. `dpi` is of
    PNG. Beside the figures, `figures.json` has of each its title, caption, what it says in words, and its source.

    You get a `ScenarioError` for a format, a width or a resolution that cannot be.
    """
    wanted, inches = _formats(formats), _inches(width)
    if not 30 <= dpi <= 2400:
        raise ScenarioError("--dpi", dpi, "no resolution of a figure", "30 … 2400")
    with collected() as drawn:
        text = _page(results)
        found = [*drawings(text), *_network(results)]
    byname = {one.name: one for one in drawn}
    folder.mkdir(parents=True, exist_ok=True)
    exported: list[Exported] = []
    left_out = "wide" if inches * POINTS / SMALLEST < EPSILONS_WIDE else "narrow"
    chosen, telling = [one for one in found if one.name != left_out], progress or Silent()
    telling.begin("figures", len(chosen))
    missing = set[str]()
    for number, one in enumerate(chosen, start=1):
        name = f"{number:02d}-{_plain(one.title) or one.name}"
        files, lacking = _write(one, byname.get(one.name), folder / name, wanted, dpi, inches)
        missing |= lacking
        told = _caption(one)
        (folder / f"{name}.txt").write_text(f"{one.title}. {told}\n\nNumbers: {source}.\n", encoding="utf-8")
        telling.advance(1)
        exported.append(Exported(name, one.title, told, one.words, [e.label for e in one.key], source, files))
    if missing:
        telling.say(f"The font of PDF and PNG figures has no {''.join(sorted(missing))}; SVG figures show it.")
    told = json.dumps([asdict(one) for one in exported], indent=1, ensure_ascii=False)
    (folder / "figures.json").write_text(told + "\n", encoding="utf-8")
    return exported


def _page(results: Result) -> str:
    from scenarios.report.page import page
    from scenarios.report.study import study

    return study(results) if "variants" in results else page(results)


def _network(results: Result) -> list[Drawing]:
    """The network without its script: the page's own has buttons."""
    net = part(results, "network")
    if not net.get("positions"):
        return []
    svg = str(plan.network(net, "network"))
    key = [Entry(None, str(swatch(drawing)), words, LINES[drawing]) for drawing, words in Marks.of(net).drawn]
    return [Drawing("network", "Network", svg, _label(svg), [f"The network: {net.get('name', '')}."], key)]


def _label(svg: str) -> str:
    """What a drawing says to who cannot see it."""
    return html.unescape(cast("re.Match[str]", re.search(r'aria-label="([^"]*)"', svg))[1])


# ── options ─────────────────────────────────────────────────────────────────────────────────────────────
def _formats(formats: Sequence[str]) -> list[str]:
    wanted = [one.strip().lower() for one in formats if one.strip()]
    for one in wanted:
        if one not in FORMATS:
            raise ScenarioError("--format", one, "no format of a figure", ", ".join(FORMATS))
    return list(dict.fromkeys(wanted)) or list(FORMATS[:2])


def _inches(width: str | float) -> float:
    units = {"in": 1.0, "cm": 1 / 2.54, "mm": 1 / 25.4, "pt": 1 / 72.27, "": 1.0}
    said = re.fullmatch(r"\s*([0-9.]+)\s*(in|cm|mm|pt|)\s*", str(width))
    try:
        inches = float(said[1]) * units[said[2]] if said else 0.0
    except ValueError:
        inches = 0.0
    if not 1 <= inches <= 40:
        raise ScenarioError("--width", width, "no width of a figure", "such as 3.5in, 89mm, 252pt: 1 to 40 inches")
    return inches


def _caption(one: Drawing) -> str:
    return " ".join(line for line in one.caption if line)


def _plain(title: str) -> str:
    """A title as a part of file names."""
    return re.sub(r"[^a-z0-9]+", "-", title.lower()).strip("-")[:60].rstrip("-")


# ── files ───────────────────────────────────────────────────────────────────────────────────────────────
def _write(
    one: Drawing, drawn: Drawn | None, path: Path, wanted: Sequence[str], dpi: int, inches: float
) -> tuple[list[str], set[str]]:
    """The files that were written, and the letters that are not in them because the font does not have them."""
    files, missing = list[str](), set[str]()
    for kind in wanted:
        file = path.with_name(f"{path.name}.{kind}")
        if drawn is not None:
            missing |= set(save(drawn, file, dpi, inches, one.key))
        elif kind == "svg":
            file.write_text(standalone(_with_key(one), inches), encoding="utf-8")
        else:
            continue
        files.append(file.name)
    return files, missing


def _with_key(one: Drawing) -> str:
    """The drawing with its key below it, in as many columns as there is room for."""
    if not one.key:
        return one.svg
    view = re.search(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"', one.svg)
    if view is None:
        return one.svg
    width, height = float(view[1]), float(view[2])
    longest = max(len(entry.label) for entry in one.key)
    columns = max(1, min(len(one.key), int(width // (SWATCH + LETTER * longest + 14))))
    parts: list[str] = []
    for place, entry in enumerate(one.key):
        x, y = width / columns * (place % columns) + 4, height + LINE * (place // columns) + 6
        swatch = entry.swatch.replace("<svg", f'<svg x="{x:.1f}" y="{y:.1f}"', 1)
        place_of = f'x="{x + SWATCH:.1f}" y="{y + 9.5:.1f}"'
        parts.append(f'{swatch}<text {place_of} style="font-size: 10.5px">{html.escape(entry.label)}</text>')
    rows = -(-len(one.key) // columns)
    box = f'viewBox="0 0 {width:g} {height + LINE * rows + 8:g}"'
    text = one.svg.replace(view[0], box, 1)
    return text.removesuffix("</svg>") + f'<g fill="currentColor">{"".join(parts)}</g></svg>'


def standalone(svg: str, inches: float) -> str:
    """A drawing of the page as a file of its own: its colours written out, on white, in a generic font."""
    colours = light_colours()
    text = re.sub(r"var\(--(\w+)\)", lambda m: colours.get(m[1]) or _FONTS.get(m[1], "inherit"), svg)
    text = text.replace("currentColor", colours["ink"])
    box = cast("re.Match[str]", re.search(r'viewBox="([^"]*)"', text))[1].split()
    height = inches * float(box[3]) / float(box[2])
    size = f'width="{inches:g}in" height="{height:.4g}in"'
    title = _label(text)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}'
    return re.sub(r"<svg([^>]*)>", lambda m: f"{head}{m[1]}><title>{html.escape(title)}</title>", text, count=1)


def light_colours() -> dict[str, str]:
    """The colours of the page's style sheet for light paper, by name; what is behind a figure is white."""
    block = _STYLE.read_text(encoding="utf-8").partition("}")[0]
    return dict(re.findall(r"--(\w+):\s*(#[0-9a-fA-F]{3,8})", block)) | {"panel": "#ffffff", "paper": "#ffffff"}
