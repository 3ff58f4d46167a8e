"""Files of a results folder: their names, and JSON with infinities."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import cast

from pydantic_core import PydanticSerializationError, to_json

MANIFEST = "manifest.json"
"""What was run: the whole scenario, versions, the machine, the command."""
RESULTS = "results.json"
"""What was found; `docs/results.md` describes it."""
PAGE = "report.html"
"""The same to read."""


def as_json(value: object) -> str:
    """A document as text, without a line end; bytes of a file's name that are no UTF-8 are question marks."""
    plain = _finite(value)
    try:
        return to_json(plain, indent=1).decode()  # with an indent json.dumps is in Python, and ten times as slow
    except PydanticSerializationError:
        return json.dumps(plain, indent=1, ensure_ascii=False).encode(errors="replace").decode()


def write_text(path: Path, text: str) -> None:
    """Text and a line end as a file, written whole or not at all."""
    draft = path.with_name(path.name + ".part")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)


def _finite(value: object) -> object:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in cast("Mapping[object, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast("list[object]", value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
