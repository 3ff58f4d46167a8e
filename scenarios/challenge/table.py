"""The thirty challenges, in order of difficulty, and the form that an answer has: how many there are, how one is
read and hashed."""

import math
import re
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from typing import Literal

from netsim.errors import ScenarioError
from scenarios.challenge import worlds
from scenarios.challenge.worlds import HOLDS, LETTERS, SIGNS, Builder, Habit, Words


@dataclass(frozen=True)
class Form:
    """So many of these words. `rule` "any": each may be any; "distinct": none twice, and their order counts; "set":
    none twice, in any order; "walk": from the first word, which is not given, no word follows itself."""

    words: tuple[str, ...]
    length: int
    rule: Literal["any", "distinct", "set", "walk"] = "any"

    @property
    def answers(self) -> int:
        """How many answers there are; each is as likely as any other before the transcript is read."""
        n, k = len(self.words), self.length
        match self.rule:
            case "any":
                return n**k
            case "distinct":
                return math.perm(n, k)
            case "set":
                return math.comb(n, k)
            case "walk":
                return (n - 1) ** k

    def __str__(self) -> str:
        shown = self.words if len(self.words) <= 3 else (self.words[0], "…", self.words[-1])
        rules = {"distinct": ", in order", "set": ", in any order", "walk": ", in order", "any": ", in order"}
        few = ", ".join(shown)
        return f"one of {few}" if self.length == 1 else f"{self.length} of {few}{rules[self.rule]}, with commas"

    def read(self, text: str) -> str:
        """The answer in its one spelling; lists as Python and NumPy print them are read too. You get a
        `ScenarioError` for what cannot be one."""
        bare = re.sub(r"dtype=[^)]*|\b(?:array|set|frozenset|(?:np|numpy)\.\w+)\(", " ", text.lower())
        found = [one for one in re.split(r"[\s,;\[\](){}'\"]+", bare) if one]
        if len(found) == 1 and self.length > 1 and all(len(word) == 1 for word in self.words):
            found = list(found[0])
        found = [re.sub(r"^(?>0*(?=[0-9]))([0-9]++)(?:\.0*+)?$", r"\1", one) for one in found]
        twice = self.rule in ("distinct", "set") and len(set(found)) < len(found)
        stays = self.rule == "walk" and any(a == b for a, b in pairwise([self.words[0], *found]))
        if len(found) != self.length or twice or stays or not set(found) <= set(self.words):
            raise ScenarioError("--answer", text, "not in the form of the answer; it was not counted", str(self))
        return ",".join(sorted(found, key=self.words.index) if self.rule == "set" else found)


@dataclass(frozen=True)
class Challenge:
    """One challenge. `level` is its difficulty, 1 to 5; gaps of the `question` are filled with a student's facts."""

    name: str
    level: int
    title: str
    question: str
    form: Form
    build: Builder
    hints: tuple[str, ...]


def _numbers(below: int) -> tuple[str, ...]:
    return tuple(map(str, range(below)))


def _least_squares(records: int, dimension: int = 8) -> Words:
    data = {"name": "synthetic", "kind": "regression", "records": records, "dimension": dimension}
    return {"kind": "ridge", "data": data, "ridge": 0.5}


def _images(classes: int = 2) -> Words:
    return {
        "kind": "logistic" if classes == 2 else "softmax",
        "data": {"name": "digits", "classes": list(range(classes))},
        "ridge": 0.5,
    }


def _graph(kind: str, agents: int) -> Words:
    return {"kind": kind, "agents": agents}


_SIGNS = "Is each of its coordinates positive (p) or negative (n)?"
_AGENTS = Form(_numbers(12), 3, "set")
_TAPPED: Words = {"topology": _graph("ring", 12), "problem": _least_squares(36, 6)}
_NOISY: Words = _TAPPED | {"algorithms": worlds.descent(rounds=5, step=0.01, scale=1.0), "replicas": 200}
_START = "Every agent starts at the public x = 0: what it sends first is its noise."
_RESIDUAL = (
    "x̃ of one round less Σ w x̃ of the round before is −step · gradient plus the noise of this round: the weights are "
    "in view.public.weights."
)
_DELAY: Words = {"links": {"delay": {"kind": "constant", "seconds": 0.01}}}
_SEALED: Words = {"links": {"delay": {"kind": "constant", "seconds": 0.01}, "encrypted": True}}
_WALK: Words = {
    "topology": _graph("complete", 6),
    "problem": _least_squares(18, 4),
    "algorithms": [{"kind": "recal", "activations": 30, "step": 0.4}],
}
_IMAGES: Words = {"topology": _graph("ring", 10), "problem": _images(), "algorithms": worlds.descent()}

CHALLENGES: tuple[Challenge, ...] = (
    Challenge(
        "first-flag", 1, "A gradient on the wire",
        "EXTRA, every link tapped, no noise. Take the first gradient (query 0) of agent {agent}. Which four of its "
        "twelve coordinates have the largest magnitude, the largest first?",
        Form(_numbers(12), 4, "distinct"),
        worlds.gradient(
            {
                "topology": _graph("ring", 5),
                "problem": _least_squares(15, 12),
                "algorithms": [{"kind": "extra", "rounds": 4, "step": 0.05}],
            },
            0, partial(worlds.largest, 4), live=True,
        ),
        (
            "EXTRA's update is public: what an agent sends in round k + 1 is made of what was sent before and of one "
            "step along its gradient. Take away all that was sent: what is left?",
            "In its folder, netsim attack transcript.parquet --scenario public.yaml writes the gradients that follow "
            "from it: a Parquet table with agent, query and gradient.",
            "attacks.inference.infer(view) is the same in Python: .agent, .query, .gradient (replicas, dimension).",
        ),
    ),
    Challenge(
        "no-noise", 1, "Agents without noise",
        "All agents are to release x + Lap(1). Which three of the twelve send x itself?",
        _AGENTS,
        worlds.culprits(_NOISY | {"replicas": 1}, 3, Habit(bare=tuple(range(5)))),
        (_START,),
    ),
    Challenge(
        "walk", 1, "The way of a baton",
        "RECAL on a complete graph: a baton walks from agent to agent, from agent 0. Which six agents had it next, "
        "in order?",
        Form(_numbers(6), 6, "walk"),
        worlds.route(_WALK | _DELAY, 6),
        ("Who sends the first message has the baton; to whom it is sent has it next. Acknowledgments go back.",),
    ),
    Challenge(
        "labels", 1, "What ten agents hold",
        "Every agent holds one image, a 0 or a 1, and descends on a logistic loss. Which digit has agent 0, 1, …, 9?",
        Form(_numbers(2), 10),
        worlds.classes(_IMAGES),
        (
            "At x = 0 the gradient of log(1 + exp(−b aᵀx)) is −b/2 · a, and pixels are not negative.",
            "The second message of an agent is −step times its gradient at 0. Digit 0 has label b = −1.",
        ),
    ),
    Challenge(
        "signs", 2, "Signs of a gradient",
        "Gradient tracking, every link tapped. Take gradient number 1 (from 0) of agent {agent}. " + _SIGNS,
        Form(SIGNS, 10),
        worlds.gradient(
            {
                "topology": _graph("complete", 4),
                "problem": _least_squares(12, 10),
                "algorithms": [{"kind": "gradient_tracking", "rounds": 4, "step": 0.02}],
            },
            1, worlds.signs, live=True,
        ),
        ("attacks.inference.infer(view) needs no knowledge of the algorithm but its public code.",),
    ),
    Challenge(
        "one-door", 2, "A tap at one door",
        "NIDS, and one tap at the door of agent {agent}. Which three coordinates of its gradient number 2 (from 0) "
        "have the largest magnitude, the largest first?",
        Form(_numbers(10), 3, "distinct"),
        worlds.gradient(
            {
                "topology": _graph("ring", 6),
                "problem": _least_squares(18, 10),
                "algorithms": [{"kind": "nids", "rounds": 4, "step": 0.05}],
            },
            2, partial(worlds.largest, 3), door=True,
        ),
        ("A door has all that an agent gets and sends: attacks.inference.infer(view) does the rest.",),
    ),
    Challenge(
        "scalar-noise", 2, "One number of noise",
        "Three of twelve agents add the same number to every coordinate, where the code draws one for each. Which?",
        _AGENTS,
        worlds.culprits(_NOISY | {"replicas": 1}, 3, Habit(scalar=True)),
        (_START, "Subtract one coordinate from another."),
    ),
    Challenge(
        "late-tap", 2, "A tap that came late",
        "Plain descent; the tap was placed after some rounds had passed. Take gradient number 6 (from 0) of agent "
        "{agent}. " + _SIGNS,
        Form(SIGNS, 10),
        worlds.gradient(
            {
                "topology": _graph("ring", 5),
                "problem": _least_squares(15, 10),
                "algorithms": worlds.descent(rounds=10),
                "adversary": {"links": "all", "start": 0.035},
                **_DELAY,
            },
            6, worlds.signs,
        ),
        (
            "Messages are numbered by their sender: Record.number is the round.",
            "x of round 7 is Σ w x of round 6 less step · gradient number 6.",
        ),
    ),
    Challenge(
        "baton", 2, "A gradient from a walk",
        "RECAL, every link tapped. Take gradient number 1 (from 0) of agent {agent}. " + _SIGNS,
        Form(SIGNS, 10),
        worlds.gradient(
            {
                "topology": _graph("ring", 5),
                "problem": _least_squares(15, 10),
                "algorithms": [{"kind": "recal", "activations": 40, "step": 0.4}],
            },
            1, worlds.signs, checked=True,
        ),
        ("attacks.inference.infer(view) inverts RECAL in closed form; .query counts an agent's gradients from 0.",),
    ),
    Challenge(
        "which-image", 2, "One image of 360",
        "Agent {agent} holds one image of the public data set load('digits', classes=(0, 1)). Which row is it?",
        Form(_numbers(360), 1),
        worlds.one_image(_IMAGES),
        (
            "Its gradient at x = 0 is the image times a number.",
            "Compare directions: the row with the largest |cosine|.",
        ),
    ),
    Challenge(
        "shared-seed", 2, "Two agents with one generator",
        "Two of sixteen agents have seeded their noise alike. Which?",
        Form(_numbers(16), 2, "set"),
        worlds.culprits(
            _NOISY | {"topology": _graph("ring", 16), "replicas": 1}, 2, Habit(generator=1)
        ),
        (_START, "Compare the first messages of every pair."),
    ),
    Challenge(
        "forgotten-link", 3, "The link that is not encrypted",
        "A star whose links should all be encrypted; one was forgotten. Take the first gradient of the agent at its "
        "end, other than agent 0. " + _SIGNS,
        Form(SIGNS, 10),
        worlds.forgotten_link(
            {
                "topology": _graph("star", 8),
                "problem": _least_squares(24, 10),
                "algorithms": worlds.descent(rounds=5),
                **_SEALED,
            }
        ),
        ("Rows of kind 'sealed' have no values. The agent's second message is −step times its first gradient.",),
    ),
    Challenge(
        "half-noise", 3, "A factor lost in the code",
        "Each of 200 replicas is a draw of the noise, which should be Lap(1). Three agents draw half as much, and "
        "some draw more. Which three draw too little?",
        _AGENTS,
        worlds.culprits(_NOISY, 3, Habit(factor=0.5), Habit(factor=1.5)),
        (_START, "The mean of |noise| over replicas and coordinates is its scale."),
    ),
    Challenge(
        "ten-digits", 3, "Ten classes",
        "Softmax, ten digits, one image an agent, plain descent. Which digit has agent 0, 1, 2, 3?",
        Form(_numbers(10), 4),
        worlds.classes(
            {
                "topology": _graph("ring", 4),
                "problem": _images(10),
                "algorithms": worlds.descent(rounds=3, step=0.01),
            }
        ),
        (
            "x is W row by row, then the ten biases.",
            "At x = 0 the gradient by the biases is 1/10, and 1/10 − 1 at the digit that it is.",
        ),
    ),
    Challenge(
        "reused-noise", 3, "Noise that was used twice",
        "One agent used the same noise in two of twenty rounds (from 0). In which?",
        Form(_numbers(20), 2, "set"),
        worlds.rounds_of(
            _TAPPED | {"algorithms": worlds.descent(rounds=20, step=0.01, scale=1.0)},
            2, lambda chosen: Habit(reused=chosen),
        ),
        (_RESIDUAL, "Compare the residuals of every pair of rounds, agent by agent: the nearest pair."),
    ),
    Challenge(
        "fading-noise", 3, "Noise that dies out",
        "Three agents let their noise fall by the round, some let it grow; the code says that it stays. Which three "
        "let it fall?",
        _AGENTS,
        worlds.culprits(_NOISY, 3, Habit(fading=0.7), Habit(fading=1.3)),
        (_RESIDUAL, "Compare its size in the last round with that in the first."),
    ),
    Challenge(
        "bare-rounds", 3, "Rounds without noise",
        "One agent left out the noise in three of sixteen rounds (from 0). In which?",
        Form(_numbers(16), 3, "set"),
        worlds.rounds_of(
            _TAPPED | {"algorithms": worlds.descent(rounds=16, step=0.01, scale=1.0)},
            3, lambda chosen: Habit(bare=chosen),
        ),
        (_RESIDUAL, "Without noise a residual is as small as a step."),
    ),
    Challenge(
        "dark-walk", 3, "An encrypted walk",
        "The baton walks again from agent 0, and every link is encrypted. Which six agents had it next, in order?",
        Form(_numbers(6), 6, "walk"),
        worlds.route(_WALK | _SEALED, 6),
        ("Sizes tell a message from an acknowledgment.",),
    ),
    Challenge(
        "stragglers", 3, "Who is slow",
        "All links are encrypted, each takes 10 ms, and agents descend in rounds. Three of twelve need longer for "
        "their gradients than the others. Which?",
        _AGENTS,
        worlds.slow(
            _TAPPED
            | _SEALED
            | {"algorithms": worlds.descent(rounds=8), "compute": {"kind": "constant", "seconds": 0.005}},
            3, {"kind": "constant", "seconds": 0.02},
        ),
        ("An agent sends as soon as it has computed, and begins when the last message of the round has come.",),
    ),
    Challenge(
        "line-up", 4, "Two of twenty",
        "Agent {agent} holds two of these rows of load('digits', classes=(0, 1)), and descends on the mean of their "
        "losses: {candidates}. Which two?",
        Form(tuple(LETTERS), 2, "set"),
        worlds.lineup(_IMAGES, 20),
        (
            "At x = 0 the gradient is −Σ b a / 4.",
            "Try all 190 pairs. The labels are public with the rows.",
        ),
    ),
    Challenge(
        "law", 4, "Laplace or Gaussian",
        "Eight agents draw noise of one standard deviation. Who draws Laplace (l), who Gaussian noise (g)? "
        "Agent 0, 1, …, 7.",
        Form(("l", "g"), 8),
        worlds.each_agent(
            _NOISY | {"topology": _graph("ring", 8), "problem": _least_squares(24, 6), "replicas": 500},
            ("l", "g"), (Habit(), Habit(gaussian=True)),
        ),
        (_START, "E|n|/√E n² is 0.707 of Laplace noise, 0.798 of Gaussian noise."),
    ),
    Challenge(
        "true-epsilon", 4, "The ε that it costs",
        "Noise Lap(1) is published, and of each agent that its release costs ε = 2. The noise has in truth another "
        "scale b, and the release costs 2/b. Is the true ε of agent 0, 1, 2, 3 about 1, 2, 4, 8 or 16?",
        Form(("1", "2", "4", "8", "16"), 4),
        worlds.each_agent(
            _NOISY | {"topology": _graph("ring", 4), "problem": _least_squares(12, 6)},
            ("1", "2", "4", "8", "16"), tuple(Habit(factor=2.0**-k) for k in range(-1, 4)),
        ),
        (_START, "The mean of |noise| is b."),
    ),
    Challenge(
        "averaged-image", 4, "An image under noise",
        "400 replicas of one run with fresh noise each. Which row of load('digits', classes=(0, 1)) does agent "
        "{agent} hold?",
        Form(_numbers(360), 1),
        worlds.one_image(_IMAGES | {"algorithms": worlds.descent(rounds=2, scale=0.02), "replicas": 400}),
        ("Average the second message over the replicas, then compare with every row.",),
    ),
    Challenge(
        "property", 4, "Zeros or ones, under noise",
        "Twelve agents hold thirty images each, of one digit alone; six of them hold zeros. Which six?",
        Form(_numbers(12), 6, "set"),
        worlds.zeros(
            {
                "topology": _graph("ring", 12),
                "problem": _images() | {"split": {"kind": "label"}},
                "algorithms": worlds.descent(rounds=2, scale=0.05),
                "replicas": 100,
            }
        ),
        ("Sum over pixels, average over replicas: the sign is the label's, and zeros have b = −1.",),
    ),
    Challenge(
        "missed-hops", 4, "A walk with gaps",
        "The baton walks from agent 0, and the tap misses packets. Which six agents had it next, in order?",
        Form(_numbers(6), 6, "walk"),
        worlds.route(
            _WALK | {"links": {"delay": {"kind": "constant", "seconds": 0.01}, "reliable": False}}
            | {"adversary": {"links": "all", "capture_loss": 0.25}},
            6, gaps=True,
        ),
        (
            "Who sends next had received before. Of the first six hops the first and the last were captured, and no "
            "two in a row were missed.",
        ),
    ),
    Challenge(
        "lossy-tap", 4, "A gradient with gaps",
        "RECAL, and a tap that misses five packets in a hundred. Take gradient number 2 (from 0) of agent {agent}. "
        + _SIGNS,
        Form(SIGNS, 10),
        worlds.gradient(
            {
                "topology": _graph("ring", 5),
                "problem": _least_squares(15, 10),
                "algorithms": [{"kind": "recal", "activations": 80, "step": 0.4}],
                "adversary": {"links": "all", "capture_loss": 0.05},
                **_DELAY,
            },
            2, worlds.signs, checked=True,
        ),
        ("What was missed of one visit the next ones say again: attacks.inference.infer(view) puts it together.",),
    ),
    Challenge(
        "listeners", 5, "Which view breaks it",
        "Descent over secret shares among six agents, links in the clear. Ten listeners, transcript-a to "
        "transcript-j, tap twelve of the fifteen links each (challenge.json has which). Whose view determines a "
        "gradient of some agent (b: broken), whose does not (s: sound)? Listener a, b, …, j.",
        Form(("b", "s"), 10),
        worlds.listeners(
            {
                "topology": _graph("complete", 6),
                "problem": _least_squares(18, 3),
                "algorithms": [{"kind": "secret_sharing", "rounds": 2, "step": 0.05}],
            },
            10,
        ),
        (
            "A share that is not seen is uniform: it hides both of its ends.",
            "An agent is hidden as long as one of its links is not tapped.",
        ),
    ),
    Challenge(
        "shares", 5, "A gradient from its shares",
        "Descent over secret shares on links in the clear, every link tapped. Take the first gradient (query 0) of "
        "agent {agent}. " + _SIGNS,
        Form(SIGNS, 10),
        worlds.gradient(
            {
                "topology": _graph("complete", 4),
                "problem": _least_squares(12, 10),
                "algorithms": [{"kind": "secret_sharing", "rounds": 3, "step": 0.05}],
            },
            0, worlds.signs,
        ),
        (
            "The sum that an agent broadcasts, less the shares it got, plus those it dealt, is its state, modulo p.",
            "view.public.algorithm has modulus and resolution. From 0, the state of round 1 is −step · gradient.",
        ),
    ),
    Challenge(
        "verdicts", 5, "Faults and sound twins",
        "Eight algorithms a to h are published as sound. Each is run as published (h: its claim holds), or with the "
        "fault of docs/gallery.md that its `fault` names (f: its claim fails). Which is which? a, b, …, h.",
        Form(HOLDS, 8),
        worlds.verdicts(
            {"topology": _graph("ring", 3), "problem": _least_squares(9, 9), "replicas": 200},
            (
                "one_scalar", "sent_before", "reused_seed", "averaged", "fading_noise", "half_noise",
                "composition_forgotten", "l1_l2_mix_up",
            ),
        ),
        (
            "view.public.algorithm.sound is what is published; its class has the code of both.",
            "Most show in the first round, where x = 0; the noise that fades, and the seed, from round to round.",
        ),
    ),
    Challenge(
        "budgets", 5, "Which of eight claims hold",
        "Eight runs of clipped descent with noise of the published scale b claim ε = 3·2·step/b. The noise has in "
        "truth another scale, or not. Which claims hold (h: more noise costs less), which fail (f)? a, b, …, h.",
        Form(HOLDS, 8),
        worlds.budgets(
            {"topology": _graph("ring", 3), "problem": _least_squares(9, 9), "replicas": 200}, 8
        ),
        (_START, "Compare the mean of |noise| with view.public.algorithm.scale(0): some is as large, or larger."),
    ),
)  # fmt: skip


def named(name: str) -> Challenge | None:
    """The challenge of this name."""
    return next((one for one in CHALLENGES if one.name == name), None)
