"""Findings of traffic analysis: who acted when, computing times, repetitions and losses, the dimension."""

from typing import TypeAlias

from scenarios.results.base import Counts, Edge, Refused, Result

Amount: TypeAlias = tuple[float, float | None, float]
"""Low, guess, high; the guess is null where nothing between is likelier."""


class IntervalScore(Result):
    """How well intervals hold the truth."""

    numbers: int
    """Numbers to be estimated."""
    estimated: int
    """With two finite ends."""
    held: int
    """Intervals that hold the truth."""
    exact: int
    """Intervals that are one point."""
    error: float | None
    """Mean distance of the guesses from the truth; null where there is no guess."""
    baseline: float | None
    """The same without a tap: activations by degree or protocol, equal times, nothing lost."""


class TrafficResult(Result):
    """A traffic analysis. An amount is [low, guess, high], at 95 % unless certain; the guess is null where nothing
    between is likelier."""

    class ActivityResult(Result):
        """Who acted when; scores are null without the truth."""

        refused: str | None
        """Null, or why it is not identifiable, or not all of it."""
        complete: bool
        """Whether nothing is left out."""
        events: tuple[tuple[float, int], ...]
        """Time and agent of the first 2000 activations found."""
        activations: int | None
        """Activations of the run."""
        found: int
        """How many of them were found; without the truth the number of all `events`."""
        wrong: int | None
        """Events that are no activation of that agent."""
        guessed: float | None
        """Share of activations that naming the best connected agent always gets right; null in rounds."""
        counts: tuple[Amount, ...]
        """Activations of each agent."""
        truth: Counts | None
        """True activations of each agent."""
        score: IntervalScore | None
        """Score of `counts`."""

    class ComputingResult(Result):
        """Mean seconds of a query of each agent, and who is slower."""

        refused: str | None
        """Null, or why it is not identifiable, or not all of it."""
        kind: str
        """"measured": arrivals were acknowledged; "estimated": the mean wait for the public clock is subtracted;
        "bounded": a message's travel or wait is included."""
        means: tuple[Amount | None, ...]
        """Mean seconds of a query of each agent; null where nothing is known."""
        samples: Counts
        """Samples of each agent."""
        slower: tuple[Edge, ...]
        """Pairs of which the first is slower, at 95 % together."""
        slowest: int | None
        """The agent that is slower than every other one; null where none is told apart."""
        ranked: int
        """Pairs told apart."""
        pairs: int
        """Pairs of agents whose mean times differ; without the truth all pairs."""
        truth: tuple[float | None, ...] | None
        """True mean of each agent; null without the truth."""
        slowest_truth: int | None
        """The agent whose mean is largest; null without the truth."""
        rightly: int | None
        """Pairs ranked rightly; null without the truth."""
        score: IntervalScore | None
        """Score of `means`."""

    class LinkPackets(Result):
        """Repeated or lost packets of directed links."""

        refused: str | None
        """Null, or why it is not identifiable, or not all of it."""
        links: tuple[Edge, ...]
        """Directed links."""
        packets: tuple[Amount, ...]
        """Packets of each."""
        total: Amount | None
        """Packets of all links; null where nothing is known."""
        truth: Counts | None
        """True packets of each link."""
        total_truth: int | None
        """True packets of all links."""
        score: IntervalScore | None
        """Score of `packets`."""

    class DimensionResult(Result):
        """Dimensions that make packets of these sizes."""

        refused: str | None
        """Null, or why it is not identifiable."""
        low: int | None
        """Smallest dimension that makes packets of these sizes."""
        high: float | None
        """Largest."""
        truth: int | None
        """The dimension; null without the truth."""

    refused: None = None
    """Null of an analysis that was made."""
    packets: int
    """Rows of taps on links that were used: time, sender, receiver, size."""
    activity: ActivityResult
    """Who acted when."""
    computing: ComputingResult
    """Mean seconds of a query."""
    repeated: LinkPackets
    """Later attempts."""
    lost: LinkPackets
    """Packets that never arrived, acknowledgements included."""
    dimension: DimensionResult
    """Dimensions that fit."""


Traffic = TrafficResult | Refused
