"""JSON files with numbers that JSON has no words for."""

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, cast


def write_json(path: Path, value: Mapping[str, Any]) -> None:
    """JSON with infinities and NaN as the text "inf", "-inf", "nan"; written whole or not at all."""
    text = json.dumps(_finite(value), indent=1, ensure_ascii=False, allow_nan=False)
    draft = path.with_name(path.name + ".part")
    draft.write_text(text + "\n", encoding="utf-8")
    draft.replace(path)


def _finite(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {key: _finite(item) for key, item in cast(Mapping[str, Any], value).items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in cast(list[Any], value)]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    return value
