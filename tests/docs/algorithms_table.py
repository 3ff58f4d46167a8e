"""The table of docs/algorithms.md, from the code: `python -m tests.docs.algorithms_table` prints it."""

from collections import Counter
from dataclasses import replace

import numpy as np

from attacks.inference import closed_form_of, probed
from netsim.algorithms import Algorithm
from netsim.errors import AttackError, ScenarioError
from netsim.problems import L1
from netsim.simulation import Run
from netsim.transcript.message import EVERYBODY
from tests.netsim.algorithms.every import ADJACENCY, DOOR, EXAMPLES, Example, problem

HEAD = ("algorithm", "`kind`", "exact", "sends", "claim", "r", "attack")
DELTA = 1e-3


def table() -> str:
    """One row for each `kind`, and one more for each choice of which something else is true."""
    rows = [f"| {' | '.join(HEAD)} |", "|" + "---|" * len(HEAD)]
    told: set[tuple[str, ...]] = set()
    for name, example in EXAMPLES.items():
        kind, _, choice = name.partition(", ")
        algorithm, facts = type(example.algorithm()).__name__, facts_of(example)
        if (kind, *facts) not in told:
            told.add((kind, *facts))
            rows.append(
                f"| {' | '.join((f'`{algorithm}`', f'`{kind}`' + (f', {choice}' if choice else ''), *facts))} |"
            )
    return "\n".join(rows) + "\n"


def facts_of(example: Example) -> tuple[str, ...]:
    """All columns but the first two."""
    run = example.simulation(noisy=False).run()
    return ("yes" if example.exact else "no", sends(run), claims(example), regularized(example), attack(run))


def sends(run: Run) -> str:
    """What the agent at the door sends in a round or an activation, empty messages apart."""
    rows = [row for row in run.views[0].at_node(DOOR) if row.event == "sent"]
    full = Counter((row.receiver == EVERYBODY, tuple(sorted(row.values))) for row in rows if row.values)
    times = run.activations[DOOR]
    parts: list[str] = []
    for (everybody, values), count in sorted(full.items()):
        number = f"{round(count / times)}" if count / times > 0.99 else "once 1"
        vectors = "" if len(values) == 1 else f" of {len(values)} vectors"
        parts.append(f"{number}{vectors} {'to all' if everybody else 'to one'}")
    return " + ".join(parts) + (", and empty ones" if any(not row.values for row in rows) else "")


def claims(example: Example) -> str:
    """The norm and the source of the claim, with noise."""
    algorithm = example.algorithm()
    claim = algorithm.claim(ADJACENCY, example.simulation().setting(5), DELTA)
    return "none" if claim is None else f"{claim.norm}: {claim.source}"


def regularized(example: Example) -> str:
    """Whether it takes an r, and does something about it: then the gradients are asked for at other points."""
    changed = replace(problem(), regularizer=L1(0.05))
    try:
        with_r = example.simulation(noisy=False, problem=changed)
    except ScenarioError as error:
        if "r = 0" not in str(error):
            raise
        return "0"
    truths = [simulation.run().truth for simulation in (with_r, example.simulation(noisy=False))]
    ours, theirs = (np.array([query.point for query in truth.queries[DOOR]]) for truth in truths if truth is not None)
    assert not np.array_equal(ours, theirs), f"{example.fields} leaves r out without a word"
    return "any"


def attack(run: Run) -> str:
    """Its own inversion or the probe, and what the probe found without noise."""
    algorithm: Algorithm = run.simulation.algorithm
    own = closed_form_of(algorithm)
    first = "probe" if own is None else f"`{own.infer.__name__}`, probe"
    try:
        found = probed(run.views[0], DOOR).identifiable
    except AttackError as error:
        return f"{first} refuses: {'its compressor' if 'changes what is sent' in str(error) else '`UniformModulo`'}"
    hidden = np.flatnonzero(~found).tolist()
    if not hidden:
        return f"{first}: all"
    at_start = hidden == list(range(len(hidden)))
    assert at_start or hidden == list(range(len(found) - len(hidden), len(found)))
    number = f" {len(hidden)}" if len(hidden) > 1 else ""
    return f"{first}: all but the {'first' if at_start else 'last'}{number}"


if __name__ == "__main__":
    print(table(), end="")
