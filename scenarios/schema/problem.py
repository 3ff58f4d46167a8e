"""What a scenario can say of its problem and data."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.problems import Dataset, load
from scenarios.schema.base import Count, Index, Model, NonNegative, Positive, Share


class Digits(Model):
    """Scikit-learn's 8×8 digits, two classes; the first is −1, the second +1. Pixels in [0, 1]."""

    name: Literal["digits"]
    classes: Annotated[list[Annotated[int, Field(ge=0, le=9)]], Field(min_length=2, max_length=2)] = [0, 1]
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        return load("digits", classes=tuple(self.classes), norm_bound=self.norm_bound)


class BreastCancer(Model):
    """Scikit-learn's breast cancer data, 569 × 30, standardized."""

    name: Literal["breast_cancer"]
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        return load("breast_cancer", norm_bound=self.norm_bound)


class Synthetic(Model):
    """Gaussian features, a drawn true x, and labels or noisy targets from it."""

    name: Literal["synthetic"]
    kind: Literal["classification", "regression"] = "classification"
    records: Count = 400
    dimension: Count = 10
    noise: NonNegative = 0.1
    seed: Index = 0
    norm_bound: Positive | None = None

    def load(self) -> Dataset:
        options = self.model_dump(exclude={"name"})
        return load("synthetic", **options)


Data = Annotated[Digits | BreastCancer | Synthetic, Field(discriminator="name")]


class ProblemSpec(Model):
    """min Σ_i f_i(x) + n·l1·‖x‖₁, where f_i is the mean loss of agent i's records plus ridge/2·‖x‖². No agent gets
    the records that are `held_out`: drawn by the scenario's seed, they measure how well x classifies new ones."""

    kind: Literal["logistic", "ridge", "lasso"] = "logistic"
    data: Data = Digits(name="digits")
    ridge: NonNegative = 1.0
    l1: NonNegative = 0.0
    held_out: Share = 0.0
