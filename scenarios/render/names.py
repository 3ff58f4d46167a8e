"""Agents by the names that the file of a topology gives them."""

import re
from collections.abc import Callable, Sequence

_AGENT = re.compile(r"\b([Aa]gent) (\d+)\b(?! \()")


def named(text: str, names: Sequence[str], write: Callable[[str], str] = str) -> str:
    """A text in which "agent 3" is "agent 3 (Lima)"; the same text where agents have numbers alone."""

    def beside(found: re.Match[str]) -> str:
        agent = int(found[2])
        return f"{found[0]} ({write(names[agent])})" if agent < len(names) else found[0]

    return _AGENT.sub(beside, text) if names else text
