"""Private coins of which no list says how they fall: what is drawn is followed (`attacks.audit.followed.arrays`)."""

from collections.abc import Sequence
from functools import partial, partialmethod
from inspect import currentframe
from typing import Any, cast

import numpy as np

from attacks.audit.followed.arrays import Noted
from attacks.audit.followed.batches import Drawn, only_records
from attacks.audit.followed.lines import asking
from attacks.audit.followed.operands import is_followed, kind_of, leaves, value_of
from attacks.replay.coins import DrawnCoins, Unseen, WatchedBits, are_whole
from netsim.errors import AttackError


class _Noting(Unseen):
    """One of some options; whoever looks at it is noted, but for records of a batch."""

    def __index__(self) -> int:
        if not only_records(asking(currentframe())):
            cast(SeenCoins, self._coins).noted("private coins")
        return super().__index__()


class SeenCoins(DrawnCoins):
    """Such coins. What `choose` and `subset` give, and an array that was drawn, may be a receiver or a batch and is
    not noted for that; where they are `plain` nothing is followed."""

    noted: Noted
    plain: bool

    def __init__(self, source: np.random.Generator) -> None:
        super().__init__(source)
        self._source = np.random.Generator(source.bit_generator)
        watched = WatchedBits(source.bit_generator, lambda: self.noted("private coins (bit_generator)"))
        np.random.Generator.__init__(self, cast(np.random.BitGenerator, watched))

    def choose(self, options: Sequence[int]) -> int:
        drawn = int(self._source.integers(len(options)))
        if self.plain or not are_whole(options):
            return self.handed(options[drawn], "choose")
        return cast(int, _Noting(self, options, lambda: drawn))

    def subset(self, total: int, size: int) -> Sequence[int]:
        drawn = sorted(int(one) for one in self._source.choice(total, size, replace=False))
        if self.plain:
            return drawn
        return [cast(int, _Noting(self, range(total), partial(int, k))) for k in drawn]

    def draw(self, name: str, *where: Any, **options: Any) -> Any:
        """What a method of NumPy's draws, as it is followed."""
        given = [*where, *options.values()]
        if any(map(is_followed, given)):
            self.noted(f"private coins ({name})")
        value = getattr(self._source, name)(*map(value_of, where), **{k: value_of(v) for k, v in options.items()})
        if any(value is value_of(one) for one in given):  # written into what it was given
            self.noted(f"private coins ({name})")
            return next(one for one in given if value is value_of(one))
        return self.handed(value, name)

    def handed(self, value: Any, name: str) -> Any:
        """A value that was drawn, as it is followed."""
        if self.plain:
            return value
        if not isinstance(value, float | int | np.ndarray | np.generic):
            self.noted(f"private coins ({name})")
            return value
        return Drawn(np.array(value), self.noted)

    def drew(self, batch: object) -> bool:
        """Whether it is an array of records that was drawn, or a list of such records."""
        parts = [one for one in leaves(batch) if kind_of(one).followed]
        return bool(parts) and all(type(one) is Drawn and one.untouched for one in parts)

    def refused(self, why: str, error: type[AttackError] = AttackError) -> AttackError:
        """The error to raise, noted for where the code catches it."""
        self.noted("private coins")
        return super().refused(why, error)

    @property
    def bit_generator(self) -> np.random.BitGenerator:
        self.noted("private coins (bit_generator)")
        return self._source.bit_generator

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        self.noted("private coins (spawn)")
        return self._source.spawn(n_children)


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", "spawn"):
        setattr(SeenCoins, _name, partialmethod(SeenCoins.draw, _name))
