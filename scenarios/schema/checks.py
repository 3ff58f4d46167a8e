"""Measures and figures of a scenario, and the statements of a paper that its results are checked against."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field, model_validator

from netsim.bounds import Count
from scenarios.files.library import VARIANT_NAME
from scenarios.schema.spec import Finite, Index, Model, Name, NonNegative, Positive, Words

Falling = Literal[
    "relative_error", "mean_error", "consensus_error", "consensus_distance", "objective_gap", "relative_gap",
    "stationarity_gap", "optimality_gap", "local_gradients", "proximal_residual", "limit_residual", "limit_shift",
]  # fmt: skip
"""Measures that fall as a run converges."""


class MeasureSpec(Model):
    """What each algorithm had cost when its measure, the median over the replicas, came down to each of the
    accuracies to stay. `netsim.metrics` defines the measures."""

    accuracies: list[Positive] = [1e-2, 1e-4, 1e-6]
    """The values of the measure whose costs are reported."""
    measure: Falling = "relative_error"
    """What is measured."""
    every: Count | None = None
    """All measures but the relative error are taken every so many rounds or activations; none: 200 times at most."""


Leak = Literal["gradient_error", "identifiable", "image_skill"]
Quality = Literal["skill", "mse", "psnr", "ssim", "success", "label_accuracy"]
"""Measures of an attack on records."""
Accuracy = Literal["training_accuracy", "held_out_accuracy"]
Cost = Literal[
    "rounds_to", "activations_to", "plf_to", "messages_to", "message_bytes_to", "packets_to", "bytes_to",
    "queries_to", "time_to",
]  # fmt: skip
Outcome = Literal["recovered", "recovered in part", "defended", "not identifiable", "failed to optimize"]
"""What becomes of an attack that rebuilds records."""
VERDICTS = Literal[
    "refuted", "unprotected", "proven", "consistent", "underpowered", "vacuous", "undefined", "no claim"
]  # fmt: skip
"""The words of `attacks.audit.verdict.Verdict`."""


class Other(Model):
    """An algorithm that another one is compared with."""

    of: Words | None = None
    """The name of the algorithm; none: the same."""
    variant: Words | None = None
    """The variant of the other algorithm; none: the same."""

    @model_validator(mode="after")
    def _says_which(self) -> "Other":
        if self.of is None and self.variant is None:
            raise ValueError("name another algorithm (of), another variant, or both")
        return self


class Check(Model):
    """A statement of the paper."""

    says: Words
    """What the paper says, in words."""
    variant: Words | None = None
    """The variant in which it must hold; none: in every one."""


class _OfOne(Check):
    """A statement about one algorithm."""

    of: Words
    """The name of the algorithm."""


class Quantity(_OfOne):
    """A number of the algorithm `of`, and its bounds."""

    above: Finite | None = None
    """The number is strictly greater than this."""
    below: Finite | None = None
    """The number is strictly less than this."""
    equals: Finite | None = None
    """What it must be."""
    within: NonNegative = 0.05
    """How far it may be from what it `equals`, as a share of that (absolute where that is 0)."""
    below_of: Words | Other | None = None
    """The other algorithm, than whose the number is smaller."""
    above_of: Words | Other | None = None
    """The other algorithm, than whose the number is larger."""
    by: Positive = 1.0
    """By which factor at least it is smaller or larger than the other's."""

    @model_validator(mode="after")
    def _is_compared(self) -> "Quantity":
        relations = ("above", "below", "equals", "below_of", "above_of")
        given = {name for name in relations if getattr(self, name) is not None}
        if len(given) != 1 and given != {"above", "below"}:
            raise ValueError("needs one of above, below, equals, below_of, above_of; or above and below together")
        for name, users in (("within", {"equals"}), ("by", {"below_of", "above_of"})):
            if getattr(self, name) != type(self).model_fields[name].default and not given & users:
                raise ValueError(f"{name} goes with {' or '.join(sorted(users))}")
        return self


class Final(Quantity):
    """The median over replicas of a `curve` at the end of the run."""

    measure: Literal["final_error", "final"]
    curve: Falling | Accuracy = "relative_error"
    """Which curve."""


class AtEnd(Quantity):
    """The median error of inferred gradients, the share of the agents' queries that are `identifiable`, the mean
    skill of the rebuilt images (`attacks.images`); ε by the audit; `loss_ratio`: the mean of |loss| over the audit's
    transcripts, over the ε that is claimed; `gamma`: the mean over transcripts of each coordinate's largest |loss|,
    of all pairs that differ by no more than the audit's, over the worst case (Xiao 2019, Definition 2)."""

    measure: Literal[Leak, "epsilon_exact", "epsilon_audited", "loss_ratio", "gamma"]


class Rebuilt(Quantity):
    """What an attack of `attacks.reconstruct` got of the records of `of`: medians over the agents and replicas of its
    skill (1 is the record itself, 0 no better than the prior's guess), of the mean squared error, of PSNR in dB and
    SSIM; the share of agents and replicas with success (within `attacks.success`), and of labels that are right."""

    measure: Quality
    attack: Words
    """The name of the attack."""


class ErrorAfter(Quantity):
    """A curve after exactly so many rounds, or activations of a walk."""

    measure: Literal["error_after"] = "error_after"
    after: Count
    """After how many rounds, or activations of a walk."""
    curve: Falling | Accuracy = "relative_error"
    """Which curve; those other than the relative error are known there if `measures.every` divides `after`."""


class CostTo(Quantity):
    """What it takes until the `curve` is at most `accuracy`, and stays so until the end of the run. PLF: the largest
    number of activations of one agent. A run that ends before gives a lower bound, its own length; a curve that is
    not known everywhere (all but the relative error, unless `measures.every` is 1) gives two ends."""

    measure: Cost
    accuracy: Positive
    """To which value of the curve."""
    curve: Falling = "relative_error"
    """Which curve."""


class Growth(Quantity):
    """The exponent p of the power law over^p for what it takes (`quantity`) until the `curve` is at most `accuracy`.

    It is fitted by least squares over the variants between which only the field `over` differs, three at least;
    where these also set other fields, once for each setting of them, and every one must hold. The number compared is
    the 95 % confidence interval of the fit: a check holds if both ends do, and fails if neither can. What it is
    compared with by `below_of` or `above_of` is the same of another algorithm.
    """

    measure: Literal["growth"] = "growth"
    quantity: Cost
    """Which cost grows."""
    over: Words
    """The field over which it grows, by dotted path; or a size of the graph: n agents, m edges, 1/χ, m/χ, m²/(n²χ) or
    m²/(nχ), with χ = 1 − λ₂ of the walk to a neighbor drawn uniformly. Then variants differ in the topology, the
    number of records and how long algorithms run."""
    accuracy: Positive
    """To which value of the curve."""
    curve: Falling = "relative_error"
    """Which curve."""

    @model_validator(mode="after")
    def _is_of_all_variants(self) -> "Growth":
        others = [other for other in (self.below_of, self.above_of) if isinstance(other, Other)]
        if self.variant is not None or any(other.variant is not None for other in others):
            raise ValueError("a growth is over variants, not in one")
        return self


class Slope(Quantity):
    """Decades by which the `curve` changes per round (or activation), negative where it falls: the
    least-squares line through log₁₀ of the curve, from `start` to `end`, or to where the error is first below
    `floor`. All of these rounds must be known: curves other than the relative error need `measures.every: 1`."""

    measure: Literal["slope"] = "slope"
    start: Index = 0
    """From which round on."""
    end: Count | None = None
    """To which round; none: the last."""
    curve: Falling = "relative_error"
    """Which curve."""
    floor: Positive = 1e-12
    """The line ends where the error is first below this."""
    over_rate: bool = False
    """Whether it is divided by the slope that the paper's theorem states: 1 or more where the curve falls as fast."""


class ClaimedAfter(Quantity):
    """ε as the paper's formula claims it."""

    measure: Literal["epsilon_claimed"] = "epsilon_claimed"
    after: Count | None = None
    """After how many rounds, or activations of one agent (PLF); none: at the end of the run."""


class VacuousFrom(Quantity):
    """The first round (or PLF) after which the claimed ε is vacuous; more than the run's length where it never is."""

    measure: Literal["vacuous_from"] = "vacuous_from"
    epsilon: Positive = 20.0
    """The ε above which a claim is called vacuous."""


class Verdict(_OfOne):
    """The verdict of the audit of `of` is one of these."""

    measure: Literal["verdict"] = "verdict"
    equals: VERDICTS | Annotated[list[VERDICTS], Field(min_length=1)]
    """What it must be."""


class AttackVerdict(_OfOne):
    """What became of the `attack` of that name on `of`: one of these."""

    measure: Literal["attack_verdict"] = "attack_verdict"
    attack: Words
    """The name of the attack."""
    equals: Outcome | Annotated[list[Outcome], Field(min_length=1)]
    """What it must be."""


class Fact(_OfOne):
    """`diverged`: the error of `of` is not finite, or larger at the end than a thousand times its first value, unless
    that is 0. `claim_undefined`: a condition of the paper's formula fails, so that it claims no ε.
    `convergence_unproven`: a condition of the paper's convergence theorem fails."""

    measure: Literal["diverged", "claim_undefined", "convergence_unproven"]
    equals: bool = True
    """What it must be."""


class OptimumIsZero(Check):
    """Whether the problem's solution is the starting point x = 0: then convergence says nothing."""

    measure: Literal["optimum_is_zero"] = "optimum_is_zero"
    equals: bool = True
    """What it must be."""


_Number = Final | AtEnd | Rebuilt | ErrorAfter | CostTo | Growth | Slope | ClaimedAfter | VacuousFrom
CheckSpec = Annotated[_Number | Verdict | AttackVerdict | Fact | OptimumIsZero, Field(discriminator="measure")]


CURVES = (*get_args(Falling), *get_args(Accuracy), "epsilon_claimed")
REBUILT, LEAKS = get_args(Quality), get_args(Leak)
LEAK_AXES = ("query", "degree", "hops")
SEARCH = "iterations"
AXES = ("rounds", "activations", "plf", "messages", "message_bytes", "packets", "bytes", "queries", "time")


Number = Literal[
    "epsilon_claimed", Leak, Quality, "epsilon_exact", "epsilon_audited", "loss_ratio", "gamma", "vacuous_from",
    "slope", Cost,
]  # fmt: skip


Replaced = Annotated[dict[str, Any], Field(min_length=1)]
"""Fields by dotted path (`topology.agents`, `algorithms[0].step`), and the values that replace theirs."""


class VariantSpec(Model):
    """The scenario with some fields replaced: checked as a whole, with a results folder of its own."""

    name: Annotated[Name, Field(pattern=VARIANT_NAME)]
    """How results name it."""
    set: Replaced
    """The fields that are replaced, by dotted path (`topology.agents`, `algorithms[0].step`), and their values."""


class FigureSpec(Model):
    """A plot of the report.

    With `x` an axis (`rounds`, `activations`, `plf`, `messages`, `message_bytes`, `packets`, `bytes`, `queries`,
    `time`): a curve for each algorithm and variant, of a measure or of `epsilon_claimed`. With `x` a field that the
    variants set (`topology.agents`), or a size of the graph (`1/χ`, as in a growth): a marker for each variant, of a
    measure at the end of the run, of another number, of what an `attack` got of the records, or of what it takes to
    an `accuracy` (`plf_to` and its like). With `x` a leakage axis: what the adversary learned (`gradient_error`,
    `identifiable`, `image_skill`) by the agents' own `query` from 1, by their `degree`, or by the `hops` between them
    and the nearest tap. With `x: iterations` the `mse` of an `attack`'s records as its search goes on (`snapshots`).
    """

    title: str = ""
    """A title in words."""
    x: Words = "rounds"
    """The horizontal axis: a cost, a field that variants set, or a leakage axis."""
    x_label: str = ""
    """The horizontal axis in words."""
    y: Falling | Accuracy | Number = "relative_error"
    """What is drawn."""
    accuracy: Positive | None = None
    """To which value of the curve."""
    attack: Words | None = None
    """The name of the attack."""
    log: bool = True
    """Whether the vertical axis is logarithmic."""
    log_x: bool = False
    """Whether the horizontal axis is logarithmic, where it is a field of positive numbers."""
    algorithms: list[Words] = []
    """The algorithms that are drawn; none: all."""
    variants: list[Words] = []
    """The variants that are drawn; none: all."""


class ReproducesSpec(Model):
    """Which figure or table of which paper this is, and the checks that decide it."""

    paper: Words
    """The paper."""
    item: Words
    """The figure or table."""
    shows: Words
    """What it shows, in a sentence."""
    missing: list[Words] = []
    """What the paper does not print, or prints otherwise than the scenario has it; with any, the outcome is at most
    "agrees in shape"."""
    vacuous_above: Positive | None = None
    """Where the claimed ε of an algorithm of the checks is above this at the end of its run, the outcome is
    "cannot be run"."""
    checks: Annotated[list[CheckSpec], Field(min_length=1)]
    """What decides whether the paper's item is reproduced."""
    small: Replaced | None = None
    """What `netsim papers ITEM --scale small` replaces, by dotted path, so that it runs in seconds and without a
    network; the file itself is as the paper prints it. Each is then a thing that is other than printed."""
