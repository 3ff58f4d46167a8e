"""What a pair costs where other numbers were received, and released, than in the run.

Code may mix what is private with what it has seen, such as |g + s| − |g − s|, so that a change of g moves what it
releases more where s is large than where it is small. The network is simulated with other noise: what agents release
is larger or smaller, and has another sign, by one factor or each by its own. So all that is received is possible in a
run, whatever a sender makes of its noise. The agent is replayed there under both hypotheses of a pair that differ by
a constant: then no gradient differs more for being asked elsewhere.
"""

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from attacks.audit.accounting.formulas import gaussian_epsilon
from attacks.audit.loss.comparison import Sample
from attacks.audit.loss.hiding_coins import DrawnAnswers, may_hide
from attacks.audit.loss.release_cost import PURE, UNBOUNDED, cost_and_shifts, laws_with_cost
from attacks.audit.loss.secret_coins import LOOKED_AT, SECRET
from attacks.audit.pair import FIRST_CHUNK, Pair
from attacks.audit.verdict import exceeds
from attacks.replay import ROUNDING, Release
from netsim.arrays import Array, Mask
from netsim.claims import Claim
from netsim.mechanisms import Laplace
from netsim.problems import Objective, Tilted
from netsim.shown import show
from netsim.simulation import Simulation
from scenarios.stages.drawn_pairs import GATES, plain
from scenarios.stages.hidden_values import HiddenValues
from scenarios.stages.other_noise import COPIES, LARGEST, Anywhere, Times, Typical, elsewhere, is_unknown
from scenarios.stages.worlds import holding, worlds

EXTREMES = 1e-6, 1e3
"""Factors of all releases, at which pairs are looked for."""
SIZES = LARGEST, 1e2
"""By how much what is released is larger or smaller, at most: less where the code fails at more."""
MORE = 1e-3
"""Share by which a pair costs more, at least, where other numbers were seen."""
WAYS, ANSWERS, ALIKE = 3, (1.0, 1e3), 1e-6
"""Ways of mixing what is private with what was seen, at most; sizes of the answers that tell them apart; and the
relative size of what does not."""


def doubt(simulation: Simulation, pair: Pair, claim: Claim) -> str | None:
    """`Pair.doubt` of a pair that costs more than is claimed where other numbers are received, or of which nobody
    knows what it costs there; None of others, and of pairs that do not differ by a constant."""
    zero, other = (cast("Objective", one) for one in pair.hypotheses)
    if claim.epsilon is None or not _constant(zero, other):
        return None
    error: Exception | None = None
    for largest in SIZES:
        found = _Elsewhere(holding(simulation, pair.agent, zero), pair.agent, (zero, other), claim, largest)
        try:
            with np.errstate(all="ignore"):
                return found.doubt
        except Exception as failed:  # an algorithm's code may raise anything; it may do so at large numbers alone
            error = failed
    return (
        f"{_where(pair.agent)}, its code fails ({type(error).__name__}: {error}): it is not known what a pair costs "
        "there. Let it go on, whatever it receives."
    )


def _where(agent: int) -> str:
    return f"Where agent {agent} receives other numbers than in this run"


@dataclass(frozen=True)
class _Elsewhere:
    """A network whose `agent` holds the first of two hypotheses, where agents release other numbers, `largest` times
    as large at most."""

    simulation: Simulation
    agent: int
    hypotheses: tuple[Objective, Objective]
    claim: Claim
    largest: float

    @property
    def doubt(self) -> str | None:
        """`doubt`."""
        delta = self.claim.delta
        anywhere = Anywhere(self.largest)
        noise = anywhere if delta == 0 else Typical.counted(self.simulation, self.agent, delta)
        network = elsewhere(self.simulation, noise)
        sample = worlds(network, self.agent, self.hypotheses[1], COPIES)(0, FIRST_CHUNK)
        if not sample.releases or not sample.view.public.codec.lossless:
            return None
        here, there = (sample.replayed(self.agent, one, "other numbers").releases for one in self.hypotheses)
        judged = [(a, b) for a, b in zip(here, there, strict=False) if a.judged[0] and b.judged[0]]
        moved = [not a.alike(b) for a, b in judged]
        own = noise.own | {
            type(a.noise).__name__ for (a, _), one in zip(judged, moved, strict=True) if one and is_unknown(a.noise)
        }
        if own:
            return self._of_own_laws(judged, own)
        secret = self.claim.coins == "secret" and sample.tossed and self._hides
        costs = self._secret(sample, judged) if secret else _costs(judged, moved, delta)
        if costs is None or not _more(costs, np.min(costs) if secret else costs[0]):
            return None
        epsilon = float(np.max(costs)) if delta == 0 else gaussian_epsilon(math.sqrt(float(np.max(costs))), delta)
        assert self.claim.epsilon is not None
        if not exceeds(epsilon, self.claim.epsilon):
            return None
        return (
            f"{_where(self.agent)}, a pair costs ε = {show(epsilon, 4)}: by how much its data move what it releases "
            "depends on what it has seen, and the claim is of any run. Bound what an answer can move a release by, "
            "whatever was received."
        )

    def _of_own_laws(self, judged: Sequence[tuple[Release, Release]], own: set[str]) -> str | None:
        """Doubt about noise of somebody's own laws, where data move what is released farther."""
        apart = _added(judged, _shift)
        if not _more(apart, apart[0]):
            return None
        return (
            f"{_where(self.agent)}, its data move what it releases farther, and of {' and '.join(sorted(own))} it is "
            "not known which numbers it makes possible, or what they cost. Bound what an answer can move a release "
            "by, whatever was received, or draw the noise by a law of `netsim.mechanisms`."
        )

    @property
    def _hides(self) -> bool:
        """Whether the coins change what is released, or it is not known whether they do."""
        simulate = worlds(self.simulation, self.agent, self.hypotheses[1], 1)
        return may_hide((simulate(0, SECRET + 2 * k) for k in range(LOOKED_AT)), self.agent, self.hypotheses)

    def _secret(self, sample: Sample, judged: Sequence[tuple[Release, Release]]) -> Array | None:
        """What the pair costs in each transcript, (replicas,), for who does not know the coins; None where their
        histories are not listed, where noise is on a grid, or at δ > 0."""
        if self.claim.delta > 0 or not {type(one.mechanism) for both in judged for one in both} <= {Laplace}:
            return None
        hidden = HiddenValues.joined([HiddenValues.of([sample], self.agent, one) for one in self.hypotheses])
        if hidden is None or not hidden.listed:
            return None
        each = (hidden.covered([k, COPIES + k]) for k in range(COPIES))
        return np.array([float(one.costs(np.array([[0, 1]]), 0.0)[0]) for one in each])


def _more(costs: Array, than: float) -> bool:
    """Whether some transcript costs more than so much: what the first one does, where all is as it is, or the least
    of all, for the first may be one of few that cost most."""
    return float(np.max(costs)) > than * (1 + MORE)


def _costs(judged: Sequence[tuple[Release, Release]], moved: Sequence[bool], delta: float) -> Array | None:
    """What a pair costs in each transcript, (replicas,), by the releases that it has `moved`; None where no cost is
    known."""
    laws = laws_with_cost(type(one.mechanism) for both, k in zip(judged, moved, strict=True) if k for one in both)
    if not laws or not laws <= (PURE if delta == 0 else UNBOUNDED):
        return None
    return _added(judged, lambda a, b: np.zeros(len(a.value)) if a.alike(b) else cost_and_shifts(a, b)[0])


def _added(judged: Sequence[tuple[Release, Release]], cost: Callable[[Release, Release], Array]) -> Array:
    """Sum of what each release costs in each transcript, (replicas,), before the first whose noise drowns in the
    rounding of what it covers; 0 where it is infinite."""
    shown = np.logical_and.accumulate([_covered(a) & _covered(b) for a, b in judged], axis=0)
    costs = np.where(shown, [cost(a, b) for a, b in judged], 0.0).sum(axis=0)
    return np.where(np.isfinite(costs), costs, 0.0)


def _shift(a: Release, b: Release) -> Array:
    """How far the hypotheses lie apart in a release, (replicas,), in deviations of its noise."""
    apart = np.abs(a.value - b.value)
    return np.sum(np.where(a.stddev > 0, apart / np.where(a.stddev > 0, a.stddev, 1.0), 0.0), axis=-1)


def _covered(release: Release) -> Mask:
    """Where noise is above the rounding of the value that it covers, (replicas,)."""
    silent, least = release.stddev == 0, ROUNDING * np.abs(release.value)
    return np.asarray(np.all(silent | (release.stddev >= least), axis=-1), dtype=np.bool_)


def _constant(zero: object, other: object) -> bool:
    """Whether two hypotheses differ by one constant change of the gradient of the same data."""
    bases = [(one.objective, one.record) if isinstance(one, Tilted) else (one, None) for one in (zero, other)]
    records = {record for (_, record), one in zip(bases, (zero, other), strict=True) if isinstance(one, Tilted)}
    return bases[0][0] is bases[1][0] and len(records) == 1


def extremes(simulation: Simulation, agent: int) -> list[Sample]:
    """A transcript where hardly anything is released, and one where all of it is large; none where the code fails."""
    found = list[Sample]()
    for size in EXTREMES:
        with suppress(Exception), np.errstate(all="ignore"):
            sample = plain(elsewhere(simulation, Times(size)), agent)
            found += [] if sample is None else [sample]
    return found


def unlike(simulations: Sequence[Simulation], own: Sequence[Sample], agent: int) -> list[tuple[Sample, ...]]:
    """Transcripts where agents release other numbers, one of each of these networks: of each way in which the agent
    then mixes what is private with what it has seen, other than in its `own` transcripts, one; those first that move
    its releases farthest. None where the code fails."""
    noise = Anywhere(SIZES[1])
    found = shares([elsewhere(one, noise) for one in simulations], own, agent)
    return [] if noise.own else [samples for _, samples in found[1:]]


def shares(
    simulations: Sequence[Simulation], own: Sequence[Sample], agent: int
) -> list[tuple[float, tuple[Sample, ...]]]:
    """Ways in which the agent mixes what is private with what it has seen: the share of each in transcripts of these
    networks, and one of each network; first its `own`. None where the code fails."""
    with suppress(Exception), np.errstate(all="ignore"):
        each = [worlds(one, agent, one.problem.objectives[agent], COPIES)(0, FIRST_CHUNK) for one in simulations]
        (share, _), *others = _apart(_ways(own, agent)[0], _ways(each, agent))
        return [(share, tuple(own)), *((share, tuple(one.replica(k) for one in each)) for share, k in others)]
    return []


def ways(simulation: Simulation, agent: int, delta: float) -> list[int | None]:
    """Of each way in which the agent mixes what is private with what it has seen, in more than a share δ of
    transcripts as they are drawn, one of `GATES`; None: that of a transcript alone, which is the first."""
    with suppress(Exception), np.errstate(all="ignore"):
        one, many = (plain(simulation, agent, count) for count in (1, GATES))
        if one is not None and many is not None:
            _, *others = _apart(_ways([one], agent)[0], _ways([many], agent))
            return [None, *(k for share, k in others if share > delta)]
    return [None]


def _apart(here: Array, there: Array) -> list[tuple[float, int]]:
    """Ways in transcripts, (transcripts, some), that are unlike one, (some,), and one another: the share of each, and
    the first transcript, those first that move releases farthest; before them the share of that one, and −1."""
    seen = _alike(there, here) if len(here) == there.shape[1] else np.zeros(len(there), dtype=np.bool_)
    found = [(float(np.mean(seen)), -1)]
    for k in np.argsort(-np.max(np.abs(there), axis=1), kind="stable").tolist():
        if not seen[k] and len(found) <= WAYS:
            alike = _alike(there, there[k])
            seen |= alike
            found.append((float(np.mean(alike)), k))
    return found


def _ways(samples: Sequence[Sample], agent: int) -> Array:
    """How far answers that are the same everywhere, and private coins, move what is released, in units of its noise,
    in each transcript, (replicas, some); and the units."""
    view, found = samples[0].view, list[Array]()
    records = view.public.records[agent] if view.public.records else 1
    drawn = [DrawnAnswers.of(size, records, view.public.dimension) for size in ANSWERS]
    answers = [replace(one, slope=np.zeros_like(one.slope)) for one in drawn]
    hidden = HiddenValues.joined([HiddenValues.of(samples, agent, one) for one in answers])
    for one in () if hidden is None else hidden.kinds.values():
        shape = len(one.values), len(answers), view.replicas, -1
        values, units = one.values.reshape(shape), one.units.reshape(shape)
        found += [np.moveaxis(each, 2, 0) for each in ((values - values[:1, :1]) / units, np.log(units))]
    return np.concatenate([one.reshape(view.replicas, -1) for one in found], axis=1)


def _alike(ways: Array, one: Array) -> Mask:
    """Which of some ways, (ways, some), are as one, but for rounding."""
    room = ALIKE * np.maximum(1.0, np.maximum(np.abs(ways), np.abs(one)))
    return np.asarray(np.all((np.abs(ways - one) <= room) | ~np.isfinite(one), axis=1), dtype=np.bool_)
