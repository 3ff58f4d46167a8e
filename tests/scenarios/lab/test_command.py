"""`netsim lab`: what it lists, copies and refuses; the index; who is answered."""

import asyncio
import importlib.util
import socket
from pathlib import Path
from typing import Any

import pytest

from netsim.errors import ScenarioError, install
from scenarios.cli import lab as command
from scenarios.lab import course
from tests.scenarios.command import cli

LESSON = '''"""My own.

Of my own making.
"""

import marimo

app = marimo.App()
'''
TOKEN = "abc"
KNOWN = {"cookie": f"theme=dark; netsim-lab-2719={TOKEN}"}


def lab(*words: str, **said: Any) -> Any:
    return cli("lab", *words, **said, env={"COLUMNS": "200"})


def sent(scope: dict[str, Any], lessons: Any) -> list[Any]:
    """All that the lab's server sends for a request."""
    pytest.importorskip("marimo")
    found: list[Any] = []

    async def send(message: Any) -> None:
        found.append(message)

    async def receive() -> Any:
        return {"type": "http.request"}

    asyncio.run(command.application(lessons, 2719, TOKEN)(scope, receive, send))
    return found


def answer(headers: dict[str, str], lessons: Any) -> tuple[int, bytes]:
    """Status and body of the index as a browser with these headers gets it."""
    pairs = [(name.encode(), value.encode()) for name, value in headers.items()]
    start, body, *_ = sent({"type": "http", "method": "GET", "path": "/", "headers": pairs}, lessons)
    return start["status"], body["body"]


def test_it_lists_the_lessons() -> None:
    shown = lab("--list", ends=0)
    for one in course.lessons():
        assert one.name in shown.output
        assert one.title in shown.output


def test_copies_are_lessons_and_are_not_written_over(tmp_path: Path) -> None:
    lab("--copy", str(tmp_path / "course"), ends=0)
    assert [one.name for one in course.lessons(tmp_path / "course")] == [one.name for one in course.lessons()]
    mine = tmp_path / "course" / "noise.py"
    mine.write_text(LESSON)
    lab("noise", "--copy", str(tmp_path / "course"), ends=0, output="was kept")
    assert mine.read_text() == LESSON


def test_own_lessons_come_after_those_of_the_course(tmp_path: Path) -> None:
    for name in ("about_us", "noise", "eavesdropper"):
        (tmp_path / f"{name}.py").write_text(LESSON)
    (tmp_path / "helper.py").write_text("x = 1\n")
    found = course.lessons(tmp_path)
    assert [one.name for one in found] == ["eavesdropper", "noise", "about-us"]
    assert found[0].title == "My own"
    assert found[0].sentence == "Of my own making."
    assert "My own" in lab(str(tmp_path), "--list").output


@pytest.mark.parametrize(
    ("name", "chosen"), [("1", "eavesdropper"), ("second", "second-message"), ("noise", "noise")]
)
def test_a_lesson_is_chosen_by_number_name_or_beginning(name: str, chosen: str) -> None:
    assert course.chosen(name, course.lessons()).name == chosen


@pytest.mark.few(5)
@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["nosuch"], "no such lesson"), (["99"], "no such lesson"), ([""], "no such lesson"),
        (["no.py"], "no such file"), ([str(command.__file__)], "no marimo notebook"),
        ([str(Path(__file__).parent / "..")], "a folder without a lesson"), (["--edit"], "--edit opens one lesson"),
    ],
)  # fmt: skip
def test_wrong_words_are_told(words: list[str], said: str) -> None:
    lab(*words, ends=2, output=said)


def test_a_broken_notebook_is_told_with_its_line(tmp_path: Path) -> None:
    (tmp_path / "bad.py").write_text("import marimo\napp = marimo.App(\n)\ndef\n")
    lab(str(tmp_path / "bad.py"), ends=2, output="line 4")


@pytest.mark.parametrize("words", [[], ["noise"], ["noise", "--edit"]])
def test_without_marimo_it_says_what_to_install(words: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    found = importlib.util.find_spec
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None if name == "marimo" else found(name))
    monkeypatch.chdir(tmp_path)
    shown = lab(*words, ends=2)
    opened = words[0] if words else "all"
    missing = f"ScenarioError: lesson = '{opened}': needs marimo, which is not installed"
    assert f"{missing}; allowed: {install('lab')}" in shown.output
    assert not list(tmp_path.iterdir())


def test_a_port_that_is_taken_is_refused_and_the_usual_one_is_passed_over() -> None:
    with socket.socket() as taken:
        taken.bind((command.HOST, 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(ScenarioError, match="listens there"):
            command.free_port(port)
    assert command.free_port() in range(command.PORT, command.PORT + command.TRIED)


@pytest.mark.slow
def test_the_index_links_every_lesson() -> None:
    _, page = answer({"host": "localhost:2719"} | KNOWN, course.lessons())
    for one in course.lessons():
        assert f'href="/{one.name}/"' in page.decode()
    assert b"http" not in page.replace(b"http-equiv", b"")


@pytest.mark.few(4)
@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"host": "127.0.0.1:2719"} | KNOWN, 200), ({"host": "localhost:2719"} | KNOWN, 200),
        ({"host": "127.0.0.1:2719", "origin": "http://127.0.0.1:2719"} | KNOWN, 200),
        ({"host": "lab.example.org"} | KNOWN, 403), ({"host": "lab.example.org:2719"} | KNOWN, 403),
        ({"host": "127.0.0.1:2719", "origin": "https://example.org"} | KNOWN, 403),
        ({"host": "127.0.0.1:2719", "origin": "null"} | KNOWN, 403), ({}, 403), ({"host": "127.0.0.1:2719"}, 403),
        ({"host": "127.0.0.1:2719", "cookie": "netsim-lab-2719=abd"}, 403),
        ({"host": "127.0.0.1:2719", "cookie": f"netsim-lab-2720={TOKEN}"}, 403),
    ],
)  # fmt: skip
def test_only_its_own_pages_on_this_machine_are_answered(headers: dict[str, str], status: int) -> None:
    found, page = answer(headers, course.lessons()[:1])
    assert found == status
    assert (b"netsim lab" in page) == (status == 200)


@pytest.mark.parametrize(("host", "headers"), [("example.org", KNOWN), ("127.0.0.1:2719", {})])
def test_a_socket_from_elsewhere_or_without_the_token_is_closed(host: str, headers: dict[str, str]) -> None:
    pairs = [(name.encode(), value.encode()) for name, value in {"host": host, **headers}.items()]
    query = f"token={TOKEN}".encode()
    scope = {"type": "websocket", "path": "/eavesdropper/ws", "query_string": query, "headers": pairs}
    assert sent(scope, course.lessons()[:1]) == [{"type": "websocket.close", "code": 1008}]


def test_a_manifest_needs_no_token_and_is_nobody_elses_either() -> None:
    """It is the one thing that a browser asks for without cookies."""
    lessons, there = course.lessons()[:1], {"type": "http", "method": "GET", "path": "/eavesdropper/manifest.json"}
    elsewhere = there | {"query_string": b"", "headers": [(b"host", b"example.org")]}
    assert sent(elsewhere, lessons)[0]["status"] == 403
    socket_ = elsewhere | {"type": "websocket", "headers": [(b"host", b"127.0.0.1:2719")]}
    assert sent(socket_, lessons) == [{"type": "websocket.close", "code": 1008}]


@pytest.mark.parametrize(
    ("query", "host", "status"),
    [(TOKEN, "127.0.0.1:2719", 303), ("abd", "127.0.0.1:2719", 403), (TOKEN, "example.org:2719", 403)],
)
def test_the_token_of_the_address_becomes_a_cookie_of_this_server(query: str, host: str, status: int) -> None:
    scope = {"type": "http", "method": "GET", "path": "/noise/", "query_string": f"token={query}".encode()}
    start = sent(scope | {"headers": [(b"host", host.encode())]}, course.lessons()[:1])[0]
    headers = dict(start["headers"])
    assert start["status"] == status
    assert headers.get(b"location") == (b"/noise/" if status == 303 else None)
    assert (b"SameSite=Strict" in headers.get(b"set-cookie", b"")) == (status == 303)
