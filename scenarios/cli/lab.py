"""Command `netsim lab`, and its page: an index of lessons, each served as a marimo app to this machine alone."""

import ast
import contextlib
import os
import re
import secrets
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import parse_qs, quote

import typer
from rich.markup import escape
from rich.table import Table

from netsim.errors import ScenarioError, install
from scenarios.cli.options import command, given, taken
from scenarios.render.terminal import console, fail, line

SHIPPED = Path(__file__).parents[1] / "lab" / "lessons"
ORDER = (
    "eavesdropper", "pictures", "noise", "second-message", "composition", "norms", "how-sure", "your-own",
    "tap-your-own",
)  # fmt: skip
"""The shipped lessons, in the order of the course."""


@dataclass(frozen=True)
class _Lesson:
    """One notebook: its name on the command line and in addresses, its file, and what it says it is about."""

    name: str
    path: Path
    title: str
    sentence: str

    @classmethod
    def of(cls, path: Path) -> "_Lesson | None":
        """The lesson in a file; None where the file is no marimo notebook."""
        text = path.read_text(encoding="utf-8")
        if not re.search(r"^\w+ = marimo\.App\(", text, re.MULTILINE):
            return None
        try:
            about = ast.get_docstring(ast.parse(text)) or ""
        except SyntaxError as error:
            why = f"line {error.lineno} is no Python ({error.msg})"
            raise ScenarioError("lesson", str(path), why, "a marimo notebook") from None
        name = path.stem.replace("_", "-")
        title, _, rest = about.partition("\n")
        return cls(name, path, title.rstrip(".") or name, " ".join(rest.strip().partition("\n\n")[0].split()))


def lessons(folder: Path = SHIPPED) -> tuple[_Lesson, ...]:
    """The lessons of a folder, or those that come with netsim: the course in its order, then the others by name."""
    found = [one for path in sorted(folder.glob("*.py")) if (one := _Lesson.of(path)) is not None]
    return tuple(
        sorted(found, key=lambda one: (ORDER.index(one.name) if one.name in ORDER else len(ORDER), one.name))
    )


def chosen(name: str, among: Sequence[_Lesson]) -> _Lesson:
    """A lesson by its number in the course (from 1), its name, or the beginning of it that no other name has."""
    if name.isdigit() and 1 <= int(name) <= len(among):
        return among[int(name) - 1]
    plain = name.replace("_", "-")
    exact = [one for one in among if one.name == plain]
    begun = exact or [one for one in among if plain and one.name.startswith(plain)]
    if len(begun) == 1:
        return begun[0]
    names = ", ".join(f"{k} {one.name}" for k, one in enumerate(among, 1))
    why = "begins the names of several lessons" if begun else "no such lesson"
    raise ScenarioError("lesson", name, why, f"{names}, or a notebook's file or folder")


HOST = "127.0.0.1"
PORT = 2719
"""Port of the lab if it is free; the next free one of `TRIED` otherwise."""
TRIED = 20
_Scope = MutableMapping[str, Any]
_Receive = Callable[[], Awaitable[Any]]
_Send = Callable[[Any], Awaitable[None]]
_App = Callable[[_Scope, _Receive, _Send], Awaitable[None]]


def application(lessons: Sequence[_Lesson], port: int, token: str) -> _App:
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
    index = environment.get_template("index.html.j2").render(lessons=lessons).encode()

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


def _serve(lessons: Sequence[_Lesson], port: int, token: str, *, browser: str | None = None) -> None:
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
NEEDED = ("marimo", "uvicorn", "zmq")


@command("lab", "netsim lab", "netsim lab noise", "netsim lab --list")
def _lab(
    lesson: Annotated[
        str | None, taken(help="A lesson's number or name, a notebook (.py), or a folder of them. Default: all.")
    ] = None,
    port: Annotated[int | None, given(min=1, max=65535, help="Port. Default: 2719 or the next free one.")] = None,
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
) -> None:
    """The teaching lab: lessons that run live in the browser, with sliders and questions.

    Everything runs on this machine, and the page is served to this machine only. Ctrl-C ends it. Exit status: 0 done,
    2 wrong input, or marimo is missing.
    """
    try:
        found, one = list(lessons()), cast("_Lesson | None", None)
        if lesson and (place := Path(lesson)).is_dir():
            if not (found := list(lessons(place))):
                allowed = "a folder with marimo notebooks (.py)"
                raise ScenarioError("lesson", lesson, "a folder without a lesson", allowed)
        elif lesson is not None and lesson.endswith(".py"):
            if not Path(lesson).is_file() or (one := _Lesson.of(Path(lesson))) is None:
                why = "no marimo notebook" if Path(lesson).is_file() else "no such file"
                raise ScenarioError("lesson", lesson, why, "a marimo notebook (.py)")
            found = [one]
        elif lesson is not None:
            one = chosen(lesson, found)
        if listed:
            table = Table(box=None, padding=(0, 2, 0, 0))
            for column in ("", "lesson", "subject"):
                table.add_column(column, no_wrap=column == "lesson")
            for number, each in enumerate(found, 1):
                table.add_row(str(number), f"[bold]{escape(each.name)}[/]", escape(f"{each.title}. {each.sentence}"))
            console.print(table)
            console.print("\nOpen one with [bold]netsim lab NAME[/], all with [bold]netsim lab[/].", highlight=False)
        elif edit:
            _edit(one, copy, port, browser and not headless)
        elif copy is not None:
            _copy(found if one is None else [one], copy)
        else:
            _need_marimo(one)
            number = free_port(port)
            token = secrets.token_urlsafe(16)
            page = f"http://{HOST}:{number}/{'' if one is None else f'{one.name}/'}?token={token}"
            console.print(f"The lab: [bold]{page}[/] Ctrl-C ends it.", highlight=False, soft_wrap=True)
            console.file.flush()
            _serve(found, number, token, browser=page if browser and not headless else None)
            console.file.flush()
            os._exit(0)  # the lessons that were opened go on in threads, for which a normal end would wait
    except ScenarioError as error:
        fail(error)


def _copy(lessons: list[_Lesson], folder: Path) -> list[Path]:
    try:
        folder.mkdir(parents=True, exist_ok=True)
        copies = [folder / one.path.name for one in lessons]
        for one, target in zip(lessons, copies, strict=True):
            kept = target.exists()
            if not kept:
                target.write_text(one.path.read_text(encoding="utf-8"), encoding="utf-8")
            line(f"{target} is there already, and was kept" if kept else str(target))
    except OSError as error:
        why = f"cannot be written ({error.strerror or error})"
        raise ScenarioError("--copy", str(folder), why, "a folder to write to") from None
    return copies


def _edit(one: _Lesson | None, folder: Path | None, port: int | None, browser: bool) -> None:
    import subprocess
    import sys

    if one is None:
        raise ScenarioError("lesson", None, "--edit opens one lesson", "the number, name or file of one")
    _need_marimo(one)
    path = _copy([one], folder or COPIES)[0] if folder or one.path.parent == SHIPPED else one.path
    command = [sys.executable, "-m", "marimo", "edit", str(path), "--host", HOST, "--port", str(free_port(port))]
    console.print(f"Editing [bold]{path}[/]. Ctrl-C ends it.", highlight=False)
    try:
        subprocess.run([*command, "--skip-update-check", *([] if browser else ["--headless"])], check=False)
    except KeyboardInterrupt:
        return


def _need_marimo(one: _Lesson | None) -> None:
    """You get a `ScenarioError` that names the extra where marimo is not installed."""
    from importlib.util import find_spec

    if any(find_spec(name) is None for name in NEEDED):
        opened = "all" if one is None else one.name
        raise ScenarioError("lesson", opened, "needs marimo, which is not installed", install("lab"))
