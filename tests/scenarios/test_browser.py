"""The browser of the tests: it sees errors, refused requests, keys and clicks, and what readers prefer."""

import pytest

from tests.scenarios.browser import BrowserError

pytestmark = pytest.mark.browser
POLICY = "<meta http-equiv='Content-Security-Policy' content=\"default-src 'none'; script-src 'unsafe-inline'\">"
PAGE = """<!doctype html><meta name="viewport" content="width=device-width"><title>here</title>
<body style="margin: 0"><button id="b">b</button><script>
const seen = [];
addEventListener('keydown', e => seen.push(e.key));
document.querySelector('#b').addEventListener('click', () => seen.push('click'));
</script>"""


def test_it_sees_what_a_reader_does_and_prefers(chromium, tmp_path):
    (tmp_path / "page.html").write_text(PAGE)
    with chromium.open(tmp_path / "page.html", width=390, dark=True, still=True) as page:
        page.press(" ")
        page.press("ArrowRight", 2)
        page.click("#b")
        assert page.evaluate("seen") == [" ", "ArrowRight", "ArrowRight", "click"]
        for wish in ("(prefers-color-scheme: dark)", "(prefers-reduced-motion: reduce)", "(max-width: 390px)"):
            assert page.evaluate(f"matchMedia('{wish}').matches")
        assert page.sideways == 0
        page.screenshot(tmp_path / "page.png")
        assert (tmp_path / "page.png").read_bytes().startswith(b"\x89PNG")
        page.assert_clean()
    with chromium.open(tmp_path / "page.html", scripts=False) as page:
        assert page.evaluate("typeof seen") == "undefined"


@pytest.mark.parametrize(
    ("body", "complaint"),
    [
        ("<script>console.error('bad', 7)</script>", "bad 7"),
        ("<script>setTimeout(() => nothing.at(), 1)</script>", "nothing is not defined"),
        ("<script>fetch('https://example.org/x').catch(() => 0)</script>", "Content Security Policy"),
        ("<img src='https://example.org/y.png'>", "Content Security Policy"),
    ],
)
def test_it_sees_what_is_wrong_with_a_page(chromium, tmp_path, body, complaint):
    (tmp_path / "page.html").write_text(POLICY + body)
    with chromium.open(tmp_path / "page.html") as page, pytest.raises(AssertionError, match=complaint):
        page.assert_clean()


def test_a_request_to_anywhere_is_seen(chromium, tmp_path):
    (tmp_path / "page.html").write_text("<img src='http://127.0.0.1:9/y.png'>")
    with chromium.open(tmp_path / "page.html") as page:
        assert page.elsewhere == ["http://127.0.0.1:9/y.png"]


def test_what_a_page_throws_or_never_does_is_an_error(chromium, tmp_path):
    (tmp_path / "page.html").write_text(PAGE)
    with chromium.open(tmp_path / "page.html") as page:
        with pytest.raises(BrowserError, match="nothing is not defined"):
            page.evaluate("nothing.at()")
        with pytest.raises(BrowserError, match=r"not in 0\.1 s: false"):
            page.wait_for("false", seconds=0.1)
