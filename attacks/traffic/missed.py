"""How many packets there were, where a tap missed each of them with a known probability.

Each packet is heard or not by itself, so of N packets it heard Bin(N, 1 − missed). The interval holds at 95 %: N with
either tail below 2.5 % are excluded. It is known beforehand that N is no less than some number; above, the tail is
therefore compared with that of the least N (the CLs method, A. L. Read, J. Phys. G 28 (2002) 2693), which excludes
less, and never all.
"""

from collections.abc import Callable

from scipy import special

TAIL = 0.025


def sent_in_all(heard: int, missed: float, least: int) -> tuple[int, float, int]:
    """Low end, best guess and high end of N ≥ `least`, of which `heard` were; 0 < `missed` < 1. The ends differ: what
    was missed is never known for certain."""
    least = max(least, heard)
    low = _first(least, lambda total: _at_least(heard, total, missed) >= TAIL)
    floor = TAIL * _at_most(heard, least, missed)
    high = _first(max(least, low) + 1, lambda total: _at_most(heard, total + 1, missed) < floor)
    return low, min(max(heard / (1 - missed), low), high), high


def _at_most(heard: int, total: int, missed: float) -> float:
    """The probability to hear so many of `total`, or fewer."""
    return 1.0 if heard >= total else float(special.betainc(total - heard, heard + 1, missed))


def _at_least(heard: int, total: int, missed: float) -> float:
    return 1.0 if heard <= 0 else float(special.betainc(heard, total - heard + 1, 1 - missed))


def _first(low: int, holds: Callable[[int], bool]) -> int:
    """The least number from `low` on for which it holds; it does for all that follow."""
    step = 1
    if holds(low):
        return low
    while not holds(low + step):
        low, step = low + step, 2 * step
    high = low + step
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high
