"""Algorithm: a coroutine against the port, with its conditions, its privacy claim, and noise calibrated to it."""

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import TYPE_CHECKING, ClassVar, Literal, Protocol, Self, get_type_hints

import numpy as np

from netsim.algorithms.names import check_names
from netsim.arguments import check_types
from netsim.arrays import Array, whole
from netsim.bounds import LARGEST, Positive, Rounds
from netsim.claims import Adjacency, Claim, Standpoint
from netsim.codecs import Codec
from netsim.errors import PrivacyError, ScenarioError
from netsim.node import Node
from netsim.schedules import Constant, Schedule, first_outside, scaled
from netsim.shown import show

if TYPE_CHECKING:
    from netsim.topology import Topology

_FARTHEST = 80
"""No noise is made more than 2^80 times as large, or as small."""
_TOLERANCE = 1e-13
Factors = tuple[Positive, ...]
"""A positive number for each agent, by number, or none."""
_ROUNDING = float(np.finfo(np.float64).eps)


class Known(Protocol):
    """Objective of an agent whose data the listeners of a claim know."""

    def gradient(self, x: Array) -> Array:
        """∇f(x), (replicas, dimension)."""
        ...


@dataclass(frozen=True)
class Setting:
    """Public facts an algorithm's conditions and claim depend on.

    `smoothness[i]` is L_i, the Lipschitz constant of ∇f_i, `strong_convexity[i]` its μ_i ≥ 0, `weak_convexity[i]` the
    ρ_i ≥ 0 for which f_i + ρ_i/2 ‖x‖² is convex (none named: all f_i are convex) and `records[i]` how many records
    its mean runs over. L_i, μ_i and ρ_i are taken to hold for both objectives of an adjacent pair. `releases` is the
    largest number of times that one agent runs its mechanism: rounds, or the largest number of activations Θ (the
    papers' PLF). `topology` is the graph with its weights, None where nothing depends on it. `regularized`: there is
    an r ≠ 0.
    """

    agents: int
    dimension: int
    smoothness: tuple[float, ...]
    releases: int = 0
    topology: "Topology | None" = None
    strong_convexity: tuple[float, ...] = ()
    records: tuple[int, ...] = ()
    regularized: bool = False
    weak_convexity: tuple[float, ...] = ()

    def loosened(self, bending: float) -> Self:
        """The same where every L_i may be larger by `bending`."""
        return self if bending == 0 else replace(self, smoothness=tuple(L + bending for L in self.smoothness))

    def degree(self, agent: int) -> float:
        """d_i; infinite without a topology."""
        return math.inf if self.topology is None else len(self.topology.neighbors(agent))

    def weakness(self, agent: int) -> float:
        """ρ_i, 0 if nothing is known."""
        return self.weak_convexity[agent] if self.weak_convexity else 0.0

    def convexity(self, agent: int) -> float:
        """μ_i − ρ_i, the least eigenvalue that ∇²f_i may have; 0, convex, if nothing is known."""
        return (self.strong_convexity[agent] if self.strong_convexity else 0.0) - self.weakness(agent)


@dataclass(frozen=True)
class Stopping:
    """When a walk without an end of its own is stopped: after so many activations in all, or of one agent."""

    activations: int | None = None
    per_agent: int | None = None

    def __post_init__(self) -> None:
        check_types(self)

    @property
    def walks(self) -> bool:
        """Whether the algorithm is a walk, counted in activations, and not in rounds."""
        return bool(self.activations or self.per_agent)

    @property
    def unit(self) -> Literal["round", "activation"]:
        """One of what an agent does over and over: a round, or an activation of a walk."""
        return "activation" if self.walks else "round"

    def check(self, first: int, agents: int) -> None:
        """Raise a `ScenarioError` unless the walk has an end, and a `first` holder that exists."""
        if not 0 <= first < agents:
            raise ScenarioError("first", first, "no such agent", f"0 … {agents - 1}")
        if self.activations is None and self.per_agent is None:
            raise ScenarioError("activations", None, "a walk needs an end", "activations or per_agent, >= 1")
        for name, value in (("activations", self.activations), ("per_agent", self.per_agent)):
            if value is not None and value < 1:
                raise ScenarioError(name, value, "a number of activations", ">= 1")


def unmet(*conditions: tuple[bool, str]) -> tuple[str, ...]:
    """The sentences of the conditions that do not hold."""
    return tuple(sentence for holds, sentence in conditions if not holds)


def silent_release(scale: Schedule, rounds: range) -> int:
    """The first of these rounds whose noise has scale 0; −1 where none has."""
    return next((k for k in rounds if scale(k) == 0), -1)


@dataclass(frozen=True)
class Algorithm(ABC):
    """Frozen parameters and one coroutine. Everything in it is public: the adversary knows the protocol.

    `noise_fields` names the parameters that hold the size of its noise: numbers, or schedules by an agent's release.
    """

    noise_fields: ClassVar[tuple[str, ...]] = ()
    stackable: ClassVar[bool] = False
    """Whether all agents run the same statements on values alone, so that one run stands for all
    (`netsim.readers.stacked`): `run` and what it calls branch on no value and no replica, and treat each row of an
    array by itself. Not inherited: a class that overrides something says it again."""
    limit_of_noise: ClassVar[bool] = False
    """Whether the noise alone decides the limit of a run (`limit_offset`)."""

    def __new__(cls, *args: object, **parameters: object) -> Self:
        """A class that was to be a dataclass takes no parameters: it says so. No name in it hides one of these."""
        check_names(cls, Algorithm)
        if (args or parameters) and cls.__init__ is Algorithm.__init__:
            why = f"{cls.__name__} takes no parameters: it is no dataclass"
            raise ScenarioError("algorithm", [*args, *parameters], why, "@dataclass(frozen=True) above the class")
        return super().__new__(cls)

    @abstractmethod
    async def run(self, node: Node) -> None:
        """What one agent does."""

    def check(self, setting: Setting) -> None:  # noqa: B027
        """Raise a `ScenarioError` (field relative to the algorithm) where a condition of its theory fails."""

    def _check_complete(self, setting: Setting, why: str) -> None:
        """Every agent has a link to every other."""
        if setting.topology is not None and min(setting.topology.degrees) < setting.agents - 1:
            problem = f"the graph is not complete: {why}"
            raise ScenarioError("", setting.topology.name, problem, "a complete graph")

    def _check_scale(self, field: str, releases: int) -> None:
        """A schedule, not negative at every release, and of numbers whose variance is a number."""
        scale: Schedule = getattr(self, field)
        if not callable(scale):
            allowed = "netsim.schedules.Constant, or any function of the round"
            raise ScenarioError(field, scale, "not a schedule", allowed)
        k = first_outside(scale, releases, 0, LARGEST)
        if k is not None:
            raise ScenarioError(field, scale(k), f"no scale, of release {k}", f">= 0 and <= {LARGEST:g}")

    def stopping(self) -> Stopping:
        """Where a walk ends, such as `Stopping(per_agent=6)`: at the `estimate` that closes the last activation, for
        all agents at once, whatever they wait for. An algorithm in rounds ends by itself, as every `run` returns."""
        return Stopping()

    def starting_point(self, agents: int, dimension: int) -> Array | None:  # noqa: ARG002
        """The public point, (dimension,), from which errors are reckoned; None: 0."""
        return None

    @property
    def horizon(self) -> int | None:
        """How often one agent acts at most: rounds, or its activations. None where only chance ends it."""
        return self.stopping().per_agent

    @property
    def _releases(self) -> int:
        """Of how many releases of one agent the noise is known beforehand."""
        return self.horizon or 1

    @property
    def summary(self) -> str:
        """One sentence for a reader of results: the first line of the class's docstring, unless it says more; empty
        where a dataclass wrote that itself."""
        written = (type(self).__doc__ or "").strip()
        return "" if written.startswith(f"{type(self).__name__}(") else next(iter(written.splitlines()), "")

    @property
    def codec(self) -> Codec | None:
        """What the algorithm itself makes of its vectors on the wire (a compressor); None: what the network has."""
        return None

    @property
    def needs_all_messages(self) -> bool:
        """Whether nothing can stand in for a message of an exchange: then its exchanges may have no deadline."""
        return False

    @property
    def colluding(self) -> tuple[int, ...]:
        """The agents whose noise and seeds the adversary of its claim holds; none unless it says so."""
        return ()

    def as_its_claim_sees(self, agent: int, objectives: Sequence[Known] = ()) -> "Algorithm":  # noqa: ARG002
        """The algorithm at whose door of `agent` there is as much to see as its claim's listeners see of that agent.

        Itself, unless the claim is of listeners who see less than what passes the door. An audit is of this one. Of
        all agents' `objectives` those of others may be built into it, for the listeners know their data.
        """
        return self

    @property
    def noisy(self) -> bool:
        """Whether its agents add any randomness to what they release."""
        sizes: list[float | Schedule] = [getattr(self, name) for name in self.noise_fields]
        schedules = (Constant(size) if isinstance(size, float | int) else size for size in sizes)
        return any(schedule(k) > 0 for schedule in schedules for k in range(self._releases))

    def claim(self, adjacency: Adjacency, setting: Setting, delta: float) -> Claim | None:  # noqa: ARG002
        """What its paper claims; None for an algorithm that claims nothing."""
        return None

    def claim_from(
        self,
        standpoint: Standpoint,  # noqa: ARG002
        adjacency: Adjacency,  # noqa: ARG002
        setting: Setting,  # noqa: ARG002
        delta: float,  # noqa: ARG002
    ) -> Claim | None:
        """What its paper claims of what some other agents learn (pairwise network privacy), with this `standpoint`;
        None where it states no more than `claim`, which holds for every listener."""
        return None

    def unproven(self, setting: Setting) -> tuple[str, ...] | None:  # noqa: ARG002
        """The conditions of its paper's convergence theorem that fail; None where they are not computed."""
        return None

    def rate(self, setting: Setting) -> float | None:  # noqa: ARG002
        """ρ where its paper's theorem says that the error after k rounds is O(ρ^k) here; None where it does not."""
        return None

    def limit_offset(
        self,
        noise: Sequence[np.random.Generator],  # noqa: ARG002
        shape: tuple[int, int],  # noqa: ARG002
    ) -> Array | None:
        """−Σ_i ∇f_i(x^∞), `shape` = (replicas, dimension), where its noise alone decides the limit x^∞; else None.

        `noise` are the agents' streams from their start. It holds where every message arrives and no agent begins
        anew. PRIVATE: for measures of who owns the run.
        """
        return None

    def scaled(self, factor: float) -> Self:
        """The same algorithm with all its noise `factor` times as large; a `PrivacyError` if it has none."""
        if not self.noise_fields:
            raise PrivacyError(f"{type(self).__name__} has no noise to scale by {factor:g}")
        sizes: dict[str, float | Schedule] = {name: getattr(self, name) for name in self.noise_fields}
        larger = {n: factor * s if isinstance(s, float | int) else scaled(s, factor) for n, s in sizes.items()}
        return replace(self, **larger)

    def calibrated(self, epsilon: float, delta: float, adjacency: Adjacency, setting: Setting) -> Self:
        """The same algorithm with the noise at which its paper claims (ε, δ) for `setting.releases` releases.

        Its noise keeps its shape over time: one factor multiplies all of it. You get a `PrivacyError` where the
        claim is undefined, where there is no noise to scale, or where no factor up to 2^80 gives this ε.
        """

        def claimed(factor: float) -> Claim | None:
            try:
                return self.scaled(factor).claim(adjacency, setting, delta)
            except OverflowError:  # parameters are not checked yet: a step of 1e300, say
                raise PrivacyError("cannot calibrate: parameters so large that the claim is no number") from None

        if not (0 < epsilon < math.inf and 0 <= delta < 1):
            raise PrivacyError(f"cannot calibrate to ε = {epsilon:g}, δ = {show(delta)}: need ε > 0 and 0 <= δ < 1")

        @cache  # a claim of many releases takes long, and the search asks at its ends again
        def excess(log_factor: float) -> float:
            claim = claimed(2.0**log_factor)
            if claim is None:
                raise PrivacyError("cannot calibrate: nothing is claimed")
            if claim.epsilon is None:
                raise PrivacyError(f"cannot calibrate: the claim is undefined ({'; '.join(claim.failed_conditions)})")
            return math.log(claim.epsilon / epsilon) if claim.epsilon > 0 else -math.inf

        first = claimed(1.0)
        if first is not None and first.epsilon:
            inverse = first.epsilon / epsilon  # exact where ε falls as 1/noise
            if abs(excess(math.log2(inverse))) <= 4 * _ROUNDING:
                return self.scaled(inverse)
        low = high = 0.0
        while excess(low) < 0 and low > -_FARTHEST:
            low -= 1
        while excess(high) > 0 and high < _FARTHEST:
            high += 1
        if excess(low) < 0 or excess(high) > 0:
            raise PrivacyError(f"cannot calibrate: no noise up to 2^±{_FARTHEST} times this gives ε = {epsilon:g}")
        if low == high:
            return self.scaled(2.0**low)
        from scipy.optimize import brentq  # takes its time to load

        root = brentq(lambda t: max(excess(t), -1e3), low, high, xtol=_TOLERANCE, rtol=_TOLERANCE)
        return self.scaled(2.0 ** float(root))


@dataclass(frozen=True)
class InRounds(Algorithm):
    """An algorithm whose agents all do the same so many `rounds`."""

    rounds: Rounds
    """How many rounds."""

    @property
    def horizon(self) -> int:
        return self.rounds

    def check(self, setting: Setting) -> None:  # noqa: ARG002
        """At least one round; scales of noise that are schedules, finite and not negative."""
        whole(self.rounds, "rounds", 1)
        hints = get_type_hints(type(self))
        for name in self.noise_fields:
            if hints[name] == Schedule:
                self._check_scale(name, self._releases)

    def _check_factors(self, names: Sequence[str], agents: int) -> None:
        """`Factors`: none or one for each agent, positive and finite."""
        for name in names:
            factors: Factors = getattr(self, name)
            if len(factors) not in (0, agents):
                raise ScenarioError(name, len(factors), "not one for each agent", f"none, or {agents}")
            if not all(0 < factor < math.inf for factor in factors):
                raise ScenarioError(name, list(factors), "not factors of a scale", "> 0 and finite")

    def _check_steps(
        self, step: Schedule, bound: float, condition: str, problem: str = "unstable at round {k}"
    ) -> None:
        """The step of every round in (0, bound); `condition` says so in the paper's letters."""
        k = first_outside(step, self.rounds, math.nextafter(0, 1), math.nextafter(bound, 0))
        if k is not None:
            raise ScenarioError("step", step(k), problem.format(k=k), f"{condition} = {bound:.6g}")
