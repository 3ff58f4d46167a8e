"""Audit stage of a run: claim, search for the worst pair, plan, audit, witness, and single points of view: games from
them and their exact prices."""

import math
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from attacks.audit import exact_views
from attacks.audit.archive import MARK, Archive
from attacks.audit.exact_views import Bounded, Ends, Price, Priced
from attacks.audit.followed.reading import ReadLine, judged_of_what_is_read, read_by
from attacks.audit.pair import FIRST_CHUNK, Pair
from attacks.audit.proof import bound_or_why
from attacks.audit.result import AuditResult as Audited
from attacks.audit.verdict import BROKEN, ROUNDING, Bound, Verdict, exceeds, judge
from attacks.audit.views import View
from attacks.inference import infer
from attacks.probe import Field, recorded
from attacks.replay import Hypothesis
from netsim.adversary import Adversary
from netsim.arrays import Array, strictly
from netsim.claims import Adjacency, Claim, Standpoint
from netsim.errors import AttackError, NetsimError, PrivacyError, ScenarioError
from netsim.settings import Recording
from netsim.simulation import Simulation
from scenarios.build.duration import OfEachWorld, Progress, Silent, unending_named
from scenarios.build.experiment import Experiment, Subject
from scenarios.results.audit import AuditBegun, AuditRefused, PairSearch, PlanResult
from scenarios.results.audited import audit_result, views_result
from scenarios.results.base import Refused, Rows, taken, write_text
from scenarios.results.findings import DONE, INTERRUPTED, NO_CLAIM, REFUSED
from scenarios.results.numbers import plural
from scenarios.results.over_time import over_time
from scenarios.results.tree import AlgorithmResult, dumps
from scenarios.results.views import Combination, Prices, ViewPrices, Views, ViewsResult
from scenarios.schema.own_code import add_place
from scenarios.schema.scenario import ViewsSpec
from scenarios.stages import witness as witnesses
from scenarios.stages.secret_pair import audited_pair
from scenarios.stages.worlds import AuditOptions, audited, bound_of, insiders, look, views_of, worlds


def audit_file(folder: Path, slug: str) -> Path:
    """Where a results folder has the audit of an algorithm."""
    return folder / f"audit-{slug}.json"


@dataclass(frozen=True)
class Judge:
    """Audits the algorithms of an experiment; files of an audit go to `folder`.

    `keep` gets an algorithm's results whenever there is more of them. `draft` is added to the name of the witness's
    file where the audit is not yet the one that the folder shows.
    """

    experiment: Experiment
    folder: Path
    progress: Progress
    jobs: int
    keep: Callable[[AlgorithmResult], None]
    draft: str = ""
    within_a_run: bool = False
    """Whether transcripts are kept when an audit is done: the run that it is of may be interrupted after it."""
    _plans: set[str] = field(default_factory=set[str])
    """What each audit was planned to prove, which is said once."""

    def judge(self, entry: AlgorithmResult, subject: Subject, activations: int) -> AlgorithmResult:
        """Results with plan, audit, curves and views; `activations` is Θ, the run's largest."""
        entry, options = self.decide(entry, subject, activations)
        if options is None:
            return entry
        self.keep(entry)
        write_text(audit_file(self.folder, entry.slug), dumps(entry.audit))
        return self.looked(entry, options)

    @np.errstate(over="ignore", divide="ignore", invalid="ignore")  # a diverging run is a result
    def decide(
        self, entry: AlgorithmResult, subject: Subject, activations: int
    ) -> tuple[AlgorithmResult, AuditOptions | None]:
        """Results with plan, audit and curves; the witness is in its file. With it the options of the views, None
        where there is no verdict."""
        claim = subject.simulation.claim(self.experiment.adjacency, activations, subject.delta)
        if claim is None:
            return replace(entry, audit_status=NO_CLAIM), None
        if entry.audit is None:
            entry = replace(entry, audit_status=INTERRUPTED)  # unless it comes to its end
            self.keep(entry)
        simulation = subject.simulation
        noted = unending_named(self.progress, simulation.algorithm)
        try:
            with noted, divergence_named(simulation, self.experiment.pair):
                pair, search = audited_pair(self.experiment, subject, claim, activations, self.progress)
                options = AuditOptions(self.experiment.scenario, subject, pair, claim)
                plan = options.plan
                entry = replace(entry, plan=None if plan is None else taken(PlanResult, plan))
                self.keep(entry)
                return self._audited(entry, subject, activations, options, search), options
        except PrivacyError as error:
            refused = AuditRefused(refused=str(error))
            return replace(entry, audit=refused, audit_status=REFUSED, audit_begun=None), None

    def options(self, subject: Subject, activations: int) -> AuditOptions:
        """The options of an audit that has a verdict."""
        claim = subject.simulation.claim(self.experiment.adjacency, activations, subject.delta)
        assert claim is not None
        pair, _ = audited_pair(self.experiment, subject, claim, activations, self.progress)
        return AuditOptions(self.experiment.scenario, subject, pair, claim)

    def _audited(
        self,
        entry: AlgorithmResult,
        subject: Subject,
        activations: int,
        options: AuditOptions,
        search: PairSearch | None,
    ) -> AlgorithmResult:
        spec, folder = options.spec, self.folder / f"audit-{entry.slug}"
        self.progress.begin(f"{subject.spec.name}: auditing", spec.trials)
        if entry.plan is not None and entry.plan.underpowered and entry.plan.summary not in self._plans:
            self._plans.add(entry.plan.summary)
            self.progress.say(entry.plan.summary)
        if (begun := _begun(options, folder)) is not None:
            what = "run" if self.within_a_run else "audit"
            self.progress.say(f"Going on with an interrupted {what}: {begun.kept}.")
        try:
            found = decided(options, folder, self.progress, self.jobs, self.within_a_run)
        except KeyboardInterrupt:
            if entry.audit is None:
                self.keep(replace(entry, audit_begun=_begun(options, folder)))
            raise
        curves = over_time(subject.simulation, self.experiment.adjacency, subject.delta, found)
        proof = witnesses.Audited(options.pair, options.claim, activations, found.witness)
        path = witnesses.file_of(self.folder, entry.slug + self.draft)
        saved = witnesses.save(path, self.experiment, subject, proof)
        audit = replace(audit_result(found, options.stated), search=search)
        if isinstance(saved, Path):
            audit = replace(audit, witness=saved.name)
        elif audit.verdict in BROKEN:
            audit = replace(audit, no_witness=saved)
        return replace(entry, over_time=curves, audit=audit, audit_status=DONE, audit_begun=None)

    def looked(self, entry: AlgorithmResult, options: AuditOptions) -> AlgorithmResult:
        """Results with prices and games of single points of view on the pair, those that are requested."""
        prices, also = self._prices(options)
        views = self._views(options, also)
        if isinstance(prices, ViewPrices) and isinstance(views, ViewsResult):
            prices = _beside(prices, views)
        return replace(entry, views=views, prices=prices)

    def _prices(self, options: AuditOptions) -> tuple[Prices | None, tuple[View, ...]]:
        spec, claim = options.spec.seen_from, options.claim
        if not spec.prices:
            return None, ()
        self.progress.begin(f"{options.subject.spec.name}: exact ε of views", 1)
        agent, adjacency = options.pair.agent, self.experiment.adjacency
        delta = claim.delta or options.subject.price_delta
        try:
            found, views = price_views(options.simulation, spec, agent, adjacency, delta, options.pair)
        except AttackError as error:
            return Refused(refused=str(error)), ()
        self.progress.advance(1)
        return found, views

    def _views(self, options: AuditOptions, also: Sequence[View]) -> Views | None:
        """Evidence of each point of view on the pair; None where none is requested."""
        spec, name = options.spec, options.subject.spec.name
        wanted = spec.seen_from.game
        if wanted == "none":
            return None
        self.progress.begin(f"{name}: looking from every view", spec.trials)
        try:
            found = look(
                options.simulation,
                wanted,
                options.pair,
                options.other,
                options.claim,
                trials=spec.trials,
                chunk=spec.together,
                confidence=spec.confidence,
                name=name,
                infer=infer,
                progress=OfEachWorld(self.progress),
                jobs=self.jobs,
                draw=spec.draw,
                also=also,
            )
        except PrivacyError as error:
            return Refused(refused=str(error))
        return None if found is None else views_result(found)


def _begun(options: AuditOptions, folder: Path) -> AuditBegun | None:
    """What the folder of an audit with these options has kept of it; None where it was not begun."""
    mark, spec = folder / MARK, options.spec
    if not mark.is_file() or mark.read_text(encoding="utf-8") != options.fingerprint:
        return None
    whole = Archive(folder).whole(spec.chunks)
    return AuditBegun(transcripts=min(spec.trials, whole * spec.together), trials=spec.trials)


def decided(options: AuditOptions, folder: Path | None, progress: Progress, jobs: int, keep: bool = False) -> Audited:
    """`audited`. You get a `PrivacyError` where nothing is decided because the run diverges: more trials, or other
    data sets, would not help."""
    found = audited(options, folder, progress, jobs, keep)
    undecided = found.judgement.verdict in ("consistent", "underpowered")
    if undecided and (lost := _diverged(options.simulation, options.pair)) is not None:
        raise PrivacyError(lost)
    return found


@contextmanager
def divergence_named(simulation: Simulation, pair: Pair | None) -> Generator[None]:
    """Within, what goes wrong because the run diverges is a `PrivacyError` that says so."""
    try:
        yield
    except (PrivacyError, ScenarioError, OverflowError, np.linalg.LinAlgError):
        if (lost := _diverged(simulation, pair)) is None:
            raise
        raise PrivacyError(lost) from None


_SQUARED = float(np.sqrt(np.finfo(np.float64).max))
"""Numbers above this have no finite square: no norm is known of what holds one."""


_GROWN = 1e50
"""A run that diverges sends numbers above this before a NaN, which ∞ − ∞ makes."""


def _diverged(simulation: Simulation, pair: Pair | None) -> str | None:
    """Which message of the audited agent, or to it, is the first whose norm is no number, where a run diverges so
    far; or the first that has grown so large that products of such numbers are none."""
    assert pair is not None
    own = simulation.problem.objectives[pair.agent]
    seen = worlds(simulation, pair.agent, own, 1)(0, FIRST_CHUNK).view.transcript.at_node(pair.agent)
    largest, grown = 0.0, None
    remedy = "A smaller step, or fewer rounds"
    for row in seen:
        for name, value in row.values.items():
            place = f"{name!r} in {row.kind} message {row.number} of agent {row.sender}, at t={row.time:g} s, is"
            if np.all(np.abs(value) < _SQUARED):
                largest = max(largest, float(np.max(np.abs(value), initial=0.0)))
                if largest > _GROWN and grown is None:
                    grown = f"the run diverges: {place} as large as {largest:.2g}. {remedy}"
                continue
            what = "of the order of 10¹⁵⁴ or above" if np.all(np.isfinite(value)) else "not finite"
            none = not np.all(np.isfinite(value))
            if none and largest < _GROWN:
                made = "NaN" if np.any(np.isnan(value)) else "∞"
                before = f"and nothing before it is above {largest:.2g}"
                return f"the code makes {made}: {place} {what}, {before}. {_none_made_at(simulation, pair.agent)}"
            return f"the run diverges: {place} {what}. {remedy}"
    return grown or _estimates_diverged(simulation)


def _none_made_at(simulation: Simulation, agent: int) -> str:
    """The first line of somebody's own code that makes ∞ or NaN of finite numbers; where none does by NumPy's
    account, what to look for."""
    try:
        with strictly():
            worlds(simulation, agent, simulation.problem.objectives[agent], 1)(0, FIRST_CHUNK)
    except (FloatingPointError, NetsimError) as error:
        if place := add_place(error).removeprefix("In your code: "):
            return f"It comes of {place}"
    return "Look for a division by zero, or the logarithm of 0"


def _estimates_diverged(simulation: Simulation) -> str | None:
    """The round in which estimates are far beyond all measure, where what is sent stays bounded (a clip)."""
    try:
        measures = replace(simulation, recording=Recording(private="nothing")).run().measures
    except NetsimError:
        return None
    assert measures is not None  # they are recorded
    curve = measures.curve("relative_error")
    far = np.flatnonzero(~(curve.median < _GROWN))
    if not far.size:
        return None
    when = f"{simulation.algorithm.stopping().unit} {int(curve.count[far[0]])}"
    return (
        f"the run diverges: in {when} x is more than {_GROWN:.0e} times as far from the optimum as at the start. "
        "A smaller step, or fewer rounds"
    )


# ── exact prices of points of view ──────────────────────────────────────────────────────────────────────
def price_views(
    simulation: Simulation,
    spec: ViewsSpec,
    agent: int,
    adjacency: Adjacency,
    delta: float,
    pair: Pair | None = None,
    progress: Progress | None = None,
) -> tuple[ViewPrices, tuple[View, ...]]:
    """Prices of the points of view on `agent` that `spec` wants, and these views.

    They are those of the audited `pair`, where there is one, and of all pairs of the adjacency; each beside the claim
    of its view. Where what is sent is not linear in what adjacent worlds have different they are bounded by the
    victim's door; you get an `AttackError` where that has no bound either, and for δ = 0. A view with other than
    Gaussian noise says so in its row.
    """
    n, wanted = simulation.topology.agents, spec.exact
    views = [one for one in views_of(simulation, agent, "nodes") if one.kind == "door" and "door" in wanted]
    views += views_of(simulation, agent, "links") if "links" in wanted else ()
    agents = tuple(Adversary(f"agent {i}", insiders=(i,)) for i in range(n))
    everything = Adversary("everything", (), nodes=tuple(range(n)))
    adversaries = (*agents, everything, *(view.adversary for view in views))
    quiet = Recording(measure=False, private="nothing")
    run = replace(simulation, adversaries=adversaries, replicas=1, recording=quiet).run()
    read = tuple[ReadLine, ...]()
    priced: Priced | Bounded
    try:
        priced = Priced.of(run.views[n], run.views[:n], simulation.problem.objectives, adjacency, delta)
        read = read_by(run.views[n], range(n))
    except AttackError as error:
        if not 0 < delta < 1:
            raise
        if not simulation.algorithm.noisy:  # what every door would find
            raise AttackError(f"{error}; nor is there a bound at the door: nothing has noise") from error
        victims = range(n) if "pairs" in wanted else (agent,)
        priced = _bounded(simulation, victims, adjacency, delta, error, progress)
    at = _At.of(simulation, priced, agent, pair, run.largest_activations, read)
    seen = [recorded(one) for one in run.views[n + 1 :]]
    if "neighbors" in wanted:
        views += [insiders(simulation, i) for i in simulation.topology.neighbors(agent)]
    search = None
    if spec.coalition is not None and isinstance(priced, Priced):
        found = priced.coalition(agent, spec.coalition, at.worlds)
        views.append(insiders(simulation, *found.members))
        search = taken(ViewPrices.CoalitionSearch, found, size=spec.coalition, name=views[-1].name)
    received = [recorded(one) for one in run.views[:n]]
    seen += [frozenset[Field]().union(*(received[i] for i in view.agents)) for view in views[len(seen) :]]
    prices = ViewPrices(
        agent=agent,
        pair="" if pair is None else pair.description,
        delta=delta,
        adjacency=adjacency.relation,
        gradient_change=adjacency.gradient_change,
        conditions=priced.conditions,
        unbounded=priced.unbounded(agent),
        views=tuple(at.row(view, fields) for view, fields in zip(views, seen, strict=True)),
        coalition=search,
        pairs=at.pairs() if "pairs" in wanted else None,
        read_lines=read,
    )
    return prices, tuple(views)


def _bounded(
    simulation: Simulation,
    victims: Sequence[int],
    adjacency: Adjacency,
    delta: float,
    why: AttackError,
    progress: Progress | None,
) -> Bounded:
    """Bounds by doors, for who holds the seeds of all other agents; `why` there are no prices. You get that error
    again where no victim's door has a bound."""
    progress = progress or Silent()
    progress.begin("bounding what passes each agent's door", len(victims))
    doors = dict[int, Bound | str]()
    for victim in victims:
        doors[victim] = _door(simulation, victim, adjacency, delta)
        progress.advance(1)
    if all(isinstance(one, str) for one in doors.values()):
        first = str(next(iter(doors.values())))
        both = str(why) if first == str(why) else f"{why}; nor is there a bound at the door: {first}"
        raise AttackError(both) from why
    return Bounded(doors, simulation.topology.agents, adjacency, delta, str(why))


def _door(simulation: Simulation, victim: int, adjacency: Adjacency, delta: float) -> Bound | str:
    """The bound at one agent's door, or the reason why there is none."""
    others = tuple(i for i in range(simulation.topology.agents) if i != victim)
    return bound_or_why(partial(bound_of, simulation, victim, adjacency, delta, others))


@dataclass(frozen=True)
class _At:
    """Prices of one run with `agent` as the victim, in the audited pair's `worlds`; None where there is no pair, or
    where it is `refused`: it is no shift. Where lines `read` nothing is proven."""

    simulation: Simulation
    priced: Priced | Bounded
    agent: int
    pair: Pair | None
    worlds: tuple[Hypothesis, Hypothesis] | None
    refused: str | None
    activations: int
    read: tuple[ReadLine, ...]

    @classmethod
    def of(
        cls,
        simulation: Simulation,
        priced: Priced | Bounded,
        agent: int,
        pair: Pair | None,
        activations: int,
        read: tuple[ReadLine, ...],
    ) -> "_At":
        worlds, refused = (None if pair is None else pair.hypotheses), None
        try:
            if worlds is not None and isinstance(priced, Priced):
                priced.change(agent, worlds)
        except AttackError as error:
            worlds, refused = None, str(error)
        return cls(simulation, priced, agent, pair, worlds, refused, activations, read)

    def row(self, view: View, fields: frozenset[Field]) -> ViewPrices.ViewPrice:
        """Price, claim and verdict of one view."""
        inside, refused = view.adversary.insiders, self.refused
        claim = self._claim(self.agent, inside)
        try:
            price = self.priced.price(self.agent, fields, inside, self.worlds)
            if price.pair is not None and self._worst(price) > price.pair.lower:
                worst = self.priced.price(self.agent, fields, inside)  # the worst change is the better witness
                price = replace(price, witness=worst.witness)
        except AttackError as error:
            price, refused = Price(None, None, None), str(error)
        lower = max(self._worst(price), 0.0 if price.pair is None else price.pair.lower)
        known = price.pair is not None or price.all is not None
        upper = max((one.upper for one in (price.pair, self._attained(price)) if one is not None), default=math.inf)
        terms = 0 if price.witness is None else len(price.witness.terms)
        judged = judge(
            epsilon_claimed=None if claim is None else claim.epsilon,
            delta=self.priced.delta,
            failed_conditions=() if claim is None else claim.failed_conditions,
            exact_lower=lower,
            exact_upper=upper,
            uncovered=f"a sum of {plural(terms, 'value')} has no noise" if lower == math.inf else None,
            bound=None if self.read else self.priced.bound(self.agent, price),
        )
        judged = judged_of_what_is_read(judged, self.read)
        shown = price.witness if judged.verdict in BROKEN else None
        return taken(
            ViewPrices.ViewPrice,
            view,
            epsilon_claimed=None if claim is None else claim.epsilon,
            claim="" if claim is None else claim.source,
            pair=price.pair,
            all_pairs=price.all,
            verdict=judged.verdict.value if known else None,
            reason=judged.reason if known else "",
            witness=None if shown is None else _combination(shown),
            refused=refused,
        )

    def pairs(self) -> ViewPrices.PairPrices:
        """All ordered pairs, and the verdict on what is claimed of each."""
        lower, upper = self.priced.pairs()
        hops = [self.simulation.topology.hops(i).tolist() for i in range(len(lower))]
        claimed, refuted, verdict = self._claims(len(lower)), list[tuple[int, int]](), None
        stated = np.argwhere(~np.isnan(claimed)).tolist()
        if stated:
            rest = self.priced.attained
            refuted = [(u, v) for u, v in stated if rest and exceeds(float(lower[u, v]), float(claimed[u, v]))]
            refuted.sort(key=lambda at: -float(lower[at] / claimed[at]) if claimed[at] else -math.inf)
            within = not self.read and all(upper[u, v] <= claimed[u, v] * (1 + ROUNDING) for u, v in stated)
            verdict = Verdict.REFUTED if refuted else Verdict.PROVEN if within else Verdict.UNDERPOWERED
        witness = None
        if refuted:
            victim, listener = refuted[0]
            assert isinstance(self.priced, Priced)
            witness = self.priced.price(victim, self.priced.seen[listener], (listener,)).witness
        return ViewPrices.PairPrices(
            lower=_rows(lower),
            upper=_rows(upper),
            hops=tuple(tuple(int(h) if math.isfinite(h) else -1 for h in row) for row in hops),
            claimed=_rows(claimed) if stated else None,
            verdict=None if verdict is None else verdict.value,
            refuted=tuple(refuted),
            witness=None if witness is None else _combination(witness),
        )

    def _claims(self, n: int) -> Array:
        """What the algorithm claims of each victim and listener, (n, n); NaN where it states nothing of pairs."""
        claimed = np.full((n, n), np.nan)
        for u in range(n):
            for v in range(n):
                claim = None if u == v else self._stated(u, (v,))
                if claim is not None and claim.epsilon is not None:
                    claimed[u, v] = claim.epsilon
        return claimed

    def _claim(self, victim: int, listeners: tuple[int, ...]) -> Claim | None:
        """The claim of a view: that of these listeners where the algorithm states one, else that of all views."""
        stated = self._stated(victim, listeners) if listeners else None
        if stated is not None:
            return stated
        return self.simulation.claim(self.priced.adjacency, self.activations, self.priced.delta)

    def _stated(self, victim: int, listeners: tuple[int, ...]) -> Claim | None:
        """The claim of these listeners. One at a smaller δ holds at this one too; one at a larger does not."""
        at = Standpoint(victim, listeners)
        claim = self.simulation.claim(self.priced.adjacency, self.activations, self.priced.delta, at)
        return None if claim is None or claim.delta > self.priced.delta else claim

    def _attained(self, price: Price) -> Ends | None:
        return price.all if self.priced.attained else None

    def _worst(self, price: Price) -> float:
        """ε that some pair of the adjacency is proven to cost."""
        attained = self._attained(price)
        return 0.0 if attained is None else attained.lower


def _beside(prices: ViewPrices, found: ViewsResult) -> ViewPrices:
    """The same with what games from the same views prove."""
    games = {one.name: one for one in found.views}
    rows = (
        replace(one, epsilon_audited=games[one.name].epsilon_audited, ceiling=games[one.name].ceiling)
        if one.name in games
        else one
        for one in prices.views
    )
    return replace(prices, views=tuple(rows))


def _combination(found: exact_views.Combination) -> Combination:
    terms = tuple(
        Combination.Term(sender=sender, kind=kind, number=number, name=name, coordinate=coordinate, weight=weight)
        for (sender, kind, number, name), coordinate, weight in found.terms
    )
    return taken(Combination, found, terms=terms)


def _rows(matrix: Array) -> Rows:
    return tuple(tuple(float(one) for one in row) for row in matrix.tolist())
