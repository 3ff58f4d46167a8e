"""How the variants that a grid makes are called."""

import re
from collections.abc import Mapping
from typing import Any, cast

from scenarios.tree import keys_of

VARIANT_NAME = r"^[a-z0-9][a-z0-9-]*(\.[0-9]+[a-z0-9-]*)*$"
"""Dots stand in numbers only: no folder of a variant has the name of a file."""


def label(path: str, value: Any) -> str:
    """A value of the grid in a variant's name: the field's last word and the value, or what kind of thing it is."""
    if isinstance(value, Mapping):
        mapping = cast("Mapping[str, Any]", value)
        value = mapping.get("kind", mapping.get("name", "-".join(str(v) for v in mapping.values())))
    word = str(value).lower() if not isinstance(value, float) else f"{value:g}"
    named = [key for key in keys_of(path) if isinstance(key, str)]
    text = re.sub(r"[^a-z0-9.]+|\.(?![0-9])", "-", f"{named[-1]}-{word}".lower()).strip("-.")
    return text if re.match(VARIANT_NAME, text) else "value"
