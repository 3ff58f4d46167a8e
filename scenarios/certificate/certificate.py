"""Certificate of the auditor: every case repeated, whether the promised rates hold, and its page in Markdown."""

import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from textwrap import fill
from typing import NamedTuple, TypedDict

from scipy import stats

from attacks.audit.loss.noise_check import ALPHA
from attacks.audit.pair import spread
from netsim.algorithms.planted_faults import FAULTS
from netsim.arrays import whole
from netsim.errors import ScenarioError
from scenarios.certificate import rows as kinds
from scenarios.certificate.rows import FIRST, Case, Outcome, Rate, Row, StoredRow, cases, repeated
from scenarios.certificate.worlds import CONFIDENCE, DELTA, DIMENSION, ROUNDS

REPETITIONS = 1000
SEED = 0
BATCH = 25
"""Repetitions that one process does at a time."""
SHARES = {"sound": 1, "game": 4, "planted": 10, "subtle": 25}
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
) -> Certificate:
    """Repeat every case, or those `chosen`; the result does not depend on `jobs`.

    `repetitions` are those of each sound mechanism (see `times`). `progress` gets the number of repetitions done.
    You get a `ScenarioError` for repetitions below 1, a seed below 0, or a number of processes that is none.
    """
    whole(repetitions, "repetitions", 1)
    whole(seed, "seed", 0)
    if jobs == 0 or jobs < -1:
        raise ScenarioError("jobs", jobs, "not a number of processes", "-1 (one per core), or >= 1")
    wanted = list(cases() if chosen is None else chosen)
    tasks = [
        (case, seed, start, min(start + BATCH, times(case.part, repetitions)))
        for case in wanted
        for start in range(0, times(case.part, repetitions), BATCH)
    ]
    outcomes: dict[tuple[str, str], list[Outcome]] = {(case.part, case.name): [] for case in wanted}
    for (case, *_), some in zip(tasks, spread(repeated, tasks, jobs), strict=True):
        outcomes[case.part, case.name] += some
        if progress is not None:
            progress(len(some))
    return Certificate(repetitions, seed, tuple(Row.of(case, outcomes[case.part, case.name]) for case in wanted))


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


def page(certificate: Certificate) -> str:
    """The whole page. Sections without rows are left out."""
    parts = {name: certificate.part(name) for name in SHARES}
    sections = zip((_audits, _games, _planted, _subtle), parts.values(), strict=True)
    blocks = [*_head(certificate, parts)]
    blocks += [block for section, rows in sections if rows for block in section(rows)]
    return "\n\n".join([*blocks, *_reading()]) + "\n"


def _head(certificate: Certificate, parts: dict[str, list[Row]]) -> Iterator[str]:
    yield "# The auditor's certificate"
    yield _text(
        "netsim's audits are audited here: how often they accuse a mechanism whose claim is true, and how often",
        "they find the faults of the [gallery](gallery.md). Every number is computed. The page is written by",
    )
    repetitions = "" if certificate.repetitions == REPETITIONS else f" --repetitions {certificate.repetitions}"
    seed = "" if certificate.seed == SEED else f" --seed {certificate.seed}"
    files = "--out docs/certificate.md --json docs/certificate.json"
    yield f"```\nnetsim certificate{repetitions}{seed} {files}\n```"
    if wrong := failures(certificate):
        yield "**It does not hold:**"
        yield "\n".join(f"- {line}" for line in wrong)
    else:
        yield _held(list(promises(certificate)))
    audits = parts[kinds.SOUND_PART]
    alarms = _together(audits, kinds.SOUND_ALARM)
    most = [row for row in parts[kinds.PLANTED] if row.name.endswith(f" {MOST} transcripts")]
    caught = _together(most, kinds.NAMED)
    yield (
        f"- False alarms: {alarms.count} of {alarms.trials:,} audits of {len(audits)} sound mechanisms, "
        f"{_share(alarms)}; interval {_interval(alarms)}, nominal at most {_percent(ERROR)}.\n"
        f"- Planted faults: {caught.count:,} of {caught.trials:,} audits with {MOST} transcripts catch and name "
        "theirs."
    )


def _held(promised: list[_Promise]) -> str:
    """Sentences on rates of which none is proven to be too high: some are proven to be nominal, others are open."""
    words = (
        f"of {len(promised)} rates that have a nominal value none is proven above it, and with {MOST} transcripts",
        "every planted fault is caught and named in every audit.",
    )
    # so many trials do not exclude that these are above their nominal value
    unsure = [one for one in promised if one.rate.interval.upper > one.nominal]
    if not unsure:
        return _text("**It holds**:", *words)
    worst = max(unsure, key=lambda one: one.rate.interval.upper / one.nominal)
    return _text(
        "**Not contradicted**:",
        *words,
        f"{len(promised) - len(unsure)} of the rates are proven, each by itself, to be at most nominal. The other",
        f"{len(unsure)} have too few repetitions to exclude more than rates above the upper ends of their intervals.",
        f"The farthest is *{worst.what}* of {worst.whose}: {worst.rate.count} of {worst.rate.trials:,} excludes",
        f"rates above {_percent(worst.rate.interval.upper)}, nominal {_percent(worst.nominal)}.",
    )


def _audits(rows: list[Row]) -> Iterator[str]:
    yield "## False alarms of whole audits"
    yield _text(
        "Each mechanism is sound and its claim tight: what is claimed is the ε of the audited pair, known by a",
        "formula or a sum that the auditor does not use, so that an error in any part of an audit can accuse it.",
        f"Claims are {_list(kinds.CLAIMS)} in turn, at δ = 0, or at δ = {DELTA} (`WrongClip`, and where the name",
        f"says Gaussian or δ); {kinds.SOUND_TRIALS} transcripts of each world, "
        f"{_percent(CONFIDENCE)} confidence, new seeds",
        "for every audit. The first ten are the gallery's twins with the pair that costs most.",
    )
    yield _text(
        "*Game* counts audits whose game proves more than the truth, *interval* those whose exact interval does",
        "not hold it, *refused* those without a verdict. What an audit says holds together at its confidence, so",
        f"each of these is nominally at most {_percent(ERROR)}. *Exact* and *proven* are medians of the exact ε",
        "and of what the game proves, divided by the truth.",
    )
    heads = ["sound mechanism", "audits", "false alarms", "game", "interval", "refused", "alarm rate", "its interval"]
    lines = [_counted(row.name, [row], row.medians) for row in rows] + [_counted("**all**", rows)]
    yield _table([*heads, "exact", "proven"], lines)
    yield from _self_checks(rows)


COUNTED = (
    (kinds.SOUND_ALARM,),
    (kinds.GAME,),
    (kinds.EXACT,),
    (kinds.SELF_CHECK, kinds.DISAGREEMENT, kinds.REFUSED),
)


def _counted(name: str, rows: list[Row], medians: Mapping[str, float] | None = None) -> list[str]:
    counts = [_together(rows, *marks) for marks in COUNTED]
    alarms = counts[0]
    shown = ["" if medians is None else _ratio(medians.get(key)) for key in (kinds.EXACTLY, kinds.PROVEN)]
    return [name, f"{alarms.trials:,}", *(str(c.count) for c in counts), _share(alarms), _interval(alarms), *shown]


def _self_checks(rows: list[Row]) -> Iterator[str]:
    yield _text(
        "At δ = 0 an exact loss is above the truth only by rounding, and has no upper end: what can err is the",
        "game. At δ > 0 the sampled losses and the cost of Gaussian releases enclose ε from both sides, and both",
        "can err.",
    )
    yield _text(
        "The self-checks that gate every verdict may refuse a sound mechanism with probability",
        f"{_percent(SELF_CHECKS)}: two checks, two directions, {ALPHA:g} each. The p-value of the noise check,",
        f"Bonferroni's of six properties, may be below {_percent(kinds.LOW)} in {_percent(kinds.LOW)} of the",
        "directions; a check that is out of true shows there long before it refuses.",
    )
    low = _together(rows, kinds.LOW_P[0]) + _together(rows, kinds.LOW_P[1])
    lines = [
        ["a self-check failed, of audits", *_line(_together(rows, kinds.SELF_CHECK), SELF_CHECKS)],
        ["game and exact loss disagreed, of audits", *_line(_together(rows, kinds.DISAGREEMENT), ERROR)],
        ["refused for another reason, of audits", *_line(_together(rows, kinds.REFUSED), ERROR)],
        [f"noise law p < {_percent(kinds.LOW)}, of directions", *_line(low, kinds.LOW)],
    ]
    yield _table(["of sound mechanisms", "count", "of", "rate", "interval", "nominal, at most"], lines)


def _line(rate: Rate, nominal: float) -> list[str]:
    return [str(rate.count), f"{rate.trials:,}", _share(rate), _interval(rate), _percent(nominal)]


def _games(rows: list[Row]) -> Iterator[str]:
    yield "## False alarms of the game alone"
    yield _text(
        f"{sum(row.repetitions for row in rows):,} games with {kinds.TRIALS} trials of each world at",
        f"{_percent(CONFIDENCE)} confidence, the exact loss as the score; true ε = {_list(kinds.CLAIMS)} in turn,",
        f"δ = 0, or {DELTA} where δ is named. *Above* counts games whose bound exceeds the truth, *rates* is how",
        "often the second statistic (hits over false alarms, by itself) does. Randomized response attains the game's",
        "inequality, so that its rate may come near the nominal one. *Proven* is the median of what a game",
        "proves, divided by the truth.",
    )
    heads = ["mechanism", "above", "of", "rate", "interval", "nominal, at most", "rates", "proven"]
    lines: list[list[str]] = []
    for row in rows:
        rate = _line(row.rate(kinds.ALARM), ERROR)
        lines.append([row.name, *rate, _share(row.rate(kinds.RATES)), _ratio(row.medians.get(kinds.PROVEN))])
    yield _table(heads, lines)


def _planted(rows: list[Row]) -> Iterator[str]:
    yield "## Power on the planted faults"
    yield _text(
        f"The gallery's ten faults, {rows[0].repetitions} audits at each budget of {_list(kinds.BUDGETS)}",
        "transcripts of each world. *Caught*: refuted or unprotected. *Named*: the field in the clear by its",
        "name, or, where all messages have noise, refuted and none accused. *First violation* is the activation",
        f"by which the claim is proven to be exceeded, with {MOST} transcripts, and *exact / claim* the exact ε",
        "over the claim (∞: a message in the clear), both medians. *Game* is how often the game alone would have",
        "been enough.",
    )
    heads = [
        "fault",
        *(f"caught, {n}" for n in kinds.BUDGETS),
        f"named, {MOST}",
        "its interval",
        "first violation",
        "exact / claim",
        *(f"game, {n}" for n in kinds.BUDGETS),
    ]
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
    yield _table(heads, lines)


def _subtle(rows: list[Row]) -> Iterator[str]:
    yield "## How small a fault, with how many transcripts"
    yield _text(
        f"Noise that is a little too small, {rows[0].repetitions} audits each. *Declared*: the code's own noise is",
        f"so many times what its claim of ε = {kinds.EPSILON:g} asks for, and the replay knows the law. With",
        "Laplace noise (δ = 0) one transcript with a loss above the claim is a proof, however small the excess.",
        f"With Gaussian noise (δ = {DELTA}) the proof waits for as many transcripts as it takes to exclude that",
        "too many others cost less. The game sees only guesses, and needs a large fault or many transcripts.",
    )
    by_name = {row.name: row for row in rows}
    budgets = kinds.LARGER_BUDGETS
    heads = ["noise", "declared", *(f"caught, {n:,}" for n in budgets), *(f"game, {n:,}" for n in budgets)]
    lines: list[list[str]] = []
    for law, factor in product(kinds.LAWS, kinds.FACTORS):
        each = [by_name[kinds.SubtleCase(law, factor, 1.0, n).name] for n in budgets]
        caught = (_share(row.rate(kinds.CAUGHT)) for row in each)
        lines.append([law, f"{factor:g}", *caught, *(_share(row.rate(kinds.BY_GAME)) for row in each)])
    yield _table(heads, lines)
    # for an even chance of the two-sided test of a scale 5 % off: (z/ln 1.05)²/information
    needed = (float(stats.norm.isf(ALPHA / 2)) / math.log(1.05)) ** 2
    values = {law: f"{round(needed / information, -2):,.0f}" for law, information in INFORMATION.items()}
    yield _text(
        "*Drawn*: the code declares the right noise, and draws another. No replay of the code can see that; the",
        f"self-checks must, and refuse a verdict. {_list(budgets)} transcripts hold",
        f"{_list([n * ROUNDS * DIMENSION for n in budgets])} values of noise in each direction. For a factor of",
        "1.05 the best test, one that knows what it looks for, needs at the level of the noise check about",
        f"{values['Laplace']} values of Laplace or {values['Gaussian']} of Gaussian noise for an even chance.",
    )
    heads = ["noise", "drawn", *(f"refused, {n:,}" for n in budgets), *(f"interval, {n:,}" for n in budgets)]
    lines = []
    for law, factor in product(kinds.LAWS, kinds.HIDDEN_FACTORS):
        rates = [by_name[kinds.SubtleCase(law, 1.0, factor, n).name].rate(kinds.SELF_CHECK) for n in budgets]
        lines.append([law, f"{factor:g}", *map(_share, rates), *map(_interval, rates)])
    yield _table(heads, lines)


def _reading() -> Iterator[str]:
    yield "## How to read and repeat it"
    yield _text(
        f"Intervals are two-sided Clopper–Pearson at {_percent(kinds.CONFIDENCE)}, each by itself. A rate breaks its",
        "promise where its interval lies wholly above the nominal value: where the true rate is the nominal one,",
        f"that happens with probability {_percent((1 - kinds.CONFIDENCE) / 2)} at most. The command's exit status is",
        "1 if one does, or if a planted fault gets by.",
    )
    yield _text(
        "Every repetition has seeds of its own, by the seed, the row's name and its number, so that a row with",
        f"fewer repetitions is the beginning of the same row with more. `certificate.json` holds the first {FIRST}",
        "of each row whole; the tests repeat some, and compare.",
    )
    yield _text(
        "Sabotaged auditors must fail, and do, in the tests as well: thresholds chosen on the trials that are",
        "played, an error rate that every view has for itself, a normal approximation for an exact bound, a δ that",
        "is forgotten, losses without their sign, worlds exchanged, and an auditor that never finds anything.",
    )


def _text(*words: str) -> str:
    return fill(" ".join(words), WIDTH, break_long_words=False, break_on_hyphens=False)


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
