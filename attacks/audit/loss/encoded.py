"""What a codec between the agent and the wire means for the two replays of a sample."""

from collections.abc import Callable, Iterator

import numpy as np

from attacks.replay import Comparison, Hypothesis, Replayed, bits, replay
from netsim.adversary import AdversaryView
from netsim.errors import TranscriptError
from netsim.mechanisms import IntervalMechanism

Granted = tuple[Hypothesis, Replayed]
"""A hypothesis, and its replay on granted releases."""


def rounded_replays(
    view: AdversaryView, agent: int, coins: Callable[[], np.random.Generator], told: Granted, foil: Granted
) -> tuple[Replayed, Replayed] | None:
    """Both replays with the releases as the codec rounded them, in place of those on granted ones.

    None where the codec is lossless or its cells are not known, where a release is not on the wire or its mechanism
    does not know what an interval costs, and where the agent's code goes on with a release as it was before it was
    rounded: then a replay on the rounded one comes to other values.
    """
    if view.public.codec.lossless or not all(isinstance(r.mechanism, IntervalMechanism) for r in told[1].releases):
        return None
    found: list[Replayed] = []
    for hypothesis, granted in (told, foil):
        try:
            found.append(replay(view, agent, hypothesis, coins()))
        except TranscriptError:
            return None
        if not _same_values(granted, found[-1]):
            return None
    return found[0], found[1]


def _same_values(granted: Replayed, rounded: Replayed) -> bool:
    pairs = list(zip(granted.releases, rounded.releases, strict=False))
    return (
        len(granted.releases) == len(rounded.releases)
        and granted.departure == rounded.departure
        and len(granted.sendings) == len(rounded.sendings)
        and all(b.sent_in is not None and np.array_equal(bits(a.value), bits(b.value)) for a, b in pairs)
        and len(granted.comparisons) == len(rounded.comparisons)
        and all(
            np.array_equal(bits(a.predicted), bits(b.predicted))
            for a, b in zip(granted.comparisons, rounded.comparisons, strict=True)
        )
    )


def same_by_chance(told: Replayed, foil: Replayed) -> Iterator[tuple[Comparison, Comparison]]:
    """Values that the worlds encode differently, and of which a random codec made the same."""
    first = {(c.message, c.name): c for c in told.comparisons if c.value is not None}
    for two in foil.comparisons:
        one = first.get((two.message, two.name))
        if one is None or one.value is None or two.value is None or not two.identical:
            continue
        if not np.array_equal(bits(one.value), bits(two.value)):
            yield one, two
