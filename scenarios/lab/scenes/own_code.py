"""A reader's algorithm parsed from text with errors by line, and small algorithms with planted faults."""

import ast
import difflib
import time
import traceback
import types
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from inspect import isabstract
from typing import Literal, TypeVar, cast

from netsim.algorithms import Algorithm

FILENAME = "<your algorithm>"
MODULE = "your_algorithm"
SECONDS = 60.0
"""So long a loop of the text may go on, in all, before it is stopped."""
_TICK = "_netsim_lab_tick"
_DONE = {
    "read": "read",
    "build": "built",
    "run": "run",
    "claim": "asked for its claim",
    "probe": "probed",
    "replay": "replayed",
    "audit": "audited",
}
T = TypeVar("T")


@dataclass(eq=False)
class Mistake(Exception):  # noqa: N818
    """What is wrong with the text: in which `line` (from 1; None where it is in none of them), and that line.

    `stage` is what was being done: "read", "build", "claim", "run", "probe", "replay", "audit".
    """

    stage: str
    line: int | None
    excerpt: str
    says: str

    @property
    def doing(self) -> str:
        """What could not be done, as in "it could not be …"."""
        return _DONE[self.stage]

    def __str__(self) -> str:
        where = "" if self.line is None else f"line {self.line}: "
        return f"{where}{self.says}"


class _Stopped(Exception):  # noqa: N818
    """A loop of the text went on for too long."""


def read(source: str, seconds: float = SECONDS) -> Algorithm:
    """Run the text and build the last algorithm that it defines, or the one that it calls `algorithm`. What of it is
    called later goes through `doing`.

    Every field of the class needs a default. `seconds` is what all loops of the text may take together. You get a
    `Mistake` where the text is no Python, fails, or defines no algorithm.
    """
    try:
        tree = ast.parse(source, FILENAME)
    except (SyntaxError, ValueError) as error:
        line = getattr(error, "lineno", None)
        raise Mistake("read", line, _line(source, line), f"no Python: {getattr(error, 'msg', error)}") from None
    lines = {node.name: node.lineno for node in ast.walk(tree) if isinstance(node, ast.ClassDef)}
    module = types.ModuleType(MODULE)
    setattr(module, _TICK, _clock(seconds))
    for node in ast.walk(tree):  # every loop looks at the clock: one without an end does not hold up the page
        if isinstance(node, ast.While | ast.For | ast.AsyncFor):
            tick = ast.Expr(ast.Call(ast.Name(_TICK, ast.Load()), [], []))
            node.body.insert(0, ast.copy_location(tick, node))
    code = ast.fix_missing_locations(tree)
    doing(source, "read", lambda: exec(compile(code, FILENAME, "exec"), vars(module)))
    return doing(source, "build", lambda: _algorithm(source, vars(module), lines))


def _algorithm(source: str, defined: dict[str, object], lines: dict[str, int]) -> Algorithm:
    """`lines`: of the classes."""
    named = defined.get("algorithm")
    if isinstance(named, Algorithm):
        return named
    kinds = [one for one in defined.values() if isinstance(one, type) and issubclass(one, Algorithm)]
    own = [one for one in kinds if one.__module__ == MODULE]
    if not own:
        says = "there is no algorithm in it: define a class that derives from netsim.algorithms.Algorithm"
        raise Mistake("build", None, "", says)
    name, line = own[-1].__name__, lines.get(own[-1].__name__)
    if isabstract(own[-1]):
        raise Mistake("build", line, f"class {name}", f"{name} has no `async def run(self, node)`")
    try:
        return own[-1]()
    except TypeError as error:
        says = f"{error}: give every field a default, or name an instance `algorithm`"
        raise Mistake("build", line, _line(source, line), says) from None


def doing(source: str, stage: str, task: Callable[[], T]) -> T:
    """Do a task with a text. An error of any kind in it is a `Mistake` with the line of the text it came from."""
    try:
        return task()
    except Mistake:
        raise
    except (Exception, SystemExit) as error:  # not our text: what it raises is told, and ends nothing
        line = next((found for one in _chain(error) if (found := _line_of(one)) is not None), None)
        kind = "" if isinstance(error, _Stopped) else f"{type(error).__name__}: "
        hint = " (`await` is missing)" if "'coroutine'" in str(error) else ""
        notes = "".join(f" ({note})" for note in getattr(error, "__notes__", ()) if not note.startswith("besides"))
        raise Mistake(stage, line, _line(source, line), f"{kind}{error}{hint}{notes}") from error


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    """The error, what is in it if it is a group, and what it came from."""
    if error is None:
        return
    yield error
    if isinstance(error, BaseExceptionGroup):
        for one in cast("BaseExceptionGroup[BaseException]", error).exceptions:
            yield from _chain(one)
    yield from _chain(error.__cause__ or error.__context__)


def _line_of(error: BaseException) -> int | None:
    """The innermost line of the text that the error passed through."""
    inside = [line for frame, line in traceback.walk_tb(error.__traceback__) if frame.f_code.co_filename == FILENAME]
    return inside[-1] if inside else None


def _line(source: str, line: int | None) -> str:
    lines = source.splitlines()
    return lines[line - 1].strip() if line is not None and 0 < line <= len(lines) else ""


def _clock(seconds: float) -> Callable[[], None]:
    until = time.monotonic() + seconds

    def tick() -> None:
        if time.monotonic() > until:
            raise _Stopped(f"this loop was still going on after {seconds:g} seconds: does it end?")

    return tick


Changes = Literal["moved", "anything"]
"""What of agent 1 may be another in the other world: its gradient moved by a constant vector of ℓ2 norm 1 at most, or
all of its data."""

SOUND = '''\
from dataclasses import dataclass

from netsim.algorithms import Algorithm
from netsim.claims import Claim
from netsim.mechanisms import Laplace


@dataclass(frozen=True)
class Mine(Algorithm):
    """x_i ← Σ_j w_ij x̃_j − η∇f_i(x̃_i), x̃ = x + Lap(b)."""

    rounds: int = 4
    step: float = 0.5
    scale: float = 2.0

    async def run(self, node):
        x = node.zeros()
        for k in range(self.rounds):
            sent = node.privatize(x, Laplace(self.scale))
            received = await node.exchange(x=sent)
            gradient = await node.gradient(sent)
            x = received.mix("x") - self.step * gradient
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        change = adjacency.in_norm("l1", setting.dimension)
        epsilon = (self.rounds - 1) * self.step * change / self.scale
        return Claim(epsilon, 0.0, "composition over the rounds", adjacency, "ℓ1")
'''

_CLIPPED = (
    SOUND.replace("∇f_i(x̃_i), x̃", "clip(∇f_i(x̃_i), C), x̃")
    .replace("from netsim.claims import Claim\n", "from netsim.claims import Claim\nfrom netsim.claims import Clip\n")
    .replace("    scale: float = 2.0\n", '    scale: float = 6.0\n    clip: Clip = Clip(3.0, "l1")\n')
    .replace("await node.gradient(sent)", "self.clip(await node.gradient(sent))")
    .replace('adjacency.in_norm("l1", setting.dimension)', "2 * self.clip.bound")
)
_TWICE = (
    SOUND.replace("w_ij x̃_j − η∇f_i(x̃_i)", "w_ij z̃_j, z_i = Σ_j w_ij x̃_j − η∇f_i(x̃_i)")
    .replace(
        '            x = received.mix("x") - self.step * gradient\n',
        '            z = received.mix("x") - self.step * gradient\n'
        "            again = await node.exchange(z=node.privatize(z, Laplace(self.scale)))\n"
        '            x = again.mix("z")\n',
    )
    .replace("(self.rounds - 1) * self.step", "self.rounds * self.step")
)


@dataclass(frozen=True)
class Planted:
    """One exercise: what its author says, the text with the fault, its sound twin, what may change, and a lesson."""

    name: str
    author: str
    source: str
    sound: str
    changes: Changes
    lesson: str

    @property
    def body(self) -> list[tuple[str, int]]:
        """The lines of the class after its docstring, with their numbers before them, and the numbers."""
        lines = self.source.splitlines()
        start = next(k for k, line in enumerate(lines) if '"""' in line) + 1
        return [(f"{k}: {lines[k - 1].strip()}", k) for k in range(start + 1, len(lines) + 1) if lines[k - 1].strip()]

    @property
    def lines(self) -> tuple[int, ...]:
        """The lines of `source`, from 1, that are not as in the sound twin; where a line is missing, those beside."""
        told, twin = self.source.splitlines(), self.sound.splitlines()
        found: set[int] = set()
        for kind, start, end, *_ in difflib.SequenceMatcher(None, told, twin, autojunk=False).get_opcodes():
            if kind != "equal":
                found |= set(range(start + 1, end + 1)) or {start, start + 1}
        return tuple(sorted(found))


def _planted(name: str, author: str, sound: str, old: str, new: str, changes: Changes, lesson: str) -> Planted:
    if old not in sound:
        raise ValueError(f"{name}: the sound twin has no {old!r}")
    return Planted(name, author, sound.replace(old, new), sound, changes, lesson)


PLANTED: tuple[Planted, ...] = (
    _planted(
        "A", "Every message is noisy, and noise has mean zero.", SOUND,
        "        for k in range(self.rounds):\n            sent = node.privatize(x, Laplace(self.scale))\n",
        "        noise = node.privatize(node.zeros(), Laplace(self.scale))\n"
        "        for k in range(self.rounds):\n            sent = x + noise\n",
        "moved", "Noise may be used once: subtract two messages that share it, and it is gone.",
    ),
    _planted(
        "B", "The model that is published has the noise; what agents tell each other on the way is internal.", SOUND,
        "            sent = node.privatize(x, Laplace(self.scale))\n"
        "            received = await node.exchange(x=sent)\n"
        "            gradient = await node.gradient(sent)\n"
        '            x = received.mix("x") - self.step * gradient\n'
        "            node.estimate(x)\n",
        "            received = await node.exchange(x=x)\n"
        "            gradient = await node.gradient(x)\n"
        '            x = received.mix("x") - self.step * gradient\n'
        "            node.estimate(node.privatize(x, Laplace(self.scale)))\n",
        "moved", "What counts is what is sent: the noise has to be on that very value, before it leaves the agent.",
    ),
    _planted(
        "C", "Whatever the data, a clipped gradient has norm C at most.", _CLIPPED,
        "self.clip(await node.gradient(sent))", "await node.gradient(sent)",
        "anything", "A bound that is claimed has to be enforced in the code: the clip is missing.",
    ),
    _planted(
        "D", "Each message has Laplace noise for its change, so the algorithm is ε-private.", SOUND,
        "(self.rounds - 1) * self.step", "self.step",
        "moved", "Every release costs: over the rounds the budgets add up.",
    ),
    _planted(
        "E", "The second average is of noisy values; averaging again cannot hurt.", _TWICE,
        "node.exchange(z=node.privatize(z, Laplace(self.scale)))", "node.exchange(z=z)",
        "moved", "Noisy values plus one exact gradient tell that gradient to who knows the noisy values.",
    ),
    _planted(
        "F", "Gradients change by 1 at most, and the noise is scaled to that.", SOUND,
        'adjacency.in_norm("l1", setting.dimension)', "adjacency.gradient_change",
        "moved", "The change is bounded in ℓ2, and Laplace noise pays for ℓ1: up to √d times as much.",
    ),
    _planted(
        "G", "Laplace noise with the variance of the theorem.", SOUND,
        "Laplace(self.scale)", "Laplace(self.scale / 2**0.5)",
        "moved", "Lap(b) has the variance 2b², not b²: the code's noise protects, not the paper's.",
    ),
)  # fmt: skip
"""In the order of the lesson."""
