"""Traffic analysis: conclusions from times and sizes alone, with the truth beside them where it is known."""

from typing import TypeAlias

from scenarios.results.base import Counts, Edge, Refused, result

Amount: TypeAlias = tuple[float, float | None, float]
"""Low, guess, high; the guess is null where nothing between is likelier."""


@result
class IntervalScore:
    """How well intervals hold the truth."""

    numbers: int
    """Numbers to be estimated."""
    estimated: int
    """With two finite ends."""
    held: int
    exact: int
    error: float | None
    """Mean distance of the guesses from the truth."""
    baseline: float | None
    """The same without a tap."""


@result
class ActivityResult:
    """Who acted when; scores are null without the truth."""

    refused: str | None
    complete: bool
    events: tuple[tuple[float, int], ...]
    """Time and agent of the first 2000."""
    activations: int | None
    """Of the run."""
    found: int
    wrong: int | None
    guessed: float | None
    """Share of activations that naming the best connected agent always gets right; null in rounds."""
    counts: tuple[Amount, ...]
    truth: Counts | None
    score: IntervalScore | None


@result
class ComputingResult:
    """Mean seconds of a query of each agent, and who is slower."""

    refused: str | None
    kind: str
    means: tuple[Amount | None, ...]
    samples: Counts
    slower: tuple[Edge, ...]
    """Pairs of which the first is slower."""
    slowest: int | None
    ranked: int
    pairs: int
    truth: tuple[float | None, ...] | None
    slowest_truth: int | None
    rightly: int | None
    score: IntervalScore | None


@result
class LinkPackets:
    """Repeated or lost packets of directed links."""

    refused: str | None
    links: tuple[Edge, ...]
    packets: tuple[Amount, ...]
    total: Amount | None
    truth: Counts | None
    total_truth: int | None
    score: IntervalScore | None


@result
class DimensionResult:
    """Dimensions that make packets of these sizes."""

    refused: str | None
    low: int | None
    high: float | None
    truth: int | None


@result
class TrafficResult:
    """A traffic analysis."""

    refused: None = None
    packets: int
    """Rows of link taps that were read."""
    activity: ActivityResult
    computing: ComputingResult
    repeated: LinkPackets
    lost: LinkPackets
    dimension: DimensionResult


Traffic = TrafficResult | Refused
