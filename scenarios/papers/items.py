"""Papers' items: what each paper states, what checks it, what came of it, and the pages of docs about them."""

import difflib
import re
from collections import Counter
from functools import cache
from importlib import resources
from typing import Literal

from pydantic import Field, model_validator

from netsim.errors import ScenarioError
from scenarios.files import mistakes
from scenarios.files.library import read_fields
from scenarios.schema.spec import Model, Words

PAPERS = ("dp-recal", "dp-recal-v1", "dpp2", "cpgt", "thesis")
"""Keys of the papers, with which their items' names begin, in the order of all lists."""
_SHORT = 60
"""Letters that a summary has at least."""
ItemOutcome = Literal["agrees", "agrees in shape", "differs", "cannot be run"]


class Condition(Model):
    """A condition of a theorem, beside the paper's own experiments."""

    condition: Words
    met: bool | None
    """Whether the paper's experiments meet it; none: the text does not let one tell."""
    found: Words
    """Why, with the numbers."""


class _TheoremClaim(Model):
    """A statement about privacy or convergence."""

    kind: Literal["privacy", "convergence"]
    formula: Words
    adjacency: Words | None = None
    """When two data sets are adjacent; of privacy alone."""
    norm: Words | None = None
    """The norm of the adjacency or of the error."""
    conditions: list[Condition] = Field(default_factory=list[Condition])


class Item(Model):
    """A definition, theorem, algorithm, table or figure of a paper. Exactly one of `scenario`, `ledger`, `test` and
    `missing` is there: what the outcome rests on."""

    id: Words
    """The paper's key and the item: cpgt-fig-3."""
    item: Words
    """As the paper numbers it."""
    place: Words
    """Where in the text."""
    states: Words
    """What the paper states there."""
    scenario: Words | None = None
    """The shipped scenario that repeats it."""
    ledger: Words | None = None
    """The entry of the ledger that audits it."""
    test: Words | None = None
    """The test of the repository that checks it."""
    missing: list[Words] = Field(default_factory=list[str])
    """What the text would have to say for it to be run."""
    outcome: ItemOutcome
    """At the size that the paper prints."""
    small: ItemOutcome | None = None
    """At `--scale small`, of a scenario."""
    found: Words
    """What came of it, with the printed and the measured numbers."""
    claim: _TheoremClaim | None = None

    @model_validator(mode="after")
    def _rests_on_one_thing(self) -> "Item":
        if sum(map(bool, (self.scenario, self.ledger, self.test, self.missing))) != 1:
            raise ValueError("exactly one of scenario, ledger, test and missing says what the outcome rests on")
        if (self.small is None) != (self.scenario is None):
            raise ValueError("`small` is the outcome of a scenario at its small scale")
        if self.missing and self.outcome != "cannot be run":
            raise ValueError("where something is missing the outcome is: cannot be run")
        return self

    @property
    def in_short(self) -> str:
        """The first sentences of `found`, as few as say something."""
        text = " ".join(self.found.split())
        ends = (one.end() for one in re.finditer(r"(?<=[^.]{4})\. (?=\W*[A-ZΑ-Ω])", f"{text} A"))
        return text[: next((end for end in ends if end > _SHORT), len(text))].rstrip()

    @property
    def command(self) -> str | None:
        """What a reader types to see it; none where nothing can be run."""
        if self.missing:
            return None
        if self.scenario is not None:
            return f"netsim papers {self.id}"
        return f"netsim ledger {self.ledger}" if self.ledger is not None else f"pytest {self.test}"


class Paper(Model):
    """A paper and its items, in its own order."""

    key: Words
    paper: Words
    """Authors, title, version, year."""
    items: list[Item]

    @model_validator(mode="after")
    def _names_its_own(self) -> "Paper":
        for name, count in Counter(one.id for one in self.items).items():
            if count > 1 or not name.startswith(f"{self.key}-"):
                raise ValueError(f"{name}: every item has a name of its own that begins with {self.key}-")
        return self


@cache
def papers() -> tuple[Paper, ...]:
    """All papers. Raises a `ScenarioError` with file, line and field for a file that does not fit."""
    folder = resources.files("scenarios") / "papers"
    found: list[Paper] = []
    for key in PAPERS:
        file = folder / f"{key}.yaml"
        tree = read_fields(file.read_text(encoding="utf-8"), str(file), "key: …, paper: …, items: […]")
        found.append(mistakes.validated(Paper, tree, str(file), ()))
    return tuple(found)


def chosen(names: list[str]) -> tuple[Paper, ...]:
    """The papers with those of their items that are named, by their own names or by the paper's key; all for none.

    You get a `ScenarioError` for a name that is neither, with the nearest ones.
    """
    known = [*PAPERS, *(item.id for paper in papers() for item in paper.items)]
    for name in names:
        if name not in known:
            near = " or ".join(difflib.get_close_matches(name, known, n=3))
            hint = f"; did you mean {near}?" if near else ""
            allowed = f"{', '.join(PAPERS)}, or an item of `netsim papers`"
            raise ScenarioError("item", name, f"no item of a paper, and no paper{hint}", allowed)
    kept = (
        (one, [item for item in one.items if not names or one.key in names or item.id in names]) for one in papers()
    )
    return tuple(one.replace(items=items) for one, items in kept if items)


# ── pages ───────────────────────────────────────────────────────────────────────────────────────────────
_ITEMS_HEAD = """\
# The papers, item by item

What the five papers state, what netsim found, and how to see it. `netsim papers` prints this list; `netsim papers
ITEM` runs an item, small or (`--scale paper`) as printed. How a scenario says which item it repeats, and how its
outcome is computed, is in [Reproduce a figure or a table](reproductions.md). Theorems with their formulas and
conditions are in [The papers' claims](claims.md). `netsim papers --pages docs` writes both pages.
"""
_CLAIMS_HEAD = """\
# The papers' claims

Every statement of the five papers about privacy or convergence: its formula, its conditions and whether the paper's
own experiments meet them, and the outcome. What was found, and the command that shows it, is in
[The papers, item by item](papers.md), with all other items. `netsim papers --pages docs` writes this page."""


def pages() -> dict[str, str]:
    """Pages of docs/ by file name, in Markdown: the items of each paper, and the claims of their theorems."""
    return {"papers.md": _items_page(), "claims.md": _claims_page()}


def _items_page() -> str:
    counts = Counter(item.outcome for paper in papers() for item in paper.items)
    listed = ", ".join(f"{count} {word}" for word, count in counts.most_common())
    lines = [_ITEMS_HEAD, f"Of {counts.total()} items: {listed}."]
    for paper in papers():
        lines += ["", f"## {paper.paper}", "", "| the paper | netsim |", "| --- | --- |"]
        for item in paper.items:
            states = f"**{_prose(item.item)}** ({_prose(item.place)}): {_prose(item.states)}"
            rests = f"`{item.command}`" if item.command else _prose(f"Missing: {'; '.join(item.missing)}")
            found = f"**{item.outcome}**. {_prose(item.found)}<br>{rests}"
            lines.append(f"| {states} | {found} |")
    return "\n".join(lines) + "\n"


def _claims_page() -> str:
    lines = [_CLAIMS_HEAD]
    for paper in papers():
        lines += ["", f"## {paper.paper}"]
        for item in paper.items:
            if (claim := item.claim) is None:
                continue
            lines += ["", f"### {_prose(item.item)}: {claim.kind}", ""]
            lines += [f"{_prose(item.place)}. {_prose(item.states)}", "", f"- Formula: `{claim.formula}`"]
            lines += [f"- Adjacency: {_prose(claim.adjacency)}"] if claim.adjacency else []
            lines += [f"- Norm: {claim.norm}"] if claim.norm else []
            for one in claim.conditions:
                met = {True: "met", False: "**not met**", None: "cannot be told whether they meet it"}[one.met]
                where = f"in the paper's experiments {met}: {_prose(one.found)}"
                lines.append(f"- Condition: {_prose(one.condition)}; {where}")
            lines.append(f"- Outcome: **{item.outcome}**")
    return "\n".join(lines) + "\n"


def _prose(text: str) -> str:
    """Text as a line of Markdown: outside of code nothing but a letter is meant by * and _."""
    parts = " ".join(text.split()).split("`")
    return "`".join(part if k % 2 else re.sub(r"([*_|<\[])", r"\\\1", part) for k, part in enumerate(parts))
