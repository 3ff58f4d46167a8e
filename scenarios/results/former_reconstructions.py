# pyright: reportUnknownMemberType=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# (pyarrow ships no types)
"""Reconstructed records as results: Parquet files, scores, the bound of a claim, and attacks that a defence stops."""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from attacks.audit.accounting.intervals import clopper_pearson
from attacks.inference import GradientEstimate
from attacks.reconstruction.attack import Attack, Case, Reconstruction
from attacks.reconstruction.verdict import STANDARD, seen
from attacks.score import Matched, RecordScore, success
from attacks.score.records import guess_rate
from attacks.score.robustness import approximate_bound, simulated_kappa
from netsim.arrays import Array
from netsim.claims import Claim
from netsim.simulation import Run
from netsim.truth import Truth
from scenarios.build.experiment import Experiment, Subject, adjacency_of
from scenarios.results.entries import Results
from scenarios.results.numbers import fixed, items, number, part
from scenarios.schema.attacks import Labels, RebuildModel, Rounds
from scenarios.schema.scenario import GradientChange

GRADIENT_COLUMNS = {
    "agent": "whose gradient",
    "query": "which one: the agent's gradient queries are counted from 0",
    "replica": "draw of the noise, from 0",
    "stddev": "standard deviation of a coordinate's error, the same for all; 0: exact up to rounding",
    "point": "where the gradient was asked for, one number a coordinate",
    "gradient": "the estimate, one number a coordinate",
    "error": "‖estimate − gradient‖/max(1, ‖gradient‖); null without the truth",
}
RECORD_COLUMNS = {
    "attack": "its name",
    "agent": "whose record",
    "record": "from 0, in no order that means anything",
    "replica": "draw of the noise, from 0",
    "features": "the record as it was rebuilt",
    "label": "its likeliest label",
    "spread": "standard deviation of each feature, where the attack has a posterior; else null",
    "objective": "the attacker's own, by which it chose; lower is better",
    "converged": "whether its optimizer says so",
    "seen": "the attacker's own verdict, without the truth",
    "open": "what the evidence cannot determine, whatever the attack; else empty",
}


class Rebuilt(NamedTuple):
    """What one attack made of one agent."""

    attack: str
    case: Case
    found: Reconstruction


def write_estimates(path: Path, found: Sequence[GradientEstimate], truth: Truth | None) -> None:
    """One row for each estimate and replica. A gradient without a row is not identifiable from what was heard."""
    rows = [_gradient(one, r, truth) for one in found for r in range(len(one.gradient))]
    _write(path, rows, list(GRADIENT_COLUMNS), {"agent", "query", "replica"}, {"point", "gradient"}, set())


def _gradient(one: GradientEstimate, r: int, truth: Truth | None) -> dict[str, Any]:
    error = None
    if truth is not None:
        real = truth.queries[one.agent][one.query].gradient[r]
        error = float(np.linalg.norm(one.gradient[r] - real) / max(1.0, float(np.linalg.norm(real))))
    told = {"agent": one.agent, "query": one.query, "replica": r, "stddev": float(one.stddev), "error": error}
    return told | {"point": one.point[r].tolist(), "gradient": one.gradient[r].tolist()}


def write_records(path: Path, found: Sequence[Rebuilt]) -> None:
    """One row for each record, attack and replica; no file where nothing was rebuilt."""
    path.unlink(missing_ok=True)
    rows = [row for one in found for row in _records(one)]
    if rows:
        _write(
            path, rows, list(RECORD_COLUMNS), {"agent", "record", "replica"}, {"features", "spread"},
            {"attack", "seen", "open"},
        )  # fmt: skip


def _records(one: Rebuilt) -> list[dict[str, Any]]:
    attack, case, found = one
    words, labels = seen(case, found).names, found.labels(case.known.model)
    return [
        {
            "attack": attack,
            "agent": found.agent,
            "record": m,
            "replica": r,
            "features": found.features[r, m].tolist(),
            "label": float(labels[r, m]),
            "spread": None if found.spread is None else found.spread[r, m].tolist(),
            "objective": float(found.objective[r]),
            "converged": bool(found.converged[r]),
            "seen": words[r],
            "open": found.open,
        }
        for r in range(len(found.features))
        for m in range(found.features.shape[1])
    ]


def _write(
    path: Path, rows: Sequence[dict[str, Any]], names: list[str], whole: set[str], lists: set[str], texts: set[str]
) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    def kind(name: str) -> Any:
        if name in whole:
            return pa.int64()
        if name in lists:
            return pa.list_(pa.float64())
        return pa.bool_() if name == "converged" else pa.string() if name in texts else pa.float64()

    columns = {name: pa.array([row[name] for row in rows], type=kind(name)) for name in names}
    draft = path.with_name(path.name + ".part")
    pq.write_table(pa.table(columns), draft, compression="zstd")
    draft.replace(path)


Result = Mapping[str, Any]
RECOVERED, PARTLY, DEFENDED = "recovered", "recovered in part", "defended"
FAILED, OPEN = "failed to optimize", "not identifiable"
WEAK = "this defence holds only against weak attacks"
CLOSE, WIDE = STANDARD.close, STANDARD.wide


def sentence(attacks: Sequence[Result]) -> str:
    """What the verdicts say together, with the numbers; empty where no attack has one.

    An attack that failed to optimize, or whose records nothing determines, says nothing for a defence.
    """
    told = [one for one in attacks if one.get("verdict")]
    if not told:
        return ""
    aside = _missing(told)
    pairs = [(weak, strong) for weak in told for strong in told if _falls_to(weak, strong)]
    if pairs:
        weak = [one for one in told if any(one is pair[0] for pair in pairs)]
        strong = [one for one in told if any(one is pair[1] for pair in pairs)]
        left = [one for one in told if one not in weak and one not in strong]
        others = f" Beside them {_each(left)}." if left else ""
        return f"Not recovered by {_listed(weak)}; recovered by {_listed(strong)}: {WEAK}.{others}{aside}"
    if all(clearly(one, DEFENDED) for one in told) and not _better_than_a_guess(told):
        return f"Defended against all that was tried: {_listed(told)}.{aside}"
    broken = [one for one in told if clearly(one, RECOVERED)]
    if broken:
        left = [one for one in told if one not in broken]
        others = f" Beside {_plural(broken, 'it', 'them')} {_each(left)}." if left else ""
        return f"Not defended: {_listed(broken)} {_plural(broken, 'recovers', 'recover')} the records.{others}{aside}"
    return f"What came of it, by attack: {_each(told)}.{aside}"


def clearly(one: Result, word: str) -> bool:
    """Whether a word is that of more than half of agents and replicas, by the interval of its share at 95 %."""
    counts = part(one, "verdicts")
    total = int(sum(counts.values()))
    return total > 0 and clopper_pearson(int(counts.get(word, 0)), total, 0.95).lower > 0.5


def _falls_to(weak: Result, strong: Result) -> bool:
    """Whether noise holds against one attack and not against the other, beyond chance."""
    there = part(weak, "success"), part(strong, "success")
    if not (all(there) and weak.get("noise")):
        return False
    apart = number(there[1].get("low")) > number(there[0].get("high"))
    return apart and median_skill(strong) >= CLOSE and median_skill(weak) <= WIDE


def _better_than_a_guess(attacks: Sequence[Result]) -> bool:
    """Whether the attack that succeeds most often is above the best blind guess."""
    best = max((part(one, "success") for one in attacks), key=lambda success: number(success.get("rate")))
    return number(best.get("low")) > number(best.get("guess"))


def only_against_weak(attacks: Sequence[Result]) -> bool:
    """Whether one attack is held off and another one recovers the records."""
    told = [one for one in attacks if one.get("verdict")]
    return any(_falls_to(weak, strong) for weak in told for strong in told)


def _listed(attacks: Sequence[Result]) -> str:
    return ", ".join(f"{one['attack']} ({numbers(one)})" for one in attacks)


def _each(attacks: Sequence[Result]) -> str:
    return "; ".join(f"{one['attack']}: {shares(one)} ({numbers(one)})" for one in attacks)


def shares(one: Result) -> str:
    """Its words, the most frequent first, with how often where there are several."""
    counts = sorted(part(one, "verdicts").items(), key=lambda pair: -pair[1])
    total = sum(count for _, count in counts)
    if len(counts) < 2:
        return str(one["verdict"])
    return ", ".join(f"{word} in {count} of {total}" for word, count in counts)


def _missing(attacks: Sequence[Result]) -> str:
    told = list(dict.fromkeys(text for one in attacks if (text := missing(one))))
    return "".join(f" {text[0].upper()}{text[1:]}." for text in told)


def missing(one: Result) -> str:
    """Of how many agents nothing was rebuilt, which count as not rebuilt; empty where there is none."""
    of, left_out = int(one.get("agents_in_all") or 0), len(items(one, "left_out"))
    silent = of - int(one.get("agents_reached") or 0) - left_out
    told = [f"{silent} of {of} agents: nothing inferred"] if silent > 0 else []
    told += (
        [f"{left_out} of {of} agents: not attacked, they do not grant what {one['attack']} needs"] if left_out else []
    )
    return "; ".join(told)


def numbers(one: Result) -> str:
    """An attack's numbers in a few words: how often it rebuilt a record, and how well."""
    success = part(one, "success")
    rate = f"{success['count']} of {success['of']} rebuilt, " if success else ""
    quality = (
        f"PSNR {fixed(one['psnr'], 1)} dB" if one.get("psnr") is not None else f"skill {fixed(one.get('skill'))}"
    )
    return f"{rate}{quality}"


def _plural(found: Sequence[Result], one: str, several: str) -> str:
    return one if len(found) == 1 else several


def lines(found: Result | None) -> list[str]:
    """What the terminal says: a line for each attack, and the sentence."""
    if not found:
        return []
    told = [f"{one['attack']}: {_line(one)}" for one in items(found, "attacks")]
    return [*told, str(found["sentence"])] if found.get("sentence") else told


def _line(one: Result) -> str:
    if one.get("refused"):
        return f"no record rebuilt: {str(one['refused']).rstrip('.')}."
    success = part(one, "success")
    rate = f"success {fixed(success['rate'])} [{fixed(success['low'])}, {fixed(success['high'])}]"
    psnr = f"PSNR {fixed(one['psnr'], 1)} dB, " if one.get("psnr") is not None else ""
    guess = f" (a blind guess {fixed(success['guess'])})" if success.get("guess") is not None else ""
    silent = f"; {missing(one)}" if missing(one) else ""
    return f"{shares(one)}; {psnr}skill {fixed(one.get('skill'))}, {rate}{guess}{silent}."


def median_skill(one: Result) -> float:
    """The skill of an attack, not a number where it was refused."""
    return number(one.get("skill"))


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
    found["sentence"] = sentence(attacks)


MOST = 1000
"""Public records that the prior's rate of success is estimated from."""
CONFIDENCE = 0.95
Bound = Callable[[float, float], "Results | None"]
"""From a distance, and the lower end of a success rate."""


def bound_of(experiment: Experiment, subject: Subject, run: Run) -> Bound:
    """The bound of the claim that this algorithm makes for the whole attacked run; None where there is no finite
    claim about a replaced record, and where agents hold several: a matching then gives as many guesses, and κ counts
    one.

    κ is the largest rate of the best guess of who has no transcript, over the public records of each class and over
    all of them; of each the upper confidence end is taken, at a level divided by how many there are.
    """
    claim = _claim(experiment, subject, run)

    @cache
    def kappa(distance: float) -> float:
        assert experiment.holding is not None
        assert experiment.holding.prior is not None
        groups = list(experiment.holding.prior.records.values())
        rng = np.random.default_rng(experiment.scenario.seed)
        each = [*groups, np.concatenate(groups)] if len(groups) > 1 else groups
        level = 1 - (1 - CONFIDENCE) / len(each)
        drawn = [rows[rng.permutation(len(rows))[:MOST]] for rows in each]
        return max(simulated_kappa(rows, distance, level).upper if len(rows) >= 4 else 1.0 for rows in drawn)

    def bound(distance: float, lower: float) -> Results | None:
        if claim is None or claim.epsilon is None:
            return None
        most = approximate_bound(kappa(distance), claim.epsilon, claim.delta)
        return {
            "bound": most,
            "kappa": kappa(distance),
            "epsilon": claim.epsilon,
            "delta": claim.delta,
            "above": lower > most,
        }

    return bound


def _claim(experiment: Experiment, subject: Subject, run: Run) -> Claim | None:
    scenario, holding = experiment.scenario, experiment.holding
    if holding is None or holding.records != 1 or subject.attacked is None:
        return None
    if scenario.audit is not None and isinstance(scenario.audit.adjacency, GradientChange):
        return None  # a claim about a change of the gradient, and not about a record
    adjacency = adjacency_of(scenario, experiment.dataset, holding.problem)
    return subject.attacked.claim(adjacency, run.largest_activations, subject.delta)
