"""The site builds without a warning, has every page, and needs no network."""

import os
import re
import subprocess
import sys
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from tests.docs.site import LINK, inside, turned

ROOT = Path(__file__).parents[2]
PAGES = [*sorted((ROOT / "docs").rglob("*.md")), ROOT / "README.md", ROOT / "CHANGELOG.md"]


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    pytest.importorskip("mkdocs")
    pytest.importorskip("mkdocstrings")
    folder = tmp_path_factory.mktemp("site")
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", str(folder)],
        cwd=ROOT, capture_output=True, text=True, check=False, env=os.environ | {"NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    return folder


class Fetched(HTMLParser):
    """What a browser fetches to show a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: list[str] = []

    def handle_starttag(self, tag, attrs):
        values = dict(attrs)
        if tag in ("script", "img", "iframe", "source"):
            self.found.append(values.get("src") or "")
        if tag == "link" and values.get("rel") != "canonical":
            self.found.append(values.get("href") or "")


@pytest.mark.slow
def test_every_page_is_there_and_fetches_nothing_from_elsewhere(site):
    pages = list(site.rglob("*.html"))
    assert len(pages) >= len(list((ROOT / "docs").rglob("*.md")))
    for page in pages:
        parser = Fetched()
        parser.feed(page.read_text())
        assert [one for one in parser.found if re.match(r"(https?:)?//", one)] == [], page.name


def test_style_sheets_fetch_nothing_from_elsewhere(site):
    for sheet in site.rglob("*.css"):
        assert not re.search(r"url\(['\"]?(https?:)?//", sheet.read_text()), sheet.name


def test_api_pages_have_docstrings_and_signatures(site):
    page = (site / "api" / "simulation.html").read_text()
    assert "One agent's window on the world" in page
    assert "privatize" in page
    assert ":::" not in page


def test_links_to_the_root_and_to_scenarios_are_turned():
    def seen(text: str, depth: int) -> str:
        return LINK.sub(lambda m: turned(m, depth), text)

    assert seen("[a](docs/audit.md#views)", 0) == "[a](audit.md#views)"
    assert seen("[a](../scenarios/ledger/dmsp.yaml)", 1) == "[a](scenarios/ledger/dmsp.yaml)"
    assert seen("[a](../../scenarios/library/leakage.yaml)", 2) == "[a](../scenarios/library/leakage.yaml)"
    assert seen("[a](../README.md)", 1) == "[a](index.md)"
    assert seen("[a](audit.md), [b](https://docs.dask.org)", 1) == "[a](audit.md), [b](https://docs.dask.org)"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_lists_begin_after_an_empty_line(page):
    """GitHub sees a list that follows its paragraph at once; Python-Markdown does not."""
    text = re.sub(r"^```.*?^```$", "```", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    lines = text.splitlines()
    entry = re.compile(r"(- |\* |1\. )")
    for before, line in pairwise(lines):
        assert not entry.match(line) or not before or entry.match(before) or before.startswith(("  ", "#")), line


def test_entries_of_several_paragraphs_are_as_python_markdown_wants_them():
    written = "- one\n  goes on\n- two\n\n  | a |\n  |---|\n\n  and more\n- three\n\nText.\n"
    wanted = "- one\n    goes on\n- two\n\n    | a |\n    |---|\n\n    and more\n\n- three\n\nText.\n"
    assert inside(written) == wanted
