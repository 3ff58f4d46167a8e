"""A headless Chromium for tests of pages, over the DevTools protocol: no driver, no network, one process for all.

def test_a_page(chromium, tmp_path):
    with chromium.open(tmp_path / "report.html", width=390, dark=True) as page:
        assert page.evaluate("document.title") == "…"
        page.press(" ")
        page.wait_for("document.querySelector('.clock').textContent !== '0 s'")
        page.screenshot(tmp_path / "page.png")
        page.assert_clean()  # no error in the console, nothing refused by the policy, no request to anywhere
"""

import base64
import json
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import pytest

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OPTIONS = (
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
    "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-extensions",
    "--disable-default-apps", "--disable-dev-shm-usage", "--mute-audio", "--remote-debugging-port=0",
    "--remote-allow-origins=*",
)  # fmt: skip
PATIENCE = 60.0
"""Seconds that anything asked of the browser may take; the machine may be busy."""
KEYS = {
    " ": ("Space", 32), "Enter": ("Enter", 13), "Tab": ("Tab", 9), "Escape": ("Escape", 27),
    "ArrowLeft": ("ArrowLeft", 37), "ArrowUp": ("ArrowUp", 38), "ArrowRight": ("ArrowRight", 39),
    "ArrowDown": ("ArrowDown", 40), "Home": ("Home", 36), "End": ("End", 35),
}  # fmt: skip
LOCAL = ("file:", "data:", "blob:", "about:")


class BrowserError(AssertionError):
    """What a page threw when it was asked something, or did not do in time."""


class Page:
    """One tab. `errors`: what its console and its policy complained of; `requests`: the addresses it asked for."""

    def __init__(self, port: int, target: str) -> None:
        from websockets.sync.client import connect

        address = f"ws://127.0.0.1:{port}/devtools/page/{target}"
        self._open = ExitStack()
        self._socket = self._open.enter_context(connect(address, max_size=None, compression=None, proxy=None))
        self._ids = count(1)
        self._loaded = 0
        self.errors: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    # ── the protocol ────────────────────────────────────────────────────────────────────────────────
    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        """One command of the protocol, and its answer; events that come meanwhile are noted."""
        asked = next(self._ids)
        self._socket.send(json.dumps({"id": asked, "method": method, "params": parameters}))
        while True:
            answer = json.loads(self._socket.recv(timeout=PATIENCE))
            if answer.get("id") != asked:
                self._note(answer)
            elif "error" in answer:
                raise BrowserError(f"{method}: {answer['error']['message']}")
            else:
                return answer["result"]

    def _note(self, event: dict[str, Any]) -> None:
        answer = event.get("params", {})
        match event.get("method"):
            case "Page.loadEventFired":
                self._loaded += 1
            case "Network.requestWillBeSent":
                self.requests.append(answer["request"]["url"])
            case "Runtime.exceptionThrown":
                details = answer["exceptionDetails"]
                self.errors.append(details.get("exception", {}).get("description") or details["text"])
            case "Runtime.consoleAPICalled" if answer["type"] in ("error", "warning", "assert"):
                self.errors.append(" ".join(str(a.get("value", a.get("description"))) for a in answer["args"]))
            case "Log.entryAdded" if answer["entry"]["level"] in ("error", "warning"):
                self.errors.append(answer["entry"]["text"])
            case _:
                pass

    # ── a reader ────────────────────────────────────────────────────────────────────────────────────
    def go(self, address: str) -> None:
        """Load an address and wait until it is there."""
        before = self._loaded
        self.call("Page.navigate", url=address)
        until = time.monotonic() + PATIENCE
        while self._loaded == before:
            if time.monotonic() > until:
                raise BrowserError(f"{address} did not load")
            self.evaluate("0")
        self.evaluate("document.fonts.ready.then(() => 0)")

    def evaluate(self, expression: str) -> Any:
        """The value of a JavaScript expression, a promise awaited; what it throws is a `BrowserError`."""
        answer = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            details = answer["exceptionDetails"]
            raise BrowserError(details.get("exception", {}).get("description") or details["text"])
        return answer["result"].get("value")

    def wait_for(self, expression: str, seconds: float = PATIENCE) -> Any:
        """The first value of the expression that is true, looked for until `seconds` have passed."""
        until = time.monotonic() + seconds
        while not (value := self.evaluate(expression)):
            if time.monotonic() > until:
                raise BrowserError(f"not in {seconds:g} s: {expression}")
            time.sleep(0.03)
        return value

    def wait(self, seconds: float) -> None:
        """Let the page do what it does."""
        time.sleep(seconds)
        self.evaluate("0")

    def press(self, key: str, times: int = 1) -> None:
        """Press and release a key: a letter, or one of `KEYS`."""
        code, number = KEYS.get(key, (f"Key{key.upper()}", ord(key.upper()[0])))
        text = "\r" if key == "Enter" else key if len(key) == 1 else ""
        what = {"key": key, "code": code, "windowsVirtualKeyCode": number}
        for _ in range(times):
            self.call("Input.dispatchKeyEvent", type="keyDown", **what, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **what)

    def focus(self, selector: str) -> None:
        self.evaluate(f"document.querySelector({json.dumps(selector)}).focus()")

    def click(self, selector: str) -> None:
        """A real click in the middle of the first element of that kind."""
        x, y = self._middle(selector)
        at: dict[str, Any] = {"x": x, "y": y, "button": "left", "clickCount": 1}
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, **at)

    def hover(self, selector: str) -> None:
        x, y = self._middle(selector)
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def _middle(self, selector: str) -> tuple[float, float]:
        found = self.evaluate(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); if (!e) return null;"
            "e.scrollIntoView({block: 'center', behavior: 'instant'}); const b = e.getBoundingClientRect();"
            "return [b.x + b.width / 2, b.y + b.height / 2]; })()"
        )
        if found is None:
            raise BrowserError(f"no {selector} on the page")
        return found[0], found[1]

    def screenshot(self, path: Path, selector: str | None = None) -> None:
        """The whole page as PNG, or only the first element of that kind."""
        clip: dict[str, Any] = {}
        if selector is not None:
            box = self.evaluate(
                f"(() => {{ const b = document.querySelector({json.dumps(selector)}).getBoundingClientRect();"
                "return {x: b.x + scrollX, y: b.y + scrollY, width: b.width, height: b.height, scale: 1}; })()"
            )
            clip = {"clip": box}
        answer = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True, **clip)
        path.write_bytes(base64.b64decode(answer["data"]))

    # ── what is asked of every page ─────────────────────────────────────────────────────────────────
    @property
    def elsewhere(self) -> list[str]:
        """The addresses that the page asked for and that are neither the file itself nor inside it."""
        return [url for url in self.requests if not url.startswith(LOCAL)]

    @property
    def sideways(self) -> int:
        """By how many pixels the page is wider than the window."""
        return self.evaluate("document.documentElement.scrollWidth - document.documentElement.clientWidth")

    def assert_clean(self) -> None:
        """No error or warning in the console, nothing refused by the policy, no request to anywhere."""
        self.evaluate("new Promise(done => setTimeout(done, 20))")
        assert not self.errors, self.errors
        assert not self.elsewhere, self.elsewhere

    def close(self) -> None:
        self._open.close()


class Chromium:
    """One headless browser with a profile of its own, which is removed when it is closed."""

    def __init__(self, program: str) -> None:
        self._open = ExitStack()
        self._profile = tempfile.mkdtemp(prefix="netsim-chromium-")
        command = [program, *OPTIONS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(
            command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
        )
        self._port, address = self._begun()
        from websockets.sync.client import connect

        address = f"ws://127.0.0.1:{self._port}{address}"
        self._socket = self._open.enter_context(connect(address, max_size=None, proxy=None))
        self._ids = count(1)

    def _begun(self) -> tuple[int, str]:
        """The port it listens to and the address of the browser itself, once it says so."""
        answer = Path(self._profile, "DevToolsActivePort")
        until = time.monotonic() + 2 * PATIENCE
        while time.monotonic() < until and self._process.poll() is None:
            lines = answer.read_text().split() if answer.exists() else []
            if len(lines) == 2:
                return int(lines[0]), lines[1]
            time.sleep(0.05)
        self.close()
        raise BrowserError("Chromium does not start")

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        asked = next(self._ids)
        self._socket.send(json.dumps({"id": asked, "method": method, "params": parameters}))
        while (answer := json.loads(self._socket.recv(timeout=PATIENCE))).get("id") != asked:
            pass
        return answer["result"]

    @contextmanager
    def open(
        self,
        file: Path,
        *,
        width: int = 1200,
        height: int = 900,
        dark: bool = False,
        still: bool = False,
        scripts: bool = True,
        anchor: str = "",
    ) -> Generator[Page]:
        """A tab with that file. `dark` and `still`: what the reader prefers (dark colours, reduced motion); without
        `scripts` the page's own script does not run (`evaluate` does)."""
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        page = Page(self._port, target)
        try:
            size: dict[str, Any] = {"width": width, "height": height, "deviceScaleFactor": 1}
            page.call("Emulation.setDeviceMetricsOverride", **size, mobile=width < 600)
            features = [
                {"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                {"name": "prefers-reduced-motion", "value": "reduce" if still else "no-preference"},
            ]
            page.call("Emulation.setEmulatedMedia", features=features)
            page.call("Emulation.setScriptExecutionDisabled", value=not scripts)
            page.go(file.resolve().as_uri() + anchor)
            yield page
        finally:
            page.close()
            self._call("Target.closeTarget", targetId=target)

    def close(self) -> None:
        self._open.close()
        if self._process.poll() is None:
            os.killpg(self._process.pid, signal.SIGTERM)
            try:
                self._process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                os.killpg(self._process.pid, signal.SIGKILL)
                self._process.wait()
        shutil.rmtree(self._profile, ignore_errors=True)


@pytest.fixture(scope="session")
def chromium() -> Iterator[Chromium]:
    """A headless Chromium for the whole session; the test is skipped where there is none."""
    pytest.importorskip("websockets")
    program = next(filter(None, map(shutil.which, NAMES)), None)
    if program is None:
        pytest.skip(f"no headless Chromium: none of {', '.join(NAMES)} is installed")
    browser = Chromium(program)
    yield browser
    browser.close()
