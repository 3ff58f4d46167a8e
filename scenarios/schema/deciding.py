"""What a scenario can say of attacks that decide: whether a record is an agent's, and what its records are like."""

from math import ceil
from typing import Annotated, Literal

from pydantic import Field, field_validator

from attacks.reconstruction import membership
from scenarios.schema.attacks import Inversion, Rounds
from scenarios.schema.base import Count, Index, Model, Words

ADJACENT: dict[str, membership.Adjacency] = {"remove": "remove", "zero_out": "zero out", "replace": "replace"}
"""The words of a scenario, and of the attack."""
Level = Annotated[float, Field(gt=0, le=0.5)]
Portion = Annotated[float, Field(ge=0, le=1)]


class DecidingModel(Model):
    """What both attacks share. `agent`: whose data they are about. `inversion`, `rounds`: from which gradients, and
    which of them, as of an attack on records. `trials` and `confidence`: of the game that measures how often the
    attack is right, with Clopper-Pearson intervals, each of them at this confidence."""

    agent: Index = 0
    inversion: Inversion = "strongest"
    rounds: Rounds = "all"
    confidence: Annotated[float, Field(ge=0.5, lt=1)] = 0.95


class MembershipSpec(DecidingModel):
    """Is a record one of the agent's? Played in two worlds, in each of which `trials` transcripts are made: the agent
    holds `attacks.holding` records, the `record` among them; and it is not there. `adjacency` says how it is not:
    "remove": the agent has one less; "zero_out": a record of zeros is in its place, so that the others weigh as
    before; "replace": another one is, which no agent holds. The score is the likelihood ratio of the two worlds.
    `levels`: shares of false alarms, for each of which the law of the score gives a threshold. `informed`: the
    attacker knows all other records of the agent, and the record that is there `instead`, counted among those that
    nobody holds; else the others are drawn anew for every transcript from records that it does not know, and `draws`
    simulated transcripts give the thresholds. `chunk` transcripts are simulated at once."""

    adjacency: Literal["remove", "zero_out", "replace"] = "remove"
    informed: bool = True
    record: Index = 0
    instead: Index = 0
    levels: Annotated[list[Level], Field(min_length=1, max_length=20)] = [0.01, 0.05, 0.1]
    draws: Annotated[int, Field(ge=20)] = 1000
    trials: Annotated[int, Field(ge=20)] = 200
    chunk: Count = 200

    @field_validator("levels")
    @classmethod
    def _once(cls, levels: list[float]) -> list[float]:
        if len(set(levels)) < len(levels):
            raise ValueError("a level stands there twice")
        return sorted(levels)

    @property
    def adjacent(self) -> membership.Adjacency:
        """The adjacency in the attack's words."""
        return ADJACENT[self.adjacency]

    @property
    def draws_needed(self) -> int:
        """So many simulated transcripts tell the smallest level."""
        return ceil(1 / min(self.levels)) - 1


class HypothesisSpec(Model):
    """What an agent's records may be like: the share of each class among them, in the order of the labels (of two
    classes −1 first, then +1). Shares come to 1."""

    name: Words
    shares: Annotated[list[Portion], Field(min_length=2)]


class PropertySpec(DecidingModel):
    """Which of several populations are the agent's records from? Each of the `trials` is a run of its own: its true
    hypothesis is the next in turn, and the agent's `attacks.holding` records are drawn under it from records that the
    attacker does not know. It says how likely each hypothesis is, from public records of the same kind; `draws`
    simulated batches under each calibrate what it says."""

    hypotheses: Annotated[list[HypothesisSpec], Field(min_length=2, max_length=20)]
    draws: Annotated[int, Field(ge=50)] = 400
    trials: Annotated[int, Field(ge=10)] = 100

    @field_validator("hypotheses")
    @classmethod
    def _differ(cls, hypotheses: list[HypothesisSpec]) -> list[HypothesisSpec]:
        for key, what in (("name", "of the name"), ("shares", "with the shares")):
            said = [getattr(one, key) for one in hypotheses]
            for one in said:
                if said.count(one) > 1:
                    raise ValueError(f"two hypotheses {what} {one!r}: there is nothing to choose between them")
        return hypotheses
