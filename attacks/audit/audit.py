"""One audit: simulate both worlds, compare every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Literal

import numpy as np

from attacks.audit.accounting.intervals import Interval, error_rate, normal_mean
from attacks.audit.archive import Archive, Seen
from attacks.audit.followed.asked import asked_more
from attacks.audit.followed.reading import HISTORIES, ReadLine, judged_of_what_is_read, read_lines
from attacks.audit.games.game import GameResult, play
from attacks.audit.games.sequential_test import MOST_EPSILON, SequentialTest, SequentialTestResult, dealt, tossed
from attacks.audit.loss.aimed import TILTED, WORST_CASE
from attacks.audit.loss.comparison import ALONE, Reproduced, Sample, WorldComparison, compare_worlds
from attacks.audit.loss.envelopes import Measured
from attacks.audit.loss.exact import NOISE, SINGLES, TOSSES, ExactLoss, Level, scores_of
from attacks.audit.loss.noise_check import NOTHING
from attacks.audit.loss.release_cost import SCALED
from attacks.audit.loss.secret_coins import SecretCoins
from attacks.audit.loss.unprotected import UnprotectedMessage
from attacks.audit.loss_breakdown import LossBreakdown
from attacks.audit.outside import inside_node, nothing_kept, nothing_of_data_kept
from attacks.audit.pair import INFERRED, Infer, Pair, Simulate, resemblance, spread
from attacks.audit.private_coins import PrivateCoins, at_most, ends, first_unprotected
from attacks.audit.proof import ANY_DATA, BareError, bound_at_door, bound_at_own_coins, bound_or_why
from attacks.audit.trained import Trained, noted, trained
from attacks.audit.verdict import BROKEN, REACHED, ROUNDING, Bound, Judgement, Verdict, exceeds, judge
from attacks.audit.witness import Place, best, candidate
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import AttackError, PrivacyError
from netsim.node import Computed
from netsim.shown import Shown, show


@dataclass(frozen=True)
class AuditResult(Shown):
    """Result of an audit: the three epsilons of one claim, the evidence and the verdict.

    `exact` has one entry per direction (transcripts of world 0 against 1, and back). `white_box` is the game with the
    exact loss as its score; `black_box` that with gradients inferred from the tapped links, None without an attack or
    where it refused (`refused` has the reason); `classifier` that with a classifier `trained` on the rows captured on
    links, None if not requested or refused (`untrained`). All intervals and games hold together at `confidence`.
    `trials` transcripts of each world were simulated. `anytime` is the game that may end at any coin; with `stop` it
    counts, and where it ended the audit (`stopped`), results for a fixed number of transcripts are of the first
    chunk. `witness` is the transcript that refutes the claim best, None where it may hold. `loss_breakdown` is the
    breakdown of the loss. `bound` is one of ε over all pairs of the claim's adjacency, looked for where nothing
    refutes the claim, and `unbounded` says why there is none. `secret`: what it costs for who does not know the
    agent's private coins, and for who does, where these decide more than whom it sends to; `unpriced` says
    why that is not known. The claim is then judged by that (`over_tosses`), and by no game: these are of one toss.
    `computed` says who computed the transcripts, where their simulator does. `read` are lines of the algorithm's own
    code that decide by values that are private or were seen: what it does at others is not audited.
    """

    claim: Claim
    pair: Pair
    exact: tuple[ExactLoss, ExactLoss] = field(repr=False)
    white_box: GameResult = field(repr=False)
    black_box: GameResult | None = field(repr=False)
    refused: str | None
    judgement: Judgement
    trials: int
    confidence: float
    anytime: SequentialTestResult = field(repr=False)
    stop: bool
    stopped: bool
    witness: Place | None
    loss_breakdown: LossBreakdown = field(repr=False)
    classifier: GameResult | None = field(default=None, repr=False)
    trained: Trained | None = field(default=None, repr=False)
    untrained: str | None = None
    bound: Bound | None = None
    unbounded: str | None = None
    secret: SecretCoins | None = None
    unpriced: str | None = None
    computed: Computed | None = None
    read: tuple[ReadLine, ...] = ()

    __repr__ = Shown.__repr__

    def facts(self) -> Mapping[str, object]:
        verdict, *lines = self.summary.splitlines()
        parts = [one.partition(":") for one in lines]
        return {"verdict": verdict} | {name: text.strip() for name, _, text in parts}

    @property
    def summary(self) -> str:
        """Verdict and reason, the three epsilons, the pair and the place of the witness, in a line each."""
        claimed, (lower, _, upper) = self.claim.epsilon, self.ends
        at, pair = self.witness, self.pair
        exact = _number(self.epsilon_exact) if lower > 0 or math.isfinite(upper) else "not known"
        if lower > 0 and math.isinf(upper) and any(math.isfinite(e.granted_from) for e in self.exact):
            exact = f"at least {_number(lower)}"  # the estimate is for who is granted what is not on the wire
        where = "none" if at is None else f"world {at.world}, chunk {at.chunk}, replica {at.replica}"
        return "\n".join(
            (
                f"{self.judgement.verdict}: {self.judgement.reason}",
                f"ε claimed: {'nothing' if claimed is None else _number(claimed)} (δ = {show(self.claim.delta)})",
                f"ε exact:   {exact} ({_number(lower)} to {_number(upper)})",
                f"ε audited: at least {_number(self.epsilon_audited)}",
                f"pair:      agent {pair.agent}, {pair.description}; {self.trials:,} transcripts of each world",
                f"witness:   {where}",
            )
        )

    @property
    def over_tosses(self) -> Interval | None:
        """ε(δ) over all tosses of the agent's private coins, for who knows them or not, as the claim has it; None
        where it is judged by transcripts of one toss: there is one only, or any refutes (δ = 0, coins are known)."""
        return None if self.secret is None else self.secret.judged(self.claim)

    @property
    def ends(self) -> tuple[float, float, float]:
        """Lower end, estimate and upper end of ε(δ) for this pair, of the larger direction."""
        return ends(self.exact, self.over_tosses)

    @property
    def epsilon_exact(self) -> float:
        """Larger direction's estimate of ε(δ) for this pair."""
        return self.ends[1]

    @property
    def average_loss(self) -> Interval | None:
        """E|loss| in nats of all that the agent sent, over transcripts of both worlds in equal parts.

        The interval is normal and by itself at `confidence`; infinite losses make it infinite. None where something
        had to be granted, or noise drowned in rounding: losses are then of a part only.
        """
        if any(math.isfinite(e.granted_from) or e.unreliable_from is not None or e.silent for e in self.exact):
            return None
        return normal_mean(np.abs(np.concatenate([e.losses for e in self.exact])), self.confidence)

    @property
    def epsilon_audited(self) -> float:
        """Lower bound of the best game, of those that count: they are of one toss of private coins."""
        if self.over_tosses is not None:
            return 0.0
        games = [self.white_box, self.black_box, self.classifier, self.anytime if self.stop else None]
        return max(game.epsilon_audited for game in games if game is not None)

    @property
    def activations(self) -> int:
        """Last activation at which the agent released something in the transcripts examined."""
        return max((level.activation for direction in self.exact for level in direction.growth), default=0)

    @property
    def uncovered(self) -> UnprotectedMessage | None:
        """First unprotected message of a direction in which more than δ of the transcripts hold one, proven."""
        return first_unprotected(self.exact, self.secret, self.claim)

    @property
    def first_violation(self) -> int | None:
        """Activation by which ε is proven to exceed the claim, or that of the first unprotected message.

        None where the claim is not broken, or a game alone broke it.
        """
        if self.uncovered is not None:
            return self.uncovered.activation
        level = self.violated
        return None if level is None else level.activation

    @property
    def violated(self) -> Level | None:
        """First level of a broken claim that is proven to be above it, of either direction."""
        claimed = self.claim.epsilon
        if claimed is None or self.judgement.verdict not in BROKEN:
            return None
        return next((level for level in self.growth if exceeds(level.lower, claimed)), None)

    @property
    def growth(self) -> tuple[Level, ...]:
        """Budget spent by each point, of the worse direction there; none over tosses of coins, for it is of one."""
        if self.over_tosses is not None:
            return ()
        found: dict[tuple[int, float], Level] = {}
        for level in (level for direction in self.exact for level in direction.growth):
            point = level.activation, math.inf if level.release is None else level.release
            other = found.get(point, level)
            worse = max(level.lower, other.lower), max(level.estimate, other.estimate)
            found[point] = replace(level, lower=worse[0], estimate=worse[1])
        return tuple(found[point] for point in sorted(found))


def _number(value: float) -> str:
    return show(value, 4)


Task = tuple[int, int]
"""World and chunk."""
MANY = 32
"""Histories of private coins that are read where nothing can be proven any more, because the pair refutes the claim;
and at other doors, because the pair's own bound is above it."""
_WITNESSED = {True: BROKEN, False: (Verdict.UNPROTECTED,)}
"""Verdicts that a transcript shows, by whether all have one toss of the private coins that a replay may know."""
_LOOKED_AT = 4
"""Tosses at which the pair is held against all pairs of its agent, at most."""
_MOST = 0.9
"""Share of the error rate that is the classifier's where no release is priced as it is on the wire."""
_Parts = tuple[Iterable[WorldComparison], Iterable[WorldComparison]]
"""Samples of each world."""


@dataclass(frozen=True)
class _Look:
    """Task that simulates one sample and compares the worlds on it; may run in another process."""

    simulate: Simulate
    pair: Pair
    infer: Infer | None
    train: bool
    references: tuple[Measured | None, Measured | None] = (None, None)
    claimed: float | None = None

    def __call__(self, world: int, index: int) -> Seen:
        true, other = self.pair.hypotheses[world], self.pair.hypotheses[1 - world]
        first = index == 0
        with inside_node():
            sample = self.simulate(world, index)
            if first and world == 0:
                nothing_of_data_kept(sample.view.public.algorithm, lambda other: self.simulate(other, index))
            with nothing_kept(sample.view.public.algorithm) if first else nullcontext():
                explained = compare_worlds(
                    sample,
                    self.pair.agent,
                    true,
                    other,
                    self.references[world],
                    draws=first,
                    claimed=self.claimed,
                    alone=ALONE if first else 1,
                )
        if index * max(map(len, explained.noise)) >= NOISE:
            explained = replace(explained, noise=NOTHING)
        if index == TILTED:
            return Seen(explained, {}, {})
        notes = noted(sample.view, index) if self.train else {}
        refused = dict[str, str]()
        if self.infer is not None:
            try:
                score = resemblance(self.infer(sample.view), self.pair, sample.view.replicas)
                notes[INFERRED] = np.zeros(sample.view.replicas) if score is None else score
            except AttackError as error:
                refused[INFERRED] = str(error)
        return Seen(explained, notes, refused)


def audit(
    simulate: Simulate,
    pair: Pair,
    claim: Claim | None,
    *,
    trials: int,
    chunk: int,
    confidence: float,
    rng: np.random.Generator,
    infer: Infer | None = None,
    progress: Callable[[int], None] | None = None,
    jobs: int = 1,
    archive: Archive | None = None,
    stop: bool = False,
    train: bool | None = False,
    convexity: float | None = None,
    doors: Mapping[int, Callable[[Adjacency], Bound]] = MappingProxyType({}),
) -> AuditResult:
    """Audit `claim` on one pair with at least `trials` transcripts of each world, `chunk` at a time.

    The error rate 1 − confidence is shared in equal parts by the exact loss (its two directions) and the games, so
    that all results hold together. `jobs` processes share the chunks (−1: one per core); the result is the same.
    Chunks in an `archive` are not simulated again, and the rest is added to it: an audit that was interrupted goes
    on, with the same result. It has to be of the same simulation, pair, chunk, `infer` and `train`.

    With `train` a classifier plays too (`attacks.audit.trained`): it sees the rows captured on links, knows nothing
    of the algorithm, and has a share of the error rate, whether it refuses or not. None: where a release is on the
    wire neither as it was made nor in a form whose law is known: no exact loss speaks of it; where that is so of all
    releases, and without `infer`, most of the error rate is the classifier's. Both are seen in the transcripts with
    aimed noise, of which no rate is taken, so that they depend on nothing that is counted.

    With `stop` the audit ends as soon as the anytime game, with the exact loss as its score, has refuted the claim:
    after some chunk, and at most after `trials`. The game has a share of the error rate of its own then. Results that
    need a fixed sample size (exact ε, the other games) are of the first chunk if it ended early, and of all if not;
    both have half of their share, so that they hold whenever it ends. Without `stop` the anytime game is played to
    the end for display, at the whole error rate by itself.

    Where nothing refutes the claim a bound over all pairs of its adjacency is looked for (`attacks.audit.proof`);
    `convexity` is the least eigenvalue that a Hessian of any of them may have, None: not known. Where the claim is
    about other agents, too, `doors` has the bounds at theirs, and all have to be within the claim.

    Raises `PrivacyError` if a self-check fails: then there is no verdict; for `train` with `stop`; and without a
    claim, which is the value of `Algorithm.claim` where nothing is claimed.
    """
    if claim is None:
        raise PrivacyError(
            "nothing is claimed, so there is nothing to audit: hand in a claim of your own, "
            "netsim.claims.Claim(epsilon, delta, source, adjacency, norm)"
        )
    for name, value in (("trials", trials), ("chunk", chunk)):
        if value < 1:
            raise PrivacyError(f"{name} = {value!r}: must be at least 1")
    if train and stop:
        raise PrivacyError(
            "a trained classifier needs chunks to learn from and others to play, and an audit that may stop early "
            "judges the first one alone: choose a classifier, or to stop"
        )
    chunks = -(-trials // chunk)
    stop = stop and claim.epsilon is not None and not claim.failed_conditions
    with TemporaryDirectory(prefix="netsim-audit-") as folder:
        kept = archive or Archive.at(Path(folder) / "evidence", "")
        blind = False
        if train is None:
            train, blind = (False, False) if stop else _hides(simulate, pair)
        look = _Look(simulate, pair, infer, train, claimed=claim.epsilon)
        under_way = _Audit(kept, look, claim, confidence, rng, stop, convexity, blind, doors)
        under_way.gather(chunks, jobs, progress)
        return under_way.result(early=under_way.chunks < chunks)


def _hides(simulate: Simulate, pair: Pair) -> tuple[bool, bool]:
    """Whether some release, and whether each, has no exact loss for who sees the wire alone."""
    true, other = pair.hypotheses
    found = Reproduced.of(simulate(0, WORST_CASE), pair.agent, true).compared(other, scored=False)
    return math.isfinite(found.granted_from), all(sent_in >= found.granted_from for sent_in in found.sent_in)


class _Audit:
    """Audit in progress: chunks are gathered in an archive while the anytime game is played, then evaluated."""

    def __init__(
        self,
        kept: Archive,
        look: _Look,
        claim: Claim,
        confidence: float,
        rng: np.random.Generator,
        stop: bool,
        convexity: float | None,
        blind: bool,
        doors: Mapping[int, Callable[[Adjacency], Bound]],
    ) -> None:
        self.kept, self.look, self.pair, self.claim = kept, look, look.pair, claim
        self.confidence, self.rng, self.stop, self.convexity = confidence, rng, stop, convexity
        self.blind, self.doors = blind, doors
        self.attacked, self.chunks, self.singles = look.infer is not None, 0, 0
        shared = error_rate(confidence) / (3 + self.attacked if stop else 1)
        tested = 0.0 if claim.epsilon is None else min(claim.epsilon, MOST_EPSILON)
        self.wager = SequentialTest(tested, claim.delta, shared, to_the_end=not stop)
        self._coins = rng.spawn(1)[0]
        self._cut = math.inf
        self._left: tuple[Array, Array] = (np.empty(0), np.empty(0))
        self.repeats = True  # as far as is known: no pair loses more than a bound over any data
        self._own: Bound | None = None
        self._over = ANY_DATA

    def gather(self, chunks: int, jobs: int, progress: Callable[[int], None] | None) -> None:
        """Simulate the chunks of both worlds that the archive lacks, until the wager is decided, if it ends then.

        Also those with aimed noise: at δ = 0, where one possible transcript refutes, worst cases, else tilted ones.
        And transcripts by themselves.
        """
        tasks = [(world, index) for index in range(chunks) for world in (0, 1)]
        missing = [task for task in tasks if not self.kept.sound(*task)]
        found = self._found(missing, jobs)
        for world, index in tasks:
            if (world, index) in missing:
                task, seen = next(found)
                self.kept.put(*task, seen)
            if progress is not None:
                progress(self.kept.transcripts(world, index).replicas)
            if world == 1:
                self.chunks = index + 1
                self._play(index)
                if self.wager.over:
                    break
        for world in (0, 1):
            if not self.kept.sound(world, self._aimed):
                self.kept.put(world, self._aimed, self.look(world, self._aimed))
        self.singles = TOSSES if any(self.kept.get(world, 0).explained.tossed for world in (0, 1)) else 1
        missing = [
            task for k in range(self.singles) for w in (0, 1) if not self.kept.sound(*(task := (w, SINGLES + k)))
        ]
        alone = replace(self.look, infer=None, train=False)
        for task, seen in zip(missing, spread(alone, missing, jobs), strict=True):
            self.kept.put(*task, seen)
        self.private = PrivateCoins.of(self.kept, self.claim, self.singles)

    @property
    def _aimed(self) -> int:
        return WORST_CASE if self.claim.delta == 0 else TILTED

    def _found(self, missing: list[Task], jobs: int) -> Iterator[tuple[Task, Seen]]:
        """Missing chunks, in order; the first chunk of a world gives the reference that measures all others."""
        first = [task for task in missing if task[1] == 0]
        yield from zip(first, spread(self.look, first, jobs), strict=True)
        if rest := missing[len(first) :]:
            zero, one = (self.kept.get(world, 0).explained.measured for world in (0, 1))
            yield from zip(rest, spread(replace(self.look, references=(zero, one)), rest, jobs), strict=True)

    def _play(self, index: int) -> None:
        """Play both worlds' transcripts of a chunk, with their exact losses as scores, until one world is empty."""
        parts = [self.kept.transcripts(world, index) for world in (0, 1)]
        self._cut = min(self._cut, *(part.granted_from for part in parts))
        zero, one = (part.losses_on_wire(self._cut) for part in parts)
        queues = np.concatenate([self._left[0], -zero]), np.concatenate([self._left[1], one])
        coins = tossed(queues[0].size, queues[1].size, self._coins)
        ones = np.count_nonzero(coins)
        self._left = queues[0][coins.size - ones :], queues[1][ones:]
        self.wager.update(coins, dealt(coins, *queues))

    def result(self, early: bool) -> AuditResult:
        """Evaluation of the chunks; of the first one alone for a fixed sample size, if the audit stopped `early`."""
        fixed = 1 if early else self.chunks
        (share, taught_share), anytime, refused = self._shares, self.wager.result(), self._refused()
        sure = 1 - share
        parts = self.kept.explained(0, fixed), self.kept.explained(1, fixed)
        exact = self._exact(parts, sure)
        white = self._played(*scores_of(*exact), sure)
        black = None
        if self.attacked and refused is None:
            zero, one = (self.kept.noted(INFERRED, world, fixed) for world in (0, 1))
            black = self._played(zero, one, sure)
        learned = classifier = untrained = None
        if self.look.train:
            rng = self.rng.spawn(1)[0]
            try:
                learned, scores, chosen_on = trained(self.kept, self.chunks, rng)
                classifier = play(
                    *scores, delta=self.claim.delta, confidence=1 - taught_share, rng=rng, chosen_on=chosen_on
                )
            except AttackError as error:
                untrained = str(error)
        first = self.kept.transcripts(0, 0)
        transcripts = self.chunks * first.leaked.size
        bare = any(one.uncovered is not None for one in exact)
        self.private = self.private.priced(self.look.simulate, self.pair, self.confidence, transcripts, bare=bare)
        games = [game for game in (white, black, classifier) if game is not None]
        best_game = max(games, key=lambda game: game.epsilon_audited)
        judgement, bound, unbounded = self._judged(exact, best_game, anytime), None, None
        if judgement.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED, Verdict.REFUTED, Verdict.NO_CLAIM):
            lost = [
                *(e.epsilon for e in exact),
                *([] if self.private.secret is None else [self.private.secret.known]),
            ]
            bound, unbounded = self._bound(max(one.lower for one in lost))
            judgement = self._judged(exact, best_game, anytime, bound)
            if bound is not None and self.private.secret is None and not self.read:
                exact = self._at_most(exact, bound)
            if bound is not None and judgement.verdict in (Verdict.PROVEN, Verdict.REFUTED, Verdict.NO_CLAIM):
                exact, self.private = self._at_most(exact, bound), self.private.at_most(bound.epsilon)
                judgement = self._judged(exact, best_game, anytime, bound)  # its words have these ends, too
        alone = best_game is classifier and self.private.over_tosses is None and not self._shown(exact, anytime)
        if judgement.verdict is Verdict.REFUTED and alone:
            why = "A trained classifier alone shows it: releases are not on the wire in a form whose law is known"
            judgement = replace(judgement, reason=f"{judgement.reason} {why}.")
        if judgement.verdict is Verdict.REFUTED and self.claim.delta == 0:
            judgement = replace(judgement, reason=f"{judgement.reason}{self._other_scale}")
        if not self.repeats and judgement.verdict is Verdict.CONSISTENT:
            why = f"What it does is not what was read: {unbounded}. {judgement.reason}"
            judgement = replace(judgement, verdict=Verdict.UNDERPOWERED, reason=why)
        elif judgement.verdict is Verdict.CONSISTENT and (record := self._asked_more) is not None:
            why = (
                f"Private coins put record {record} into batches with more chance than the one in which this pair "
                "differs: a pair that differs in that one may cost more. Draw records by equal odds, or claim what "
                "it costs for who knows the coins"
            )
            judgement = replace(judgement, verdict=Verdict.UNDERPOWERED, reason=f"{why}. {judgement.reason}")
        elif unbounded is not None and judgement.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED):
            judgement = replace(judgement, reason=f"{judgement.reason} Not proven for every pair: {unbounded}.")
        return AuditResult(
            claim=self.claim,
            pair=self.pair,
            exact=exact,
            white_box=white,
            black_box=black,
            refused=refused,
            judgement=judgement,
            trials=self.chunks * exact[0].losses.size // fixed,
            confidence=self.confidence,
            anytime=anytime,
            stop=self.stop,
            stopped=early,
            computed=first.computed,
            witness=self._witness(parts)
            if judgement.verdict in _WITNESSED[self.private.over_tosses is None] and not self._at_rare_tosses(exact)
            else None,
            loss_breakdown=LossBreakdown.of(
                self.pair.agent, chain(*parts), exact, self.claim.delta, self.confidence, self.rng
            ),
            classifier=classifier,
            trained=learned,
            untrained=untrained,
            bound=bound,
            unbounded=unbounded,
            secret=self.private.secret,
            unpriced=self.private.unpriced,
            read=self.read,
        )

    @staticmethod
    def _at_most(exact: tuple[ExactLoss, ExactLoss], bound: Bound) -> tuple[ExactLoss, ExactLoss]:
        """The exact losses, of which no pair's is above the bound."""
        one, two = (replace(e, epsilon=at_most(e.epsilon, bound.epsilon)) for e in exact)
        return one, two

    def _at_rare_tosses(self, exact: tuple[ExactLoss, ExactLoss]) -> bool:
        """Whether only tosses that no transcript need have show that something is unprotected."""
        return self.private.proven_rare is not None and not any(one.uncovered for one in exact)

    @cached_property
    def _one(self) -> Sample:
        """A transcript by itself."""
        return self.look.simulate(0, SINGLES + 1).replica(0)

    @property
    def step(self) -> Literal["round", "activation"]:
        """Unit in which the algorithm counts."""
        return self._one.view.public.algorithm.stopping().unit

    @cached_property
    def read(self) -> tuple[ReadLine, ...]:
        """Lines of the code that decide by what is private or was seen."""
        simulate, hypotheses = self.look.simulate, self.pair.hypotheses
        return read_lines(self._one, self.pair.agent, lambda: ((simulate(w, 0), hypotheses[w]) for w in (0, 1)))

    @property
    def _asked_more(self) -> int | None:
        """A record that is asked more than the one in which the pair differs, where private coins choose them, and of
        which it is not known that it costs no more."""
        if not self.private.tossed or self.pair.of_all_records:
            return None
        return asked_more(self._one, self.pair.agent, self.pair.hypotheses)

    @property
    def _shares(self) -> tuple[float, float]:
        """Parts of the error rate for the exact loss, as for each game requested, be it refused, and for the trained
        classifier: what counts may not hang on the transcripts.

        With `stop` the anytime game has a part of its own, and the others half of theirs: their sample is the first
        chunk or all chunks, as the audit ends, and they hold for both. Where the exact loss is `blind` to the wire,
        and no attack plays, the classifier has most: it alone can refute, but for what nothing protects.
        """
        alpha = error_rate(self.confidence)
        if self.stop:
            alpha, games = alpha / 2, 3 + self.attacked
        else:
            games = 2 + self.attacked + self.look.train
        if self.blind and not self.attacked:
            return alpha * (1 - _MOST) / 2, alpha * _MOST
        return alpha / games, alpha / games

    def _refused(self) -> str | None:
        """Reason why the attack refused, if it did in any chunk; the last one."""
        if not self.attacked:
            return None
        tasks = ((world, index) for index in reversed(range(self.chunks)) for world in (1, 0))
        return next(filter(None, (self.kept.get(*task).refused.get(INFERRED) for task in tasks)), None)

    def _played(self, zero: Array, one: Array, sure: float) -> GameResult:
        return play(zero, one, delta=self.claim.delta, confidence=sure, rng=self.rng)

    def _bound(self, lower: float) -> tuple[Bound | None, str | None]:
        """The bound over all pairs of the adjacency, or the reason why there is none. It has to be over any data
        where the claim is, and nothing bounds a change (`Pair.doubt`), and where the pair has lost more: `lower`."""
        bound: Bound | str = ""
        for adjacency in (ANY_DATA,) if self.pair.doubt else (self.claim.adjacency, ANY_DATA):
            bound = bound_or_why(partial(self._bound_over, adjacency, lower))
            if isinstance(bound, str):
                return None, bound
            if not exceeds(lower, bound.epsilon):
                self._own, self._over = bound, adjacency
                if bound.histories > MANY and self.claim.epsilon is not None and bound.epsilon > self.claim.epsilon:
                    return None, (
                        f"agent {self.pair.agent}'s cost of up to {show(bound.epsilon, 4)} is above the claim, and "
                        f"coins may fall in {bound.histories} ways: no other agent was looked at"
                    )
                highest = bound_or_why(partial(self._at_all_doors, bound, adjacency))
                return (None, highest) if isinstance(highest, str) else (highest, None)
        assert isinstance(bound, Bound)
        self.repeats = False
        return None, f"the pair loses more than {show(bound.epsilon, 4)}, whatever the data: the code does not repeat"

    def _at_all_doors(self, own: Bound, adjacency: Adjacency) -> Bound:
        """The highest bound of all agents that the claim is about."""
        found = [own]
        for agent, bound_over in self.doors.items():
            try:
                found.append(bound_over(adjacency))
            except AttackError as error:
                if isinstance(error, BareError):
                    self.private = self.private.with_bare_at(agent, error)
                raise AttackError(f"of agent {agent}: {error}") from error
        if len(found) == 1:
            return own
        highest = max(found, key=lambda bound: bound.epsilon)
        doors = ", ".join(map(str, sorted((self.pair.agent, *self.doors))))
        return replace(
            highest,
            conditions=(*highest.conditions, f"agents {doors} were looked at in turn, and this is the highest bound"),
        )

    def _bound_over(self, adjacency: Adjacency, lower: float) -> Bound:
        samples = [self.look.simulate(world, WORST_CASE) for world in (0, 1)]
        claimed, delta = self.claim.epsilon, self.claim.delta
        most = MANY if claimed is not None and exceeds(lower, claimed) else HISTORIES
        try:
            return bound_at_door(samples, self.pair.agent, adjacency, delta, self.convexity, most)
        except BareError as error:
            self.private = self.private.with_bare(error, self.look.simulate, self.pair, self.confidence)
            raise

    def _judged(
        self,
        exact: tuple[ExactLoss, ExactLoss],
        game: GameResult,
        anytime: SequentialTestResult,
        bound: Bound | None = None,
    ) -> Judgement:
        """Verdict by the exact loss, the best `game`, the anytime game, and a `bound` over all pairs.

        You get a `PrivacyError` where the game proves more than the exact loss allows.
        """
        upper = max(e.epsilon.upper for e in exact)
        if game.epsilon_audited > upper * (1 + ROUNDING):
            raise PrivacyError(
                f"no verdict: the game proves ε ≥ {show(game.epsilon_audited, 4)}, the exact loss ε ≤ "
                f"{show(upper, 4)}; one of "
                "them is wrong, or a rare event of the stated error rate happened"
            )
        unprotected = first_unprotected(exact, self.private.secret, self.claim)
        lower, estimate, highest = ends(exact, self.private.over_tosses)
        one_toss = self.private.over_tosses is None  # else games, and what is unprotected, are of one toss among many
        judged = exact if one_toss else (replace(exact[0], uncovered=None), replace(exact[1], uncovered=None))
        found = self.private.judged(
            judge(
                epsilon_claimed=self.claim.epsilon,
                delta=self.claim.delta,
                failed_conditions=self.claim.failed_conditions,
                exact_lower=lower,
                exact_upper=highest,
                exact_estimate=estimate,
                uncovered=None if unprotected is None else str(unprotected),
                audited=game if one_toss else None,
                anytime=anytime if one_toss and self.stop else None,
                not_judged=_not_judged(
                    judged,
                    self.claim.epsilon,
                    self.claim.delta == 0,
                    self._hidden,
                    self._unsent,
                    bound,
                    step=self.step,
                ),
                change_used=self.pair.change_used,
                doubt=self.pair.doubt,
                bound=bound,
                loose=None if bound is None else self._loose(bound),
            ),
            judged,
        )
        return judged_of_what_is_read(found, self.read)

    @cached_property
    def _worst_loss(self) -> float:
        """The largest finite loss of the pair's transcripts where noise points away from the other world."""
        zero, other = self.pair.hypotheses
        losses = [
            compare_worlds(self.look.simulate(world, WORST_CASE), self.pair.agent, true, false).losses()
            for world, true, false in ((0, zero, other), (1, other, zero))
        ]
        return float(np.max(losses, initial=0.0, where=np.isfinite(losses)))

    def _loose(self, bound: Bound) -> str | None:
        """Why a bound may be above a claim that holds, where that is known: the pair costs as much by itself."""
        if self.claim.coins == "secret" and self.private.secret is not None and self._is_dearest(bound):
            return "for who knows its coins; for who does not nothing is proven"
        if self.claim.delta > 0 and bound.pure and self._worst_loss >= REACHED * bound.epsilon:
            return "which is of δ = 0, where this pair costs as much; by how much less at this δ is sampled"
        return None

    def _is_dearest(self, bound: Bound) -> bool:
        """Whether the pair costs as much as any of its agent at some toss of the coins, for who knows them, and other
        agents no more."""
        return self._own is not None and self._own.epsilon >= REACHED * bound.epsilon and self._dearest_at_some_toss

    @cached_property
    def _dearest_at_some_toss(self) -> bool:
        """Whether at some toss, of those where the pair costs most, no pair of its agent costs more."""
        by_cost = sorted(enumerate(self.private.known_costs), key=lambda one: -one[1])
        for k, cost in by_cost[:_LOOKED_AT]:
            one = self.look.simulate(0, SINGLES + k).replica(0)
            over = partial(bound_at_own_coins, one, self.pair.agent, self._over, self.claim.delta, self.convexity)
            most = bound_or_why(over)
            if isinstance(most, Bound) and cost >= REACHED * most.epsilon:
                return True
        return False

    def _shown(self, exact: tuple[ExactLoss, ExactLoss], anytime: SequentialTestResult) -> bool:
        """Whether the exact loss refutes the claim, or the anytime game, which is played with it."""
        claimed = self.claim.epsilon
        above = claimed is not None and any(exceeds(e.epsilon.lower, claimed) for e in exact)
        return above or (self.stop and anytime.refuted)

    @property
    def _hidden(self) -> str:
        """Place of the first release that is not priced as it is on the wire, in brackets."""
        part = self.kept.get(0, 0).explained
        some = (r for r, sent in zip(part.details.released, part.sent_in, strict=False) if math.isinf(sent))
        first = next(some, None)
        return "" if first is None else f" (the first has {first.mechanism} noise, {first.place(self.step)})"

    @property
    def _other_scale(self) -> str:
        """Sentence on the first release whose noise has another scale in the other world, if any has."""
        for part in (self.kept.transcripts(world, self._aimed) for world in (0, 1)):
            for t, (law, cost, steps) in enumerate(zip(part.laws, part.cost, part.steps, strict=False)):
                if law in SCALED and np.any(np.isinf(cost) & np.isfinite(steps)):
                    return (
                        f" The noise of release {t} has another scale, or law, in the other world: noise that is "
                        "large enough is likelier in one of them by any factor, so ε = ∞ at δ = 0."
                    )
        return ""

    @property
    def _unsent(self) -> bool:
        """Whether the last release, as the only one, is not sent at all."""
        part = self.kept.get(0, 0).explained
        *others, last = [*zip(part.details.released, part.sent_in, strict=False)] or [(None, 0.0)]
        unsent = last[0] is not None and last[0].inside is None and math.isinf(last[1])
        return unsent and not any(math.isinf(sent) for _, sent in others)

    def _exact(self, parts: _Parts, sure: float) -> tuple[ExactLoss, ExactLoss]:
        granted = min(part.granted_from for part in chain(*parts))
        aimed = [self.kept.transcripts(world, self._aimed) for world in (0, 1)]
        shared = 4 if self.singles > 1 else 2  # two directions, and other tosses of the coins
        first, second = (
            ExactLoss.of(part, self.claim.delta, 1 - (1 - sure) / shared, granted, one)
            for part, one in zip(parts, aimed, strict=True)
        )
        first, second = (self._alone(world, one) for world, one in enumerate((first, second)))
        if self.claim.delta == 0:
            first, second = (
                one.with_worst_case(part, granted) for one, part in zip((first, second), aimed, strict=True)
            )
        if not (first.passed and second.passed):
            checks = ", ".join(
                f"E[e^−L] = {show(one.mean, 4)} (at least {show(one.lower, 4)}), noise law p = {show(e.noise.p, 2)}"
                for e, one in ((first, first.self_check), (second, second.self_check))
            )
            raise PrivacyError(
                f"no verdict: a self-check failed ({checks}); the replay or the declared noise law is wrong"
            )
        return first, second

    def _alone(self, world: int, exact: ExactLoss) -> ExactLoss:
        """Exact loss of one direction with the transcripts that were simulated by themselves."""
        if self.private.tossed:
            return exact.with_tosses(self.private.alone[world], self.claim.delta)
        for single in self.private.alone[world]:
            if exact.uncovered is None and (bare := single.uncovered or single.inexplicable) is not None:
                if bare.message >= single.granted_from and single.inexplicable is None:
                    continue
                raise PrivacyError(
                    f"{bare}, in a run of one transcript, and in none of {exact.losses.size} together: its code "
                    "decides by the number of replicas, or for all by the values of some"
                )
        return exact

    def _witness(self, parts: _Parts) -> Place | None:
        """Best transcript sampled; or an aimed one: at δ = 0, where its loss is larger and no message in it is
        unprotected; at δ > 0 for such a message."""
        found = [best(parts)]
        aimed = (candidate(self.kept.get(world, self._aimed).explained, world, self._aimed) for world in (0, 1))
        found += [one for one in aimed if math.isinf(one.message) == (self.claim.delta == 0)]
        if self.private.tossed:
            tosses = ((world, SINGLES + k) for k in range(self.singles) for world in (0, 1))
            others = [(self.kept.get(*task).explained, task) for task in tosses]
            claimed = max(len(part.laws) for part in chain(*parts))  # the claim is of so many releases
            found += [candidate(one, *task) for one, task in others if len(one.laws) <= claimed]
        chosen = min(filter(None, found), key=lambda one: one.rank, default=None)
        return None if chosen is None else chosen.place


def _not_judged(
    exact: tuple[ExactLoss, ExactLoss],
    claimed: float | None,
    pure: bool,
    hidden: str,
    unsent: bool,
    bound: Bound | None = None,
    *,
    step: str = "activation",
) -> str | None:
    """Reason why the claim may not be called consistent, if something was not judged, or only from above.

    `pure`: at δ = 0. There who is granted all that is not on the wire may lose no more than is claimed, in no
    transcript: then nothing speaks against the claim for who sees less. `hidden` has the first such release, which is
    `unsent` where it is the last of all and no message has it. Nor does anything where the `bound` is within the
    claim, which is for who is granted all of it.
    """
    proven = claimed is not None and bound is not None and bound.epsilon <= claimed * (1 + ROUNDING)
    for e in exact:
        if e.silent:
            return "the agent sent nothing"
        if e.unreliable_from is not None:
            return f"from {step} {e.unreliable_from} on some noise is below the rounding of the values it covers"
        if e.uncovered is not None and not e.unprotected and math.isinf(e.epsilon.upper):
            share = f"{show(e.leaks, 2)} of the transcripts" if e.leaks else "one whose noise was aimed"
            return f"{e.uncovered}, in {share}: whether that is above δ is not proven"
        if e.faint is not None:
            return f"{e.faint}; that may be rounding or chance, and no noise protects it"
        bounded = proven or (
            claimed is not None and (e.epsilon.upper <= claimed or (pure and not exceeds(e.dearest, claimed)))
        )
        if math.isfinite(e.granted_from) and not bounded and unsent:
            walk = step == "activation"
            mend = "A walk ends at `estimate`: call it last, after the send" if walk else "Leave that noise out"
            return (
                f"what `privatize` returned in {step} {e.granted_from:.0f}, the last, is not sent, and of that "
                f"only the upper end of the exact ε is known. {mend}"
            )
        if math.isfinite(e.granted_from) and not bounded:
            return (
                f"from {step} {e.granted_from:.0f} on what `privatize` returned is sent inside something else, "
                f"or not at all{hidden}, and of that only the upper end of the exact ε is known. Send what it "
                "returned, or a number of which it comes out (x − step times it, no sum or `np.where` of it), and go "
                "on with what was sent; with a codec, one that knows the law of its codes"
            )
    return None
