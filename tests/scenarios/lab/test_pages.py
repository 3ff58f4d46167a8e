"""Every lesson in a browser: it opens, draws, answers, and asks nobody else for anything."""

import subprocess
import sys
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest

from scenarios.challenge.sheet import Sheet
from scenarios.cli.lab import free_port
from tests.scenarios.browser import Chromium
from tests.scenarios.command import cli
from tests.scenarios.lab.lessons import NAMES

pytest.importorskip("marimo")
pytestmark = [pytest.mark.browser, pytest.mark.slow]
PATIENCE = 300.0
"""Seconds: a guard against what never ends; a lesson computes for some, on a machine that others use too."""
ENDED = "document.body.innerText.includes('Continue with')"
FORMULAS = "[...document.querySelectorAll('marimo-tex')].map(f => f.shadowRoot)"
IDLE = '!document.querySelector(\'[data-testid="loading-indicator"], [data-status="running"], .running\')'


def answered(address: str) -> int | None:
    """The status of an answer; None where nobody answers."""
    try:
        return urllib.request.urlopen(address).status
    except urllib.error.HTTPError as error:
        return error.code
    except urllib.error.URLError:
        return None


@pytest.fixture(scope="module")
def kept(tmp_path_factory) -> Path:
    """Where the lab that runs keeps answers."""
    return tmp_path_factory.mktemp("ada") / "course"


@pytest.fixture(scope="module")
def served(kept: Path) -> Iterator[tuple[str, str]]:
    """The address of a lab that runs, and the ?token=… that opens it."""
    port = free_port()
    words = [sys.executable, "-m", "scenarios.cli.app", "lab", "--headless", "--port", str(port)]
    words += ["--student", "ada", "--out", str(kept)]
    lab = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    assert lab.stdout is not None
    address, _, key = lab.stdout.readline().split()[2].partition("?")
    until = time.monotonic() + PATIENCE
    while (status := answered(address)) is None:
        assert time.monotonic() < until
        assert lab.poll() is None
        time.sleep(0.1)
    assert status == 403, "without the token it answers nobody"
    yield address, f"?{key}"
    lab.terminate()
    assert lab.wait(PATIENCE) == 0, "lessons that are open keep no lab alive"


@pytest.fixture
def lab(served: tuple[str, str], chromium: Chromium, tmp_path) -> str:
    """Its address, for a browser that has had the token."""
    (tmp_path / "blank.html").write_text("<title>blank</title>")
    with chromium.open(tmp_path / "blank.html", width=390) as page:
        page.go("".join(served))
    return served[0]


def test_the_index_leads_to_the_lessons_and_to_the_first_flag(
    chromium: Chromium, lab: str, kept: Path, tmp_path
) -> None:
    (tmp_path / "blank.html").write_text("<title>blank</title>")
    with chromium.open(tmp_path / "blank.html", width=390) as page:
        page.go(lab)
        assert page.evaluate("[...document.querySelectorAll('li a')].map(a => a.getAttribute('href'))") == [
            f"/{name}/" for name in NAMES
        ]
        text = page.evaluate("document.body.innerText")
        assert f"Answers of ada are kept in {kept / 'sheet.json'}" in text
        assert "netsim challenge first-flag" in text
        assert page.sideways == 0
        assert not page.errors


@pytest.mark.parametrize("name", NAMES)
def test_a_lesson_opens_without_an_error(chromium: Chromium, lab: str, tmp_path, name: str) -> None:
    (tmp_path / "blank.html").write_text("<title>blank</title>")
    with chromium.open(tmp_path / "blank.html", width=1200, height=6000) as page:
        page.go(f"{lab}{name}/")
        page.wait_for(ENDED, PATIENCE)
        page.wait_for(IDLE, PATIENCE)
        page.wait(0.3)
        text = page.evaluate("document.body.innerText")
        assert "error occurred" not in text
        assert "Traceback" not in text
        assert page.evaluate("document.querySelectorAll('figure svg').length") >= 1
        assert page.evaluate(f"{FORMULAS}.length") >= 1
        assert page.evaluate(f"{FORMULAS}.filter(f => !f.querySelector('.katex')).length") == 0
        assert page.evaluate(f"{FORMULAS}.filter(f => f.querySelector('.katex-error')).length") == 0
        assert page.evaluate("document.querySelector('#netsim-ways a').textContent") == "All lessons"
        assert [url for url in page.elsewhere if not url.startswith(lab)] == []
        assert [error for error in page.errors if "preload" not in error] == []
        assert page.sideways == 0
        page.call("Emulation.setDeviceMetricsOverride", width=390, height=6000, deviceScaleFactor=1, mobile=False)
        page.wait(0.3)
        cut = "f.scrollWidth > f.clientWidth + 1 && getComputedStyle(f).overflowX == 'visible'"
        formulas = "[...document.querySelectorAll('marimo-tex')]"
        beyond = f"{formulas}.filter(f => f.getBoundingClientRect().right > innerWidth || ({cut})).length"
        assert page.evaluate(beyond) == 0, "a formula wider than the page scrolls by itself"
        beyond = "[...document.querySelectorAll('figure')].filter(f => f.getBoundingClientRect().right > innerWidth)"
        assert page.evaluate(f"{beyond}.length") == 0, "so does a figure"


def test_answers_go_on_the_sheet_as_they_are_given_and_are_graded_again(
    chromium: Chromium, lab: str, kept: Path, tmp_path
) -> None:
    fields = "[...document.querySelectorAll('marimo-text')].map(f => f.shadowRoot.querySelector('input'))"
    (tmp_path / "blank.html").write_text("<title>blank</title>")
    with chromium.open(tmp_path / "blank.html", width=1200, height=6000) as page:
        page.go(f"{lab}eavesdropper/")
        page.wait_for(ENDED, PATIENCE)
        page.wait_for(IDLE, PATIENCE)
        for count, text in enumerate(("65", "64"), 1):
            page.evaluate(f"(f => {{ f.focus(); f.select(); }})({fields}.at(-1))")
            for key in text:
                page.press(key)
            page.press("Enter")
            until = time.monotonic() + PATIENCE
            while len(Sheet.read(kept / "sheet.json").answers) < count:
                assert time.monotonic() < until
                page.wait(0.1)
        page.wait_for("document.body.innerText.includes('Kept for ada.')", PATIENCE)
    sheet = Sheet.read(kept / "sheet.json")
    answered = [(one.lesson, one.question, one.answer, one.right) for one in sheet.answers]
    assert answered == [("eavesdropper", "question_3", answer, answer == "64") for answer in ("65", "64")]
    assert sheet.answers[0].settings["taps"] == ["0–1", "1–2", "2–3"]
    cli("challenge", "--check", kept / "sheet.json", ends=0, output="1 of 1 questions of lessons right")


def test_a_page_from_elsewhere_cannot_drive_it(chromium: Chromium, lab: str, tmp_path) -> None:
    (tmp_path / "foreign.html").write_text("<title>foreign</title>")
    with chromium.open(tmp_path / "foreign.html", width=390) as page:
        ask = f"fetch('{lab}', {{credentials: 'include', mode: 'no-cors'}}).then(r => r.type, () => 'refused')"
        socket = f"new Promise(end => {{ const s = new WebSocket('{lab.replace('http', 'ws')}noise/ws?session_id=s');"
        opened = page.evaluate(f"{socket} s.onopen = () => end('open'); s.onerror = () => end('refused'); }})")
        assert opened == "refused"
        assert page.evaluate(f"{ask}") in ("opaque", "refused")  # nothing that the page could read
