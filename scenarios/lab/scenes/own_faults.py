"""Small algorithms for the reader to judge: each with one planted fault, and its sound twin.

Texts as a reader would write them. The twins claim and protect the same; where the fault is in the claim itself, the
twin's claim is larger.
"""

import difflib
from dataclasses import dataclass
from typing import Literal

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
            told = node.privatize(x, Laplace(self.scale))
            heard = await node.exchange(x=told)
            gradient = await node.gradient(told)
            x = heard.mix("x") - self.step * gradient
            node.estimate(x)

    def claim(self, adjacency, setting, delta):
        change = adjacency.in_norm("l1", setting.dimension)
        epsilon = (self.rounds - 1) * self.step * change / self.scale
        return Claim(epsilon, 0.0, "composition over the rounds", adjacency, "ℓ1")
'''

_CLIPPED = (
    SOUND.replace("∇f_i(x̃_i), x̃", "clip(∇f_i(x̃_i), C), x̃")
    .replace(
        "from netsim.claims import Claim\n", "from netsim.claims import Claim\nfrom netsim.clipping import Clip\n"
    )
    .replace("    scale: float = 2.0\n", '    scale: float = 6.0\n    clip: Clip = Clip(3.0, "l1")\n')
    .replace("await node.gradient(told)", "self.clip(await node.gradient(told))")
    .replace('adjacency.in_norm("l1", setting.dimension)', "2 * self.clip.bound")
)
_TWICE = (
    SOUND.replace("w_ij x̃_j − η∇f_i(x̃_i)", "w_ij z̃_j, z_i = Σ_j w_ij x̃_j − η∇f_i(x̃_i)")
    .replace(
        '            x = heard.mix("x") - self.step * gradient\n',
        '            z = heard.mix("x") - self.step * gradient\n'
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
        "        for k in range(self.rounds):\n            told = node.privatize(x, Laplace(self.scale))\n",
        "        noise = node.privatize(node.zeros(), Laplace(self.scale))\n"
        "        for k in range(self.rounds):\n            told = x + noise\n",
        "moved", "Noise may be used once: subtract two messages that share it, and it is gone.",
    ),
    _planted(
        "B", "The model that is published has the noise; what agents tell each other on the way is internal.", SOUND,
        "            told = node.privatize(x, Laplace(self.scale))\n"
        "            heard = await node.exchange(x=told)\n"
        "            gradient = await node.gradient(told)\n"
        '            x = heard.mix("x") - self.step * gradient\n'
        "            node.estimate(x)\n",
        "            heard = await node.exchange(x=x)\n"
        "            gradient = await node.gradient(x)\n"
        '            x = heard.mix("x") - self.step * gradient\n'
        "            node.estimate(node.privatize(x, Laplace(self.scale)))\n",
        "moved", "What counts is what is sent: the noise has to be on that very value, before it leaves the agent.",
    ),
    _planted(
        "C", "Whatever the data, a clipped gradient has norm C at most.", _CLIPPED,
        "self.clip(await node.gradient(told))", "await node.gradient(told)",
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
