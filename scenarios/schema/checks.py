"""What a paper shows, as checks that results decide: a measure of an algorithm, and what it is compared with."""

from typing import Annotated, Literal

from pydantic import Field, model_validator

from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Words

Finite = Annotated[float, Field(allow_inf_nan=False)]
Falling = Literal[
    "relative_error", "mean_error", "consensus_error", "consensus_distance", "objective_gap", "relative_gap",
    "stationarity_gap", "proximal_residual",
]  # fmt: skip
"""What a run is measured by, and comes down."""
Accuracy = Literal["training_accuracy", "held_out_accuracy"]
Cost = Literal[
    "rounds_to", "activations_to", "plf_to", "messages_to", "message_bytes_to", "packets_to", "bytes_to",
    "queries_to", "time_to",
]  # fmt: skip
Outcome = Literal["recovered", "recovered in part", "defended", "not identifiable", "failed to optimize"]
"""What becomes of an attack that rebuilds records."""
VERDICTS = Literal["unprotected", "refuted", "undefined", "vacuous", "underpowered", "consistent"]


class Other(Model):
    """An algorithm that another one is compared with: `of` another name, or in another `variant`, or both."""

    of: Words | None = None
    variant: Words | None = None

    @model_validator(mode="after")
    def _says_which(self) -> "Other":
        if self.of is None and self.variant is None:
            raise ValueError("name another algorithm (of), another variant, or both")
        return self


class Check(Model):
    """`says`: what the paper says, in words. Without a `variant` it must hold in every one."""

    says: Words
    variant: Words | None = None


class Quantity(Check):
    """A number of the algorithm `of`, and its bounds.

    `above` and `below` are strict. `equals`: at most `within` away, as a share of the number given (an absolute
    distance where that is 0). `below_of`, `above_of`: smaller or larger than the other's, by the factor `by` at
    least.
    """

    of: Words
    above: Finite | None = None
    below: Finite | None = None
    equals: Finite | None = None
    within: NonNegative = 0.05
    below_of: Words | Other | None = None
    above_of: Words | Other | None = None
    by: Positive = 1.0

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


class AtEnd(Quantity):
    """The median error of inferred gradients, the share of the agents' queries that are `identifiable`, the mean
    skill of the rebuilt images (`attacks.images`); ε by the audit; `loss_ratio`: the mean of |loss| over the audit's
    transcripts, over the ε that is claimed."""

    measure: Literal[
        "gradient_error", "identifiable", "image_skill", "epsilon_exact", "epsilon_audited", "loss_ratio"
    ]


class Rebuilt(Quantity):
    """What the `attack` of that name (`attacks.reconstruct`) got of the records of `of`: medians over the agents and
    replicas of its `skill` (1 is the record itself, 0 no better than the prior's guess), of `psnr` in dB and `ssim`;
    the share of agents and replicas with `success` (within `attacks.success`), and of labels that are right."""

    measure: Literal["skill", "psnr", "ssim", "success", "label_accuracy"]
    attack: Words


class ErrorAfter(Quantity):
    """A `curve` after exactly `after` rounds, or activations of a walk. Curves other than the relative error are
    known there if `measures.every` divides it."""

    measure: Literal["error_after"] = "error_after"
    after: Count
    curve: Falling | Accuracy = "relative_error"


class CostTo(Quantity):
    """What it takes until the `curve` is at most `accuracy`, and stays so until the end of the run. PLF: the largest
    number of activations of one agent. A run that ends before gives a lower bound, its own length; a curve that is
    not known everywhere (all but the relative error, unless `measures.every` is 1) gives two ends."""

    measure: Cost
    accuracy: Positive
    curve: Falling = "relative_error"


class Growth(Quantity):
    """The exponent p of the power law over^p for what it takes (`quantity`) until the `curve` is at most `accuracy`.

    It is fitted by least squares over the variants between which only the field `over` differs, three at least;
    where these also set other fields, once for each setting of them, and every one must hold. The number compared is
    the 95 % confidence interval of the fit: a check holds if both ends do, and fails if neither can. What it is
    compared with by `below_of` or `above_of` is the same of another algorithm.
    """

    measure: Literal["growth"] = "growth"
    quantity: Cost
    over: Words
    accuracy: Positive
    curve: Falling = "relative_error"

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
    end: Count | None = None
    curve: Falling = "relative_error"
    floor: Positive = 1e-12


class ClaimedAfter(Quantity):
    """ε as the paper's formula claims it `after` so many rounds (or activations of one agent, PLF); at the end of the
    run where that is not said."""

    measure: Literal["epsilon_claimed"] = "epsilon_claimed"
    after: Count | None = None


class VacuousFrom(Quantity):
    """The first round (or PLF) after which the claimed ε is above `epsilon`; more than the run's length where it
    never is."""

    measure: Literal["vacuous_from"] = "vacuous_from"
    epsilon: Positive = 20.0


class Verdict(Check):
    """The verdict of the audit of `of` is one of these."""

    measure: Literal["verdict"] = "verdict"
    of: Words
    equals: VERDICTS | Annotated[list[VERDICTS], Field(min_length=1)]


class AttackVerdict(Check):
    """What became of the `attack` of that name on `of`: one of these."""

    measure: Literal["attack_verdict"] = "attack_verdict"
    of: Words
    attack: Words
    equals: Outcome | Annotated[list[Outcome], Field(min_length=1)]


class Fact(Check):
    """`diverged`: the error of `of` is not finite, or larger at the end than a thousand times its first value.
    `claim_undefined`: a condition of the paper's formula fails, so that it claims no ε."""

    measure: Literal["diverged", "claim_undefined"]
    of: Words
    equals: bool = True


class OptimumIsZero(Check):
    """Whether the problem's solution is the starting point x = 0: then convergence says nothing."""

    measure: Literal["optimum_is_zero"] = "optimum_is_zero"
    equals: bool = True


CheckSpec = Annotated[
    Final
    | AtEnd
    | Rebuilt
    | ErrorAfter
    | CostTo
    | Growth
    | Slope
    | ClaimedAfter
    | VacuousFrom
    | Verdict
    | AttackVerdict
    | Fact
    | OptimumIsZero,
    Field(discriminator="measure"),
]
