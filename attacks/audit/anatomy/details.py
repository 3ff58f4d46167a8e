"""What is kept of a sample besides its losses: where releases went, all that no noise covers, averages."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from attacks.audit.anatomy import fields, released
from attacks.audit.anatomy.fields import UncoveredField
from attacks.audit.anatomy.released import Released
from netsim.arrays import Array


def _none() -> Array:
    return np.empty((4, 0, 0))


@dataclass(frozen=True)
class Details:
    """Of one sample: `released[t]` goes with step t of the loss; `uncovered` are all fields that no noise covers;
    `averages` is (4, releases, some replicas), as `attacks.audit.anatomy.averages` makes it."""

    released: tuple[Released, ...] = ()
    uncovered: tuple[UncoveredField, ...] = ()
    averages: Array = field(default_factory=_none)

    def words(self) -> dict[str, Any]:
        """All but the arrays, for JSON."""
        return {"released": released.plain(self.released), "uncovered": fields.plain(self.uncovered)}

    @classmethod
    def of(cls, words: dict[str, Any], averages: Array) -> "Details":
        """What `words` and the array were made of."""
        return cls(
            tuple(map(Released.plain, words["released"])),
            tuple(map(UncoveredField.plain, words["uncovered"])),
            averages,
        )
