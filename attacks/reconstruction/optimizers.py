"""Minimizers of many functions at once: Adam, L-BFGS and Levenberg-Marquardt; every row is a problem of its own.

    m ← β₁m + (1 − β₁)d,   v ← β₂v + (1 − β₂)d²,   x ← Π(x − ηₜ m̂/(√v̂ + 1e-8)),

d = sign(g) if `signed`, else g (Kingma and Ba 2015; the signs are Geiping and others' 2020). ηₜ falls by
`decay`: *steps*: by 10 after 3/8, 5/8 and 7/8 of the iterations; *cosine*: (1 + cos πt/T)/2 after a linear `warmup`.

Directions are those of the two-loop recursion (Nocedal and Wright, 2nd edition, Algorithm 7.4), H₀ = sᵀy/yᵀy, in the
compact form of Byrd, Nocedal and Schnabel 1994 (eq. 3.5): a few products of matrices for all rows in the place of 2 ·
`history` passes. The step t satisfies the weak Wolfe conditions

    f(x + tp) ≤ f(x) + c₁ t gᵀp,   g(x + tp)ᵀp ≥ c₂ gᵀp,

and is found by bracketing (Lewis and Overton 2013, Algorithm 2.6; where the first condition fails, quadratic
interpolation instead of halving); the first step is at most 1 long. All of it is the same in any orthonormal basis.
Rows are independent: each has a history, a step and an end of its own, and those that have ended are left out of the
work once they are half of it.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from netsim.arrays import Array, Mask

Rows = NDArray[np.intp]


class _Objective(Protocol):
    """A function for each row: no row's value depends on another row."""

    def __call__(self, x: Array) -> tuple[Array, Array]:
        """x (rows, size) → values (rows,) and gradients (rows, size)."""
        ...

    def take(self, rows: Rows) -> "_Objective":
        """The same for these rows alone, in this order."""
        ...


class Minimum(NamedTuple):
    """The best x (rows, size) that was seen, its `value` (rows,), whether the minimizer calls it a minimum
    (`converged`), and after how many `iterations` (rows,)."""

    x: Array
    value: Array
    converged: Mask
    iterations: NDArray[np.intp]


def _inner(u: Array, v: Array) -> Array:
    """⟨u, v⟩ row by row; a row's bits depend on that row alone."""
    return np.matmul(u[:, None, :], v[:, :, None])[:, 0, 0]


FIRST, SECOND, TINY = 0.9, 0.999, 1e-8
"""β₁, β₂ and what keeps the quotient finite."""

Coupling = Callable[[Array, Array], tuple[Array, Array]]
Watch = Callable[[int, Array], None]


@dataclass(frozen=True)
class Adam:
    """All `iterations` are made; the best x that was seen is the answer.

    A row is converged where the last tenth of the iterations, had they been made at the full step, would have lowered
    its best value by at most `tolerance`, relative: what it fell, times the full steps over those made. `box`: lowest
    and highest value of the first `boxed` coordinates (all where it is None). `noise`: Langevin, N(0, 1) times this
    times ηₜ is added to every step.
    """

    step: float = 0.1
    iterations: int = 4800
    signed: bool = True
    decay: Literal["steps", "cosine"] = "steps"
    warmup: int = 0
    box: tuple[float, float] | None = None
    boxed: int | None = None
    noise: float = 0.0
    tolerance: float = 0.1

    def rate(self, t: int) -> float:
        """ηₜ of iteration t, from 0."""
        if self.decay == "steps":
            passed = sum(t >= int(self.iterations * part) for part in (3 / 8, 5 / 8, 7 / 8))
            return self.step * 0.1**passed
        if t < self.warmup:
            return self.step * (t + 1) / self.warmup
        left = (t - self.warmup) / max(1, self.iterations - self.warmup)
        return self.step * (1 + float(np.cos(np.pi * left))) / 2

    def minimize(
        self,
        objective: _Objective,
        start: Array,
        rng: np.random.Generator | None = None,
        coupling: Coupling | None = None,
    ) -> Minimum:
        """Minimize from start (rows, size). `coupling(x, own values)` adds values and gradients that tie rows
        together."""
        x, first, second = self._inside(start.copy()), np.zeros_like(start), np.zeros_like(start)
        best, value = x.copy(), np.full(len(x), np.inf)
        late, before = self.iterations - max(1, self.iterations // 10), value
        for t in range(self.iterations + 1):
            f, g = objective(x)
            if coupling is not None:
                more, slope = coupling(x, f)
                f, g = f + more, g + slope
            better = f < value
            value = np.where(better, f, value)
            best[better] = x[better]
            if t == late:
                before = value
            if t == self.iterations:
                break
            d = np.sign(g) if self.signed else g
            first = FIRST * first + (1 - FIRST) * d
            second = SECOND * second + (1 - SECOND) * d**2
            rate = self.rate(t)
            move = first / (1 - FIRST ** (t + 1)) / (np.sqrt(second / (1 - SECOND ** (t + 1))) + TINY)
            if self.noise and rng is not None:
                move = move + self.noise * rng.standard_normal(x.shape)
            x = self._inside(x - rate * move)
        made = sum(self.rate(t) for t in range(late, self.iterations))
        fall = (before - value) * (self.step * (self.iterations - late) / made)
        settled = np.isfinite(value) & (fall <= self.tolerance * np.abs(before))
        return Minimum(best, value, settled, np.full(len(x), self.iterations, np.intp))

    def _inside(self, x: Array) -> Array:
        if self.box is not None:
            part = x[:, : self.boxed]
            np.clip(part, *self.box, out=part)
        return x


DECREASE, CURVATURE = 1e-4, 0.9
"""c₁ and c₂."""
TRIALS = 30
"""Steps that a line search tries before it gives up."""
LEAST_CURVATURE = 1e-14
"""A pair is kept where sᵀy is more than this times yᵀy."""
NEARLY = 1e4
"""A row whose line search fails, where rounding ends, is converged all the same within so many tolerances."""


WINDOW = 100
"""Iterations over which progress is judged: far more than a valley's bends, in which it rests for a few."""


@dataclass(frozen=True)
class LBFGS:
    """A row ends as converged where its value is at most `floor`, or ‖g‖ at most `tolerance` times its first.

    It ends without being converged after `iterations`, where no step decreases the value, where the value is not
    finite, or where its last 100 iterations lowered the value by less than `least_fall`, a share of it. `history`:
    pairs that are remembered. `racing`: so many rows, one after the other, are starts of one problem: once one of
    them is at most `won` those above end, and once one is at most the floor all of them do.
    """

    iterations: int = 300
    history: int = 10
    tolerance: float = 1e-9
    floor: float = -np.inf
    least_fall: float = 0.0
    racing: int = 1
    won: float = -np.inf

    def minimize(self, objective: _Objective, start: Array, watch: Watch | None = None) -> Minimum:
        """Minimize from start (rows, size), every row by itself. `watch` gets each iteration's number and x (rows,
        size), to be copied."""
        state = _State.begun(objective, start, self.history)
        found = Minimum(start.copy(), state.f.copy(), np.zeros(len(start), bool), np.zeros(len(start), np.intp))
        first, now, before = _length(state.g), start.copy(), state.f.copy()
        for iteration in range(self.iterations + 1):
            if watch is not None:
                now[state.rows[~state.over]] = state.x[~state.over]
                watch(iteration, now)
            steepest, bound = _length(state.g), self.tolerance * first[state.rows]
            finite = np.isfinite(state.f)
            done = ((state.f <= self.floor) | (steepest <= bound)) & finite
            for mark in (self.floor, self.won) if self.racing > 1 else ():  # another start is there
                race, low = state.rows // self.racing, state.f <= mark
                state.stuck |= np.isin(race, race[low]) & (state.f > mark)
            slow = np.full_like(done, iteration == self.iterations)
            if self.least_fall and iteration and iteration % WINDOW == 0:
                slow |= state.f > (1 - self.least_fall) * before[state.rows]
                before[state.rows] = state.f
            ended = done | state.stuck | slow
            new = ended & ~state.over
            if new.any():
                rows = state.rows[new]
                found.x[rows], found.value[rows], found.iterations[rows] = state.x[new], state.f[new], iteration
                found.converged[rows] = (done | state.stuck & finite & (steepest <= NEARLY * bound))[new]
                state.over |= new
                if state.over.all():
                    break
                if 2 * int(state.over.sum()) >= len(new):
                    state = state.kept(~state.over)
            state.step()
        return found


class _Pairs:
    """The last pairs (s, y) of each row, in a ring; a row that keeps no pair has zeros there.

    H g = γg + S R⁻ᵀ((D + γYᵀY) R⁻¹Sᵀg − γYᵀg) − γY R⁻¹Sᵀg, with R the upper triangle of SᵀY in order of time, D its
    diagonal and γ = sᵀy/yᵀy of the last pair.
    """

    def __init__(self, rows: int, size: int, history: int) -> None:
        self.both = np.zeros((rows, 2 * history, size))
        self.cross = np.zeros((rows, history, history))
        self.squares = np.zeros((rows, history, history))
        self.scale = np.ones((rows, 1))
        self.history, self.count = history, 0

    def add(self, s: Array, y: Array) -> None:
        h, place = self.history, self.count % self.history
        curvature, length = _inner(s, y), _inner(y, y)
        sound = (curvature > LEAST_CURVATURE * length) & (length > 0)
        if not sound.all():
            s, y = np.where(sound[:, None], s, 0.0), np.where(sound[:, None], y, 0.0)
        self.both[:, place], self.both[:, h + place] = s, y
        used = min(self.count + 1, h)
        with_y = np.matmul(self.both.reshape(len(s), 2, h, -1)[:, :, :used], y[:, None, :, None])[..., 0]
        self.cross[:, :used, place] = with_y[:, 0]
        self.squares[:, :used, place] = self.squares[:, place, :used] = with_y[:, 1]
        self.cross[:, place, place] = np.where(sound, curvature, 1.0)
        self.scale[sound, 0] = curvature[sound] / length[sound]
        self.count += 1

    def applied(self, g: Array) -> Array:
        """H g."""
        if not self.count:
            return g
        used, h = min(self.count, self.history), self.history
        order = np.arange(self.count - used, self.count) % h
        both = self.both.reshape(len(g), 2, h, -1)[:, :, :used]  # the ring is not always full
        with_g = np.matmul(both, g[:, None, :, None])[..., 0]
        p, q = with_g[:, 0, order, None], with_g[:, 1, order, None]
        cross, squares = (values.take(order, axis=1).take(order, axis=2) for values in (self.cross, self.squares))
        r = np.triu(cross)
        gamma = self.scale[:, :, None]
        u = _solved(r, p)
        diagonal: Array = np.einsum("nkk->nk", r)[..., None]
        inside: Array = diagonal * u + gamma * (np.matmul(squares, u) - q)
        v = _solved(np.swapaxes(r, -1, -2), inside)
        weights = np.zeros((len(g), 2, 1, used))
        weights[:, 0, 0, order], weights[:, 1, 0, order] = v[..., 0], -(gamma * u)[..., 0]
        return self.scale * g + np.matmul(weights, both)[:, :, 0].sum(axis=1)

    def take(self, rows: Rows) -> "_Pairs":
        taken = _Pairs(0, 0, self.history)
        taken.both, taken.cross, taken.squares = self.both[rows], self.cross[rows], self.squares[rows]
        taken.scale, taken.count = self.scale[rows], self.count
        return taken


def _length(values: Array) -> Array:
    return np.sqrt(_inner(values, values))


def _solved(matrix: Array, right: Array) -> Array:
    return np.asarray(np.linalg.solve(matrix, right), dtype=np.float64)


@dataclass
class _State:
    objective: _Objective
    rows: Rows
    x: Array
    f: Array
    g: Array
    stuck: Mask
    over: Mask
    pairs: _Pairs

    @classmethod
    def begun(cls, objective: _Objective, start: Array, history: int) -> "_State":
        f, g = objective(start)
        stuck = ~(np.isfinite(f) & np.all(np.isfinite(g), axis=-1))
        rows, over, pairs = np.arange(len(start)), np.zeros_like(stuck), _Pairs(len(start), start.shape[1], history)
        return cls(objective, rows, start, f, np.where(stuck[:, None], 0.0, g), stuck, over, pairs)

    def kept(self, which: Mask) -> "_State":
        at = np.flatnonzero(which)
        x, f, g = self.x[at], self.f[at], self.g[at]
        pairs = self.pairs.take(at)
        return _State(self.objective.take(at), self.rows[at], x, f, g, self.stuck[at], self.over[at], pairs)

    def step(self) -> None:
        direction = -self.pairs.applied(self.g)
        slope = _inner(self.g, direction)
        t = np.ones(len(self.f))
        if not self.pairs.count:
            t = np.minimum(t, 1 / np.maximum(_length(self.g), 1e-300))
        x, f, g = self._searched(direction, slope, t)
        self.pairs.add(x - self.x, g - self.g)
        self.x, self.f, self.g = x, f, g

    def _searched(self, direction: Array, slope: Array, t: Array) -> tuple[Array, Array, Array]:
        """The next points; a row without one is stuck and stays."""
        low, high = np.zeros_like(t), np.full_like(t, np.inf)
        trial = 0
        while True:
            x = self.x + t[:, None] * direction
            f, g = self.objective(x)
            rising = ~(f <= self.f + DECREASE * t * slope)
            flat = ~rising & (_inner(g, direction) < CURVATURE * slope)
            searching = (rising | flat) & ~(self.stuck | self.over)
            trial += 1
            if trial == TRIALS or not searching.any():
                break
            rising, flat = rising & searching, flat & searching
            high[rising], low[flat] = t[rising], t[flat]
            with np.errstate(all="ignore"):
                parabola = -slope * t**2 / (2 * (f - self.f - slope * t))
                middle = np.where(np.isinf(high), 2 * t, (low + high) / 2)
                inside = rising & (low == 0) & np.isfinite(parabola)
                guess = np.where(inside, np.clip(parabola, 0.1 * t, 0.5 * t), middle)
            t = np.where(rising | flat, guess, t)
        failed = self.stuck | rising | ~np.all(np.isfinite(g), axis=-1)
        if failed.any():
            self.stuck |= failed
            x, f = np.where(failed[:, None], self.x, x), np.where(failed, self.f, f)
            g = np.where(failed[:, None], self.g, g)
        return x, f, g
