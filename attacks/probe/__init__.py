"""Best unbiased estimates of private gradients from what was observed: of one agent, or of all at once.

The public code of the victims, run on what was observed (`attacks.probe.mapping`), shows how what they send depends
on what is unknown: observed − offset = C u + B z, where u are the private gradients of all victims and what one
victim received and nobody observed, and z noises of known law. u follows by generalized least squares
(`attacks.probe.system`). For Laplace noise that is the best *linear* estimate, and there is a likelier one
(`attacks.probe.linear`). The estimate is refined once against the code itself, so that rounding in C does not count.

One victim (`probe`) is fed with what was observed around it; a message to it that was not observed is a gap, an
unknown beside the gradients. Where all agents are victims (`probe_network`) such a message is what its sender's code
makes of unknowns further away: a packet that was missed is a missing row, and a tap that came late leaves the
gradients before it as unknowns more.

A law that no attack can beat: for gradients that change freely at least one message must be observed for each of
them. With one message a round (descent, EXTRA) every agent must be tapped. With two that are linked, as in DIGing and
DPP², hidden agents follow from their neighbors: of 50 agents on a path, ten doors see all where descent takes
seventeen.

Cost: with U unknowns (gradients, gaps and hidden noise) and M messages, U/1024 runs of U ≤ 1024 worlds of M messages,
one coordinate each, and then O(rows · unknowns²) for each set of unknowns that hang together. 50 agents × 60 rounds
seen from one end: 1,800 unknowns and some seconds. What would need more than about 4 GB is refused.

Source: this project; what it needs is the algorithm's code and nothing else (Kerckhoffs).
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Literal

import numpy as np

from attacks.probe.linear import Assumption, Basis, Constant, Free, RandomWalk, most_likely, simulated
from attacks.probe.mapping import Law, Mapper, Prior
from attacks.probe.network import WholeNetwork
from attacks.probe.node import Field, Gap, Pass, RecordedAgent
from attacks.probe.results import EXACT, UNMIXED, Functional, MessageMap, Probed, ProbedNetwork, Visible, recorded
from attacks.probe.system import Bounds, Solved, System
from attacks.replay.recorded import Recording
from netsim.adversary import AdversaryView
from netsim.arrays import Array, Mask
from netsim.errors import AttackError

__all__ = [
    "EXACT",
    "UNMIXED",
    "Assumption",
    "Basis",
    "Constant",
    "Field",
    "Free",
    "Functional",
    "Gap",
    "Law",
    "MessageMap",
    "Prior",
    "Probed",
    "ProbedNetwork",
    "RandomWalk",
    "Visible",
    "message_map",
    "probe",
    "probe_network",
    "recorded",
]

FREE = Free()
NEAR = 1e-2
"""Relative: how far around the estimates the map must be affine."""
FAR = 5.0
"""And how far in standard deviations of all noises: behind noise, what clipped may look as if it had done nothing."""
PATTERNS = 16
"""So many patterns of signs of that noise are tried."""
WORLDS = 256
"""So many replicas are run at once."""
LOCATED = 1e-6
"""Relative: a point that moves by less when everything hidden changes is known."""
DRAWS = 400
"""Draws of the noise, to simulate the errors of maximum likelihood."""

Laplace = Literal["blue", "ml"]


def probe(recording: Recording, *, prior: Prior | None = None, laplace: Laplace = "blue") -> Probed:
    """Estimate every private gradient of one agent. Who may run it: an eavesdropper at the agent's door or on links
    around it. The fewer it taps, the fewer gradients are identifiable.

    `prior`: what is known of values that were received and not observed. With `laplace` "ml" the estimates are
    those of maximum likelihood (`attacks.probe.linear`): for noise that is all Laplace, where several releases bear
    on a gradient. You get an `AttackError` where the code, on what was observed, sends other messages than were sent,
    where what it sends is no affine function of its gradients, and for "ml" where there is noise of another law.
    """
    mapper = Mapper(RecordedAgent(recording), prior)
    if not mapper.base.queries:
        return Probed.nothing(recording.agent, mapper.shape)
    return _probed(mapper, FREE, laplace).agents[recording.agent]


def probe_network(view: AdversaryView, *, gradients: Assumption = FREE, laplace: Laplace = "blue") -> ProbedNetwork:
    """Estimate every private gradient of every agent that is no insider, from everything the adversary observed.

    Who may run it: whoever has a view; of exchanges that wait for everybody (no deadline), tokens whose way was seen,
    and messages whose order was seen or makes no difference. `gradients`: what is assumed of them, `laplace` as
    in `probe`. You get an `AttackError` where what was sent is no affine function of gradients and noise, where the
    code sends other messages than were sent, where what came of it depends on private coins, or on the order or the
    way of messages, that nobody saw (tokens whose hops were missed, exchanges with a deadline, agents that begin
    anew), and for what would not fit in memory: `probe` may still answer for single agents.
    """
    victims = WholeNetwork(view)
    return replace(_probed(Mapper(victims), gradients, laplace), distances=victims.distances())


def message_map(
    view: AdversaryView, hessians: Mapping[int, Array] | None = None, *, linear: bool = False
) -> MessageMap:
    """Every message that this view recorded, as a function of all private answers and all noise.

    `hessians` (dimension, dimension) are those of the agents whose objectives are quadratic: their answers at any
    point follow from one of them, and what is left unknown of each is its constant part. For agents that are not
    among them the map holds for the answers that they gave, whatever they would have given elsewhere:
    `MessageMap.public` says of which queries the point is the same whatever was answered (of none, where some are for
    a batch). Where all have to be so, ask for a map that is `linear` in the data: you get an `AttackError` that names
    the first one that is not, before the map, which takes much longer, is read.

    One pass serves all listeners to the same run: take a view that recorded everything, and `MessageMap.seen_by` for
    each. Nothing is put in the place of what the code computes, so that a row is the message itself. You get an
    `AttackError` as in `probe_network`, and for a view with insiders, whose answers would be missing.
    """
    if view.inside:
        raise AttackError("a map for all listeners is that of a view without insiders")
    known = dict(hessians or {})
    alike = {i: H[:1, :1] for i, H in known.items() if np.array_equal(H, H[0, 0] * np.eye(len(H)))}
    if mixed := len(alike) < len(known):
        alike = known
    mapper = Mapper(WholeNetwork(view, substituted=False, hessians=alike))
    public = mapper.public() & (not mapper.base.batches)
    for agent, t in [one for one, fixed in zip(mapper.base.queries, public, strict=True) if linear and not fixed]:
        if agent not in known:
            raise AttackError(
                f"agent {agent}'s objective is not quadratic, and its query {t} is at a point that depends on what "
                "was answered before: views are not linear in the data"
            )
    return MessageMap(mapper.mixed() if mixed else mapper.map(), public, mapper.points(mapper.base))


def _probed(mapper: Mapper, assumption: Assumption, laplace: Laplace) -> ProbedNetwork:
    found = mapper.map()
    system = System(found, assumption.model(found.counts), scaled=mapper.victims.alone)
    estimate = system.estimate
    estimate = estimate + system.correction(mapper.left(mapper.at(estimate, points=False)))
    there = mapper.check(found, estimate)
    # in a network the numbers of others arrive with their messages, and roundings in a row, round by round
    sizes = np.array([e.size for e in there.equations], dtype=np.float64)
    growth = np.ones(len(sizes))
    if not mapper.victims.alone:
        number = np.array([e.field[2] for e in there.equations], dtype=np.intp)
        order, growth = np.argsort(number, kind="stable"), np.asarray(1 + number, dtype=np.float64)
        sizes[order] = np.maximum.accumulate(sizes[order])
    bounds = system.bounds(estimate, sizes, growth)
    identifiable = np.all([b.identifiable for b in bounds], axis=0)
    # where a clip does nothing: a little around the estimates, and for hidden gradients as large as the determined
    rng = np.random.default_rng(1)
    size = float(np.max(np.abs(estimate[identifiable]), initial=0.0)) or 1.0
    room = np.where(identifiable, NEAR * size, size)[:, None, None]
    around = (1 + NEAR) * np.where(identifiable[:, None, None], estimate, 0.0)
    mapper.check(found, around + room * rng.standard_normal(estimate.shape))
    _check_plausible(mapper, system, estimate, identifiable)
    points, change = mapper.points(there), system.hidden_change(np.random.default_rng(2))
    located = np.ones(len(points), dtype=bool)
    if np.any(change):  # the point of a query that stays where it is when all that is hidden changes
        moved = np.max(np.abs(mapper.points(mapper.at(estimate + change)) - points), axis=(1, 2), initial=0.0)
        located = moved <= LOCATED * np.maximum(1.0, np.max(np.abs(points), axis=(1, 2), initial=0.0))
    if laplace == "ml":
        system, change = _likeliest(system, mapper.left(there))
        estimate = estimate + change
        there = mapper.at(estimate)
    return _network(mapper, assumption, system, estimate, bounds, there, located, laplace == "ml")


def _check_plausible(mapper: Mapper, system: System, estimate: Array, identifiable: Mask) -> None:
    """The map is affine wherever the truth may be: `FAR` deviations of every noise around the estimates.

    Noise z moves the estimates by G B z: where it was z, the truth is that far from them. What drowned in rounding
    moves by more than means anything.
    """
    if not len(system.laws):
        return
    replicas, dimension = mapper.shape
    stddev = system.found.stddev
    drowned = system.structural & ~identifiable
    signs = FAR * _patterns(system, estimate)
    some = max(1, WORLDS // replicas)
    for start in range(0, signs.shape[1], some):
        part = signs[:, start : start + some]
        copies = part.shape[1]
        noises = np.repeat(part, replicas, axis=1).reshape(-1, copies * replicas, dimension)
        change = np.where(drowned[:, None, None], 0.0, system.errors(noises))
        mapper.check(
            system.found, np.tile(estimate, (1, copies, 1)) - change, stddev[:, None] * noises[: len(stddev)], copies
        )


def _patterns(system: System, estimate: Array) -> Array:
    """Signs of every noise, (noises, patterns, dimension): all up, in turns, outwards (which makes the estimates of
    the first replica larger), each with its opposite, and random ones."""
    noises, dimension = len(system.laws), estimate.shape[-1]
    ones = np.ones((noises, dimension))
    turns = ones * np.array([-1.0 if k % 2 else 1.0 for k in range(noises)]).reshape(-1, 1)
    outwards = -system.outwards(estimate[:, 0])
    chosen = [sign * pattern for pattern in (ones, turns, outwards) for sign in (1.0, -1.0)]
    rng = np.random.default_rng(1)
    drawn = np.where(rng.random((noises, PATTERNS - len(chosen), dimension)) < 0.5, -1.0, 1.0)
    return np.concatenate([np.stack(chosen, axis=1), drawn], axis=1)


def _likeliest(system: System, left: Array) -> tuple[System, Array]:
    """Maximum likelihood: the system with the covariance of its errors, and what to add to the estimates."""
    for k, law in enumerate(system.laws):
        if law != "laplace":
            owner = f"agent {system.found.releases[k][0]} has" if k < len(system.found.releases) else "there is"
            raise AttackError(
                f"{owner} noise that is not Laplace ({law}): the likeliest estimate is for noise that is"
            )
    rng = np.random.default_rng(0)
    solved = [_most_likely(p, y, rng) for p, y in zip(system.parts, system.split(left), strict=True)]
    change = system.joined([np.asarray(part.spread @ change) for part, change in solved])
    return system.with_parts([part for part, _ in solved]), change


def _most_likely(part: Solved, left: Array, rng: np.random.Generator) -> tuple[Solved, Array]:
    change, covariances = np.zeros(part.coefficients.shape), list[Array]()
    for block in part.blocks:
        rows, columns, noises = block.place
        design, noise = part.design[rows][:, columns].toarray(), part.noise[rows][:, noises].toarray()
        change[columns] = most_likely(design, noise, left[rows], block.factor)
        covariances.append(simulated(design, noise, block.estimator, block.factor, DRAWS, rng))
    return part.with_covariances(covariances), change


def _network(
    mapper: Mapper,
    assumption: Assumption,
    system: System,
    estimate: Array,
    bounds: tuple[Bounds, ...],
    there: Pass,
    located: Mask,
    likeliest: bool,
) -> ProbedNetwork:
    points, parts = mapper.points(there), system.parts
    counts = {agent: len(made) for agent, made in sorted(mapper.base.points.items())}
    ends = np.cumsum(list(counts.values()), dtype=int).tolist()
    rows = {i: slice(end - count, end) for (i, count), end in zip(counts.items(), ends, strict=True)}

    def packed(agent: int, own: slice) -> Probed:
        known = np.all([b.identifiable[own] for b in bounds], axis=0)
        worst = max(float(np.max(part.amplification[own][known], initial=0.0)) for part in parts)
        mixing = [(part.estimator[own] @ part.noise).tocsc() for part in parts]
        used = np.flatnonzero(np.any([np.diff(m.indptr) > 0 for m in mixing], axis=0))
        return Probed(
            agent=agent,
            gradients=estimate[own],
            points=points[own],
            covariance=system.covariance(own, own),
            identifiable=known,
            located=located[own],
            drowned=system.structural[own] & ~known,
            rank=min(part.rank(own) for part in parts),
            condition=max(part.condition(own) for part in parts),
            amplification=worst if np.any(known) else float("inf"),
            residual=max(part.misfit.residual for part in parts),
            rounding=np.max([b.rounding[own] for b in bounds], axis=0),
            mixing=system.stacked([m[:, used].toarray() for m in mixing]),
            laws=tuple(system.laws[k] for k in used.tolist()),
            gaps=system.found.gaps,
            likeliest=likeliest,
        )

    return ProbedNetwork(
        assumption=assumption,
        agents={i: packed(i, own) for i, own in rows.items()},
        rank=min(sum(len(b.sizes) for b in part.blocks) for part in parts),
        equations=len(system.found.fields),
        residual=max(part.misfit.residual for part in parts),
        misfit=float(np.mean([part.misfit.mean for part in parts])),
        degrees=float(np.mean([p.misfit.degrees for p in parts])),
        distances={},
        _rows=rows,
        _system=system,
        _estimate=estimate,
        _bounds=bounds,
    )
