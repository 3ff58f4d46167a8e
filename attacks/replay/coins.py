"""Every history of an agent's private coins: its code is run once for each, with the tosses of that history forced.

A toss has finitely many outcomes, each with its odds: a whole number, an item of a list, a permutation; and a number
uniform on [0, 1) that is compared with others and nothing else (`coins.random() < 0.25`), of which only on which side
it lies is tossed. What `choose` and `subset` (`netsim.node`) draw is tossed when somebody looks at it: a code that
only hands it on, as a receiver or as a batch, does the same whatever it is, and that is then known and not tried.

Coins without finitely many outcomes (a normal number, a uniform one that is added to something, draws by methods of
NumPy's class) have no histories that could be listed: an `AttackError`. Of these, and where there are too many, some
can be drawn (`DrawnCoins`).

Code that copies its coins tosses some of them twice, which no list of histories has: a `CopiedCoinsError`. Readers
have `from_start` and `copied`.
"""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import dataclass, field
from functools import cache, partial, wraps
from itertools import combinations, islice
from typing import Any, NamedTuple, NoReturn, Self, TypeVar, cast

import numpy as np

from netsim.errors import AttackError
from netsim.node import Coins as PlainCoins
from netsim.node import FollowedCoins

HISTORIES = 4096
"""Histories that are tried at most."""
TOSSES = 8192
"""Tosses of one history at most: code that goes on while its coins fall one way may never end."""
T = TypeVar("T")
Odds = tuple[float, ...]


class _UnlistedCoinsError(AttackError):
    """Coins have no list of outcomes."""


class CopiedCoinsError(AttackError):
    """Code copies its coins, or looks at their state."""


@dataclass
class _Tosses:
    """Tosses of one history: the `outcomes` that are forced, and all that were tossed so far with their `odds`; the
    `options` of each `choose` and `subset`. `whole`: a run has ended; another run of the same history tosses the
    same. `refused`: the first error of a toss; the code may have caught it and gone on."""

    outcomes: list[int]
    odds: list[Odds] = field(default_factory=list[Odds])
    options: list[Sequence[int]] = field(default_factory=list[Sequence[int]])
    whole: bool = False
    refused: AttackError | None = None


class WatchedBits:
    """A bit generator that tells of each use of it: of draws by methods of NumPy's class, too, which lock it."""

    def __init__(self, bits: np.random.BitGenerator, told: Callable[[], None]) -> None:
        self._bits, self._told = bits, told
        self.capsule, self.lock = bits.capsule, self  # what a generator is made of

    def __enter__(self) -> None:
        self._told()

    def __exit__(self, *_: object) -> None:
        pass

    def __getattr__(self, name: str) -> Any:
        self._told()
        return getattr(self._bits, name)


def _as_listed(draw: Callable[..., Any]) -> Any:
    """The same where what it gives can be listed; of all else an `_UnlistedCoinsError`, as code may catch NumPy's."""

    @wraps(draw)
    def drawn(self: "Coins", *where: Any, **options: Any) -> Any:
        try:
            return draw(self, *where, **options)
        except AttackError:
            raise
        except Exception as error:
            why = f"its private coins are drawn by `{draw.__name__}` in a way that has no list of outcomes"
            raise self.refused(why, _UnlistedCoinsError) from error

    return drawn


def _only(known: bool) -> None:
    """Whether what is asked for is worked out here."""
    if not known:
        raise NotImplementedError


def are_whole(options: Sequence[object]) -> bool:
    """Whether all are whole numbers, as agents and records are."""
    return isinstance(options, range) or all(type(one) is int or isinstance(one, np.integer) for one in options)


class Coins(FollowedCoins):
    """Private coins of one history, from their start. What `every` hands to a reader; `again` starts them anew."""

    def __init__(self, tosses: _Tosses) -> None:
        super().__init__(cast(np.random.BitGenerator, WatchedBits(np.random.PCG64(0), self._no_bits)))
        self._tosses, self._at, self._chosen = tosses, 0, 0
        self.log_seen = 0.0
        """ln of the probability of the tosses whose outcome was seen (`Unseen.settle`)."""

    def again(self) -> Self:
        """The same coins from their start."""
        return type(self)(self._tosses)

    def copied(self) -> Self:
        """Coins of the same forced outcomes, of which nothing is noted here."""
        return type(self)(_Tosses(list(self._tosses.outcomes)))

    def adopt(self, other: Self) -> None:
        """Note what was tossed in a run with coins that were `copied` from these."""
        self._tosses.outcomes[:], self._tosses.odds[:] = other._tosses.outcomes, other._tosses.odds
        self._tosses.refused = self._tosses.refused or other._tosses.refused
        self.log_seen = other.log_seen

    def refused(self, why: str, error: type[AttackError] = AttackError) -> AttackError:
        """The error to raise, noted for who reads all histories."""
        self._tosses.refused = self._tosses.refused or error(why)
        return error(why)

    def _no_bits(self) -> NoReturn:
        raise self.refused("its private coins are drawn by their generator", _UnlistedCoinsError)

    def _unlike(self, what: str) -> AttackError:
        """The error of another run of this history that tosses otherwise."""
        return self.refused(f"{what} depends on what is private, was seen, or on the dimension")

    @property
    def history(self) -> tuple[int, ...]:
        """Outcomes so far, those that are forced and were not tossed yet included."""
        return tuple(self._tosses.outcomes)

    @property
    def tossed(self) -> tuple[Odds, ...]:
        """Odds of each toss so far."""
        return tuple(self._tosses.odds)

    @property
    def log_chance(self) -> float:
        """ln of the probability of all that was tossed."""
        odds = zip(self._tosses.odds, self._tosses.outcomes, strict=False)
        return self.log_seen + math.fsum(math.log(some[k]) for some, k in odds)

    @classmethod
    def of(cls, history: Sequence[int]) -> Self:
        """Coins of one history."""
        return cls(_Tosses(list(history)))

    def end(self) -> None:
        """A run has ended. You get an `AttackError` where it tossed less than an earlier one of this history."""
        left = self._at < len(self._tosses.odds) or self._chosen < len(self._tosses.options)
        if left and self._tosses.whole:
            raise self._unlike("how many private coins are tossed")
        self._tosses.whole = True

    @property
    def used(self) -> bool:
        """Whether anything is tossed in this history."""
        return bool(self._tosses.odds)

    def toss(self, odds: Odds) -> int:
        """Which outcome, of these odds. One that is certain is no toss."""
        if max(odds) == sum(odds):
            return odds.index(max(odds))
        tosses, at = self._tosses, self._at
        if at >= TOSSES:
            raise self.refused(f"its private coins are tossed more than {TOSSES:,} times where they fall one way")
        if at == len(tosses.odds):
            if tosses.whole:
                raise self._unlike("which private coins are tossed")
            tosses.odds.append(odds)
            if at == len(tosses.outcomes):
                tosses.outcomes.append(next(k for k, p in enumerate(odds) if p))
        elif tosses.odds[at] != odds:
            raise self._unlike("which private coins are tossed")
        self._at += 1
        return tosses.outcomes[at]

    def choose(self, options: Sequence[int]) -> int:
        """One of the options, tossed when it is looked at (`netsim.node.choose`); at once where it is no number."""
        if not are_whole(options):
            return options[self.one_of(len(options))]
        offered = options if isinstance(options, range) else tuple(options)
        self._offered(offered)
        drawn = Drawn(self._chosen, 0, 1)
        return cast(int, Unseen(self, offered, lambda: self.one_of(len(offered)), drawn))

    def subset(self, total: int, size: int) -> Sequence[int]:
        """So many of range(total), ascending, tossed when they are looked at (`netsim.node.subset`)."""
        self._offered((total, size))

        @cache
        def opened() -> tuple[int, ...]:
            which = self.one_of(math.comb(total, size))
            return next(islice(combinations(range(total), size), which, None))

        def look(k: int) -> int:
            return opened()[k]

        draw = self._chosen
        options = range(total)
        drawn = [Drawn(draw, k, total, size) for k in range(size)]
        return [cast(int, Unseen(self, options, partial(look, k), one)) for k, one in enumerate(drawn)]

    def _offered(self, options: Sequence[int]) -> None:
        tosses, at = self._tosses, self._chosen
        if at == len(tosses.options) and not tosses.whole:
            tosses.options.append(options)
        elif at == len(tosses.options) or tosses.options[at] != options:
            raise self._unlike("what private coins choose from")
        self._chosen += 1

    @_as_listed
    def random(self, size: Any = None, dtype: Any = np.float64, out: Any = None) -> Any:
        _only(out is None and np.dtype(dtype) == np.float64)
        return _shaped(size, lambda: _Uniform(self))

    @_as_listed
    def integers(  # pyright: ignore[reportIncompatibleMethodOverride]
        self, low: Any, high: Any = None, size: Any = None, dtype: Any = np.int64, endpoint: bool = False
    ) -> Any:
        start, stop = (0, low) if high is None else (low, high)
        count = int(stop) - int(start) + bool(endpoint)
        made = dtype if dtype in (int, bool) else np.dtype(dtype).type  # as NumPy
        return _shaped(size, lambda: made(int(start) + self.one_of(count)), dtype)

    @_as_listed
    def choice(
        self, a: Any, size: Any = None, replace: Any = True, p: Any = None, axis: int = 0, shuffle: bool = True
    ) -> Any:
        _only(np.ndim(a) < 2 and axis == 0 and shuffle)
        options: list[Any] = list(cast(Any, np.arange(int(a)) if np.ndim(a) == 0 else np.asarray(a)))
        odds = None if p is None else tuple(float(one) for one in p)
        if odds is not None and not replace and size is not None:
            raise self.refused("its private coins choose without replacement by odds of their own: not worked out")

        def one() -> Any:
            k = self.one_of(len(options)) if odds is None else self.toss(odds)
            return options[k] if replace or size is None else options.pop(k)

        return _shaped(size, one, None)

    @_as_listed
    def permutation(self, x: Any, axis: int = 0) -> Any:
        _only(axis == 0)
        return self.choice(x, int(x) if np.ndim(x) == 0 else len(x), replace=False)

    @_as_listed
    def binomial(self, n: Any, p: Any, size: Any = None) -> Any:
        odds = tuple(math.comb(int(n), k) * float(p) ** k * (1 - float(p)) ** (int(n) - k) for k in range(int(n) + 1))
        return _shaped(size, lambda: self.toss(odds), int)

    def one_of(self, count: int) -> int:
        """Which of so many equally likely outcomes."""
        if count > HISTORIES:
            raise self.refused(f"its private coins have more than {HISTORIES:,} histories")
        return self.toss((1 / count,) * count)


def _without(name: str) -> Any:
    def refused(self: Any, *_: Any, **__: Any) -> Any:
        why = f"its private coins are drawn by `{name}`, which has no list of outcomes"
        raise self.refused(why, _UnlistedCoinsError)

    return property(refused) if name == "bit_generator" else refused


for _name in dir(np.random.Generator):
    if not _name.startswith("_") and _name not in vars(Coins):
        setattr(Coins, _name, _without(_name))


def _shaped(size: Any, one: Callable[[], Any], dtype: Any = object) -> Any:
    """One of these, or an array of so many."""
    if size is None:
        return one()
    shape = (int(size),) if np.ndim(size) == 0 else tuple(size)
    drawn = [one() for _ in range(math.prod(shape))]
    return np.array(drawn, dtype=dtype).reshape(shape)


class _Uniform:
    """A number uniform on [0, 1) of which nothing is known but how it compares with others."""

    def __init__(self, coins: Coins) -> None:
        self._coins, self._low, self._high = coins, 0.0, 1.0

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """For code that asks whether it is a number."""
        return float

    def _below(self, other: Any) -> bool:
        """Whether it is below: strictly or not is the same but for probability 0."""
        if type(other) is _Uniform or np.ndim(other) != 0:
            raise self._coins.refused(
                "a uniform private coin is compared with another one, or with many numbers at once"
            )
        at, low, high = float(other), self._low, self._high
        if not low < at < high:
            return at >= high
        share = (at - low) / (high - low)
        if below := self._coins.toss((share, 1 - share)) == 0:
            self._high = at
        else:
            self._low = at
        return below

    def __lt__(self, other: Any) -> bool:
        return self._below(other)

    def __le__(self, other: Any) -> bool:
        return self._below(other)

    def __gt__(self, other: Any) -> bool:
        return not self._below(other)

    def __ge__(self, other: Any) -> bool:
        return not self._below(other)

    def __getattr__(self, name: str) -> Any:
        """Methods by which NumPy computes functions of objects."""
        if isinstance(getattr(np, name, None), np.ufunc):
            raise self._coins.refused(_NO_NUMBER, _UnlistedCoinsError)
        raise AttributeError(name)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **_: Any) -> bool:
        """Comparisons that NumPy's numbers begin."""
        if method != "__call__" or ufunc not in (np.less, np.less_equal, np.greater, np.greater_equal):
            raise self._coins.refused(_NO_NUMBER, _UnlistedCoinsError)
        first = inputs[0] is self
        below = (ufunc in (np.less, np.less_equal)) == first
        return self._below(inputs[first]) == below


_NO_NUMBER = "a uniform private coin is used as a number, not compared with one: it has no list of outcomes"


_SHOWN = {"__eq__", "__ne__", "__hash__", "__format__", "__repr__", "__str__", "__reduce_ex__"}
"""Names that every object has and that say which number it is."""


def _not_compared(self: Any, *_: Any) -> Any:
    raise self._coins.refused(_NO_NUMBER, _UnlistedCoinsError)


for _name in {*dir(float), "__index__"} - {*dir(object), *vars(_Uniform)} | _SHOWN:
    setattr(_Uniform, _name, property(_not_compared) if _name in ("real", "imag") else _not_compared)


class Drawn(NamedTuple):
    """Which number an unseen one is, whatever it is: that at one `place` of the `draw`-th `choose` or `subset`, which
    drew `size` of `total` numbers. Those at other places are other ones."""

    draw: int
    place: int
    total: int
    size: int = 1

    def chance(self, number: int, options: Sequence[int]) -> float:
        """That it is this number, which may be any of `options`: a subset is ascending."""
        if self.total == 1:
            return options.count(number) / len(options)
        below, above = self.place, self.size - 1 - self.place
        ways = math.comb(number, below) * math.comb(self.total - 1 - number, above) if number < self.total else 0
        return ways / math.comb(self.total, self.size)


class Unseen:
    """One of some options that nobody has looked at yet: `tossed` as soon as somebody does, but for what was seen
    (`settle`). `drawn`: which one of a history it is, where that is known."""

    def __init__(
        self,
        coins: "Coins | DrawnCoins",
        options: Sequence[int],
        look: Callable[[], int],
        drawn: Drawn | None = None,
    ) -> None:
        self._coins, self.options, self._value = coins, options, cast(int | None, None)
        self._look, self.drawn, self.tossed = look, drawn, False

    @property
    def __class__(self) -> type:  # type: ignore[override]
        """For code that asks whether it is a number."""
        return int

    @property
    def opened(self) -> bool:
        """Whether somebody has looked."""
        return self._value is not None

    def settle(self, seen: int) -> bool:
        """Whether it may be what was seen; from then on it is that, which counts as its toss."""
        if seen in self.options:
            self._coins.log_seen += math.log(self.options.count(seen) / len(self.options))
            self._value = seen
        return self.opened

    def __index__(self) -> int:
        if self._value is None:
            self._value, self.tossed = self.options[self._look()], True
        return self._value

    def __int__(self) -> int:
        return self.__index__()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> Any:
        """For NumPy, which would else make arrays of objects."""
        del copy
        return np.array(int(self), dtype=dtype)

    def __reduce_ex__(self, protocol: Any) -> Any:
        return int, (int(self),)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(int(self), name)


def _looked_at(name: str) -> Any:
    """A method of the number that it is; of whole and of broken numbers alike where it has its operands exchanged."""

    def called(self: Unseen, *others: Any) -> Any:
        plain = [int(one) if isinstance(one, Unseen) else one for one in others]
        found = getattr(int(self), name)(*plain)
        return getattr(float(int(self)), name)(*plain) if found is NotImplemented and hasattr(float, name) else found

    return called


_COMPARED = _SHOWN - {"__reduce_ex__"} | {"__lt__", "__le__", "__gt__", "__ge__"}
for _name in {*dir(int)} - {*dir(object), *vars(Unseen)} | _COMPARED:
    if callable(getattr(int, _name)):
        setattr(Unseen, _name, _looked_at(_name))


class DrawnCoins(FollowedCoins):
    """Private coins drawn as the code draws them, but for a receiver: that is whom the message went to.

    `log_seen` is ln of its odds.
    """

    def __init__(self, source: np.random.Generator) -> None:
        super().__init__(source.bit_generator)
        self._start = _twin(source.bit_generator)
        self.log_seen = 0.0

    def copied(self) -> Self:
        """The same coins from their start."""
        return type(self)(np.random.Generator(_twin(self._start)))

    def refused(self, why: str, error: type[AttackError] = AttackError) -> AttackError:
        """The error to raise."""
        return error(why)

    def adopt(self, other: Self) -> None:
        """Note the odds of what was seen in a run with a copy."""
        self.log_seen = other.log_seen

    @property
    def log_chance(self) -> float:
        """ln of the probability of what was seen; that of all else is in the drawing."""
        return self.log_seen

    def choose(self, options: Sequence[int]) -> int:
        """One of the options, drawn now; until it is looked at it may be another (`netsim.node.choose`)."""
        drawn = int(self.integers(len(options)))
        if not are_whole(options):
            return options[drawn]
        return cast(int, Unseen(self, options, lambda: drawn))

    def subset(self, total: int, size: int) -> Sequence[int]:
        """So many of range(total), ascending (`netsim.node.subset`)."""
        return sorted(int(one) for one in self.choice(total, size, replace=False))

    def spawn(self, n_children: int) -> list[np.random.Generator]:
        return [PlainCoins(bits) for bits in self.bit_generator.spawn(n_children)]


def _copies(self: Coins | DrawnCoins, *_: Any) -> Any:
    raise self.refused("its private coins are copied", CopiedCoinsError)


for _kind in (Coins, DrawnCoins):
    for _name in ("__copy__", "__deepcopy__", "__reduce__", "__reduce_ex__", "__getstate__", "__setstate__"):
        setattr(_kind, _name, _copies)


def from_start(coins: np.random.Generator) -> np.random.Generator:
    """The same coins from their start; of a history, all of whose runs toss the same, those that note it."""
    return coins.again() if isinstance(coins, Coins) else copied(coins)


def copied(coins: np.random.Generator) -> Any:
    """Coins that toss the same; of a history that is followed, without a note of it."""
    if isinstance(coins, Coins | DrawnCoins):
        return coins.copied()
    return np.random.Generator(_twin(coins.bit_generator))


def _twin(bits: np.random.BitGenerator) -> np.random.BitGenerator:
    """Draws and spawns the same. `deepcopy` would first ask the system for entropy, and takes twice as long."""
    seeds = bits.seed_seq
    if type(seeds) is not np.random.SeedSequence:
        return deepcopy(bits)
    spawned, pool = seeds.n_children_spawned, seeds.pool_size
    found = type(bits)(
        np.random.SeedSequence(seeds.entropy, spawn_key=seeds.spawn_key, pool_size=pool, n_children_spawned=spawned)
    )
    found.state = bits.state
    return found


def every(read: Callable[[Coins], T], most: int = HISTORIES) -> Iterator[tuple[float, T]]:
    """(ln of its probability, `read(coins)`) of every history of the coins that `read` tosses.

    You get an `AttackError` where there are more than `most`; an `_UnlistedCoinsError` where they cannot be listed.
    Those that part first come first: where there are too many, few are read until that is known.
    """
    waiting, done = deque([list[int]()]), 0
    while waiting:
        tosses = _Tosses(waiting.popleft())
        forced = len(tosses.outcomes)
        coins = Coins(tosses)
        found = read(coins)
        if tosses.refused:
            raise tosses.refused
        done += 1
        for k in range(forced, len(tosses.odds)):
            others = [j for j, p in enumerate(tosses.odds[k]) if p and j != tosses.outcomes[k]]
            if done + len(waiting) + len(others) > most:
                raise AttackError(f"its private coins have more than {most:,} histories")
            waiting += [[*tosses.outcomes[:k], j] for j in others]
        yield coins.log_chance, found
