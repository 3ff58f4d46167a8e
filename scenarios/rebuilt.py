"""Rebuilt records as plain data: the `reconstructions` of an entry of results.json."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from attacks.reconstruction.attack import Attack
from attacks.score import Matched, RecordScore, success
from attacks.score.records import guess_rate
from netsim.arrays import Array
from scenarios.describe import Results
from scenarios.experiment import Experiment
from scenarios.report import defences
from scenarios.schema.attacks import Labels, RebuildModel, Rounds

PICTURED = 8
"""Agents whose records are kept, and so shown: numbers are of all."""
DIGITS = 5
"""Decimals of a kept record's features; errors are computed before."""


def begin(experiment: Experiment, replicas: int) -> Results:
    """What is attacked, before any attack."""
    dataset, holding, asked = experiment.dataset, experiment.holding, experiment.scenario.attacks
    assert holding is not None
    low, high = dataset.value_range or (0.0, 1.0)
    return {
        "holding": holding.records,
        "distance": asked.success,
        "replicas": replicas,
        "shape": list(dataset.image_shape or (1, dataset.dimension)),
        "range": [low, high],
        "image": dataset.image_shape is not None,
        "originals": [
            {"agent": agent, "records": _kept(part.features), "labels": holding.labels(agent).tolist()}
            for agent, part in enumerate(holding.parts[:PICTURED])
        ],
        "attacks": [],
        "sentence": "",
    }


def attack(spec: RebuildModel, attack: Attack, rounds: Rounds, labels: Labels) -> Results:
    """Which attack it is, and what it is given."""
    return {
        "attack": spec.label,
        "kind": spec.kind,
        "source": attack.source,
        "inversion": spec.inversion,
        "rounds": rounds,
        "labels": labels,
        "refused": None,
        "verdict": None,
    }


def scored(
    scores: Sequence[RecordScore],
    words: Sequence[Sequence[str]],
    distance: float,
    agents: int | None = None,
    noise: bool = True,
) -> Results:
    """An attack's numbers: medians over agents and replicas, how often all records of an agent came within the
    distance, and each agent's. `words` are the verdicts of each agent's replicas; `agents` how many there are, also
    those of whom nothing was inferred; `noise`: whether all of the evidence has some."""
    of = len(scores) if agents is None else agents
    rate = success(scores, distance, silent=of - len(scores))
    hits = np.array([np.all(score.within(distance), axis=-1) for score in scores])
    counted = Counter(word for own in words for word in own)
    return {
        "verdict": counted.most_common(1)[0][0],
        "verdicts": dict(counted),
        "skill": _median([score.skills for score in scores]),
        "mse": _median([score.attack_score.mse for score in scores]),
        "psnr": _median([score.attack_score.psnr for score in scores]),
        "ssim": _median([score.attack_score.ssim for score in scores]),
        "label_accuracy": _mean([score.attack_score.label_right for score in scores]),
        "success": {
            "distance": distance,
            "count": int(np.sum(hits)),
            "of": of * hits.shape[1],
            "rate": rate.estimate,
            "low": rate.lower,
            "high": rate.upper,
            "confidence": rate.confidence,
            "guess": guess_rate(scores, distance),
        },
        "noise": noise,
        "agents_reached": len(scores),
        "agents_in_all": of,
        "agents": [
            _agent(score, Counter(own).most_common(1)[0][0]) for score, own in zip(scores, words, strict=True)
        ],
    }


def _agent(score: RecordScore, verdict: str) -> Results:
    found, norms = score.attack_score, np.median(score.gradient_norm, axis=-1)
    shown: Results = {}
    if score.agent < PICTURED:
        guess: Matched = score.baselines[score.prior]
        shown = {"rebuilt": _kept(found.features[0]), "guess": _kept(guess.features[0])}
    return {
        "agent": score.agent,
        "verdict": verdict,
        "queries": len(score.queries),
        "first_query": int(min(score.queries)),
        "last_query": int(max(score.queries)),
        "gradient_norm": [float(np.min(norms)), float(np.max(norms))],
        "skill": _median([score.skills]),
        "mse": _median([found.mse]),
        "psnr": _median([found.psnr]),
        "ssim": _median([found.ssim]),
        "label_accuracy": _mean([found.label_right]),
        "prior": score.prior,
    } | shown


def brief(found: Results | None) -> Results | None:
    """For a page over several variants: the numbers, and the records of the first agent that is shown everywhere."""
    if not found:
        return None
    attacked = [one["agents"] for one in found["attacks"] if "agents" in one]
    kept: list[set[int]] = [{own["agent"] for own in agents if "rebuilt" in own} for agents in attacked]
    everywhere = [agent for agent in sorted(kept[0]) if all(agent in one for one in kept)] if kept else []
    shown = everywhere[:1]

    def short(one: Results) -> Results:
        own = [own for own in one.get("agents", []) if own["agent"] in shown]
        return {key: value for key, value in one.items() if key != "agents"} | ({"agents": own} if own else {})

    originals = [one for one in found["originals"] if one["agent"] in shown]
    return found | {"originals": originals, "attacks": [short(one) for one in found["attacks"]]}


def _kept(records: Array) -> list[list[float]]:
    return np.round(np.nan_to_num(records), DIGITS).tolist()


def _median(values: Sequence[Array]) -> float | None:
    """None where there is no such number: of records that are no images, or have no class."""
    flat = np.concatenate([np.ravel(one) for one in values])
    return None if np.all(np.isnan(flat)) else float(np.median(flat))


def _mean(values: Sequence[Array]) -> float | None:
    flat = np.concatenate([np.ravel(one) for one in values])
    return None if np.all(np.isnan(flat)) else float(np.mean(flat))


def conclude(found: Results) -> None:
    """Bring the sentence up to date."""
    attacks: list[Any] = found["attacks"]
    found["sentence"] = defences.sentence(attacks)
