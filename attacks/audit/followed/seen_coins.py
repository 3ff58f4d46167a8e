"""Private coins of which no list says how they fall: what is drawn is followed (`attacks.audit.followed.arrays`)."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial, partialmethod
from typing import Any, cast

import numpy as np

from attacks.audit.followed.arrays import Noted
from attacks.audit.followed.kinds import SEEN, Kind
from attacks.audit.followed.operands import is_followed, kind_of, value_of
from attacks.replay.coins import DrawnCoins, Unseen, WatchedBits, are_whole
from netsim.arrays import Array
from netsim.errors import AttackError


class _Noting(Unseen):
    """One of some options; whoever looks at it is noted."""

    def __index__(self) -> int:
        cast(SeenCoins, self._coins).noted("private coins")
        return super().__index__()


@dataclass(frozen=True)
class _Alike:
    """Source of numbers below `of`, each as likely as any other; what is made of them, or written over, has none."""

    of: int


class SeenCoins(DrawnCoins):
    """Such coins. What `choose` and `subset` give, and an array that was drawn, may be a receiver or a batch and is
    not noted for that; where they are `plain` nothing is followed."""

    noted: Noted
    followed: Callable[[Array, Kind], Array]
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
        return self.handed(value, name, _of_alike(name, where, options))

    def handed(self, value: Any, name: str, of: int | None = None) -> Any:
        """A value that was drawn, as it is followed; `of` so many numbers, each as likely as any other."""
        if self.plain:
            return value
        if not isinstance(value, float | int | np.ndarray | np.generic):
            self.noted(f"private coins ({name})")
            return value
        return self.followed(np.array(value), SEEN if of is None else SEEN._replace(source=_Alike(of)))

    def drew(self, batch: object, records: int) -> bool:
        """Whether it is an array that was drawn, as it was drawn, of so many records, each of which is as likely as
        any other."""
        source = kind_of(batch).source
        return is_followed(batch) and isinstance(source, _Alike) and source.of <= records

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


_ALIKE = {"choice": {"size", "replace"}, "integers": {"size", "dtype"}, "permutation": set[str]()}
"""Methods that draw every whole number below their argument with the same probability, with these options."""


def _of_alike(name: str, where: Sequence[Any], options: Mapping[str, object]) -> int | None:
    """Of how many numbers a method draws, each as likely as any other; None where that is not known."""
    alike = name in _ALIKE and options.keys() <= _ALIKE[name] and len(where) <= (1 if name == "integers" else 3)
    return int(where[0]) if alike and where and type(where[0]) is int else None


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in ("bit_generator", "spawn"):
        setattr(SeenCoins, _name, partialmethod(SeenCoins.draw, _name))
