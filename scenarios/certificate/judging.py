"""Whether a certificate holds: no rate is proven above what is promised, and no planted fault gets by."""

from collections.abc import Iterator
from typing import NamedTuple

from attacks.audit.loss.noise import ALPHA
from scenarios.certificate import games, power, sound
from scenarios.certificate.certificate import Certificate
from scenarios.certificate.rows import Rate, Row
from scenarios.certificate.worlds import CONFIDENCE

ERROR = 1 - CONFIDENCE
"""Of all that an audit says together, so of each thing that it says; and of a game."""
SELF_CHECKS = 4 * ALPHA
"""Two self-checks in each of two directions."""


class Promise(NamedTuple):
    """A rate, by `what` it counts and `whose`, and the `nominal` one that it must not exceed."""

    what: str
    whose: str
    rate: Rate
    nominal: float

    @property
    def broken(self) -> bool:
        return self.rate.exceeds(self.nominal)

    @property
    def open(self) -> bool:
        """Whether the rate may still be above its nominal value: so many trials do not exclude it."""
        return self.rate.interval.upper > self.nominal

    @property
    def excess(self) -> float:
        """How many times the nominal value the rate may be, at most."""
        return self.rate.interval.upper / self.nominal


def promises(certificate: Certificate) -> Iterator[Promise]:
    """All that can be counted of the rows there are: of each row, and of the rows of a part together."""
    audits, played = certificate.part(sound.PART), certificate.part(games.PART)
    for mark in (sound.ALARM, sound.GAME, sound.EXACT):
        yield from _each(mark, audits, ERROR, mark)
    yield from _each("refused", audits, ERROR, sound.DISAGREEMENT, sound.REFUSED)
    yield from _each(sound.SELF_CHECK, audits, SELF_CHECKS, sound.SELF_CHECK)
    for mark in sound.LOW_P:
        yield from _each(mark, audits, sound.LOW, mark)
    for mark in (games.ALARM, games.RATES):
        yield from _each(mark, played, ERROR, mark)


def together(rows: list[Row], *marks: str) -> Rate:
    """Of all rows; 0 of 1 if there is none."""
    rates = [row.rate(*marks) for row in rows]
    return sum(rates[1:], rates[0]) if rates else Rate(0, 1)


def missed(certificate: Certificate) -> list[str]:
    """The planted faults that were not caught, or not named, every time with the most transcripts."""
    most = f", {max(power.BUDGETS)} transcripts"
    rows = [row for row in certificate.part(power.PLANTED) if row.name.endswith(most)]
    return [row.name for row in rows if min(row.rate(power.CAUGHT).value, row.rate(power.NAMED).value) < 1]


def failures(certificate: Certificate) -> list[str]:
    """What does not hold, as sentences; none: the certificate holds."""
    broken = [
        f"{p.whose}: {p.what} in {p.rate.count} of {p.rate.trials}, at least {p.rate.interval.lower:.3g}, "
        f"above {p.nominal:.3g}"
        for p in promises(certificate)
        if p.broken
    ]
    return broken + [f"{name}: not caught and named every time" for name in missed(certificate)]


def _each(what: str, rows: list[Row], nominal: float, *marks: str) -> Iterator[Promise]:
    for row in rows:
        yield Promise(what, row.name, row.rate(*marks), nominal)
    if rows:
        yield Promise(what, "all together", together(rows, *marks), nominal)
