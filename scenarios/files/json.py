"""JSON that anybody may have written."""

import json
from collections.abc import Mapping
from itertools import chain
from pathlib import Path
from typing import Any, NoReturn, cast

from netsim.files import check_regular

DEEPEST = 40
"""Lists and mappings within each other: more than any file of netsim has."""


def parse_json(text: str, *, finite: bool = False) -> object:
    """The value. `finite`: NaN and Infinity, which JSON has not, are refused.

    You get a `ValueError` for what is no JSON, for what is nested more than `DEEPEST` deep, and for half of a pair of
    surrogates, which is no text.
    """
    try:
        tree: Any = json.loads(text, parse_constant=_refuse) if finite else json.loads(text)
    except RecursionError:
        raise ValueError(f"nested more than {DEEPEST} deep") from None
    level: list[Any] = [tree]
    for _ in range(DEEPEST):
        level = list(chain.from_iterable(map(_inside, level)))
    if level:
        raise ValueError(f"nested more than {DEEPEST} deep")
    if "\\u" in text:
        json.dumps(tree, ensure_ascii=False).encode()
    return tree


def read_json(path: Path) -> object:
    """The value in a file. You get an `OSError` or a `ValueError`."""
    check_regular(path)
    return parse_json(path.read_text(encoding="utf-8"))


def _inside(one: object) -> "list[Any]":
    if isinstance(one, Mapping):
        return list(cast("Mapping[str, Any]", one).values())
    return cast("list[Any]", one) if isinstance(one, list) else []


def _refuse(constant: str) -> NoReturn:
    raise ValueError(f"{constant} is no number of JSON")
