"""Forms of an answer: what may be said, how many answers there are, and how one is read and hashed."""

import hashlib
import math
import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal

from netsim.errors import ScenarioError


@dataclass(frozen=True)
class Form:
    """So many of these words. `rule` "any": each may be any; "distinct": none twice, and their order counts; "set":
    none twice, in any order; "walk": from the first word, which is not given, no word follows itself."""

    words: tuple[str, ...]
    length: int
    rule: Literal["any", "distinct", "set", "walk"] = "any"

    @property
    def answers(self) -> int:
        """How many answers there are; each is as likely as any other before the transcript is read."""
        n, k = len(self.words), self.length
        match self.rule:
            case "any":
                return n**k
            case "distinct":
                return math.perm(n, k)
            case "set":
                return math.comb(n, k)
            case "walk":
                return (n - 1) ** k

    def __str__(self) -> str:
        shown = self.words if len(self.words) <= 3 else (self.words[0], "…", self.words[-1])
        rules = {"distinct": ", in order", "set": ", in any order", "walk": ", in order", "any": ", in order"}
        few = ", ".join(shown)
        return f"one of {few}" if self.length == 1 else f"{self.length} of {few}{rules[self.rule]}, with commas"

    def read(self, text: str) -> str:
        """The answer in its one spelling; lists as Python and NumPy print them are read too. You get a
        `ScenarioError` for what cannot be one."""
        bare = re.sub(r"dtype=[^)]*|\b(?:array|set|frozenset|(?:np|numpy)\.\w+)\(", " ", text.lower())
        found = [one for one in re.split(r"[\s,;\[\](){}'\"]+", bare) if one]
        if len(found) == 1 and self.length > 1 and all(len(word) == 1 for word in self.words):
            found = list(found[0])
        found = [re.sub(r"^0*([0-9]+)(?:\.0*)?$", r"\1", one) for one in found]
        twice = self.rule in ("distinct", "set") and len(set(found)) < len(found)
        stays = self.rule == "walk" and any(a == b for a, b in pairwise([self.words[0], *found]))
        if len(found) != self.length or twice or stays or not set(found) <= set(self.words):
            raise ScenarioError("--answer", text, "not in the form of the answer; it was not counted", str(self))
        return ",".join(sorted(found, key=self.words.index) if self.rule == "set" else found)


def digest(answer: str, salt: str) -> str:
    """A salted hash in hex digits: trying all answers is slower than looking."""
    return slow(answer.encode(), bytes.fromhex(salt)).hex()


def slow(secret: bytes, salt: bytes) -> bytes:
    """A salted scrypt hash: some 50 ms each."""
    return hashlib.scrypt(secret, salt=salt, n=2**14, r=8, p=1, dklen=32)
