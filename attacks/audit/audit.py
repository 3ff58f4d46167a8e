"""One audit: simulate both worlds, compare every transcript, play the game, judge the claim.

The caller brings the two hypotheses and the way to simulate each world; an audit opens no truth of its own.
"""

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType
from typing import Literal, NamedTuple

import numpy as np

from attacks.audit.accounting.intervals import error_rate
from attacks.audit.archive import Archive, Seen
from attacks.audit.followed.reading import BY_RECORD, HISTORIES, ReadLine, judged_of_what_is_read, read_lines
from attacks.audit.games.game import GameResult, play
from attacks.audit.games.sequential_test import MOST_EPSILON, SequentialTest, SequentialTestResult, dealt, tossed
from attacks.audit.loss.aimed import TILTED, WORST_CASE
from attacks.audit.loss.comparison import ALONE, Reproduced, Sample, WorldComparison, compare_worlds
from attacks.audit.loss.envelopes import Measured
from attacks.audit.loss.exact import NOISE, SINGLES, TOSSES, ExactLoss, scores_of
from attacks.audit.loss.noise_check import NOTHING
from attacks.audit.loss.release_cost import SCALED
from attacks.audit.loss.secret_coins import Shares, unseen
from attacks.audit.loss_breakdown import LossBreakdown
from attacks.audit.outside import inside_node, nothing_kept, nothing_of_data_kept
from attacks.audit.pair import INFERRED, Infer, Pair, Simulate, resemblance, spread
from attacks.audit.private_coins import PrivateCoins, at_most, ends, first_unprotected
from attacks.audit.proof import ANY_DATA, BareError, bound_at_door, bound_at_own_coins, bound_or_why
from attacks.audit.result import AuditResult
from attacks.audit.trained import Trained, noted, trained
from attacks.audit.verdict import BROKEN, REACHED, ROUNDING, Bound, Judgement, Verdict, exceeds, judge
from attacks.audit.witness import Place, best, candidate
from netsim.arrays import Array
from netsim.claims import Adjacency, Claim
from netsim.errors import AttackError, PrivacyError
from netsim.shown import show

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
    histories: Shares = unseen,
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
    on, with the same result. It has to be of the same simulation, pair, chunk, `infer` and `train`. `progress`
    receives numbers of transcripts, and after these `histories` shares of the histories of private coins, as they
    are read.

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
        return under_way.result(early=under_way.chunks < chunks, histories=histories)


def _hides(simulate: Simulate, pair: Pair) -> tuple[bool, bool]:
    """Whether some release, and whether each, has no exact loss for who sees the wire alone."""
    true, other = pair.hypotheses
    found = Reproduced.of(simulate(0, WORST_CASE), pair.agent, true).compared(other, scored=False)
    return math.isfinite(found.granted_from), all(sent_in >= found.granted_from for sent_in in found.sent_in)


class _Proof(NamedTuple):
    """The `bound` of all pairs of the adjacency, or the reason why there is none.

    `loose`: why it may be above a claim that holds, where that is known. `repeats` is false where the pair loses more
    than the code could that was read, whatever the data.
    """

    bound: Bound | None = None
    unbounded: str | None = None
    loose: str | None = None
    repeats: bool = True


_UNPROVEN = _Proof()


@dataclass(frozen=True)
class _Games:
    """Games with the exact loss, with inferred gradients (None: no attack, or it refused), and with a `trained`
    classifier (None: not asked for, or `untrained` says why)."""

    white: GameResult
    black: GameResult | None
    classifier: GameResult | None = None
    trained: Trained | None = None
    untrained: str | None = None

    @property
    def best(self) -> GameResult:
        """The one that proves most."""
        games = [game for game in (self.white, self.black, self.classifier) if game is not None]
        return max(games, key=lambda game: game.epsilon_audited)


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

    def result(self, early: bool, histories: Shares = unseen) -> AuditResult:
        """Evaluation of the chunks; of the first one alone for a fixed sample size, if the audit stopped `early`."""
        fixed = 1 if early else self.chunks
        anytime, refused = self.wager.result(), self._refused()
        parts = self.kept.explained(0, fixed), self.kept.explained(1, fixed)
        exact = self._exact(parts, 1 - self._shares[0])
        games = self._games(exact, fixed, refused)
        self.private = self.private.priced(
            self.look.simulate,
            self.pair,
            self.confidence,
            self.kept,
            self.chunks,
            self._aimed,
            bare=any(one.uncovered is not None for one in exact),
            progress=histories,
        )
        exact, judgement, proof = self._decided(exact, games, anytime)
        return AuditResult(
            claim=self.claim,
            pair=self.pair,
            exact=exact,
            white_box=games.white,
            black_box=games.black,
            refused=refused,
            judgement=judgement,
            trials=self.chunks * exact[0].losses.size // fixed,
            confidence=self.confidence,
            anytime=anytime,
            stop=self.stop,
            stopped=early,
            computed=self.kept.transcripts(0, 0).computed,
            witness=self._witness(parts)
            if judgement.verdict in _WITNESSED[self.private.over_tosses is None] and not self._at_rare_tosses(exact)
            else None,
            loss_breakdown=LossBreakdown.of(
                self.pair.agent, chain(*parts), exact, self.claim.delta, self.confidence, self.rng
            ),
            classifier=games.classifier,
            trained=games.trained,
            untrained=games.untrained,
            bound=proof.bound,
            unbounded=proof.unbounded,
            secret=self.private.secret,
            unpriced=self.private.unpriced,
            read=self.read,
        )

    def _games(self, exact: tuple[ExactLoss, ExactLoss], fixed: int, refused: str | None) -> _Games:
        """The games of a fixed number of chunks; `refused`: why no gradients were inferred."""
        share, taught_share = self._shares
        white, black = self._played(*scores_of(*exact), 1 - share), None
        if self.attacked and refused is None:
            zero, one = (self.kept.noted(INFERRED, world, fixed) for world in (0, 1))
            black = self._played(zero, one, 1 - share)
        if not self.look.train:
            return _Games(white, black)
        rng = self.rng.spawn(1)[0]
        try:
            learned, scores, chosen_on = trained(self.kept, self.chunks, rng)
            sure = 1 - taught_share
            game = play(*scores, delta=self.claim.delta, confidence=sure, rng=rng, chosen_on=chosen_on)
        except AttackError as error:
            return _Games(white, black, untrained=str(error))
        return _Games(white, black, game, learned)

    def _decided(
        self, exact: tuple[ExactLoss, ExactLoss], games: _Games, anytime: SequentialTestResult
    ) -> tuple[tuple[ExactLoss, ExactLoss], Judgement, _Proof]:
        """The judgement by all that was found, and by a bound over all pairs where that may matter; where it decides,
        the exact losses are at most the bound."""
        judgement, proof = self._judged(exact, games.best, anytime), _UNPROVEN
        if judgement.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED, Verdict.REFUTED, Verdict.NO_CLAIM):
            lost = [e.epsilon.lower for e in exact]
            lost += [] if self.private.secret is None else [self.private.secret.known.lower]
            proof = self._proof(max(lost))
            judgement = self._judged(exact, games.best, anytime, proof)
            decided = judgement.verdict in (Verdict.PROVEN, Verdict.REFUTED, Verdict.NO_CLAIM)
            if proof.bound is not None and (decided or (self.private.secret is None and not self.read)):
                exact = self._at_most(exact, proof.bound)
            if proof.bound is not None and decided:
                self.private = self.private.at_most(proof.bound.epsilon)
                judgement = self._judged(exact, games.best, anytime, proof)  # its words have these ends, too
        alone = self.private.over_tosses is None and not self._shown(exact, anytime)
        by_classifier = alone and games.best is games.classifier
        return exact, self._completed(judgement, proof, learned_alone=by_classifier), proof

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
        """Lines of the code that decide by what is private or was seen; not that a record is treated in its own way,
        where each was tried."""
        simulate, hypotheses = self.look.simulate, self.pair.hypotheses
        found = read_lines(self._one, self.pair.agent, lambda: ((simulate(w, 0), hypotheses[w]) for w in (0, 1)))
        return tuple(line for line in found if line != BY_RECORD or not self.pair.of_all_records)

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

    def _proof(self, lower: float) -> _Proof:
        """It has to be over any data where the claim is, and nothing bounds a change (`Pair.doubt`), where that is
        bounded, whatever the pair, and where the pair has lost more: `lower`."""
        own: Bound | str = ""
        stated = self.claim.adjacency
        wider = replace(stated, gradient_change=math.inf, relation=ANY_DATA.relation)
        first = (wider, stated) if self.pair.claimed_of_any and not self.pair.any_change else (stated,)
        for adjacency in (ANY_DATA,) if self.pair.doubt else (*first, ANY_DATA):
            own = bound_or_why(partial(self._bound_over, adjacency, lower))
            if isinstance(own, str):
                if adjacency is wider:  # the code bounds no data
                    continue
                return _Proof(unbounded=own)
            if exceeds(lower, own.epsilon):
                continue
            if own.histories > MANY and self.claim.epsilon is not None and own.epsilon > self.claim.epsilon:
                return _Proof(
                    unbounded=f"agent {self.pair.agent}'s cost of up to {show(own.epsilon, 4)} is above the claim, "
                    f"and coins may fall in {own.histories} ways: no other agent was looked at"
                )
            highest = bound_or_why(partial(self._at_all_doors, own, adjacency))
            if isinstance(highest, str):
                return _Proof(unbounded=highest)
            return _Proof(highest, loose=self._loose(highest, own, adjacency))
        assert isinstance(own, Bound)
        why = f"the pair loses more than {show(own.epsilon, 4)}, whatever the data: the code does not repeat"
        return _Proof(unbounded=why, repeats=False)

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
        proof: _Proof = _UNPROVEN,
    ) -> Judgement:
        """Verdict by the exact loss, the best `game`, the anytime game, and what is proven of all pairs.

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
        one, two = (e if one_toss else e.of_other_tosses(lower) for e in exact)
        judged = one, two
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
                not_judged=self.pair.seen_less
                or _not_judged(
                    judged,
                    self.claim.epsilon,
                    self.claim.delta == 0,
                    self._hidden,
                    self._unsent,
                    proof.bound,
                    step=self.step,
                ),
                change_used=self.pair.change_used,
                doubt=self.pair.doubt,
                bound=proof.bound,
                loose=proof.loose,
            ),
            judged,
        )
        return judged_of_what_is_read(found, self.read)

    @property
    def _worst_loss(self) -> float:
        """The largest finite loss of the pair's transcripts where noise points away from the other world."""
        zero, other = self.pair.hypotheses
        losses = [
            compare_worlds(self.look.simulate(world, WORST_CASE), self.pair.agent, true, false).losses()
            for world, true, false in ((0, zero, other), (1, other, zero))
        ]
        return float(np.max(losses, initial=0.0, where=np.isfinite(losses)))

    def _loose(self, bound: Bound, own: Bound, adjacency: Adjacency) -> str | None:
        """Why a bound may be above a claim that holds, where that is known: the pair costs as much by itself.
        `own` is that of the pair's agent."""
        of_own = own.epsilon >= REACHED * bound.epsilon  # other agents cost no more
        if of_own and self._ranked_for_secret and self._dearest_at_some_toss(adjacency):
            return "for who knows its coins; for who does not nothing is proven"
        if self.claim.delta > 0 and bound.pure and self._worst_loss >= REACHED * bound.epsilon:
            return "which is of δ = 0, where this pair costs as much; by how much less at this δ is sampled"
        return None

    @property
    def _ranked_for_secret(self) -> bool:
        """Whether the claim keeps coins secret, and nothing is known by which what costs less at each of their tosses
        would cost more at all of them together."""
        if self.claim.coins != "secret" or self.private.secret is None:
            return False
        return self.pair.over_all_tosses or self.private.one_way(self._one, self.pair)

    def _dearest_at_some_toss(self, adjacency: Adjacency) -> bool:
        """Whether at some toss, of those where the pair costs most, no pair of its agent costs more, for who knows
        the coins."""
        by_cost = sorted(enumerate(self.private.known_costs), key=lambda one: -one[1])
        for k, cost in by_cost[:_LOOKED_AT]:
            one = self.look.simulate(0, SINGLES + k).replica(0)
            over = partial(bound_at_own_coins, one, self.pair.agent, adjacency, self.claim.delta, self.convexity)
            most = bound_or_why(over)
            if isinstance(most, Bound) and cost >= REACHED * most.epsilon:
                return True
        return False

    def _completed(self, found: Judgement, proof: _Proof, *, learned_alone: bool) -> Judgement:
        """With what shows that a claim is false, or what speaks against that the pair stands for all others."""
        if found.verdict is Verdict.REFUTED:
            why = "A trained classifier alone shows it: releases are not on the wire in a form whose law is known."
            found = found.adding(why) if learned_alone else found
            return found.adding(self._other_scale) if self.claim.delta == 0 else found
        if found.verdict is Verdict.CONSISTENT and not proof.repeats:
            return found.undecided(f"What it does is not what was read: {proof.unbounded}.")
        if found.verdict is Verdict.CONSISTENT and (doubt := self.private.other_record(self._one, self.pair)):
            return found.undecided(doubt)
        if proof.unbounded is not None and found.verdict in (Verdict.CONSISTENT, Verdict.UNDERPOWERED):
            return found.adding(f"Not proven for every pair: {proof.unbounded}.")
        return found

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
                        f"The noise of release {t} has another scale, or law, in the other world: noise that is "
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
