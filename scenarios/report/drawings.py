"""The figures in the text of a page: their drawings, headings, captions and keys."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any, cast


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
