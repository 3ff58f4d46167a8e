"""What a scenario can say of when agents act, and of what they do without a message."""

from typing import Annotated, Literal

from pydantic import Field

from netsim.network.links import ExchangePolicy
from netsim.readers import live as activity
from scenarios.schema.base import Index, Model, NonNegative, Positive, built
from scenarios.schema.links import Delay, OutageSpec

Agents = Annotated[list[Index], Field(min_length=1)]


class ExchangeSpec(Model):
    """What an exchange does when messages are missing: it waits for all, or until `deadline` seconds after it began;
    then `instead` of what is missing it takes the neighbor's last heard message, or the agent's own value."""

    deadline: NonNegative | None = None
    instead: Literal["last_heard", "own_value"] = "last_heard"

    def build(self) -> ExchangePolicy:
        return ExchangePolicy(self.deadline, self.instead)


class PoissonClockSpec(Model):
    """Agents begin their rounds at ticks of Poisson clocks of their own, `rate` ticks per second each."""

    kind: Literal["poisson"] = "poisson"
    rate: Positive

    def build(self) -> activity.PoissonClock:
        return activity.PoissonClock(self.rate)


class StragglerSpec(Model):
    """Agents whose private queries take a time of their own."""

    agents: Agents
    compute: Delay


class DowntimeSpec(Model):
    """Agents that go down and come back, each for itself, their links with them, and what that does to them."""

    agents: Agents
    outages: OutageSpec
    effect: Literal["offline", "restart_with_state", "restart_without_state"] = "restart_with_state"

    def build(self) -> activity.Downtime:
        return activity.Downtime(built("outages", self.outages), self.effect)
