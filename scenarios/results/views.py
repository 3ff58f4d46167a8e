"""Points of view on one agent: their games, and their exact prices."""

from typing import Self

from pydantic import model_validator

from attacks.audit.followed.reading import ReadLine, not_all_audited
from attacks.audit.views import Kind as ViewKind
from scenarios.results.base import Counts, Edge, Refused, Result, Rows, Verdict


class _View(Result):
    """A point of view on one agent."""

    name: str
    """Name of the view."""
    kind: ViewKind
    """Its kind."""
    taps: str
    """Where it taps, in words."""
    links: tuple[Edge, ...]
    """Links that it taps."""
    agents: Counts
    """Agents at whose doors it taps, or whom it controls."""


class ViewsResult(Result):
    """All points of view, and which of them refute the claim together."""

    class ViewResult(_View):
        """One point of view on the audited agent."""

        log_e: float
        """ln of the e-value against the claim."""
        refuted: bool
        """Whether e-BH rejects it."""
        epsilon_audited: float
        """Lower bound of ε by a game that holds for it alone."""
        ceiling: float
        """Largest ε that this game could prove."""
        score: str
        """Score that was played."""
        right: int
        """Coins of the e-value guessed right."""
        wrong: int
        """Coins guessed wrong."""
        coins: int
        """Coins tossed."""

    agent: int
    """The audited agent."""
    pair: str
    """The two worlds in words."""
    epsilon_claimed: float
    """ε that all are against."""
    delta: float
    """δ that all are against."""
    confidence: float
    """1 − α, of e-BH and of each game alone."""
    false_discovery_rate: float
    """Rate of false discoveries, at most, among the views refuted."""
    trials: int
    """Transcripts of each world."""
    played: int
    """Coins tossed with the last of them."""
    log_e_needed_alone: float
    """ln of the e-value that one view alone needs to be refuted."""
    log_e_ceiling: float
    """ln of the largest e-value that so many coins give."""
    powered: bool
    """Whether one view alone could have been refuted."""
    views: tuple[ViewResult, ...]
    """All views."""
    refuted: tuple[str, ...]
    """Views that e-BH rejects together."""
    smallest: tuple[str, ...]
    """Those of them that contain no other."""
    order: tuple[tuple[str, str], ...]
    """Pairs of a view and one that contains it."""
    inconsistent: tuple[str, ...]
    """Where a view did worse, beyond chance, than one that it contains: its score missed evidence."""


class Combination(Result):
    """A sum of messages that tells the worlds apart."""

    class Term(Result):
        """One message's field in the sum."""

        sender: int
        """Sender of the message."""
        kind: str
        """Kind of the message."""
        number: int
        """The sender's count of messages of that kind."""
        name: str
        """Field of the message."""
        coordinate: int | None
        """Coordinate of the field; null: that along the change."""
        weight: float
        """Its weight."""

    terms: tuple[Term, ...]
    """Weights of messages."""
    shift: float
    """How much the sum differs between the worlds."""
    stddev: float
    """Deviation of the noise in the sum that the listener does not know; 0 where all of it cancels."""
    gradient_stddev: float
    """Deviation of what it says of the gradient along the change, in units of the gradient."""


class ViewPrices(Result):
    """Exact ε of points of view on one agent, and of all ordered pairs of agents, of one algorithm."""

    class ViewPrice(_View):
        """One point of view."""

        epsilon_claimed: float | None
        """ε claimed at this view; null where nothing is claimed."""
        claim: str
        """Source of the claim at this view."""
        pair: tuple[float, float] | None
        """Ends of ε of the audited pair; null: not linear, `refused` says why."""
        all_pairs: tuple[float, float] | None
        """Ends of ε over all pairs of the adjacency; null where nothing bounds them."""
        verdict: Verdict | None
        """Verdict of this claim; null where nothing is claimed."""
        reason: str
        """Its reason in a sentence."""
        witness: Combination | None
        """The sum of messages that shows it, of a view that is refuted or whose noise cancels; else null."""
        refused: str | None = None
        """Why it could not be priced; else null."""
        epsilon_audited: float | None = None
        """Of the game from the same view, where it was played."""
        ceiling: float | None = None
        """Largest ε that this game could prove."""

    class CoalitionSearch(Result):
        """The search for the costliest coalition."""

        size: int
        """Members of the coalition."""
        name: str
        """Name of the costliest one."""
        tried: int
        """Coalitions tried."""
        exhaustive: bool
        """Whether these are all."""

    class PairPrices(Result):
        """ε over all pairs of the adjacency, victims by listeners; NaN where nothing bounds it."""

        lower: Rows
        """Lower end, a row a victim and a column a listener."""
        upper: Rows
        """Upper end."""
        hops: tuple[Counts, ...]
        """Hops between the two; −1: no path."""
        claimed: Rows | None
        """The claim of each pair where the algorithm states one of pairs; NaN: none."""
        verdict: Verdict | None
        """Of the claims of pairs together."""
        refuted: tuple[tuple[int, int], ...]
        """Victim and listener, those farthest above their claims first."""
        witness: Combination | None
        """Of the first of them."""

        @model_validator(mode="after")
        def _square(self) -> Self:
            n = len(self.upper)
            matrices = [self.lower, self.upper, self.hops, *([] if self.claimed is None else [self.claimed])]
            if any(len(rows) != n or any(len(row) != n for row in rows) for rows in matrices):
                raise ValueError("lower, upper, hops and claimed are not all one row and one column an agent")
            return self

    agent: int
    """The audited agent."""
    pair: str
    """The two worlds in words."""
    delta: float
    """δ of all ε here."""
    adjacency: str
    """Adjacency, in words."""
    gradient_change: float
    """Largest change of a gradient that the adjacency allows."""
    conditions: tuple[str, ...]
    """All prices rest on them; each was checked."""
    unbounded: str | None
    """Why nothing bounds all pairs of the adjacency; else null."""
    views: tuple[ViewPrice, ...]
    """All views."""
    coalition: CoalitionSearch | None
    """How the costliest coalition was searched; null where none was."""
    pairs: PairPrices | None
    """ε of all ordered pairs of agents; null where it was not computed."""
    read_lines: tuple[ReadLine, ...] = ()
    """Lines of the algorithm's own code that decide by values that are private or were seen: what it sends at others
    has no price here, and nothing is proven."""

    @property
    def unpriced_code(self) -> str | None:
        """A sentence about these lines; None where there are none."""
        return not_all_audited(self.read_lines) if self.read_lines else None


Prices = ViewPrices | Refused

Views = ViewsResult | Refused
