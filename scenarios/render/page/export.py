"""Figures of a page as files for papers: SVG, PNG and PDF at print size, a caption each."""

import html
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html.parser import HTMLParser
from pathlib import Path
from typing import Any, cast

from matplotlib.artist import Artist
from matplotlib.collections import Collection
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from matplotlib.text import Text

from netsim.errors import ScenarioError
from scenarios.build.progress import Progress, Silent
from scenarios.render.page import plan
from scenarios.render.page.drawing import (
    BLUE,
    INK,
    ORANGE,
    PAPER,
    VERMILLION,
    Drawn,
    Series,
    collected,
    glyphs_missing,
)
from scenarios.render.page.plan import LINES, Marks, swatch
from scenarios.results.files import RESULTS
from scenarios.results.numbers import part


@dataclass
class Drawing:
    """A figure in the text of a page: the names of its drawing and of its heading, and its text."""

    name: str
    title: str
    svg: str
    words: str
    caption: list[str]
    key: list["Entry"]


@dataclass
class Entry:
    """An entry of a key: the number of its series (None: it is no series), its swatch as SVG, its label; and how
    matplotlib draws what is no series: lines, one over the other."""

    index: int | None
    swatch: str
    label: str
    lines: Sequence[Mapping[str, Any]] = ()


class _Reader(HTMLParser):
    """Collects the labelled drawings of all figures, with the heading and the caption that belong to each."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.found: list[Drawing] = []
        self.section = self.group = ""
        self._heading: str | None = None
        self._words: list[str] = []
        self._figure: list[Drawing] | None = None
        self._title = ""
        self._in: list[str] = []
        self._at = self._swatch = 0
        self._entry: Entry | None = None
        self._apart = False
        """Within small figures of single curves, which are not exported."""
        self._lines = [0]
        for line in text.splitlines(keepends=True):
            self._lines.append(self._lines[-1] + len(line))
        self._text = text
        self.feed(text)

    def _place(self) -> int:
        line, column = self.getpos()
        return self._lines[line - 1] + column

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        classes = given.get("class", "").split()
        if tag == "figure":
            self._figure, self._title, self._apart = [], "", False
        elif self._figure is not None and "panels" in classes:
            self._apart = True
        elif tag in ("h2", "h3", "h4"):
            self._heading, self._words = tag, []
        elif tag == "svg" and self._figure is not None and not self._apart:
            self._drawing(given, classes)
        elif tag in ("p", "li"):
            self._in.append(tag)
            self._words = []
            index = next((int(one[1:]) for one in classes if re.fullmatch(r"k\d+", one)), None)
            self._entry = Entry(index, "", "") if tag == "li" else None

    def _drawing(self, given: Mapping[str, str], classes: Sequence[str]) -> None:
        if given.get("role") == "img" and "viewbox" in given:  # without one a script draws it
            self._at = self._place()
            name = given.get("data-figure") or given.get("id") or ""
            cast("list[Drawing]", self._figure).append(Drawing(name, "", "", given.get("aria-label", ""), [], []))
        elif "swatch" in classes:
            self._swatch = self._place()

    def handle_endtag(self, tag: str) -> None:
        told = " ".join("".join(self._words).split())
        end = self._place() + len("</svg>")
        if tag == "svg" and self._swatch:
            if self._entry is not None:
                self._entry.swatch = self._text[self._swatch : end]
            self._swatch = 0
        elif tag == "svg" and self._at:
            cast("list[Drawing]", self._figure)[-1].svg = self._text[self._at : end]
            self._at = 0
        elif tag == self._heading:
            self._titled(tag, told)
        elif tag in ("p", "li") and self._in:
            self._in.pop()
            if self._figure and not self._apart:
                self._said(tag, told)
        elif tag == "details":
            self._apart = False
        elif tag == "figure" and self._figure is not None:
            self._close(self._figure)
            self._figure = None

    def _titled(self, tag: str, told: str) -> None:
        self._heading = None
        if self._figure is not None:
            self._title = f"{self.group}: {told}" if tag == "h4" and self.group else told
        elif tag == "h3":
            self.group = told
        elif tag == "h2":
            self.section, self.group = told, ""

    def _said(self, tag: str, told: str) -> None:
        last = cast("list[Drawing]", self._figure)[-1]
        if tag == "p":
            last.caption.append(told)
        elif self._entry is not None and self._entry.swatch:
            self._entry.label = told
            last.key.append(self._entry)
        else:
            last.caption.append(told)

    def _close(self, drawings: Sequence[Drawing]) -> None:
        """The drawings of a figure have its title, with the heading of their group, and its caption."""
        for one in drawings:
            one.title = self._title or self.section
            one.caption = one.caption or [line for other in drawings for line in other.caption]
            one.key = one.key or [line for other in drawings for line in other.key]
            self.found.append(one)

    def handle_data(self, data: str) -> None:
        if not self._at and not self._swatch:
            self._words.append(data)


def drawings(text: str) -> list[Drawing]:
    """The figures in the text of a page, but small ones of single curves."""
    return [one for one in _Reader(text).found if one.svg]


POINTS, SMALLEST = 11.0, 8.0
"""The size of the letters on the page in pixels, and in a paper in points."""
SWATCH, LETTER, LINE = 42, 6.0, 18
"""Of a key in pixels: the room of a swatch, of a letter, and of a line."""
TIME_KEY: list[tuple[str, dict[str, Any]]] = [
    ("claimed", {"color": INK, "linestyle": (0, (7, 3))}),
    ("exact, of this pair", {"color": BLUE, "marker": "o", "markersize": 4.5}),
    ("audited: at least", {"color": ORANGE, "marker": "s", "linestyle": "none", "markerfacecolor": PAPER}),
    ("the claim is first exceeded", {"color": VERMILLION, "marker": "X", "markersize": 9, "linestyle": "none"}),
]
"""The key of ε over time, which is no key of series."""


def save(drawn: Drawn, file: Path, dpi: int, inches: float, key: Sequence[Entry]) -> str:
    """The figure laid out anew at that width, its letters of about `SMALLEST` points, everything to scale, with the
    key of its series below. Returns the letters that the font of PDF and PNG files does not have."""
    import matplotlib as mpl

    figure, before = drawn.figure, drawn.figure.get_size_inches().tolist()
    placed = drawn.name in ("wide", "narrow")  # its words stand at places that were reckoned for its own width
    scale = inches / before[0] if placed else SMALLEST / POINTS
    height = before[1] * (1 if placed else max(0.72, min(1.0, inches / scale / before[0])))
    legend, rows = _legend(drawn, key, inches / scale)
    changed = _scaled(figure, scale)
    try:
        figure.set_size_inches(inches, (height + rows * LINE / 72) * scale)
        figure.patch.set_alpha(1.0)
        figure.patch.set_facecolor("white")
        settings: Any = {
            "pdf.fonttype": 42,
            "svg.fonttype": "none",
            "svg.hashsalt": "netsim",
            "text.parse_math": False,
        }
        metadata: Any = {"pdf": {"CreationDate": None}, "svg": {"Date": None}, "png": {"Software": None}}
        with cast("Any", mpl).rc_context(settings), glyphs_missing() as missing:
            cast("Any", figure).savefig(file, dpi=dpi, metadata=metadata[file.suffix[1:]])
        if file.suffix != ".svg":
            return "".join(missing)
        _generic(file, drawn.label)
        return ""
    finally:
        for undo, value in changed:
            undo(value)
        if legend is not None:
            legend.remove()
        figure.set_size_inches(*before)


def _generic(file: Path, label: str) -> None:
    """An SVG file with fonts that everybody has, and what it says in words."""
    text = file.read_text(encoding="utf-8").replace("'DejaVu Sans'", "'DejaVu Sans', Helvetica, Arial, sans-serif")
    text = re.sub(r"(<svg[^>]*>)", lambda m: f"{m[1]}<title>{html.escape(label)}</title>", text, count=1)
    file.write_text(text, encoding="utf-8")


def _legend(drawn: Drawn, key: Sequence[Entry], inches: float) -> tuple[Any, int]:
    """The key of the series below the figure, and its lines; None where the figure names them itself."""
    import matplotlib as mpl

    looks = [(entry.label, Series(entry.index)) for entry in key if entry.index is not None]
    entries = [(label, (look.line | _mark(look),)) for label, look in looks]
    marks = [(entry.label, tuple(map(dict, entry.lines))) for entry in key if entry.lines]
    if drawn.name.endswith("-time"):
        entries = [(label, (style,)) for label, style in TIME_KEY]
    entries = marks or entries
    if len(entries) < (1 if marks else 2):
        return None, 0
    handles = [_handle(lines) for _, lines in entries]
    longest = max(len(label) for label, _ in entries)
    columns = max(1, min(len(entries), int(72 * inches // (SWATCH + LETTER * longest + 14))))
    style: Any = {
        "loc": "outside lower center", "ncols": columns, "frameon": False, "fontsize": 10.5, "handlelength": 2.6
    }  # fmt: skip
    with cast("Any", mpl).rc_context({"text.parse_math": False}):
        legend = cast("Any", drawn.figure).legend(handles, [label for label, _ in entries], **style)
    return legend, -(-len(entries) // columns)


def _handle(lines: Sequence[dict[str, Any]]) -> Any:
    """What stands before the words: lines, one over the other."""
    made = tuple(cast("Any", Line2D)([], [], **({"linewidth": 1.8} | line)) for line in lines)
    return made[0] if len(made) == 1 else made


def _mark(look: Series) -> dict[str, Any]:
    return {"marker": look.marker, "markersize": 5.5, "markeredgewidth": 0, "linewidth": 1.8}


def _scaled(figure: Figure, scale: float) -> list[tuple[Any, Any]]:
    """Letters, lines and marks made so many times as large; what puts each back as it was."""
    changed: list[tuple[Any, Any]] = []

    def change(setter: Any, value: float) -> None:
        changed.append((setter, value))
        setter(value * scale)

    for artist in cast("list[Artist]", cast("Any", figure).findobj()):
        one: Any = artist
        if isinstance(artist, Text):
            change(one.set_fontsize, one.get_fontsize())
        elif isinstance(artist, Line2D):
            marks = one.get_markersize(), one.get_markeredgewidth()
            change(one.set_linewidth, one.get_linewidth())
            change(one.set_markersize, marks[0])
            change(one.set_markeredgewidth, marks[1])
        elif isinstance(artist, Patch):
            change(one.set_linewidth, one.get_linewidth())
        elif isinstance(artist, Collection):
            widths = list(one.get_linewidths())
            changed.append((one.set_linewidths, widths))
            one.set_linewidths([width * scale for width in widths])
    return changed


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
    from scenarios.render.page.report import page, study

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
