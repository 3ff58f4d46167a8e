"""The table of docs/algorithms.md, from the code: `python -m tests.docs.algorithms_table` prints it."""

from collections import Counter
from dataclasses import replace

import numpy as np

from attacks.inference import closed_form_of, probed
from netsim.adversary import Query
from netsim.algorithms import Algorithm
from netsim.errors import AttackError, ScenarioError
from netsim.problems import L1
from netsim.simulation import Run, Simulation
from netsim.transcript.record import EVERYBODY
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
    parts = [_messages(count / times, everybody, values) for (everybody, values), count in sorted(full.items())]
    return " + ".join(parts) + (", and empty ones" if any(not row.values for row in rows) else "")


def _messages(each: float, everybody: bool, values: tuple[str, ...]) -> str:
    number = f"{round(each)}" if each > 0.99 else "once 1"
    vectors = "" if len(values) == 1 else f" of {len(values)} vectors"
    return f"{number}{vectors} {'to all' if everybody else 'to one'}"


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
    ours, theirs = (np.array([q.point for q in asked(s)]) for s in (with_r, example.simulation(noisy=False)))
    assert not np.array_equal(ours, theirs), f"{example.fields} leaves r out without a word"
    return "any"


def asked(simulation: Simulation) -> list[Query]:
    """The private queries of the agent at the door."""
    truth = simulation.run().truth
    assert truth is not None
    return truth.queries[DOOR]


def attack(run: Run) -> str:
    """Its own inversion or the probe, and what the probe found without noise."""
    algorithm: Algorithm = run.simulation.algorithm
    own = closed_form_of(algorithm)
    first = "probe" if own is None else f"`{own.infer.__name__}`, probe"
    try:
        found = probed(run.views[0], DOOR).identifiable
    except AttackError as error:
        return f"{first} refuses: {'its compressor' if 'changes what is sent' in str(error) else '`UniformModulo`'}"
    return f"{first}: all{_but(np.flatnonzero(~found).tolist(), len(found))}"


def _but(hidden: list[int], queries: int) -> str:
    if not hidden:
        return ""
    number = f" {len(hidden)}" if len(hidden) > 1 else ""
    if hidden == list(range(len(hidden))):
        return f" but the first{number}"
    assert hidden == list(range(queries - len(hidden), queries))
    return f" but the last{number}"


if __name__ == "__main__":
    print(table(), end="")
