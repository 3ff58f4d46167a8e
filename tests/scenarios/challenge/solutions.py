"""Reference solutions: from an opened challenge to its answer, by what was recorded and is public alone."""

import re
from collections.abc import Callable
from itertools import combinations

import numpy as np

from attacks.inference import infer
from netsim.problems import load
from scenarios.challenge import Opened


def values(view, field="x"):
    """What each agent sent in its message of each number: {(agent, number): (replicas, dimension)}, in the clear."""
    seen = view.transcript.select(kind="exchange")
    return {(one.sender, one.number): one.values[field] for one in seen if field in one.values}


def residual(view, sent, agent, k):
    """−step · gradient + noise of round k: x̃ less the mix of the round before."""
    if k == 0:
        return sent[agent, 0]
    own, *others = view.public.weights[agent]
    mixed = own * sent[agent, k - 1]
    for weight, j in zip(others, view.public.neighbors[agent], strict=True):
        mixed = mixed + weight * sent[j, k - 1]
    return sent[agent, k] - mixed


def residuals(view):
    sent = values(view)
    return {(i, k): residual(view, sent, i, k) for i, k in sent}


def named_agent(one: Opened) -> int:
    return int(re.search(r"agent (\d+)", one.question, re.IGNORECASE)[1])


def signs(vector):
    return ["n" if number < 0 else "p" for number in vector]


def inferred(query):
    def gradient(one):
        (found,) = [e for e in infer(one.view) if (e.agent, e.query) == (named_agent(one), query)]
        return found.gradient[0]

    return gradient


def first_gradients(view):
    """−1/step times the second message: the gradients at 0, each the mean over replicas."""
    step = view.public.algorithm.step(0)
    return {i: -found.mean(axis=0) / step for (i, k), found in residuals(view).items() if k == 1}


def largest(count, gradient):
    return lambda one: np.argsort(-np.abs(gradient(one)))[:count]


def by_agent(score, count):
    """The agents with the least scores of a view's residuals."""

    def solve(one):
        found = residuals(one.view)
        agents = range(one.view.public.agents)
        return sorted(agents, key=lambda i: score(found, i))[:count]

    return solve


def late(one):
    agent = named_agent(one)
    return signs(-residual(one.view, values(one.view), agent, 7)[0])


def labels(one):
    return [int(g.sum() < 0) for _, g in sorted(first_gradients(one.view).items())]


def digits(one):
    return [int(np.argmin(g[-10:])) for _, g in sorted(first_gradients(one.view).items())]


def row(one):
    gradient = first_gradients(one.view)[named_agent(one)]
    catalogue = load("digits", classes=(0, 1)).features
    return [int(np.argmax(np.abs(catalogue @ gradient) / np.linalg.norm(catalogue, axis=1)))]


def line_up(one):
    gradient, data = first_gradients(one.view)[named_agent(one)], load("digits", classes=(0, 1))
    shown = {letter: int(k) for letter, k in re.findall(r"\b([a-t]) = (\d+)", one.question)}

    def distance(pair):
        rows = [shown[letter] for letter in pair]
        return np.linalg.norm(gradient + data.labels[rows] @ data.features[rows] / 4)

    return min(combinations(shown, 2), key=distance)


def zeros(one):
    return [i for i, g in first_gradients(one.view).items() if g.sum() > 0]


def nearest(pairs, distance):
    return min(pairs, key=lambda pair: np.abs(distance(*pair)).max())


def shared(one):
    sent = values(one.view)
    return nearest(combinations(range(16), 2), lambda i, j: sent[i, 0] - sent[j, 0])


def reused(one):
    found = residuals(one.view)
    every = [(i, k, m) for i in range(12) for k, m in combinations(range(20), 2)]
    return nearest(every, lambda i, k, m: found[i, k] - found[i, m])[1:]


def bare(one):
    found = residuals(one.view)

    def quiet(i):
        return sorted(range(16), key=lambda k: np.abs(found[i, k]).max())[:3]

    agent = min((i for i in range(12)), key=lambda i: np.abs(found[i, quiet(i)[1]]).max())
    return quiet(agent)


def forgotten(one):
    agent = next(row.sender or row.receiver for row in one.view.transcript if row.values)
    return signs(-values(one.view)[agent, 1][0])


def scales(one):
    sent = values(one.view)
    return [2 ** round(np.log2(2 / np.abs(sent[i, 0]).mean())) for i in range(one.view.public.agents)]


def laws(one):
    sent = [values(one.view)[i, 0] for i in range(8)]
    return ["l" if np.abs(x).mean() / np.sqrt((x**2).mean()) < 0.75 else "g" for x in sent]


def hops(one):
    first = [row for row in one.view.transcript if row.attempt <= 0 and row.kind != "ack"]
    return [row.receiver for row in first][:6]


def dark_hops(one):
    rows = list(one.view.transcript)
    most = max(row.size for row in rows)
    return [row.receiver for row in rows if row.size == most][:6]


def missed_hops(one):
    way = [0]
    for row in one.view.transcript:
        way += [row.receiver] if row.sender == way[-1] else [row.sender, row.receiver]
    return way[1:7]


def slow(one):
    rows = list(one.view.transcript)
    most = max(row.size for row in rows)  # acknowledgments are shorter
    sent = [sorted({row.time for row in rows if row.sender == i and row.size == most}) for i in range(12)]
    computes = {
        i: sum(sent[i][k + 1] - max(sent[j][k] for j in (i, *neighbors)) for k in range(len(sent[i]) - 1))
        for i, neighbors in enumerate(one.view.public.neighbors)
    }
    return sorted(computes, key=computes.__getitem__)[-3:]


def broken(one):
    agents = range(6)
    return ["b" if any(free_of(view, i) for i in agents) else "s" for _, view in sorted(one.views.items())]


def free_of(view, agent):
    """Whether every link of an agent is tapped, by the transcript."""
    return len({frozenset((row.sender, row.receiver)) for row in view.transcript if agent in row[3:5]}) == 5


def shares(one):
    view, agent = one.view, named_agent(one)
    algorithm, p, n = view.public.algorithm, view.public.algorithm.modulus, view.public.agents
    sums = values(view, "sum")
    state = [int(number) for number in sums[agent, 1][0]]
    for row in view.transcript.select(kind="direct"):
        if row.number // (n - 1) == 1 and agent in (row.sender, row.receiver):
            sign = 1 if row.sender == agent else -1
            state = [(e + sign * int(share)) % p for e, share in zip(state, row.values["share"][0], strict=True)]
    signed = np.array([e - p if 2 * e > p else e for e in state]) * algorithm.resolution
    return signs(-signed)


def verdicts(one):
    return [FAULTS[type(view.public.algorithm).__name__](view) for _, view in sorted(one.views.items())]


def fails(test: Callable) -> Callable:
    return lambda view: "f" if test(view) else "h"


def size(view, k=0):
    return np.mean([np.abs(residuals(view)[i, k]).mean() for i in range(view.public.agents)])


FAULTS = {
    "OneScalar": fails(lambda view: np.ptp(values(view)[0, 0], axis=1).max() == 0),
    "SentBefore": fails(lambda view: not values(view, "monitored")[0, 0].any()),
    "ReusedSeed": fails(lambda view: np.abs(values(view)[0, 1] - values(view)[0, 0]).mean() < 0.7 * size(view)),
    "Averaged": fails(lambda view: (values(view)[0, 0] != values(view)[0, 1]).any()),
    "FadingNoise": fails(lambda view: size(view, 3) < size(view) / 2),
    "HalfNoise": fails(lambda view: size(view) < 0.75 * view.public.algorithm.scale),
    "CompositionForgotten": fails(lambda view: size(view) < 0.75 * view.public.algorithm.scale),
    "L1L2MixUp": fails(lambda view: size(view) < 2 * view.public.algorithm.scale),
}


def budgets(one):
    found = [size(view) / view.public.algorithm.scale(0) for _, view in sorted(one.views.items())]
    return ["h" if ratio > 0.87 else "f" for ratio in found]


SOLUTIONS: dict[str, Callable[[Opened], object]] = {
    "first-flag": largest(4, inferred(0)), "no-noise": by_agent(lambda found, i: np.abs(found[i, 0]).max(), 3),
    "walk": hops, "labels": labels, "signs": lambda one: signs(inferred(1)(one)), "one-door": largest(3, inferred(2)),
    "scalar-noise": by_agent(lambda found, i: np.ptp(found[i, 0], axis=1).max(), 3), "late-tap": late,
    "baton": lambda one: signs(inferred(1)(one)), "which-image": row, "shared-seed": shared,
    "forgotten-link": forgotten, "half-noise": by_agent(lambda found, i: np.abs(found[i, 0]).mean(), 3),
    "ten-digits": digits, "reused-noise": reused,
    "fading-noise": by_agent(lambda found, i: np.abs(found[i, 4]).mean() / np.abs(found[i, 0]).mean(), 3),
    "bare-rounds": bare, "dark-walk": dark_hops, "stragglers": slow, "line-up": line_up, "law": laws,
    "true-epsilon": scales, "averaged-image": row, "property": zeros, "missed-hops": missed_hops,
    "lossy-tap": lambda one: signs(inferred(2)(one)), "listeners": broken, "shares": shares, "verdicts": verdicts,
    "budgets": budgets,
}  # fmt: skip


def solved(one: Opened) -> str:
    return ",".join(map(str, SOLUTIONS[one.challenge.name](one)))
