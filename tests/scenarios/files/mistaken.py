"""Wrong files, and the whole message that each of them gets: mistaken.yaml, and two sweeps."""

from pathlib import Path

from ruamel.yaml import YAML

GOOD = """\
name: small
problem:
  kind: logistic
  data: {name: digits, norm_bound: 4.0}
topology: {kind: ring, agents: 6}
links:
  delay: {kind: uniform, low: 0.01, high: 0.03}
  loss: 0.1
adversary:
  links: [[0, 1], [1, 2]]
algorithms:
  - {kind: recal, name: plain, activations: 50}
  - kind: dp_recal
    per_agent: 10
    noise: {epsilon: 1.0, delta: 1e-3}
audit: {agent: 1, trials: 60}
"""
_CASES = YAML(typ="safe", pure=True).load(Path(__file__).with_suffix(".yaml"))


def _file(wrong: list[str], says: str | list[str], untold: bool = False) -> tuple[str, str]:
    old, new = wrong
    assert old in GOOD
    whole = says if isinstance(says, str) else "\n".join(says)
    return GOOD.replace(old, new, 1) if old else GOOD + new, whole.replace("HERE", str(Path.cwd()))


FILES = {name: _file(**one) for name, one in _CASES.items()}
"""Scenario files: text and message."""
SWEEPS = {
    "sweep: a value for a list": (
        "scenario: small.yaml\ngrid: {links.loss: 0.1}\n",
        "sweep.yaml:2: grid.links.loss = 0.1: wrong type: a number with a fraction; did you mean [0.1]?; allowed: a "
        "list",
    ),
    "sweep: wrong values": (
        "scenario: small.yaml\ngrid:\n  links.loss: [0.1, 2, '0.3']\n  topology.agents: [6, 2]\n",
        "sweep.yaml:3: point 2: links.loss = 2: out of range; allowed: >= 0.0 and < 1.0\n"
        "sweep.yaml:3: point 4: links.loss = '0.3': not one "
        "of the allowed values: it stands in quotes; did you mean 0.3?; allowed: a number, {kind: gilbert_elliott, …"
        "} or {kind: trace, …}\n"
        "sweep.yaml:4: point 1: topology.agents = 2: out of range; allowed: 3 … 1000000; or kind: complete or "
        "path or star",
    ),
    "sweep: wrong values beside other mistakes": (
        "scenario: small.yaml\ngrid:\n  links.los: [0.1]\n  topology.agents: [6, 2]\n"
        "random:\n  links.delay: {law: unifrm}\n  links.loss: {law: choice, values: [2]}\nrepeats: two\n",
        "sweep.yaml:3: links.los = 0.1: unknown field; did you mean 'loss'?; allowed: delay, loss, bandwidth, "
        "buffer, reliable, timeout, reordering, duplication, outages, encrypted, authenticated\n"
        "sweep.yaml:4: topology.agents = 2: out of range; allowed: 3 … 1000000; or kind: complete or path or star\n"
        "sweep.yaml:6: random.links.delay.law = 'unifrm': unknown law; did you mean 'uniform'?; allowed: uniform, "
        "loguniform, choice\n"
        "sweep.yaml:7: links.loss = 2: out of range; allowed: >= 0.0 and < 1.0\n"
        "sweep.yaml:8: repeats = 'two': wrong type: text; allowed: a whole number",
    ),
    "sweep: seeds, and no such file": (
        "scenario: nosuch.yaml\ngrid:\n  seed: [1, 2]\n",
        "sweep.yaml:1: scenario = 'nosuch.yaml': no such file, and no shipped scenario of this name; allowed: a "
        "path, or a name that `netsim list` shows\nsweep.yaml:3: grid.seed = [1, 2]: the scenario's seed is varied "
        "by repeats; allowed: `repeats: N`, for N seeds from the scenario's on",
    ),
    "sweep: a field of the scenario": (
        "scenario: small.yaml\naudit: null\n",
        "sweep.yaml:2: audit = null: unknown field: a scenario's; did you mean `-o audit=null`, or grid: {audit: "
        "[null]}?; allowed: scenario, grid, random, draws, repeats, seed, keep",
    ),
    "sweep: a field in two places, drawn and not": (
        "scenario: small.yaml\ngrid: {links.loss: [0.1]}\nrandom:\n  links.loss: {law: uniform, low: 0, high: 0.5}\n",
        "sweep.yaml:3: random = {links.loss: {law: uniform, low: 0, high: 0.5}}: links.loss is in grid, "
        "too; allowed: each field in grid or in random",
    ),
    "sweep: draws of nothing": (
        "scenario: small.yaml\ndraws: 3\n",
        "sweep.yaml:2: draws = 3: draws goes with random: nothing is drawn; allowed: 1; or random: {FIELD: LAW}, or "
        "repeats",
    ),
}
"""Sweep files of the good scenario."""
UNTOLD = {name for name, one in _CASES.items() if one.get("untold")} | SWEEPS.keys() - {
    "sweep: a value for a list",
    "sweep: a field of the scenario",
}
"""What a JSON Schema cannot tell."""
