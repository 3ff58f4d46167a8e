"""When a reliable link sends again: an unacknowledged message goes on the air T, 3T, 7T, … after it first did.

The timeout T doubles up to 2^6 T (`netsim.reliable`). It is a setting of the transport and not told here: of all gaps
between packets of one link those that come often are tried.
"""

import bisect
from collections import Counter
from collections.abc import Iterable, Sequence
from itertools import pairwise

from netsim.reliable import MAX_BACKOFF

TRIED = 12
CLOSE = 1e-9


def same(one: float, other: float) -> bool:
    """Whether two times are one, up to rounding."""
    return abs(one - other) <= CLOSE * max(1.0, abs(one))


def timeouts(links: Iterable[Sequence[float]]) -> list[float]:
    """Gaps that may be T, the most frequent first; then the shortest."""
    gaps = Counter(round(b - a, 9) for times in links for a, b in pairwise(times) if b > a)
    return [gap for gap, _ in sorted(gaps.items(), key=lambda item: (-item[1], item[0]))[:TRIED]]


def among(times: Sequence[float], time: float) -> bool:
    """Whether a time is one of these, which are in order, up to rounding."""
    k = bisect.bisect_left(times, time)
    return any(same(time, near) for near in times[max(0, k - 1) : k + 1])


class Pending:
    """One message on one link: when it first went on the air, and how often it was sent again."""

    __slots__ = ("attempt", "due", "timeout")

    def __init__(self, sent: float, timeout: float) -> None:
        self.timeout, self.attempt = timeout, 0
        self.due = sent + timeout

    def over(self, time: float) -> bool:
        """Whether its next repetition should have been by now: it was acknowledged."""
        return self.due < time - 10 * CLOSE * max(1.0, time)

    def again(self, time: float) -> bool:
        """Whether a packet at this time is its next repetition; if so, the one after it is due."""
        if not abs(time - self.due) <= 10 * CLOSE * max(1.0, time):
            return False
        self.attempt += 1
        self.due = time + self.timeout * 2 ** min(self.attempt, MAX_BACKOFF)
        return True
