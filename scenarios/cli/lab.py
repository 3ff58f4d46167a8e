"""Command `netsim lab`, and its page: an index of lessons, each served as a marimo app to this machine alone."""

import contextlib
import os
import secrets
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, Mapping, MutableMapping, Sequence
from dataclasses import asdict
from hmac import compare_digest
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qs, quote

import typer
from rich.markup import escape

from netsim.errors import ScenarioError
from netsim.files import not_written
from scenarios.cli.options import bounded, command, given, refuse, taken
from scenarios.lab import course
from scenarios.lab.course import SHIPPED, Lesson, chosen, lessons, need_marimo
from scenarios.render.tables import Column, print_tables
from scenarios.render.terminal import (
    cannot_write,
    console,
    line,
    print_place,
    problems,
    program,
    write_document,
)

HOST = "127.0.0.1"
PORT = 2719
"""Port of the lab if it is free; the next free one of `TRIED` otherwise."""
TRIED = 20
_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[Any], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def application(lessons: Sequence[Lesson], port: int, token: str) -> _App:
    """The whole lab as an ASGI app. It answers those who address this machine by its own name, from its own pages,
    and know the token: ?token=… of the address, which the browser keeps as a cookie from then on.

    At the top of every lesson are links to the index, the lesson before and the one after.
    """
    import marimo
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("scenarios.lab", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    ways = environment.get_template("ways.html.j2").render(lessons=[[one.name, one.title] for one in lessons])
    builder: Any = marimo.create_asgi_app(quiet=True, include_code=True, html_head=ways)
    for lesson in lessons:
        builder = builder.with_app(path=f"/{lesson.name}", root=str(lesson.path))
    notebooks: _App = builder.build()
    index = environment.get_template("index.html.j2").render(lessons=lessons, kept=course.keeper).encode()

    cookie = f"netsim-lab-{port}"  # cookies of one machine are those of all its ports

    async def answer(send: _Send, status: int, body: bytes, kind: bytes, *more: tuple[bytes, bytes]) -> None:
        headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode()), *more]
        await send({"type": "http.response.start", "status": status, "headers": headers})
        await send({"type": "http.response.body", "body": body})

    def is_local(scope: _Scope) -> bool:
        """Whether a request names this server and comes from no other site's page (a rebound name, a script)."""
        here = {f"{HOST}:{port}", f"localhost:{port}"}
        headers = {name: value.decode("latin-1") for name, value in scope["headers"]}
        origin = headers.get(b"origin")
        return headers.get(b"host") in here and (origin is None or origin.partition("://")[2] in here)

    def is_known(scope: _Scope) -> bool:
        """Whether whoever asks has had the token."""
        texts = [value.decode("latin-1") for name, value in scope["headers"] if name == b"cookie"]
        pairs = [one.strip().partition("=") for text in texts for one in text.split(";")]
        return any(name == cookie and compare_digest(value.encode(), token.encode()) for name, _, value in pairs)

    def brings_token(scope: _Scope) -> bool:
        given = parse_qs(scope.get("query_string", b"").decode("latin-1")).get("token", [""])[0]
        return compare_digest(given.encode(), token.encode())

    async def app(scope: _Scope, receive: _Receive, send: _Send) -> None:
        asks, page = scope["type"] in ("http", "websocket"), scope["type"] == "http"
        # a browser asks for the manifest, which is the same for everybody, without cookies
        free = page and (scope["path"].endswith("/manifest.json") or brings_token(scope))
        if asks and not (is_local(scope) and (free or is_known(scope))):
            if scope["type"] == "websocket":
                await send({"type": "websocket.close", "code": 1008})
            else:
                why = "The lab answers its own pages on this machine only, opened by the address that it printed.\n"
                await answer(send, 403, why.encode(), b"text/plain")
        elif scope["type"] == "http" and brings_token(scope):
            kept = f"{cookie}={token}; Path=/; HttpOnly; SameSite=Strict"
            place = f"/{quote(scope['path'].lstrip('/'))}".encode()
            await answer(send, 303, b"", b"text/plain", (b"set-cookie", kept.encode()), (b"location", place))
        elif scope["type"] == "http" and scope["path"] == "/":
            await answer(send, 200, index, b"text/html; charset=utf-8")
        else:
            await notebooks(scope, receive, send)

    return app


def _serve(lessons: Sequence[Lesson], port: int, token: str, *, browser: str | None = None) -> None:
    """Serve until Ctrl-C. `browser` is an address to open once the server answers; None opens nothing."""
    import uvicorn

    app = application(lessons, port, token)
    config = uvicorn.Config(app, host=HOST, port=port, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)

    def open_page() -> None:
        waiting = threading.Event()
        while not server.started and not server.should_exit:
            waiting.wait(0.05)
        if server.started and browser is not None:
            webbrowser.open(browser)

    if browser is not None:
        threading.Thread(target=open_page, daemon=True).start()
    with contextlib.suppress(KeyboardInterrupt):
        server.run()


def free_port(wanted: int | None = None) -> int:
    """A port of this machine that nobody listens on. You get a `ScenarioError` where the one wanted is taken."""
    for port in [wanted] if wanted is not None else range(PORT, PORT + TRIED):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind((HOST, port))
            return port
    value = wanted if wanted is not None else f"{PORT} … {PORT + TRIED - 1}"
    raise ScenarioError("--port", value, "something else listens there", "another port, 1024 … 65535")


# ── the command ─────────────────────────────────────────────────────────────────────────────────────────
COPIES = Path("netsim-lab")
"""Folder for the copy of a shipped lesson that `--edit` opens."""


@command(
    "lab",
    "netsim lab",
    "netsim lab noise",
    "netsim lab --list",
    "netsim lab --student ada",
    "netsim lab noise --key",
)
def _lab(
    lesson: Annotated[
        str | None, taken(help="A lesson's number or name, a notebook (.py), or a folder of them. Default: all.")
    ] = None,
    port: Annotated[int | None, bounded(1, 65535, help="Port. Default: 2719 or the next free one.")] = None,
    browser: Annotated[bool, typer.Option("--browser/--no-browser", help="Open the page in a browser.")] = True,
    headless: Annotated[bool, typer.Option("--headless", help="The same as --no-browser.")] = False,
    edit: Annotated[
        bool, typer.Option("--edit", help="Open the lesson in marimo's editor; for a shipped one, a copy.")
    ] = False,
    listed: Annotated[bool, typer.Option("--list", help="Only print the lessons.")] = False,
    copy: Annotated[
        Path | None,
        given(help="Copy the lesson, or all, into this folder; existing files are kept.", metavar="FOLDER"),
    ] = None,
    key: Annotated[
        bool,
        typer.Option("--key", help="Print every question with its answer, for who teaches; the lessons are run."),
    ] = False,
    student: Annotated[
        str | None, given(metavar="NAME", help="Keep this student's answers on a score sheet. Default: the sheet's.")
    ] = None,
    out: Annotated[
        Path | None, given(metavar="FOLDER", help="Folder of the score sheet. Default with --student: ./challenges.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="With --list or --key: print one JSON document in place of the text.")
    ] = False,
) -> None:
    """The teaching lab: lessons that run live in the browser, with sliders and questions.

    Everything runs on this machine, and the page is served to this machine only. Ctrl-C ends it. With --student
    answers go on the score sheet of `netsim challenge`, whose --check grades them again. Exit status: 0 done, 2 wrong
    input, or marimo is missing.
    """
    try:
        found, one = list(lessons()), cast("Lesson | None", None)
        if lesson and (place := Path(lesson)).is_dir():
            if not (found := list(lessons(place))):
                allowed = "a folder with marimo notebooks (.py)"
                raise ScenarioError("lesson", lesson, "a folder without a lesson", allowed)
        elif lesson is not None and lesson.endswith(".py"):
            if not Path(lesson).is_file() or (one := Lesson.of(Path(lesson))) is None:
                why = "no marimo notebook" if Path(lesson).is_file() else "no such file"
                raise ScenarioError("lesson", lesson, why, "a marimo notebook (.py)")
            found = [one]
        elif lesson is not None:
            one = chosen(lesson, found)
        refuse("--json", as_json and not (key or listed), "is for lists", "with --list or --key")
        keeps = student is not None or out is not None
        refuse("--student, --out", keeps and (listed or key or edit or copy), "no answers are given here", "without")
        if key:
            need_marimo("all" if one is None else one.name)
            _key(found if one is None else [one], lesson, as_json)
        elif listed and as_json:
            rows = [{"lesson": each.name, "title": each.title, "description": each.sentence} for each in found]
            write_document({"version": version("netsim-lab"), "lessons": rows})
        elif listed:
            columns = [
                Column(
                    "    lesson",
                    [f"{k:2}  [bold]{escape(each.name)}[/]" for k, each in enumerate(found, 1)],
                    whole=True,
                ),
                Column("subject", [escape(each.title) for each in found], at_least=20),
            ]
            print_tables(columns[0], [columns[1:]], console)
            here = escape(program())
            print_place("Open one with:", f"{here} lab NAME")
            print_place("Open all with:", f"{here} lab")
        elif edit:
            _edit(one, copy, port, browser and not headless)
        elif copy is not None:
            _copy(found if one is None else [one], copy)
        else:
            need_marimo("all" if one is None else one.name)
            kept = course.keep(out or Path(course.FOLDER), student) if keeps else None
            number = free_port(port)
            token = secrets.token_urlsafe(16)
            page = f"http://{HOST}:{number}/{'' if one is None else f'{one.name}/'}?token={token}"
            print_place("The lab:", page)
            line("Ctrl-C ends it.")
            if kept is not None:
                print_place(f"Answers of {kept.student}:", kept.path)
            console.file.flush()
            _serve(found, number, token, browser=page if browser and not headless else None)
            console.file.flush()
            os._exit(0)  # the lessons that were opened go on in threads, for which a normal end would wait
    except OSError as error:
        cannot_write(error, out, as_json=as_json)


def _key(lessons: Sequence[Lesson], place: str | None, as_json: bool) -> None:
    """Print the answer key, in Markdown, lesson after lesson as they are run."""
    from scenarios.lab.key import key_of
    from scenarios.render.progress import Bars

    rows: list[Mapping[str, object]] = []
    for one in lessons:
        with Bars(problems) as bars:
            solved = list(key_of(one, bars))
        rows.append({"lesson": one.name, "title": one.title, "questions": [asdict(each) for each in solved]})
        if as_json:
            continue
        where = one.name if one.path.parent == SHIPPED else place or one.name
        console.say(f"# {one.title}\n\nnetsim lab {where}\n", markup=False)
        at: Mapping[str, object] = {}
        for each in solved:
            if each.at != at:
                head = ", ".join(f"{name}: {_written(value)}" for name, value in each.at.items())
                console.say(f"## {head}\n", markup=False)
            at = each.at
            settings = [f"{name}: {_written(value)}" for name, value in (each.settings or {}).items()]
            ask = f"{each.ask}\n" + ("\nOne of these:\n" if len(each.answers) > 1 else "")
            answers = "\n".join(f"- {answer}" for answer in (*each.answers, *settings))
            console.say(f"{ask}\n{answers}\n\n{each.why}\n", markup=False)
    if as_json:
        write_document({"version": version("netsim-lab"), "lessons": rows})


def _written(value: object) -> str:
    """A setting's value; code on lines of its own."""
    if isinstance(value, list):
        return ", ".join(map(str, cast("list[object]", value))) or "none"
    text = str(value)
    return f"\n\n```python\n{text.rstrip()}\n```" if "\n" in text else text


def _copy(lessons: list[Lesson], folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copies = [folder / one.path.name for one in lessons]
        for one, target in zip(lessons, copies, strict=True):
            kept = target.exists()
            if not kept:
                target.write_text(one.path.read_text(encoding="utf-8"), encoding="utf-8")
            line(f"{target} is there already, and was kept" if kept else str(target), whole=True)
    except OSError as error:
        raise ScenarioError("--copy", str(folder), not_written(error), "a folder to write to") from None
    return copies


def _edit(one: Lesson | None, folder: Path | None, port: int | None, browser: bool) -> None:
    import subprocess
    import sys

    if one is None:
        raise ScenarioError("lesson", None, "--edit opens one lesson", "the number, name or file of one")
    need_marimo(one.name)
    path = _copy([one], folder or COPIES)[0] if folder or one.path.parent == SHIPPED else one.path
    command = [sys.executable, "-m", "marimo", "edit", str(path), "--host", HOST, "--port", str(free_port(port))]
    console.print(f"Editing [bold]{path}[/]. Ctrl-C ends it.", highlight=False)
    try:
        subprocess.run([*command, "--skip-update-check", *([] if browser else ["--headless"])], check=False)
    except KeyboardInterrupt:
        return
