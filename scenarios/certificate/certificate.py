"""Certificate of the auditor: every case repeated, whether the promised rates hold, and its page in Markdown."""

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product
from textwrap import fill
from typing import NamedTuple, TypedDict

from jinja2 import Environment, PackageLoader, StrictUndefined
from scipy import stats

from attacks.audit.loss.noise_check import ALPHA, ALPHA_OF_DRAWS, DRAWS
from attacks.audit.pair import spread
from netsim.algorithms.planted_faults import FAULTS
from netsim.arrays import whole
from netsim.errors import ScenarioError
from netsim.memory import check_jobs
from scenarios.certificate import rows as kinds
from scenarios.certificate.rows import Case, Outcome, Rate, Row, StoredRow, cases, repeated
from scenarios.certificate.worlds import CONFIDENCE, DELTA, DIMENSION, ROUNDS
from scenarios.results.numbers import show

REPETITIONS = 1000
SEED = 0
BATCH = 25
"""Repetitions that one process does at a time."""
STEP = 10
"""Repetitions of each sound mechanism after which what there is can be kept."""
SHARES = {"sound": 1, "game": 4, "planted": 40, "subtle": 100}
"""Cases of a part are repeated REPETITIONS / share times, games share times as often."""


class _Stored(TypedDict):
    """The file certificate.json."""

    repetitions: int
    seed: int
    rows: list[StoredRow]


@dataclass(frozen=True)
class Certificate:
    """Every row, and what they were made with: the same arguments give the same rows."""

    repetitions: int
    seed: int
    rows: tuple[Row, ...]

    def part(self, name: str) -> list[Row]:
        return [row for row in self.rows if row.part == name]

    def as_json(self) -> str:
        """A row a line."""
        rows = ",\n".join(json.dumps(row.as_json(), ensure_ascii=False, allow_nan=False) for row in self.rows)
        return f'{{"repetitions": {self.repetitions}, "seed": {self.seed}, "rows": [\n{rows}\n]}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Certificate":
        """You get a `KeyError` where something is missing."""
        written: _Stored = json.loads(text)
        return cls(written["repetitions"], written["seed"], tuple(map(Row.from_json, written["rows"])))


def times(part: str, repetitions: int) -> int:
    """Repetitions of each case of a part, for a certificate of so many repetitions."""
    share = SHARES[part]
    return repetitions * share if part == "game" else -(-repetitions // share)


def certify(
    repetitions: int = REPETITIONS,
    *,
    seed: int = SEED,
    jobs: int = 1,
    chosen: Sequence[Case] | None = None,
    progress: Callable[[int], None] | None = None,
    begun: Certificate | None = None,
    keep: Callable[[Certificate], None] | None = None,
) -> Certificate:
    """Repeat every case, or those `chosen`; the result does not depend on `jobs`.

    `repetitions` are those of each sound mechanism (see `times`). `progress` gets the number of repetitions done.
    `keep` gets the certificate of the repetitions done so far, step by step, and one that was `begun` with the same
    seed and code is gone on with: its repetitions are not done again. A row that has more than it needs stays so.
    You get a `ScenarioError` for repetitions below 1, a seed below 0 or another one than was begun with, or a number
    of processes that is none.
    """
    whole(repetitions, "repetitions", 1)
    whole(seed, "seed", 0)
    check_jobs(jobs)
    if begun is not None and begun.seed != seed:
        raise ScenarioError("seed", seed, "the certificate was begun with another one", str(begun.seed))
    wanted = list(cases() if chosen is None else chosen)
    rows = {} if begun is None else {(row.part, row.name): row for row in begun.rows}
    # medians are of the first repetitions, so these are done in one step
    reached = [*range(kinds.MEDIANS, repetitions, STEP), repetitions]
    found = Certificate(repetitions, seed, ())
    for some in reached:
        if begun is not None and some < min(begun.repetitions, repetitions):
            continue
        starts = {(c.part, c.name): _start(rows.get((c.part, c.name)), times(c.part, some)) for c in wanted}
        tasks = [
            (case, seed, start, min(start + BATCH, times(case.part, some)))
            for case in wanted
            for start in range(starts[case.part, case.name], times(case.part, some), BATCH)
        ]
        outcomes: dict[tuple[str, str], list[Outcome]] = {}
        for (case, *_), done in zip(tasks, spread(repeated, tasks, jobs), strict=True):
            outcomes.setdefault((case.part, case.name), []).extend(done)
            if progress is not None:
                progress(len(done))
        for case in wanted:
            key = case.part, case.name
            if key in outcomes:
                rows[key] = rows[key].and_then(outcomes[key]) if starts[key] else Row.of(case, outcomes[key])
        found = Certificate(some, seed, tuple(rows[case.part, case.name] for case in wanted))
        if keep is not None:
            keep(found)
    return found


def _start(row: Row | None, needed: int) -> int:
    """Number of the first repetition to do: a row too short for its medians is begun anew, if it needs more."""
    done = 0 if row is None else row.repetitions
    return done if done >= min(needed, kinds.MEDIANS) else 0


ERROR = 1 - CONFIDENCE
"""Of all that an audit says together, so of each thing that it says; and of a game."""
SELF_CHECKS = 4 * ALPHA
"""Two self-checks in each of two directions."""


class _Promise(NamedTuple):
    """A rate, by `what` it counts and `whose`, and the `nominal` one that it must not exceed."""

    what: str
    whose: str
    rate: Rate
    nominal: float


def promises(certificate: Certificate) -> Iterator[_Promise]:
    """All that can be counted of the rows there are: of each row, and of the rows of a part together."""
    audits, played = certificate.part(kinds.SOUND_PART), certificate.part(kinds.GAME_PART)
    counted: list[tuple[str, list[Row], float, tuple[str, ...]]] = [
        *((mark, audits, ERROR, (mark,)) for mark in (kinds.SOUND_ALARM, kinds.GAME, kinds.EXACT)),
        ("refused", audits, ERROR, (kinds.DISAGREEMENT, kinds.REFUSED)),
        (kinds.SELF_CHECK, audits, SELF_CHECKS, (kinds.SELF_CHECK,)),
        *((mark, audits, kinds.LOW, (mark,)) for mark in kinds.LOW_P),
        *((mark, played, ERROR, (mark,)) for mark in (kinds.ALARM, kinds.RATES)),
    ]
    for what, rows, nominal, marks in counted:
        for row in rows:
            yield _Promise(what, row.name, row.rate(*marks), nominal)
        if rows:
            yield _Promise(what, "all together", _together(rows, *marks), nominal)


def _together(rows: list[Row], *marks: str) -> Rate:
    """Of all rows; 0 of 1 if there is none."""
    rates = [row.rate(*marks) for row in rows]
    return sum(rates[1:], rates[0]) if rates else Rate(0, 1)


def failures(certificate: Certificate) -> list[str]:
    """Broken promises as sentences, and planted faults that were not caught and named every time with the most
    transcripts; empty where the certificate holds."""
    broken = [
        f"{p.whose}: {p.what} in {p.rate.count} of {p.rate.trials}, at least {p.rate.interval.lower:.3g}, "
        f"above {p.nominal:.3g}"
        for p in promises(certificate)
        if p.rate.exceeds(p.nominal)
    ]
    for row in certificate.part(kinds.PLANTED):
        found = min(row.rate(kinds.CAUGHT).value, row.rate(kinds.NAMED).value)
        if row.name.endswith(f", {max(kinds.BUDGETS)} transcripts") and found < 1:
            broken.append(f"{row.name}: not caught and named every time")
    return broken


# ── the page ────────────────────────────────────────────────────────────────────────────────────────────
NONE = "–"
WIDTH = 118
MOST = max(kinds.BUDGETS)
INFORMATION = {"Laplace": 1.0, "Gaussian": 2.0}
"""Of one value of noise about the logarithm of its scale."""
AS_WRITTEN = ("#", "|", "`", "-")
"""Signs with which a block of the page begins that is no prose, whose lines are not filled anew."""


def page(certificate: Certificate) -> str:
    """The whole page. Sections without rows are left out."""
    parts = {name: certificate.part(name) for name in SHARES}
    promised = list(promises(certificate))
    # so many trials do not exclude that these are above their nominal value
    unsure = [one for one in promised if one.rate.interval.upper > one.nominal]
    given = {"repetitions": (certificate.repetitions, REPETITIONS), "seed": (certificate.seed, SEED)}
    sections = {"sound": _audits, "game": _games, "planted": _planted, "subtle": _subtle}
    tables = {name: table for part, made in sections.items() if parts[part] for name, table in made(parts[part])}
    # for an even chance of the two-sided test of a scale 5 % off: (z/ln 1.05)²/information
    needed = (float(stats.norm.isf(ALPHA / 2)) / math.log(1.05)) ** 2
    environment = Environment(
        loader=PackageLoader("scenarios.certificate", "."), undefined=StrictUndefined, trim_blocks=True
    )
    environment.filters |= {"percent": _percent, "share": _share, "interval": _interval, "listed": _list}
    environment.filters["grouped"] = "{:,}".format
    named = {"DELTA": DELTA, "CONFIDENCE": CONFIDENCE, "ERROR": ERROR, "SELF_CHECKS": SELF_CHECKS, "ALPHA": ALPHA}
    text = environment.get_template("page.md.j2", globals=named).render(
        kinds=kinds,
        arguments="".join(f" --{name} {own}" for name, (own, usual) in given.items() if own != usual),
        wrong=failures(certificate),
        promised=promised,
        unsure=unsure,
        worst=max(unsure, key=lambda one: one.rate.interval.upper / one.nominal, default=None),
        most=MOST,
        alarms=_together(parts[kinds.SOUND_PART], kinds.SOUND_ALARM),
        caught=_together([row for row in parts["planted"] if row.name.endswith(f" {MOST} transcripts")], kinds.NAMED),
        values=[n * ROUNDS * DIMENSION for n in kinds.LARGER_BUDGETS],
        needed={law: f"{round(needed / information, -2):,.0f}" for law, information in INFORMATION.items()},
        draws=DRAWS,
        level_of_draws=show(ALPHA_OF_DRAWS),
        parts=parts,
        longer=any(row.repetitions > times(row.part, certificate.repetitions) for row in certificate.rows),
        tables=tables,
    )
    blocks = re.split(r"\n{2,}", text.strip())
    wrapped = partial(fill, width=WIDTH, break_long_words=False, break_on_hyphens=False)
    return "\n\n".join(one if one.startswith(AS_WRITTEN) else wrapped(" ".join(one.split())) for one in blocks) + "\n"


COUNTED = ((kinds.SOUND_ALARM,), (kinds.GAME,), (kinds.EXACT,), (kinds.SELF_CHECK, kinds.DISAGREEMENT, kinds.REFUSED))


def _audits(rows: list[Row]) -> Iterator[tuple[str, str]]:
    heads = ["sound mechanism", "audits", "false alarms", "game", "interval", "refused", "alarm rate", "its interval"]
    lines = [_counted(row.name, [row], row.medians) for row in rows] + [_counted("**all**", rows)]
    yield "sound", _table([*heads, "exact", "proven"], lines)
    low = _together(rows, kinds.LOW_P[0]) + _together(rows, kinds.LOW_P[1])
    lines = [
        ["a self-check failed, of audits", *_line(_together(rows, kinds.SELF_CHECK), SELF_CHECKS)],
        ["game and exact loss disagreed, of audits", *_line(_together(rows, kinds.DISAGREEMENT), ERROR)],
        ["refused for another reason, of audits", *_line(_together(rows, kinds.REFUSED), ERROR)],
        [f"noise law p < {_percent(kinds.LOW)}, of directions", *_line(low, kinds.LOW)],
    ]
    yield "checks", _table(["of sound mechanisms", "count", "of", "rate", "interval", "nominal, at most"], lines)


def _counted(name: str, rows: list[Row], medians: Mapping[str, float] | None = None) -> list[str]:
    counts = [_together(rows, *marks) for marks in COUNTED]
    alarms = counts[0]
    shown = ["" if medians is None else _ratio(medians.get(key)) for key in (kinds.EXACTLY, kinds.PROVEN)]
    return [name, f"{alarms.trials:,}", *(str(c.count) for c in counts), _share(alarms), _interval(alarms), *shown]


def _line(rate: Rate, nominal: float) -> list[str]:
    return [str(rate.count), f"{rate.trials:,}", _share(rate), _interval(rate), _percent(nominal)]


def _games(rows: list[Row]) -> Iterator[tuple[str, str]]:
    heads = ["mechanism", "above", "of", "rate", "interval", "nominal, at most", "rates", "proven"]
    lines: list[list[str]] = []
    for row in rows:
        rate = _line(row.rate(kinds.ALARM), ERROR)
        lines.append([row.name, *rate, _share(row.rate(kinds.RATES)), _ratio(row.medians.get(kinds.PROVEN))])
    yield "game", _table(heads, lines)


def _planted(rows: list[Row]) -> Iterator[tuple[str, str]]:
    caught, game = ([f"{what}, {n}" for n in kinds.BUDGETS] for what in ("caught", "game"))
    heads = ["fault", *caught, f"named, {MOST}", "its interval", "first violation", "exact / claim", *game]
    by_name, lines = {row.name: row for row in rows}, list[list[str]]()
    for name in (fault.__name__ for fault in FAULTS):
        each = [by_name[f"{name}, {n} transcripts"] for n in kinds.BUDGETS]
        last = each[-1]
        violation = last.medians.get(kinds.VIOLATION)
        lines.append([
            f"`{name}`",
            *(_share(row.rate(kinds.CAUGHT)) for row in each),
            _share(last.rate(kinds.NAMED)),
            _interval(last.rate(kinds.NAMED)),
            NONE if violation is None else f"{violation:g}",
            _ratio(last.medians.get(kinds.TIGHTNESS, math.inf)),
            *(_share(row.rate(kinds.BY_GAME)) for row in each),
        ])  # fmt: skip
    yield "planted", _table(heads, lines)


def _subtle(rows: list[Row]) -> Iterator[tuple[str, str]]:
    """Noise declared too small: how often it is caught, by the game alone too; noise drawn otherwise: refused."""
    by_name, budgets = {row.name: row for row in rows}, kinds.LARGER_BUDGETS

    def rates(law: kinds.Law, declared: float, drawn: float, *marks: str) -> list[Rate]:
        return [by_name[kinds.SubtleCase(law, declared, drawn, n).name].rate(*marks) for n in budgets]

    def heads(how: str, *what: str) -> list[str]:
        return ["noise", how, *(f"{one}, {n:,}" for one in what for n in budgets)]

    lines: list[list[str]] = []
    for law, factor in product(kinds.LAWS, kinds.FACTORS):
        caught, game = (rates(law, factor, 1.0, mark) for mark in (kinds.CAUGHT, kinds.BY_GAME))
        lines.append([law, f"{factor:g}", *map(_share, caught), *map(_share, game)])
    yield "declared", _table(heads("declared", "caught", "game"), lines)
    lines = []
    for law, factor in product(kinds.LAWS, kinds.HIDDEN_FACTORS):
        refused = rates(law, 1.0, factor, kinds.SELF_CHECK)
        lines.append([law, f"{factor:g}", *map(_share, refused), *map(_interval, refused)])
    yield "drawn", _table(heads("drawn", "refused", "interval"), lines)


def _table(heads: list[str], lines: Iterable[list[str]]) -> str:
    rows = [heads, ["---", *("---:" for _ in heads[1:])], *lines]
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _list(numbers: Iterable[float]) -> str:
    *most, last = (f"{number:,}" if isinstance(number, int) else f"{number:g}" for number in numbers)
    return f"{', '.join(most)} and {last}"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _share(rate: Rate) -> str:
    return _percent(rate.value)


def _interval(rate: Rate) -> str:
    return f"{100 * rate.interval.lower:.2g}–{100 * rate.interval.upper:.3g}%"


def _ratio(value: float | None) -> str:
    return NONE if value is None else "∞" if math.isinf(value) else f"{value:.2f}"
