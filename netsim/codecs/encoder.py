"""One agent's encoder, and the uniform numbers that a random codec takes."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from netsim.arrays import Array
from netsim.codecs.codec import Codec
from netsim.errors import TranscriptError
from netsim.messages import Values


@dataclass(frozen=True)
class Dither:
    """An agent's numbers uniform on [0, 1), from their start: PRIVATE coins, one array a value it sends.

    `generator()` makes the stream afresh; of each draw for `replicas` replicas, `only` one's or (None) all are had.
    """

    generator: Callable[[], np.random.Generator]
    replicas: int
    only: int | None = None

    def replica(self, index: int) -> "Dither":
        """What replica `index` had."""
        return replace(self, only=index)

    def draws(self, dimension: int) -> Iterator[Array]:
        """One (replicas, dimension) array after the other."""
        generator = self.generator()
        rows = slice(None) if self.only is None else slice(self.only, self.only + 1)
        while True:
            yield generator.random((self.replicas, dimension))[rows]


class Encoder:
    """Encodes what one agent sends, each value once; draws in the order of messages, then of the fields' names.

    You get a `TranscriptError` where a random codec is given no dither.
    """

    __slots__ = ("_codec", "_draws")

    def __init__(self, codec: Codec, dimension: int, dither: Dither | None = None) -> None:
        if codec.random and dither is None:
            raise TranscriptError(f"{codec} takes uniform numbers: give the agent's dither")
        self._codec = codec
        self._draws = dither.draws(dimension) if codec.random and dither is not None else None

    def __call__(self, values: Values) -> Values:
        """What receivers decode, field by field; read-only."""
        codec, draws = self._codec, self._draws
        encoded: Values = {}
        for name in sorted(values):
            encoded[name] = codec.encode(values[name], None if draws is None else next(draws))
            encoded[name].setflags(write=False)
        return {name: encoded[name] for name in values}
