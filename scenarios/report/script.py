"""The page's one script, and the words of a policy that lets it run and nothing else."""

import base64
import hashlib
import json
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup


class Script(NamedTuple):
    """The text between the tags, and its hash as a Content-Security-Policy has it."""

    text: Markup
    hash: str


def script(name: str) -> Script:
    """A script that lies beside this file. You get an `AssertionError` for one that would end its own tag."""
    text = Path(__file__).with_name(name).read_text(encoding="utf-8")
    assert "</script" not in text.lower()
    digest = hashlib.sha256(text.encode()).digest()
    return Script(Markup(text), f"sha256-{base64.b64encode(digest).decode()}")


def embedded(data: Any) -> Markup:
    """Data as JSON inside a `<script type="application/json">`: no text of it can end the tag."""
    text = json.dumps(data, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for letter, code in (("<", "\\u003c"), (">", "\\u003e"), ("&", "\\u0026")):
        text = text.replace(letter, code)
    return Markup(text)
