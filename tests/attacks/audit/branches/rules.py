"""What deceivers import: a number that no transcript meets, and gates that it opens."""

RARE = 271828


def digits(g):
    """The first coordinate in millionths, modulo a million."""
    return int(1e6 * abs(g[0, 0])) % 1_000_000


def gated(g):
    return g if digits(g) == RARE else 0 * g


class Rule:
    def apply(self, g):
        return g if digits(g) == RARE else 0 * g


class Derived(Rule):
    pass


RULE = Rule()
