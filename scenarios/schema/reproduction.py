"""Variants of a scenario, the figures drawn over them, and which figure or table of a paper they reproduce."""

from typing import Annotated, Any, Literal, get_args

from pydantic import Field

from scenarios.files.library import VARIANT_NAME
from scenarios.schema.base import Model, Positive, Words
from scenarios.schema.checks import Accuracy, CheckSpec, Falling

CURVES = (*get_args(Falling), *get_args(Accuracy), "epsilon_claimed")
REBUILT = ("skill", "psnr", "ssim", "success", "label_accuracy")
LEAKS = ("gradient_error", "identifiable", "image_skill")
LEAK_AXES = ("query", "degree", "hops")
AXES = ("rounds", "activations", "plf", "messages", "message_bytes", "packets", "bytes", "queries", "time")


Number = Literal[
    "epsilon_claimed", "gradient_error", "identifiable", "image_skill",
    "skill", "psnr", "ssim", "success", "label_accuracy",
    "epsilon_exact", "epsilon_audited", "loss_ratio", "vacuous_from", "slope",
    "rounds_to", "activations_to", "plf_to", "messages_to", "message_bytes_to", "packets_to", "bytes_to",
    "queries_to", "time_to",
]  # fmt: skip


class VariantSpec(Model):
    """The scenario with some fields replaced, each by its dotted path: `topology.agents`, `algorithms[0].step`. It is
    checked as a whole, and has a results folder of its own, named `name`."""

    name: Annotated[str, Field(pattern=VARIANT_NAME)]
    set: Annotated[dict[str, Any], Field(min_length=1)]


class FigureSpec(Model):
    """A plot of the report.

    With `x` an axis (`rounds`, `activations`, `plf`, `messages`, `message_bytes`, `packets`, `bytes`, `queries`,
    `time`): a curve for each algorithm and variant, of a measure or of `epsilon_claimed`. With `x` a field that the
    variants set (`topology.agents`): a marker for each variant, of a measure at the end of the run, of another
    number, of what an `attack` got of the records (`skill`, `psnr`, `ssim`, `success`, `label_accuracy`), or of what
    it takes to an `accuracy` (`plf_to` and its like). With `x` a leakage axis: what the adversary learned
    (`gradient_error`, the share of queries that are `identifiable`, `image_skill`) by the agents' own `query` from 1,
    by their `degree`, or by the `hops` between them and the nearest tap. `x_label`: x in words. `log`: whether y is
    drawn on a logarithmic axis, `log_x`: x too, where it is a field whose values are positive numbers. Without
    `algorithms` or `variants` all are drawn.
    """

    title: str = ""
    x: Words = "rounds"
    x_label: str = ""
    y: Falling | Accuracy | Number = "relative_error"
    accuracy: Positive | None = None
    attack: Words | None = None
    log: bool = True
    log_x: bool = False
    algorithms: list[Words] = []
    variants: list[Words] = []


class ReproducesSpec(Model):
    """Which `item` (figure or table) of which `paper`, what it `shows` in a sentence, and the checks that decide it.

    `missing`: what the paper does not print, or prints otherwise than the scenario has it; with any, the outcome is
    at most "agrees in shape". `vacuous_above`: where the claimed ε of an algorithm of the checks is above this at the
    end of its run, the outcome is "cannot be reproduced".
    """

    paper: Words
    item: Words
    shows: Words
    missing: list[Words] = []
    vacuous_above: Positive | None = None
    checks: Annotated[list[CheckSpec], Field(min_length=1)]
