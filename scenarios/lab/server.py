"""Local page of the lab: an index of lessons, each served as a marimo app to this machine alone."""

import ast
import contextlib
import re
import socket
import threading
import webbrowser
from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from dataclasses import dataclass
from hmac import compare_digest
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, quote

from jinja2 import Environment, PackageLoader, StrictUndefined

from netsim.errors import ScenarioError

SHIPPED = Path(__file__).parent / "lessons"
ORDER = (
    "eavesdropper", "pictures", "noise", "second-message", "composition", "norms", "how-sure", "your-own",
    "tap-your-own",
)  # fmt: skip
"""The shipped lessons, in the order of the course."""


@dataclass(frozen=True)
class Lesson:
    """One notebook: its name on the command line and in addresses, its file, and what it says it is about."""

    name: str
    path: Path
    title: str
    sentence: str

    @classmethod
    def of(cls, path: Path) -> "Lesson | None":
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


def lessons(folder: Path = SHIPPED) -> tuple[Lesson, ...]:
    """The lessons of a folder, or those that come with netsim: the course in its order, then the others by name."""
    found = [one for path in sorted(folder.glob("*.py")) if (one := Lesson.of(path)) is not None]
    return tuple(
        sorted(found, key=lambda one: (ORDER.index(one.name) if one.name in ORDER else len(ORDER), one.name))
    )


def chosen(name: str, among: Sequence[Lesson]) -> Lesson:
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


def application(lessons: Sequence[Lesson], port: int, token: str) -> _App:
    """The whole lab as an ASGI app. It answers those who address this machine by its own name, from its own pages,
    and know the token: ?token=… of the address, which the browser keeps as a cookie from then on.

    At the top of every lesson are links to the index, the lesson before and the one after.
    """
    import marimo

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


def serve(lessons: Sequence[Lesson], port: int, token: str, *, browser: str | None = None) -> None:
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
