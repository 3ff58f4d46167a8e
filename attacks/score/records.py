"""Scores of rebuilt records against the true ones: one matching for the attack and for guesses without a transcript.

Every rebuilt record is given to one true record, the sum of the squared distances being the smallest (the Hungarian
method): features decide alone, so that labels are compared with what they belong to. The same is done with what an
attacker would guess without the transcript; the matching helps whoever makes several guesses, and so it must help
these too. skill = 1 − MSE/MSE_prior.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage
from scipy.optimize import linear_sum_assignment

from attacks.audit.accounting.intervals import Interval, clopper_pearson
from attacks.estimates import check_number, check_shape
from attacks.reconstruction.attack import Known, Prior, Reconstruction, Shape
from attacks.reconstruction.record_hypotheses import DECISIVE, preference
from netsim.arguments import checked
from netsim.arrays import Array
from netsim.errors import AttackError, ScenarioError
from netsim.problems import LogisticLoss
from netsim.truth import Truth

MEAN, CLASSES, PUBLIC, TOLD, MIDDLE = (
    "prior mean", "class means by share", "public record", "class mean, label told", "middle of the range",
)  # fmt: skip
HONEST = (MEAN, CLASSES, PUBLIC, MIDDLE)
"""Those that need no label of the agent."""


WINDOW = 7
"""Side of the window of the structural similarity, in pixels."""


def psnr(mse: Array, width: float) -> Array:
    """Peak signal-to-noise ratio, 10 log₁₀(width²/mse) in decibels; `width` of the range, ∞ where mse = 0."""
    with np.errstate(divide="ignore"):
        return 10 * np.log10(width**2 / np.asarray(mse, dtype=np.float64))


def ssim(images: Array, others: Array, shape: Shape, width: float) -> Array:
    """Structural similarity of images as rows (…, pixels), in −1 … 1; 1 for equal ones. `width`: of their range.

    That of Wang, Bovik, Sheikh, Simoncelli 2004 with a square window and sample (co)variances, the mean over all
    windows inside the image: scikit-image's `structural_similarity` with its defaults, but for the side of the
    window. That is `WINDOW`, and in images too small for it the largest odd number up to half the shorter side plus
    1: 5 in 8 × 8. Of a picture in colour it is the mean over the channels.
    """
    x, y = (np.reshape(each, (*each.shape[:-1], *shape)) for each in np.broadcast_arrays(images, others))
    if len(shape) == 2:
        x, y = x[..., None], y[..., None]
    half = min(shape[:2]) // 2 + 1
    side = max(3, min(WINDOW, half - 1 + half % 2))
    inside = slice(side // 2, -(side // 2))

    def mean(values: Array) -> Array:
        for axis in (-3, -2):
            values = ndimage.uniform_filter1d(values, side, axis=axis)
        return values[..., inside, inside, :]

    sample = side**2 / (side**2 - 1)
    at_x, at_y = mean(x), mean(y)
    var_x, var_y = sample * (mean(x * x) - at_x**2), sample * (mean(y * y) - at_y**2)
    both = sample * (mean(x * y) - at_x * at_y)
    c1, c2 = (0.01 * width) ** 2, (0.03 * width) ** 2
    local = (2 * at_x * at_y + c1) * (2 * both + c2) / ((at_x**2 + at_y**2 + c1) * (var_x + var_y + c2))
    return np.mean(local, axis=(-3, -2, -1))


_Guess = tuple[Array, Array | None]
"""Features (replicas, m, width) and labels (replicas, m), None where there is no opinion."""


def _baselines(known: Known, labels: Array, replicas: int, rng: np.random.Generator) -> dict[str, _Guess]:
    """By name. `labels` (m,) are the true ones, which only the guesser with labels uses.

    - *prior mean*: m times the mean record.
    - *class means by share*: the mean of each class, as often as its share of m records: with a matching, m
      different guesses do better than m equal ones.
    - *public record*: m public records drawn by the classes' shares, anew for each replica.
    - *class mean, label told*: for each record the mean of its true class; honest only where labels are public.
    - *middle of the range* (0 where none is declared): without a prior, alone.
    """
    m, width = known.records, known.model.width
    if known.prior is None:
        low, high = known.value_range or (0.0, 0.0)
        return {MIDDLE: (np.full((1, m, width), (low + high) / 2), None)}
    prior = known.prior
    likely = np.array(max(prior.share, key=lambda label: prior.share[label]) if prior.share else np.nan)
    exact = {label: m * share for label, share in prior.share.items()}  # m labels by largest remainders
    counts = {label: int(quota) for label, quota in exact.items()}
    for label in sorted(exact, key=lambda label: counts[label] - exact[label])[: m - sum(counts.values())]:
        counts[label] += 1
    by_share = [label for label, count in counts.items() for _ in range(count)]
    found: dict[str, _Guess] = {
        MEAN: (np.broadcast_to(prior.overall, (1, m, width)), np.full((1, m), likely)),
        CLASSES: (np.array([[prior.mean[label] for label in by_share]]), np.array([by_share])),
    }
    if prior.records:
        guesses, classes = np.empty((replicas, m, width)), np.empty((replicas, m))
        public, shares = np.array(prior.labels), np.array([prior.share[label] for label in prior.labels])
        for r in range(replicas):
            classes[r] = rng.choice(public, m, p=shares)
            rows = [prior.records[float(label)] for label in classes[r]]
            guesses[r] = [each[rng.integers(len(each))] for each in rows]
        found[PUBLIC] = guesses, classes
    if all(float(label) in prior.mean for label in labels):
        means = np.array([[prior.mean[float(label)] for label in labels]])
        found[TOLD] = means, np.asarray(labels, dtype=np.float64)[None]
    return found


LOST = 1e100
"""The squared distance of what is not a number: the last to be matched."""


@dataclass(frozen=True)
class MatchedRecords:
    """One guess of m records for every replica, in the order of the true ones; all (replicas, m) but `features`.

    `features` (replicas, m, width) after the matching, with the sign that is nearer where only ±record is
    determined; `order`: which of the guess's records it is. `psnr` in decibels of the declared range, NaN without
    one; `ssim` NaN where records are no images; `label_right` is 1 or 0, NaN in a regression or without labels.
    """

    features: Array
    order: NDArray[np.int64]
    mse: Array
    psnr: Array
    ssim: Array
    label_right: Array

    @property
    def mean_mse(self) -> float:
        return float(np.mean(self.mse))


@dataclass(frozen=True)
class RecordScore:
    """Quality of one agent's m rebuilt records, for every replica.

    `truth` (m, width) and `labels` (m,); `attack_score` is the attack's own, `baselines` those of who has no
    transcript. `prior` names the baseline that skill is measured against: of the honest ones the one with the
    smallest error here, which is in the defender's favour. `gram_error` (replicas,): ‖ÂᵀÂ − AᵀA‖_F/‖AᵀA‖_F, what a
    batch of least squares determines. `queries`: the attacked rounds; `gradient_norm` (rounds, replicas): ‖∇f‖ of the
    agent there. `honest`: the baselines that need nothing the attack did not know. `way`: the iterations that were
    kept, and the records as they were then.
    """

    attack: str
    agent: int
    truth: Array
    attack_score: MatchedRecords
    baselines: Mapping[str, MatchedRecords]
    prior: str
    gram_error: Array
    queries: tuple[int, ...]
    gradient_norm: Array
    labels: Array
    honest: tuple[str, ...] = ()
    way: tuple[tuple[int, ...], tuple[MatchedRecords, ...]] = ((), ())

    @property
    def mse(self) -> float:
        return self.attack_score.mean_mse

    @property
    def mse_prior(self) -> float:
        return self.baselines[self.prior].mean_mse

    @property
    def skill(self) -> float:
        """1 − MSE/MSE_prior: 1 is the record itself, 0 no better than the guess, negative worse."""
        return float(_skill_of(np.full(1, self.mse), self.mse_prior)[0])

    @property
    def skills(self) -> Array:
        """The same for each replica alone."""
        return _skill_of(np.mean(self.attack_score.mse, axis=-1), self.mse_prior)

    @property
    def psnr(self) -> float:
        """The median over records and replicas."""
        return float(np.median(self.attack_score.psnr))

    @property
    def ssim(self) -> float:
        return float(np.mean(self.attack_score.ssim))

    @property
    def label_accuracy(self) -> float:
        return float(np.mean(self.attack_score.label_right))

    def within(self, distance: float) -> NDArray[np.bool_]:
        """Which records were rebuilt to `distance`, root mean square over their coordinates; (replicas, m)."""
        return np.sqrt(self.attack_score.mse) <= distance


def _skill_of(mse: Array, mse_prior: float) -> Array:
    """1 − MSE/MSE_prior; where the guess is the record itself, 1 for who has it too, and −∞ for everybody else."""
    lost: Array = np.where(mse == 0, 1.0, -np.inf)
    return 1 - mse / mse_prior if mse_prior > 0 else lost


@checked
def score_records(
    reconstruction: Reconstruction,
    truth: Truth,
    known: Known,
    rng: np.random.Generator,
    modulo_sign: bool | None = None,
) -> RecordScore:
    """Compare with the agent's records. `rng` draws the baseline that is a public record.

    `modulo_sign`: whether −record with the opposite target or label is as good. By default so for one record of least
    squares or of a logistic loss where no prior or range distinguishes it from this one: the gradients are the same.
    Of an informed attacker (`known.others`), who rebuilds one record, that one is scored. You get an `AttackError`
    where the objective is no mean over records, and where the others are not among them; a `ScenarioError` for an
    agent or a query that the run does not have, other shapes, and what is known of another number of records. A
    record that is no number is as far off as can be: its skill is −∞.
    """
    features, labels = records_of(truth, reconstruction.agent)
    _check_of_run(reconstruction, truth, known, features)
    if known.others is not None and reconstruction.features.shape[1] == 1:
        free = np.ones(len(labels), dtype=np.bool_)  # the one record that is not among the others
        for record, label in zip(*known.others, strict=True):
            same = np.flatnonzero(free & np.all(features == record, axis=1) & (labels == label))
            free[same[:1]] = False
        if (left := int(np.sum(free))) != 1:
            others = len(known.others[1])
            raise AttackError(f"{others} others are known, and {left} of the agent's records are left")
        features, labels = features[free], labels[free]
        known = replace(known, records=1, others=None, labels=None)
    modulo = modulo_sign
    if modulo is None:
        mirrored = known.model.name in ("linear", "logistic") and known.records == 1 and known.labels is None
        modulo = mirrored and bool(np.any(np.abs(preference(known, features, labels, exact=True)) < DECISIVE))
    own = _scored(reconstruction.features, reconstruction.labels(known.model), features, labels, known, modulo)
    others = {
        name: _scored(*guess, features, labels, known, modulo)
        for name, guess in _baselines(known, labels, reconstruction.features.shape[0], rng).items()
    }
    public = known.labels is not None
    honest = [name for name in others if name in HONEST or public]
    gram = _gram_error(reconstruction.features, features)
    way: tuple[tuple[int, ...], tuple[MatchedRecords, ...]] = ((), ())
    if (kept := reconstruction.way) is not None:
        each = np.moveaxis(kept.features, 1, 0)
        way = kept.iterations, tuple(_scored(one, None, features, labels, known, modulo) for one in each)
    norms = [np.linalg.norm(truth.queries[reconstruction.agent][k].gradient, axis=-1) for k in reconstruction.queries]
    return RecordScore(
        reconstruction.attack,
        reconstruction.agent,
        features,
        own,
        others,
        min(honest, key=lambda name: others[name].mean_mse),
        gram,
        reconstruction.queries,
        np.array(norms),
        labels,
        tuple(honest),
        way,
    )


def _check_of_run(rebuilt: Reconstruction, truth: Truth, known: Known, records: Array) -> None:
    """Raise a `ScenarioError` for what cannot be one agent's `records` (m, width) rebuilt in this run."""
    m, width = records.shape
    if known.records != m and known.others is None:
        why = f"agent {rebuilt.agent} has {m} records: is it what is known of another agent?"
        raise ScenarioError("known.records", known.records, why, f"Known.of(view.public, {rebuilt.agent}, …)")
    queries = truth.queries[rebuilt.agent]
    for k, query in enumerate(rebuilt.queries):
        check_number(f"reconstruction.queries[{k}]", query, len(queries), f"queries of agent {rebuilt.agent}")
    replicas = queries[0].gradient.shape[0] if queries else None
    axes, found = "(replicas, records, width)", np.shape(rebuilt.features)
    count = found[1] if len(found) == 3 else m  # another number of records is no matter of the shape
    check_shape("reconstruction.features", rebuilt.features, axes, (replicas, count, width))
    of = (*rebuilt.features.shape[:2], known.model.outputs)
    check_shape("reconstruction.targets", rebuilt.targets, "(replicas, records, outputs)", of)


def records_of(truth: Truth, agent: int) -> tuple[Array, Array]:
    """An agent's features (m, width) and labels or targets (m,); a `ScenarioError` for an agent that is not there."""
    check_number("agent", agent, len(truth.problem.objectives), "agents")
    objective = truth.problem.objectives[agent]
    features: Array | None = getattr(objective, "features", None)
    labels: Array | None = getattr(objective, "labels", getattr(objective, "targets", None))
    if features is None or labels is None:
        raise AttackError(f"agent {agent}'s objective is no mean of one loss over records")
    return features, labels


def _scored(
    guess: Array, guessed: Array | None, records: Array, labels: Array, known: Known, modulo_sign: bool
) -> MatchedRecords:
    """A guess (replicas, m, width) in the order, and with the sign, that is nearest to the `records` (m, width).

    You get an `AttackError` where there are not as many as records, and for a sign of more than one.
    """
    if guess.shape[1] != len(records):
        raise AttackError(f"{guess.shape[1]} records were rebuilt, and there are {len(records)}")
    if modulo_sign and len(records) > 1:
        raise AttackError(f"{len(records)} records: a joint sign is all that is open of one record only")
    sign = np.ones(len(guess))
    if modulo_sign:
        sign = np.where(np.einsum("rmw,mw->r", guess, records) < 0, -1.0, 1.0)
    guess = guess * sign[:, None, None]
    order = np.zeros((len(guess), len(records)), dtype=np.int64)
    for r, one in enumerate(guess if len(records) > 1 else ()):
        with np.errstate(over="ignore", invalid="ignore"):
            cost = np.array([np.sum((one - record) ** 2, axis=-1) for record in records])
        order[r] = linear_sum_assignment(np.nan_to_num(np.minimum(cost, LOST), nan=LOST))[1]
    found = np.take_along_axis(guess, order[..., None], axis=1)
    width = None if known.value_range is None else known.value_range[1] - known.value_range[0]
    with np.errstate(over="ignore", invalid="ignore"):
        mse = np.nan_to_num(np.mean((found - records) ** 2, axis=-1), nan=np.inf)
        right = peak = similar = np.full(mse.shape, np.nan)
        if width is not None and known.image_shape is not None:
            similar = ssim(found, records, known.image_shape, width)
    if width is not None:
        peak = psnr(mse, width)
    if guessed is not None and known.model.classes:
        right = np.equal(sign[:, None] * np.take_along_axis(guessed, order, axis=1), labels).astype(np.float64)
    return MatchedRecords(found, order, mse, peak, similar, right)


def _gram_error(rebuilt: Array, features: Array) -> Array:
    """Relative error of AᵀA, (replicas,), without a matching.

    Through a QR factor of both sets of records, so that no d × d matrix is made and nothing cancels.
    """
    m = len(features)
    gram = np.empty(len(rebuilt))
    for r, guess in enumerate(rebuilt):
        if not np.all(np.isfinite(guess)):
            gram[r] = np.inf
            continue
        triangle: Array = np.linalg.qr(np.concatenate([guess, features]).T)[1]
        own, true = triangle[:, :m], triangle[:, m:]
        scale = np.linalg.norm(true @ true.T)
        gram[r] = np.linalg.norm(own @ own.T - true @ true.T) / (scale or 1.0)
    return gram


def success(scores: Sequence[RecordScore], distance: float, confidence: float = 0.95, silent: int = 0) -> Interval:
    """Rate at which all records of an agent are rebuilt to `distance` (`RecordScore.within`), over agents × replicas;
    Clopper–Pearson. `silent`: agents of whom nothing was rebuilt, in as many replicas; they count as not rebuilt.

    Replicas are independent draws of the noise, so the trials are independent, with probabilities that differ from
    agent to agent; the interval is of their mean, and only wider than it need be (Hoeffding 1956). It holds for no
    agents that are not here, nor of other records: these are fixed, and no draws from a prior.
    """
    hits = np.array([np.all(score.within(distance), axis=-1) for score in scores])
    return clopper_pearson(int(np.sum(hits)), hits.size + silent * hits.shape[1], confidence)


def guess_rate(scores: Sequence[RecordScore], distance: float) -> float:
    """Rate at which the best of the honest baselines, the same for all agents, has all of an agent's records within
    `distance`, by the same matching."""
    rates = [
        {name: np.mean(np.sqrt(one.baselines[name].mse.max(axis=-1)) <= distance, dtype=float) for name in one.honest}
        for one in scores
    ]
    common = set(rates[0]).intersection(*rates)
    return max((float(np.mean([each[name] for each in rates])) for name in common), default=0.0)


@dataclass(frozen=True)
class _ImageScore:
    """Quality of one agent's rebuilt record, mean over replicas.

    `mse_prior` is that of guessing the prior's mean of the true label (a guesser who knows the label);
    `skill` = 1 − mse/mse_prior: 1 is the record itself, 0 no better than the guess, negative worse.
    """

    agent: int
    truth: Array
    rebuilt: Array
    guess: Array
    mse: float
    mse_prior: float
    largest_error: float
    label_correct: float

    @property
    def skill(self) -> float:
        """1 − mse/mse_prior."""
        return 1 - self.mse / self.mse_prior


def score_image(reconstruction: Reconstruction, truth: Truth, prior: Prior) -> _ImageScore:
    """Compare a rebuilt record with the agent's. You get an `AttackError` if the agent holds more than one."""
    objective = truth.problem.objectives[reconstruction.agent]
    if not isinstance(objective, LogisticLoss) or len(objective.labels) != 1:
        raise AttackError(f"agent {reconstruction.agent} does not hold exactly one labelled record")
    record: Array = objective.features[0]
    label, rebuilt = int(objective.labels[0]), reconstruction.features[:, 0]
    guess, error = prior.mean[label], rebuilt - record
    return _ImageScore(
        reconstruction.agent,
        record,
        rebuilt[0],
        guess,
        float(np.mean(np.square(error))),
        float(np.mean(np.square(guess - record))),
        float(np.max(np.abs(error))),
        float(np.mean(np.equal(reconstruction.labels(objective.model), label))),
    )
