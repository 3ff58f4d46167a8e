"""Findings of attacks: gradients, leakage, images and records, membership and property games."""

import math
from collections import Counter
from statistics import fmean
from typing import Literal

import numpy as np

from scenarios.results.base import Counts, LeftOut, Numbers, Rate, Refused, Result, Rows, Table
from scenarios.schema.attacks import HypothesisSpec, Inversion, Labels, Rounds
from scenarios.schema.checks import Outcome


# ── gradients ───────────────────────────────────────────────────────────────────────────────────────────
class GradientScores(Table):
    """Inferred gradients against the true ones. The error of each is ‖estimate − gradient‖ / max(1, ‖gradient‖); null
    where nothing was estimated."""

    COLUMNS = ("inferred", "hidden")

    estimated: int
    """Queries with an estimate."""
    queries: int
    """Gradient queries of all agents."""
    inferred: Counts
    """Queries of each agent with an estimate."""
    hidden: Counts
    """Queries of each agent that are not identifiable."""
    worst: float | None
    """Largest error."""
    median: float | None
    """Median error."""
    baseline: float | None
    """Median error of an attacker that knows the public quadratic term alone; null where there is none."""
    curve: Numbers
    """Relative error of each estimate, median over replicas, in order of time."""
    by_replica: Numbers
    """Median over estimates in each of the first 1000 replicas."""
    but_each_last: bool = False
    """Whether the queries without an estimate are the last of each agent, and no others."""
    learned: int | None = None
    """Queries whose estimate, by its median error over replicas, is better than guessing: an error below 1 and below
    the baseline. Null in results of older versions."""

    @property
    def guess(self) -> float:
        """The error of a guess: of 0, or of the public quadratic term alone."""
        return min(1.0, math.inf if self.baseline is None else self.baseline)

    @property
    def guessed(self) -> bool:
        """Whether the estimates are no better than guessing, in the median."""
        return bool(self.estimated) and self.median is not None and self.median >= self.guess


class GradientResult(GradientScores):
    """Scores of the inversion that applies."""

    attack: str
    """Dotted name of the inversion."""


class Leakage(Result):
    """Inferred gradients by query and by agent, insiders left out."""

    class LeakageByQuery(Table):
        """Over agents, for each query number from 1."""

        query: Counts
        """Number of the query, from 1."""
        identifiable: Numbers
        """Share of the agents that made the query."""
        low: tuple[float | None, ...]
        """5 % quantile of the error, over agents and replicas; null where nothing is estimated."""
        median: tuple[float | None, ...]
        """Its median."""
        high: tuple[float | None, ...]
        """Its 95 % quantile."""

    class LeakageOfAgent(Result):
        """One agent's leak and its place in the network."""

        agent: int
        """The agent."""
        degree: int
        """Number of its neighbors."""
        hops: int | None
        """Hops to the nearest tap; null where there is no way."""
        queries: int
        """Its gradient queries."""
        identifiable: float
        """Share of its queries with an estimate."""
        error: float | None
        """Median error; null where nothing is estimated."""

    by_query: LeakageByQuery
    """By the agents' own query."""
    by_agent: tuple[LeakageOfAgent, ...]
    """By agent."""


# ── images and records ──────────────────────────────────────────────────────────────────────────────────
class ImageResult(Result):
    """Images rebuilt in a second run in which each agent holds one."""

    class ImageOfAgent(Result):
        """One agent's image and its reconstruction, flat; errors are means over replicas."""

        agent: int
        """The agent."""
        original: Numbers
        """Its image."""
        rebuilt: Numbers
        """The image as rebuilt from the first transcript."""
        guess: Numbers
        """The prior's guess: mean of the public images of its class."""
        mse: float
        """Mean squared error of the rebuilt image."""
        mse_prior: float
        """Mean squared error of the guess."""
        skill: float
        """1 − mse/mse_prior."""
        largest_error: float
        """Largest error of a pixel."""
        label_correct: float
        """Share of replicas in which its label was found."""

    shape: tuple[int, ...]
    """Height and width, and 3 of a colour image."""
    range: tuple[float, float]
    """Least and largest value of a pixel."""
    exact: bool
    """Whether all gradient estimates were exact."""
    note: str
    """How it was done, in a sentence."""
    agents: tuple[ImageOfAgent, ...]
    """Each agent's image."""
    transcripts: int = 1
    """Transcripts that each image was rebuilt from; skill and labels are of all of them."""

    @property
    def labels(self) -> tuple[float, float] | None:
        """How often a label is found, over all agents and transcripts, and how often by who always says the label of
        most agents; None where no label was looked for, or all agents have the same one."""
        kinds = Counter(one.guess for one in self.agents)  # the prior's guess is that of a label
        right = [one.label_correct for one in self.agents if not math.isnan(one.label_correct)]
        return (fmean(right), max(kinds.values()) / kinds.total()) if right and len(kinds) > 1 else None

    @property
    def labels_by_chance(self) -> float:
        """Exact p-value of the guesses being independent of the labels: the share of all ways to deal the labels to
        the agents in which they agree with the guesses at least as well. NaN where `labels` is None.

        Agents are what is dealt, not transcripts: those of one agent say how often it is taken for which class, which
        its place in the network may decide as well as its label.
        """
        if self.labels is None:
            return math.nan
        known = [one for one in self.agents if not math.isnan(one.label_correct)]
        alike = [one.guess == known[0].guess for one in known]  # two classes: the first agent's, and the other
        said = [
            round(self.transcripts * (one.label_correct if own else 1 - one.label_correct))
            for one, own in zip(known, alike, strict=True)
        ]
        law = np.zeros((len(known) + 1, sum(said) + 1))  # of how many agents drawn by tosses, with which sum
        law[0, 0] = 1.0
        for count in said:
            drawn = np.zeros_like(law)
            drawn[1:, count:] = law[:-1, : law.shape[1] - count]
            law = (law + drawn) / 2
        of_this_size = law[sum(alike)]
        reached = sum(count for count, own in zip(said, alike, strict=True) if own)
        return float(np.sum(of_this_size[reached:]) / np.sum(of_this_size))


class Success(Result):
    """How often all records of an agent came within `distance` (root mean square)."""

    class SuccessBound(Result):
        """Largest rate of success of any attack if the claim holds (reconstruction robustness)."""

        bound: float
        """Most that any attack reaches in one guess at a record drawn from the prior, if the claim holds."""
        kappa: float
        """Rate of the best guess without a transcript, upper end."""
        epsilon: float
        """ε of the claim."""
        delta: float
        """δ of the claim."""
        above: bool
        """Whether the interval of the rate lies above the bound: a reason to audit and no proof."""

    distance: float
    """Root mean square error up to which a record counts as rebuilt."""
    count: int
    """How often all records of an agent were rebuilt."""
    of: int
    """Of how many agents and replicas; agents not reached count as not rebuilt."""
    rate: float
    """count/of."""
    low: float
    """Lower end of the Clopper–Pearson interval."""
    high: float
    """Its upper end."""
    confidence: float
    """Confidence of the interval."""
    guess: float | None
    """Rate of the best guess without a transcript; null where it is not known."""
    bound: SuccessBound | None = None
    """What the claim allows; null where nothing finite is claimed, agents hold several records, or the truth is not
    known."""


class Way(Result):
    """Error of the records as the search of an attack went on; median, 5 and 95 % quantiles over agents and
    replicas."""

    iterations: Counts
    """Iterations after which the iterates were kept."""
    mse: Numbers
    """Mean squared error then."""
    low: Numbers
    """5 % quantile."""
    high: Numbers
    """95 % quantile."""


class RecordAttack(Result):
    """One attack on records and its scores; without the truth, or where refused, the scores are null."""

    class RecordsOfAgent(Result):
        """One attack on one agent; medians over replicas."""

        agent: int
        """The agent."""
        verdict: Outcome
        """Its most frequent verdict."""
        queries: int
        """Number of gradients used."""
        first_query: int
        """The first of them."""
        last_query: int
        """The last of them."""
        gradient_norm: tuple[float, float]
        """Least and largest median norm of a gradient used."""
        skill: float | None
        """1 − MSE/MSE of the `prior`."""
        mse: float | None
        """Mean squared error."""
        psnr: float | None
        """dB of the declared range."""
        ssim: float | None
        """Null of records that are no images."""
        label_accuracy: float | None
        """Share of labels found."""
        prior: str
        """The baseline that skill is measured against: the best guess without a transcript."""
        rebuilt: Rows | None = None
        """Its records as rebuilt in the first replica; null but for the first few agents."""
        guess: Rows | None = None
        """The same of the baseline."""
        before: tuple[Rows, ...] = ()
        """The records at the start of the search and half way to its end, where its iterates were kept."""

    attack: str
    """Its name in the scenario."""
    kind: str
    """Which attack it is."""
    source: str = ""
    """Author of the attack."""
    inversion: Inversion | None = None
    """Gradients as inferred here ("strongest"), or by the algorithm's own paper ("published")."""
    rounds: Rounds | None = None
    """Which gradients it uses."""
    labels: Labels | None = None
    """Whether it knows the labels."""
    refused: str | None = None
    """Why it cannot be run on this transcript; then the scores below are null. Else null."""
    verdict: Outcome | None = None
    """The most frequent [verdict](scoring.md#what-became-of-it-in-one-word) over agents and replicas."""
    verdicts: dict[str, int] | None = None
    """How often each verdict, over agents and replicas."""
    skill: float | None = None
    """1 − MSE/MSE of the best guess without a transcript; median over agents, records and replicas."""
    mse: float | None = None
    """Mean squared error of the records, median."""
    psnr: float | None = None
    """Peak signal-to-noise ratio in dB of the declared range, median."""
    ssim: float | None = None
    """Structural similarity, median; null of records that are no images."""
    label_accuracy: float | None = None
    """Share of labels found."""
    success: Success | None = None
    """How often all records of an agent were rebuilt."""
    way: Way | None = None
    """Error over the iterations of its search; null without `snapshots`."""
    noise: bool | None = None
    """Whether all of the evidence is noisy."""
    agents_reached: int | None = None
    """Agents that it could be run on."""
    agents_in_all: int | None = None
    """All agents."""
    agents: tuple[RecordsOfAgent, ...] = ()
    """The same numbers of each agent."""
    left_out: tuple[LeftOut, ...] = ()
    """Agents that do not grant what it needs, and why."""
    seen: dict[str, int] | None = None
    """The attacker's own verdicts by frequency; of kept transcripts only."""


class Original(Result):
    """Records of one agent, the first few agents only."""

    agent: int
    """The agent."""
    records: Rows
    """Its records."""
    labels: Numbers
    """Their labels."""


class ReconstructionResult(Result):
    """All attacks on records of the second run."""

    holding: int
    """Records of each agent."""
    distance: float
    """Root mean square error up to which a record counts as rebuilt."""
    replicas: int
    """Number of replicas."""
    shape: tuple[int, ...]
    """How a record is drawn: height, width and, in colour, 3."""
    range: tuple[float, float]
    """Declared range of a feature."""
    image: bool
    """Whether records are images."""
    originals: tuple[Original, ...]
    """Records of the first few agents."""
    attacks: tuple[RecordAttack, ...]
    """One entry for each attack."""
    sentence: str
    """The finding in words."""


# ── membership and property ─────────────────────────────────────────────────────────────────────────────
class _GameSetting(Result):
    """What membership and property games have in common."""

    agent: int
    """Whose records."""
    holding: int
    """How many records it holds."""
    inversion: Inversion
    """Gradients as inferred here ("strongest"), or by the algorithm's own paper ("published")."""
    rounds: Rounds
    """Which gradients are used."""
    source: str
    """Author of the attack."""
    confidence: float
    """Confidence of each interval."""
    sentence: str
    """The finding in words."""


class Allowed(Result):
    """(ε, δ) of the claim for the pair of worlds played, or the reason why there is none."""

    epsilon: float | None
    """ε of these two worlds by the algorithm's claim; null where nothing is claimed."""
    delta: float | None
    """Its δ."""
    source: str | None
    """Source of the claim."""
    adjacency: str | None
    """Adjacency of the claim."""
    steps: int
    """Adjacent data sets between the worlds: the claim is applied once for each."""
    why_not: str | None
    """Why nothing is claimed of these worlds; else null."""


class MembershipAllowed(Allowed):
    """The same, and whether the rates found contradict it."""

    broken: bool | None
    """Whether the rates of all levels together prove the claim false at the confidence; null where nothing is
    claimed."""


class AtLevel(Result):
    """The membership test at one level of false alarms."""

    level: float
    """Level of false alarms."""
    power: float
    """Power that the law of the score promises."""
    found: Rate
    """How often the record was found."""
    alarms: Rate
    """How often there was a false alarm."""
    allowed: float | None
    """Largest power under the claim; null where nothing is claimed."""


class Bounded(Result):
    """A number with its interval."""

    estimate: float
    """The number."""
    low: float
    """Lower end."""
    high: float
    """Upper end."""


class MembershipSetting(_GameSetting):
    """A membership game before it is played."""

    adjacency: Literal["remove", "zero_out", "replace"]
    """How the other world lacks the record."""
    informed: bool
    """Whether the attacker knows all other records."""
    record: int | None
    """Which record; null where one is drawn anew for each transcript."""


class MembershipRefused(MembershipSetting):
    """A membership game that could not be played."""

    refused: str
    """Why it could not be played."""


class MembershipResult(MembershipSetting):
    """A membership game that was played."""

    class Advantage(Bounded):
        """True less false positive rate at score 0."""

        allowed: float | None
        """Most that the claim allows; null where nothing is claimed."""

    class Roc(Result):
        """Rates at every threshold, at most 100 points."""

        alarms: Numbers
        """Rate of false alarms."""
        found: Numbers
        """Rate of records found."""

    refused: None = None
    """Null of a game that was played."""
    trials: int
    """Transcripts of each world; 1 of an informed attacker without noise."""
    noise: bool
    """Whether there is noise."""
    exact: bool
    """Whether all gradient estimates are exact."""
    estimates: int
    """Gradients used of each transcript."""
    levels: tuple[AtLevel, ...]
    """The test at each level of false alarms."""
    advantage: Advantage
    """Found less false alarms, saying "in" at scores above 0."""
    auc: Bounded
    """Area under the ROC, with Hoeffding's interval."""
    roc: Roc
    """The ROC."""
    claim: MembershipAllowed
    """What the claim allows."""


class PropertySetting(_GameSetting):
    """A property game before it is played."""

    hypotheses: tuple[HypothesisSpec, ...]
    """Of each its `name` and `shares` of the classes."""


class PropertyRefused(PropertySetting):
    """A property game that could not be played."""

    refused: str
    """Why it could not be played."""


class PropertyResult(PropertySetting):
    """A property game that was played."""

    class RightRate(Rate):
        """How often the true hypothesis was named."""

        allowed: float | None
        """What the claim allows if it is applied once for each record (`claim.steps`); null where nothing is
        claimed."""

    refused: None = None
    """Null of a game that was played."""
    trials: int
    """Runs, each with records of its own."""
    estimates: int
    """Gradients used of each transcript."""
    right: RightRate
    """How often the right hypothesis was named."""
    guess: float
    """Rate of a guess."""
    mean_posterior: float
    """Mean of the largest posterior probability: equals the rate where it is calibrated."""
    bits: float
    """Mean of log₂(posterior of the true hypothesis × number of hypotheses)."""
    confusion: tuple[Counts, ...]
    """How often which hypothesis (columns) was named when which was true (rows)."""
    claim: Allowed
    """What the claim allows."""


Gradients = GradientResult | Refused
Images = ImageResult | Refused
Membership = MembershipResult | MembershipRefused
Property = PropertyResult | PropertyRefused
