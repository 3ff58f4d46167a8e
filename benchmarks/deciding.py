"""What attacks that decide find in tapped runs on digits: membership and properties, against noise.

    python -m benchmarks.deciding [membership] [properties] [--json]

An agent on a ring of five holds records; it descends with Laplace noise of scale b on what it sends, and goes on from
what it sent (`PrivateGradientDescent`, state "released"). All links are tapped. Prints markdown tables.
"""

import argparse
import json
import os
from collections.abc import Callable
from dataclasses import replace

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")

import numpy as np

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.inference import Evidence, through_differences
from attacks.reconstruction import Case, Known, Prior
from attacks.reconstruction.informed import PropertyInference
from attacks.reconstruction.membership import Membership, Records
from netsim.adversary import Adversary
from netsim.algorithms import PrivateGradientDescent
from netsim.problems import Dataset, load, logistic
from netsim.schedules import Constant
from netsim.simulation import Simulation
from netsim.topology import ring

SCALES = (0.002, 0.01, 0.05, 0.1, 0.2, 1.0)
LEVEL = 0.05
REPLICAS = 200
TRIALS = 100
AGENTS, ROUNDS, STEP = 5, 6, 0.1
Numbers = dict[str, float]


def tapped(parts: list[Dataset], scale: float, replicas: int, seed: int = 1) -> tuple[Evidence, Known]:
    """What is inferred of agent 0, and what is public of it."""
    algorithm = PrivateGradientDescent(ROUNDS, Constant(STEP), Constant(scale), state="released")
    problem = logistic(parts, ridge=0.1)
    run = Simulation(problem, ring(AGENTS), algorithm, adversaries=(Adversary(),), replicas=replicas, seed=seed).run()
    view = run.views[0]
    evidence = Evidence.of([e for e in through_differences(view) if e.agent == 0], "laplace")
    return evidence, Known.of(view.public, 0)


def membership(told: Callable[[str], object]) -> Numbers:
    """One of six records: in the run, or not in it."""
    data = load("digits", norm_bound=4.0)
    parts = [part.take(np.arange(6)) for part in data.split(AGENTS, seed=0)]
    mine = parts[0]
    candidate: Records = (mine.features[:1], mine.labels[:1])
    rng = np.random.default_rng(0)
    told(f"| b | power at {LEVEL:g}, measured | by the formula | false alarms |\n|---|---|---|---|")
    numbers: Numbers = {}
    for scale in SCALES:
        rates: list[Interval] = []
        promised = 0.0
        for inside in (True, False):
            worlds = parts if inside else [mine.take(np.arange(1, 6)), *parts[1:]]
            evidence, known = tapped(worlds, scale, REPLICAS)
            known = replace(known, records=6, others=(mine.features[1:], mine.labels[1:]))
            decision = Membership().decide([Case(evidence, known)], [candidate], rng)[0]
            rates.append(clopper_pearson(int(np.sum(decision.accepted(LEVEL))), REPLICAS, 0.95))
            promised = float(np.mean(decision.power(LEVEL))) if inside else promised
        told(f"| {scale:g} | {_shown(rates[0])} | {promised:.3f} | {_shown(rates[1])} |")
        numbers |= {f"power_{scale:g}": rates[0].estimate, f"power_{scale:g}_formula": promised}
        numbers[f"false_alarms_{scale:g}"] = rates[1].estimate
    return numbers


def properties(told: Callable[[str], object]) -> Numbers:
    """Ten records, eight of them of one class: which one. Public records are every second digit."""
    data = load("digits", norm_bound=4.0)
    public, held = data.take(np.arange(0, data.records, 2)), data.take(np.arange(1, data.records, 2))
    prior = Prior.of(public.features, public.labels)
    shares = {"mostly zeros": {-1.0: 0.8, 1.0: 0.2}, "mostly ones": {-1.0: 0.2, 1.0: 0.8}}
    attack = PropertyInference({name: replace(prior, share=share) for name, share in shares.items()})
    rng = np.random.default_rng(0)
    others = [part.take(np.arange(6)) for part in data.split(AGENTS, seed=0)][1:]
    told("| b | right | what the posterior said |\n|---|---|---|")
    numbers: Numbers = {}
    for scale in SCALES:
        right, said = 0, 0.0
        for trial in range(TRIALS):
            name = list(shares)[trial % 2]
            labels = rng.choice([-1.0, 1.0], 10, p=[shares[name][b] for b in (-1.0, 1.0)])
            rows = [int(rng.choice(np.flatnonzero(held.labels == label))) for label in labels]
            evidence, known = tapped([held.take(np.array(rows)), *others], scale, 1, trial)
            choice = attack.decide([Case(evidence, replace(known, prior=prior))], rng)[0]
            right += choice.chosen[0] == name
            said += float(np.max(choice.posterior))
        told(f"| {scale:g} | {_shown(clopper_pearson(right, TRIALS, 0.95))} | {said / TRIALS:.3f} |")
        numbers |= {f"properties_right_{scale:g}": right / TRIALS, f"properties_said_{scale:g}": said / TRIALS}
    return numbers


def _shown(rate: Interval) -> str:
    return f"{rate.estimate:.3f} [{rate.lower:.3f}, {rate.upper:.3f}]"


PARTS: dict[str, Callable[[Callable[[str], object]], Numbers]] = {"membership": membership, "properties": properties}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="*", choices=[*PARTS, []], help="all by default")
    parser.add_argument("--json", action="store_true", help="one JSON object of named numbers")
    options = parser.parse_args()
    numbers: Numbers = {}
    for name in options.parts or PARTS:
        numbers |= PARTS[name]((lambda _: None) if options.json else print)
    if options.json:
        print(json.dumps(numbers))


if __name__ == "__main__":
    main()
