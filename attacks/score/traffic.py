"""Traffic analysis against what the network and the agents really did."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from attacks.traffic.packets import Amount, Sealed, same
from netsim.adversary import Edge
from netsim.randomness import Streams
from netsim.simulation import Run
from netsim.transcript.packet_log import PacketLog


@dataclass(frozen=True)
class Covered:
    """Coverage of intervals: of `asked` numbers, `estimated` have an interval with two ends, `held` of those hold the
    truth, `exact` are points; `error` is the mean distance of the best guesses from the truth, None where there are
    none; `baseline` that of who has no tap, for the same numbers."""

    asked: int
    estimated: int
    held: int
    exact: int
    error: float | None
    baseline: float | None


@dataclass(frozen=True)
class TrafficScore:
    """`activations`, `computing` (seconds), `repeated` and `lost` (packets): how well numbers are known.

    `events_found` of `events` activations have an event of their agent at their time; `events_wrong` are none's.
    `guessed`: the share of the activations whose agent is right for who names the one with most neighbors always;
    in rounds, where everybody acts, None. `pairs` of agents whose mean times differ, `ranked` of them, `rightly` of
    these.
    `slowest`: the agent whose mean time is largest. `dimension`: the true one.
    """

    activations: Covered
    events: int
    events_found: int
    events_wrong: int
    guessed: float | None
    computing: Covered
    pairs: int
    ranked: int
    rightly: int
    slowest: int | None
    repeated: Covered
    lost: Covered
    dimension: int


def score_traffic(found: Sealed, run: Run, log: PacketLog) -> TrafficScore:
    """Compare with the packet log of the run, and with the computing times that its agents drew."""
    truth = computing_times(run)
    count = len(run.activations)
    matched = 0  # events that are an activation's: each agent's, in order
    begun: dict[int, list[float]] = {}
    for (agent, _), passage in sorted(log.begun.items()):
        begun.setdefault(agent, []).append(passage.start)
    for own in begun.values():
        own.sort(reverse=True)
    for time, agent in found.activity.events:
        left = begun.get(agent, [])
        while left and left[-1] < time and not same(left[-1], time):
            left.pop()
        if left and same(left[-1], time):
            left.pop()
            matched += 1
    walk = run.simulation.algorithm.stopping().walks
    degrees = run.simulation.topology.degrees
    likely = max(range(count), key=lambda i: degrees[i])
    total, ways = sum(run.activations), sum(degrees)
    guesses = [total * d / ways for d in degrees] if walk else [float(run.simulation.algorithm.horizon or 0)] * count
    known = [k for k, one in enumerate(truth) if one is not None]
    times = [truth[k] or 0.0 for k in known]
    mean = sum(times) / len(times) if times else 0.0
    most = max(times, default=0.0)
    slowest = known[times.index(most)] if times.count(most) == 1 else None
    pairs = {
        (i, j) for i, one in zip(known, times, strict=True) for j, two in zip(known, times, strict=True) if one > two
    }
    ranked, links = found.computing.slower, found.links
    return TrafficScore(
        _covered(found.activity.counts, list(run.activations), guesses),
        len(log.begun),
        matched,
        len(found.activity.events) - matched,
        run.activations[likely] / max(total, 1) if walk else None,
        _covered([found.computing.means[k] for k in known], times, [mean] * len(times)),
        len(pairs),
        len(ranked),
        len(ranked & pairs),
        slowest,
        _of_links(links.repeated, {edge: one.repeated for edge, one in log.links.items()}),
        _of_links(links.lost, {edge: one.lost for edge, one in log.links.items()}),
        run.simulation.problem.dimension,
    )


def computing_times(run: Run) -> list[float | None]:
    """The mean seconds that a query really took each agent: its stream's draws, again. None without queries."""
    streams, means = Streams(run.simulation.seed), list[float | None]()
    for agent, queries in enumerate(run.queries):
        law, rng = run.simulation.timing.compute_law(agent), streams.plain("agent", agent, "compute")
        drawn = [0.0 if law is None else law.draw(rng) for _ in range(queries)]
        means.append(sum(drawn) / queries if queries else None)
    return means


def _covered(found: Sequence[Amount | None], truth: Sequence[float], guesses: Sequence[float]) -> Covered:
    known = [(one, true, guess) for one, true, guess in zip(found, truth, guesses, strict=True) if one is not None]
    bounded = [(one, true) for one, true, _ in known if one.high < float("inf")]
    guessed = [(one.value, true, guess) for one, true, guess in known if one.value is not None]
    return Covered(
        len(truth),
        len(bounded),
        sum(one.holds(true) for one, true in bounded),
        sum(one.exact for one, _ in bounded),
        sum(abs(value - true) for value, true, _ in guessed) / len(guessed) if guessed else None,
        sum(abs(guess - true) for _, true, guess in guessed) / len(guessed) if guessed else None,
    )


def _of_links(found: Mapping[Edge, Amount], truth: Mapping[Edge, int]) -> Covered:
    """Coverage for links; without a tap the guess is that nothing was lost, and so nothing repeated."""
    links = sorted(truth)
    return _covered([found.get(edge) for edge in links], [truth[edge] for edge in links], [0.0] * len(links))
