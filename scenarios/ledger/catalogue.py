"""Which entries the ledger has, in the order of its table, and what to read beside each."""

import difflib
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from netsim.errors import ScenarioError
from scenarios.loader import Located, parse

FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Entry:
    """One scenario of the ledger. `see` are pages of docs/, `shipped` scenarios of the library that show more."""

    name: str
    see: tuple[str, ...] = ()
    shipped: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        """The scenario's file."""
        return FOLDER / f"{self.name}.yaml"

    @cached_property
    def text(self) -> str:
        """The scenario as it is written."""
        return self.path.read_text(encoding="utf-8")

    @cached_property
    def located(self) -> Located:
        """The scenario, with where its fields stand."""
        return parse(self.text, str(self.path))


_THESIS, _CPGT, _DPP2 = "reproduced/thesis.md", "reproduced/cpgt.md", "reproduced/dpp2.md"
ENTRIES: tuple[Entry, ...] = (
    Entry("private-gradient-descent", (_THESIS,), ("private-descent", "private-descent-noise-floor")),
    Entry("dmsp", (_THESIS,), ("thesis-figs-e",)),
    Entry("diadsp", (_CPGT,), ("cpgt-eq-23",)),
    Entry("cpgt", (_CPGT,), ("cpgt-eq-23", "cpgt-table-1")),
    Entry("cpgt-one-coordinate", (_CPGT,), ("cpgt-eq-23",)),
    Entry("dpp2", (_DPP2,), ("dpp2-theorem-3",)),
    Entry("dpp2-figure-3", (_DPP2,), ("dpp2-fig-3", "dpp2-same-budget")),
    Entry("dp-recal", ("evidence.md", "reproduced/dp-recal.md"), ("eavesdropper-on-dp-recal", "dp-recal-fig-5")),
    Entry("dp-recal-l1", ("evidence.md",), ("dp-recal-v1-fig-2",)),
    Entry("admm", ("reproduced/dp-recal.md",), ("dp-recal-fig-5",)),
    Entry("dp-admm"),
    Entry("r-admm"),
    Entry("walks", ("reproduced/dp-recal.md",), ("dp-recal-fig-5",)),
    Entry("thesis-algorithm-1", (_THESIS,), ("thesis-fig-3-1",)),
    Entry("thesis-algorithm-2", (_THESIS,), ("thesis-fig-3-2",)),
    Entry("thesis-gamma", (_THESIS,), ("thesis-fig-2-1",)),
    Entry("secret-sharing", (_THESIS,), ("thesis-secret-sharing",)),
    Entry("without-claims", (), ("dp-recal-table-5",)),
)


def chosen(names: Sequence[str]) -> tuple[Entry, ...]:
    """The entries of these names in the ledger's order, all for none; a `ScenarioError` for a name that is none."""
    known = [entry.name for entry in ENTRIES]
    for name in names:
        if name not in known:
            near = difflib.get_close_matches(name, known, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ScenarioError("entry", name, "no entry of the ledger", f"{hint}{', '.join(known)}")
    return tuple(entry for entry in ENTRIES if not names or entry.name in names)
