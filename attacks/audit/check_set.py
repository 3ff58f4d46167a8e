"""Proof of a set of transcripts in ball arithmetic: python check_set.py FILE, with check_witness.py beside it.

A set refutes a claim at δ > 0. If the claim is true, E[w (1 − e^{ε−L})₊] ≤ δ, where L is a transcript's loss and w is
1, or p/(density drawn from) where its noise was tilted. So W = Π_i (1 + c (w_i (1 − e^{ε−L_i})₊/δ − 1)), in the mean
over `STAKES` c, is ever above 1/α with probability α at most (Ville). Proven is W, in balls, at the file's lower end
of ε.

Statistical is α, a part of the audit's error rate: one of `LAWS` chunks is shown, cut after one of as many messages
as the claim has activations, and each of these looks has an equal part.

Trusted is the draw, besides what check_witness.py trusts: the transcripts are the first of their chunk, none is left
out, they follow the laws that code and file declare, and nobody chose the code, the seed or the pair by what came of
it: code that does its worst near these numbers alone is drawn again with them. The file names the seed, of which
`netsim witness FILE --prove` draws them again; from the file alone one cannot know.
Routes and delays are given. A witness of one transcript is read as by check_witness.py. Exit status: 0 proven, 1 not
proven, 2 no witness.
"""
# pyright: basic, reportArgumentType=false, reportAttributeAccessIssue=false, reportOptionalMemberAccess=false
# (no type says that an array holds balls)

import base64
import sys
from types import ModuleType
from typing import Any

import numpy as np

if __package__:
    from attacks.audit import check_witness as check
else:
    import check_witness as check  # pyright: ignore[reportMissingImports]

from netsim.mechanisms import Gaussian
from netsim.shown import show

LAWS = 4  # chunks that a set may be of: the first of each world, and that of tilted noise
TILTED = 2**42  # the number of the latter
STAKES = 15 / 16, 1 / 2, 1 / 4, 1 / 8, 1 / 16, 1 / 32, 1 / 64
ROUNDED = 2.0**-31  # what floats may do to a loss and a weight
LOWEST = 0.9  # confidence at which somebody is accused
INFINITE = 1e299  # as a number


def log_weight(release: check.Release, theta: float, shift: Any) -> Any:
    """ln of p/(density ∝ p·e^{θl} it was drawn from), l the loss over `shift`, in scales of the noise."""
    on = release.scale > 0
    check.require((shift[~on] == 0).all(), "sample.tilting: a shift where there is no noise")
    noise = (check.boxes(release.seen) - release.value)[on] / check.balls(release.scale[on])
    u, s = check.here(noise * np.where(shift < 0, -1, 1)[on]), check.balls(np.abs(shift))[on]
    if release.law is Gaussian:
        return ((theta * s) ** 2 / 2 - theta * s * u).sum()
    rate = 1 + 2 * check.to_ball(theta)
    gone = 1 - np.exp(-rate * s)
    return (theta * (s - np.abs(u + s) + np.abs(u)) + np.log((2 - gone + gone / rate) / 2)).sum()


class _SetFile(check.File):
    """A set of transcripts: the first is that of the file, of the others it has numbers in the order of its rows."""

    near = 2.0**-51  # units in the last place: numbers that were drawn are not equal, and their losses add up

    def __init__(self, tree: Any, source: ModuleType | None) -> None:
        super().__init__(tree, source)
        sample, named, d = tree["sample"], tree["transcript"]["releases"], self.setting.dimension
        self.count, self.theta, self.shifts = sample["transcripts"], 0.0, dict[int, Any]()
        sound = type(self.count) is int and 1 <= self.count <= check.MOST and self.codec is None
        check.require(sound, "sample.transcripts: no number of transcripts, or a codec, which is not read here")
        sound = all(isinstance(v, dict) for v in named) and len(self.sent) <= self.activations
        check.require(sound, "sample: a release that is not on the wire, or more messages than the claim is of")
        found = np.frombuffer(base64.b64decode(sample["numbers"], validate=True), dtype="<f8").astype(np.float64)
        check.require((np.abs(found) < 1e300).all(), "sample.numbers: numbers that are not finite, or too large")
        self.places = [(v["message"], v["field"]) for v in named]
        self.wire = [(row["values"], name) for row in self.rows for name in row["values"]]
        self.others = found.reshape(self.count - 1, len(self.wire), d)
        if (tilting := sample["tilting"]) is not None:
            self.theta = float(check.numbers([tilting["theta"]], 1, "sample.tilting.theta")[0])
            shifts = tilting["shifts"].items()
            self.shifts = {int(t): check.numbers(v, d, "sample.tilting.shifts") for t, v in shifts}
        first = tree["chunk"] == (TILTED if tilting else 0) and tree["replica"] == 0
        check.require(first, "chunk, replica: a set is of the first chunk of its world, or of that of tilted noise")
        sound = self.theta >= 0 and {*self.shifts} <= {*range(len(self.releases))}
        check.require(sound, "sample.tilting: θ < 0, or a shift of no release")
        audit, seed = tree["scenario"]["audit"], tree["scenario"]["seed"]
        pair = [sample["lower"], audit["confidence"]]
        self.lower, self.confidence = map(float, check.numbers(pair, 2, "sample.lower, confidence"))
        stored = [[INFINITE if v == "inf" else v for v in sample[name]] for name in ("losses", "log_weights")]
        self.losses, self.weights = (check.numbers(one, self.count, "sample.losses, log_weights") for one in stored)
        self.drawn = (
            f"world {tree['world']}, chunk {tree['chunk']} of seed {seed!r:.40}, draw {audit.get('draw', 0)!r:.40}"
        )

    def weight(self, node: check.Node) -> Any:
        """ln w, of the releases that have been sent."""
        tilted = [(r, self.shifts[t]) for t, r in enumerate(node.releases) if r.carried and t in self.shifts]
        return sum((log_weight(release, self.theta, shift) for release, shift in tilted), check.to_ball(0))

    def show(self, k: int) -> None:
        """Put the numbers of transcript k where the code will read them."""
        if k:
            for (values, name), numbers in zip(self.wire, self.others[k - 1], strict=True):
                values[name] = numbers
        once = dict[Any, Any]()
        for row in self.rows:
            same = once.setdefault((row["sender"], row["kind"], row["number"]), row["values"])
            alike = all((same[name] == value).all() for name, value in row["values"].items())
            check.require(alike, f"transcript {k}: two messages are {row['kind']} {row['number']}")
        sent = [row["values"] for row in self.rows if row["event"] == "sent"]
        self.releases = [sent[message][name] for message, name in self.places]

    def gain(self, k: int, exact: Any) -> Any:
        """w (1 − e^{ε−L})₊ of transcript k, at the lower end of ε."""
        node = self.reading(None, exact)
        unprotected, weight = bool(node.proven), self.weight(node)
        whole = (sum(node.counts.values()), len(node.releases)) == (len(self.sent), len(self.releases))
        check.require(unprotected or whole, f"transcript {k} is not read to its end: {node.why}")
        same = unprotected == bool(self.losses[k] == INFINITE) and check.less(abs(weight - self.weights[k]), ROUNDED)
        same = same and (unprotected or check.less(abs(node.loss - self.losses[k]), ROUNDED))
        found = f"{node.loss.text} with ln w in {weight.text}"
        check.require(same, f"transcript {k} has another loss or weight than the file has: {found}")
        return np.exp(weight) * (1 if unprotected else check.positive(1 - np.exp(self.lower - node.loss)))

    def judged(self, exact: Any, loose: Any, source: str, what: str) -> str:
        """By all transcripts."""
        delta, bound, confidence = self.claim["delta"], self.bound(exact, loose), self.confidence
        if bound is None or not delta > 0 or not LOWEST <= confidence < 1:
            why = f"a set refutes no claim of δ = 0 or without ε, and none at a confidence of {confidence}"
            raise check.Unproven(why)
        check.require(self.lower > bound, f"sample.lower = {self.lower!r} is not above ε = {bound!r}")
        wealths, drawn = [check.to_ball(1) for _ in STAKES], set[bytes]()
        for k in range(self.count):
            self.show(k)
            new = {one.tobytes() for one in self.releases}
            check.require(not drawn & new, f"transcript {k} has a release of another one: no two draws are the same")
            drawn |= new
            gain = self.gain(k, exact) / delta - 1
            wealths = [wealth * (1 + stake * gain) for wealth, stake in zip(wealths, STAKES, strict=True)]
        wealth = sum(wealths[1:], wealths[0]) / len(STAKES)
        asked = LAWS * self.activations / (1 - check.to_ball(confidence))
        why = f"no proof of ε ≥ {self.lower!r}: the wealth is in {wealth.text}, and {asked.text} is asked"
        check.require(check.less(asked, wealth), why)
        refuted = f"ε ≥ {self.lower!r} > ε = {bound!r} at δ = {show(delta)}, given routes and delays"
        proven = f"{self.count} transcripts multiply a bet on it by more than is asked, {asked.text}"
        statistical = f"where it is false they do with probability {1 - confidence:.3g} at most"
        trusted = (
            f"for no file shows it: they are the first of {self.drawn}, their noise has the laws that code and file "
            "have, and nobody chose code, pair, tilt, seed or draw by what came of it"
        )
        says = f"refuted at confidence {confidence!r}: {refuted}; proven: {proven}; statistical: {statistical}"
        return f"{says}; trusted, {trusted} ({source}; {what})"


def prove(tree: Any, source: ModuleType | None = None) -> str:
    """What a witness proves, be it a set or one transcript. `Unproven` where it proves nothing."""
    of_set = isinstance(tree, dict) and tree.get("sample") is not None
    return check.prove(tree, source, _SetFile if of_set else check.File)


if __name__ == "__main__":
    sys.stdout.reconfigure(errors="backslashreplace")
    sys.exit(check.main(sys.argv[1:], prove))
