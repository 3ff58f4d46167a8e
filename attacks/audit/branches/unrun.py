"""Ways of branches that no transcript took, in words: what they do was not audited."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from attacks.audit.branches.found import Branch
from attacks.audit.verdict import Judgement, Verdict


@dataclass(frozen=True)
class UnrunLines:
    """Lines of an algorithm's code that no transcript ran, or that all ran though a branch might skip them."""

    file: str
    """Name of the file."""
    first: int
    """The first line, from 1."""
    last: int
    """The last line."""
    line: int
    """Line of the branch that decides."""
    test: str
    """What it asks, as the code has it."""
    answer: bool
    """The answer in all transcripts."""
    skipped: bool
    """Whether the lines were run, and never skipped, or never with the other answer."""

    @property
    def where(self) -> str:
        """The lines, in words."""
        lines = f"line {self.first}" if self.first == self.last else f"lines {self.first}–{self.last}"
        return f"{lines} of {self.file}"

    def __str__(self) -> str:
        if not self.skipped:
            return f"{self.where} never ran (`{self.test}`, line {self.line})"
        return f"{self.where} never ran another way: `{self.test}` was always {str(self.answer).lower()}"


def unrun(branches: Sequence[Branch], seen: npt.NDArray[np.bool_]) -> tuple[UnrunLines, ...]:
    """Ways that were not taken of branches that were asked, those inside others left out."""
    found = dict[tuple[str, int, int], UnrunLines]()
    for branch, (no, yes) in zip(branches, seen.tolist(), strict=True):
        if no == yes:  # both, or nobody asked
            continue
        way = branch.ways[not yes]
        if way is not None:
            at = branch.where, way.first, way.last
            found.setdefault(at, UnrunLines(*at, branch.line, branch.test, yes, way.skipped))
    return tuple(one for _, one in sorted(found.items()))


def in_words(found: Iterable[UnrunLines], most: int = 3) -> str:
    """The first few, and how many more there are."""
    some = list(found)
    more = f" ({len(some) - most} more)" if len(some) > most else ""
    return "; ".join(map(str, some[:most])) + more


def judged_of_what_ran(found: Judgement, lines: Sequence[UnrunLines]) -> Judgement:
    """The judgement, where some lines never ran: a claim that nothing speaks against is underpowered then, unless a
    bound holds, which reads them for itself."""
    if not lines or found.verdict not in (Verdict.CONSISTENT, Verdict.UNDERPOWERED):
        return found
    remedy = "other data or parameters may run it; a branch on public numbers alone needs no run; else read it"
    reason = f"Not all of the code was audited: {in_words(lines)}. {remedy[0].upper()}{remedy[1:]}. {found.reason}"
    return replace(found, verdict=Verdict.UNDERPOWERED, reason=reason)
