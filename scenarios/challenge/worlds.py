"""Worlds behind challenges: private runs, their recordings, and the answers that follow from their truth.

A builder is given a private generator and returns a `Posed`, or None where a right solution could be led astray by
rounding or by chance; then it is called again with the next generator.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, field, replace
from functools import partial, wraps
from itertools import pairwise
from typing import Any, Concatenate, ParamSpec, cast

import numpy as np
from numpy.typing import NDArray

from attacks.inference import infer
from netsim.adversary import Adversary, AdversaryView
from netsim.algorithms import Algorithm, PrivateGradientDescent
from netsim.arrays import Array
from netsim.errors import AttackError
from netsim.mechanisms import Gaussian, Laplace
from netsim.node import Node
from netsim.settings import Recording
from netsim.simulation import Run, Simulation
from scenarios.build.experiment import Experiment
from scenarios.build.problem import problem_of
from scenarios.schema import Scenario

Words = dict[str, object]
"""Part of a scenario, in the words of its file."""
LETTERS = "abcdefghijklmnopqrst"
SIGNS = ("p", "n")
HOLDS = ("h", "f")


@dataclass(frozen=True)
class Posed:
    """A challenge for one student. `answer` is PRIVATE; the rest is written into the folder.

    `views` by the name of the recording; `algorithms` has the name that the algorithm of a recording has in the
    `public` scenario. `facts` fill the gaps of the question. `simulation`, PRIVATE, is what was run, where the answer
    is the same if agents are processes.
    """

    public: Scenario
    views: Mapping[str, AdversaryView]
    algorithms: Mapping[str, str]
    answer: Sequence[str]
    facts: Mapping[str, object] = field(default_factory=dict[str, object])
    simulation: Simulation | None = None


Builder = Callable[[np.random.Generator], Posed | None]
P = ParamSpec("P")


def _builder(pose: Callable[Concatenate[np.random.Generator, P], Posed | None]) -> Callable[P, Builder]:
    """Split a function in two: called with all but its generator, it gives a builder."""

    @wraps(pose)
    def of(*args: P.args, **options: P.kwargs) -> Builder:
        return lambda rng: pose(rng, *args, **options)

    return of


@dataclass(frozen=True)
class Habit:
    """How one agent draws its noise: `factor` times the published scale, times `fading` to the power of the round.

    `bare`: rounds without noise. `scalar`: one number for all coordinates. `reused`: rounds that share one draw.
    `generator`: a seed of the agent's own in place of its private stream. `gaussian`: Gaussian noise of the same
    standard deviation.
    """

    factor: float = 1.0
    fading: float = 1.0
    bare: tuple[int, ...] = ()
    scalar: bool = False
    reused: tuple[int, ...] = ()
    generator: int | None = None
    gaussian: bool = False


@dataclass(frozen=True)
class _Careless(PrivateGradientDescent):
    """`PrivateGradientDescent` in which some agents do not follow the published code."""

    habits: Mapping[int, Habit] = field(default_factory=dict[int, Habit])

    stackable = False  # agents are unlike

    async def run(self, node: Node) -> None:
        x, kept = node.zeros(), node.zeros()
        habit = self.habits.get(node.id, Habit())
        for k in range(self.rounds):
            noise = self._drawn(node, habit, k)
            if k in habit.reused:
                kept = noise = noise if k == min(habit.reused) else kept
            received = await node.exchange(x=x + noise)
            x = received.mix("x") - self.step(k) * await node.gradient(x)
            node.estimate(x)

    def _drawn(self, node: Node, habit: Habit, k: int) -> Array:
        scale, nothing = self.scale(k) * habit.factor * habit.fading**k, node.zeros()
        if k in habit.bare:
            return nothing
        if habit.generator is not None:
            return np.random.default_rng((habit.generator, k)).laplace(0.0, scale, nothing.shape)
        law = Gaussian(scale * math.sqrt(2)) if habit.gaussian else Laplace(scale)
        noise = node.privatize(nothing, law)
        return nothing + noise[:, :1] if habit.scalar else noise


@dataclass(frozen=True)
class _World:
    """A scenario with public seeds, and the same experiment with private ones and what is hidden.

    `rows`: which records of the data set each agent holds, where these were dealt here.
    """

    public: Scenario
    private: Experiment
    rows: tuple[list[int], ...] = ()

    @classmethod
    def of(cls, rng: np.random.Generator, words: Words, hidden: Words | None = None) -> "_World":
        whole: Words = {"name": "challenge", "adversary": {"links": "all"}, **deepcopy(words)}
        public = Scenario.model_validate(whole | {"seed": 0})
        whole |= deepcopy(hidden or {})
        data = cast("Words", cast("Words", whole["problem"])["data"])
        if data["name"] == "synthetic":
            data["seed"] = int(rng.integers(2**48))
        return cls(public, Experiment.of(Scenario.model_validate(whole | {"seed": int(rng.integers(2**48))})))

    @classmethod
    def dealt(cls, rng: np.random.Generator, words: Words, records: int) -> "_World":
        """Every agent holds so many records, any as likely as any other: a scenario deals the classes in turn."""
        kind = "one_record" if records == 1 else "row_space"
        one = cls.of(rng, words | {"attacks": {"reconstruct": [{"kind": kind}], "holding": records}})
        dealt = rng.permutation(one.private.dataset.records)[: records * _agents(words)]
        return replace(one, rows=tuple(dealt.reshape(-1, records).tolist()))

    def simulation(self, index: int = 0) -> Simulation:
        subject, recording = self.private.subjects[index], Recording(private="everything")
        if not self.rows:
            return replace(subject.simulation, recording=recording)
        assert subject.attacked is not None
        parts = [self.private.dataset.take(rows) for rows in self.rows]
        return replace(subject.attacked, problem=problem_of(self.private.scenario, parts), recording=recording)

    def run(self, change: Callable[[Any], Algorithm] | None = None) -> Run:
        """The private run; `change` makes of the published algorithm what agents really run."""
        one = self.simulation()
        return (one if change is None else replace(one, algorithm=change(one.algorithm))).run()

    def posed(self, view: AdversaryView, answer: Sequence[str], **facts: object) -> Posed:
        """One recording."""
        names = {"transcript": self.public.algorithms[0].name}
        return Posed(self.public, {"transcript": view}, names, answer, facts)


def descent(**options: Any) -> list[Words]:
    return [{"kind": "private_gradient_descent", "rounds": 4, "step": 0.05, **options}]


def _agents(words: Words) -> int:
    return cast("int", cast("Words", words["topology"])["agents"])


def _numbers(drawn: NDArray[Any]) -> list[int]:
    return [int(one) for one in drawn.flat]


# ── what is asked of a gradient ─────────────────────────────────────────────────────────────────────────
Reading = Callable[[Array], "list[str] | None"]
"""Words that follow from a vector; None where they hang on its last digits."""
CLEAR = 0.02
"""Share of the largest coordinate by which a sign, or an order, has to be clear."""


def signs(vector: Array) -> list[str] | None:
    sizes = np.abs(vector)
    return None if sizes.min() < CLEAR * sizes.max() else [SIGNS[int(one < 0)] for one in vector]


def largest(count: int, vector: Array) -> list[str] | None:
    """The coordinates of largest magnitude, the largest first."""
    order = np.argsort(-np.abs(vector))
    sizes = np.abs(vector)[order]
    return None if (-np.diff(sizes[: count + 1])).min() < CLEAR * sizes[0] else [str(k) for k in order[:count]]


@_builder
def gradient(
    rng: np.random.Generator,
    words: Words,
    query: int,
    reading: Reading,
    *,
    door: bool = False,
    checked: bool = False,
    live: bool = False,
) -> Posed | None:
    """One agent's gradient, counted from 0. `door`: the tap sits at the agent's door alone; `checked`: only where
    netsim's own inversion finds it. `live`: agents may be processes, that is, no packet is lost or missed."""
    agent = int(rng.integers(_agents(words)))
    tapped: Words = {"adversary": {"nodes": [agent], "links": []}} if door else {}
    world = _World.of(rng, words | tapped)
    run = world.run()
    assert run.truth is not None
    own = run.truth.queries[agent]
    answer = reading(own[query].gradient[0]) if query < len(own) else None
    if answer is None or (checked and not _found(run.views[0], agent, query)):
        return None
    one = world.posed(run.views[0], answer, agent=agent)
    return replace(one, simulation=world.simulation()) if live else one


def _found(view: AdversaryView, agent: int, query: int) -> bool:
    try:
        return any((one.agent, one.query) == (agent, query) for one in infer(view))
    except AttackError:
        return False


@_builder
def forgotten_link(rng: np.random.Generator, words: Words) -> Posed | None:
    """One link of a star is not encrypted."""
    agent = 1 + int(rng.integers(_agents(words) - 1))
    world = _World.of(rng, words, {"link_overrides": [{"between": [[0, agent]], "law": {"encrypted": False}}]})
    run = world.run()
    assert run.truth is not None
    answer = signs(run.truth.queries[agent][0].gradient[0])
    return None if answer is None else world.posed(run.views[0], answer)


# ── records ─────────────────────────────────────────────────────────────────────────────────────────────
@_builder
def classes(rng: np.random.Generator, words: Words) -> Posed:
    """The class of every agent's record, from 0."""
    world = _World.dealt(rng, words, 1)
    labels = world.private.dataset.labels
    found = np.searchsorted(np.unique(labels), [labels[row] for (row,) in world.rows])
    return world.posed(world.run().views[0], [str(one) for one in _numbers(found)])


@_builder
def one_image(rng: np.random.Generator, words: Words) -> Posed:
    """The row of the one image that an agent holds."""
    agent = int(rng.integers(_agents(words)))
    world = _World.dealt(rng, words, 1)
    return world.posed(world.run().views[0], [str(world.rows[agent][0])], agent=agent)


@_builder
def lineup(rng: np.random.Generator, words: Words, candidates: int) -> Posed:
    """Which two of some rows an agent holds."""
    agent = int(rng.integers(_agents(words)))
    world = _World.dealt(rng, words, 2)
    own = world.rows[agent]
    others = [row for row in _numbers(rng.permutation(world.private.dataset.records)) if row not in own]
    shown = _numbers(rng.permutation([*own, *others[: candidates - 2]]))
    answer = [LETTERS[k] for k, row in enumerate(shown) if row in own]
    listed = ", ".join(f"{LETTERS[k]} = {row}" for k, row in enumerate(shown))
    return world.posed(world.run().views[0], answer, agent=agent, candidates=listed)


@_builder
def zeros(rng: np.random.Generator, words: Words) -> Posed | None:
    """Which half of the agents holds zeros alone; the other half holds ones."""
    world = _World.of(rng, words)
    problem: Any = world.simulation().problem
    answer = [str(k) for k, one in enumerate(problem.objectives) if one.labels[0] < 0]
    return world.posed(world.run().views[0], answer) if len(answer) == _agents(words) // 2 else None


# ── noise ───────────────────────────────────────────────────────────────────────────────────────────────
def _careless(habits: Mapping[int, Habit], published: PrivateGradientDescent) -> _Careless:
    return _Careless(published.rounds, step=published.step, scale=published.scale, habits=habits)


def _subset(rng: np.random.Generator, of: int, count: int) -> list[int]:
    return sorted(_numbers(rng.permutation(of))[:count])


@_builder
def culprits(
    rng: np.random.Generator, words: Words, count: int, habit: Habit, innocent: Habit | None = None
) -> Posed:
    """Which agents have a habit. `innocent`: what as many others have, which costs nothing."""
    agents = _agents(words)
    drawn = _numbers(rng.permutation(agents))
    chosen = sorted(drawn[:count])
    own = habit if habit.generator is None else replace(habit, generator=int(rng.integers(2**48)))
    habits = dict.fromkeys(chosen, own)
    habits |= {} if innocent is None else dict.fromkeys(drawn[count : 2 * count], innocent)
    world = _World.of(rng, words)
    return world.posed(world.run(partial(_careless, habits)).views[0], [str(one) for one in chosen])


@_builder
def rounds_of(rng: np.random.Generator, words: Words, count: int, habit: Callable[[tuple[int, ...]], Habit]) -> Posed:
    """In which rounds one agent, which is not named, has a habit."""
    agent = int(rng.integers(_agents(words)))
    (published,) = cast("list[Words]", words["algorithms"])
    chosen = _subset(rng, cast("int", published["rounds"]), count)
    world = _World.of(rng, words)
    run = world.run(partial(_careless, {agent: habit(tuple(chosen))}))
    return world.posed(run.views[0], [str(one) for one in chosen])


@_builder
def each_agent(rng: np.random.Generator, words: Words, alphabet: Sequence[str], habits: Sequence[Habit]) -> Posed:
    """Every agent has a habit of its own, named by a word."""
    drawn = _numbers(rng.integers(len(habits), size=_agents(words)))
    world = _World.of(rng, words)
    run = world.run(partial(_careless, {agent: habits[k] for agent, k in enumerate(drawn)}))
    return world.posed(run.views[0], [alphabet[k] for k in drawn])


# ── claims ──────────────────────────────────────────────────────────────────────────────────────────────
def _claims(
    rng: np.random.Generator, words: Words, published: list[Words], run: list[Words], holds: list[bool]
) -> Posed:
    """One recording of each algorithm, as it is run; the public scenario has what is published.

    Every run has a private seed of its own: with one seed sound runs would be the same to the last byte, and the
    noise of the others a multiple of theirs.
    """
    names = LETTERS[: len(published)]
    named = [[one | {"name": name} for name, one in zip(names, some, strict=True)] for some in (published, run)]
    world = _World.of(rng, words | {"algorithms": named[0]}, {"algorithms": named[1]})
    runs = [replace(world.simulation(k), seed=int(rng.integers(2**48))).run() for k in range(len(names))]
    views = {f"transcript-{name}": run.views[0] for name, run in zip(names, runs, strict=True)}
    answer = [HOLDS[int(not one)] for one in holds]
    return Posed(world.public, views, dict(zip(views, names, strict=True)), answer)


@_builder
def verdicts(rng: np.random.Generator, words: Words, faults: Sequence[str]) -> Posed:
    """Which of these algorithms do what they claim, and which have the fault."""
    kinds = [faults[k] for k in _numbers(rng.permutation(len(faults)))]
    sound = [bool(one) for one in _numbers(rng.integers(2, size=len(kinds)))]
    plain: list[Words] = [{"kind": "planted_fault", "fault": one, "step": 0.05} for one in kinds]
    published = [one | {"sound": True} for one in plain]
    run = [one | {"sound": holds} for one, holds in zip(plain, sound, strict=True)]
    return _claims(rng, words, published, run, sound)


@_builder
def budgets(rng: np.random.Generator, words: Words, count: int) -> Posed:
    """Which claims are at or above the true ε: noise of another size than published, more of it too."""
    scales: list[float] = rng.choice([0.5, 1.0, 2.0], count).tolist()
    factors: list[float] = rng.choice([0.55, 0.75, 1.0, 1.5], count).tolist()
    clip = {"bound": 1.0, "norm": "l1"}
    published = [descent(scale=one, clip=clip)[0] for one in scales]
    run = [descent(scale=one * factor, clip=clip)[0] for one, factor in zip(scales, factors, strict=True)]
    return _claims(rng, words, published, run, [one >= 1 for one in factors])


# ── traffic ─────────────────────────────────────────────────────────────────────────────────────────────
@_builder
def route(rng: np.random.Generator, words: Words, hops: int, *, gaps: bool = False) -> Posed | None:
    """The first agents of a walk after agent 0, where it starts.

    `gaps`: the tap missed a hop among them, but neither the first nor the last, and never two in a row.
    """
    world = _World.of(rng, words)
    run = world.run()
    assert run.metrics is not None
    walked = [int(one) for one in run.metrics.agents[: hops + 1]]
    if gaps:
        numbers = [(one.sender, one.receiver) for one in run.views[0].transcript if one.event == "air"]
        seen, at = list[bool](), 0
        for hop in pairwise(walked):
            here = at < len(numbers) and numbers[at] == hop
            seen.append(here)
            at += here
        alone = all(a or b for a, b in pairwise(seen))
        if not (seen[0] and seen[-1] and alone) or all(seen):
            return None
    return world.posed(run.views[0], [str(one) for one in walked[1:]])


@_builder
def slow(rng: np.random.Generator, words: Words, count: int, compute: Words) -> Posed:
    """Which agents compute slowly."""
    chosen = _subset(rng, _agents(words), count)
    world = _World.of(rng, words, {"stragglers": [{"agents": chosen, "compute": compute}]})
    return world.posed(world.run().views[0], [str(one) for one in chosen])


@_builder
def listeners(rng: np.random.Generator, words: Words, count: int) -> Posed:
    """Which of some listeners has every link of an agent, and which misses one of each."""
    agents = _agents(words)
    every = {(i, j) for i in range(agents) for j in range(i + 1, agents)}
    broken = [bool(one) for one in _numbers(rng.integers(2, size=count))]
    tapped: list[Adversary] = []
    for k, one in enumerate(broken):
        order = _numbers(rng.permutation(agents))
        free = list(zip(order[::2], order[1::2], strict=True))  # safe: everybody has a link that is not tapped
        if one:  # the last agent has none
            free[-1] = (order[0], order[-2])
        missed = {(min(edge), max(edge)) for edge in free}
        tapped.append(Adversary(f"transcript-{LETTERS[k]}", tuple(sorted(every - missed))))
    world = _World.of(rng, words)
    run = replace(world.simulation(), adversaries=tuple(tapped)).run()
    views = {one.adversary.name: one for one in run.views}
    answer = ["b" if one else "s" for one in broken]
    return Posed(world.public, views, dict.fromkeys(views, world.public.algorithms[0].name), answer)
