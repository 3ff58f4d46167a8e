"""Certificate as a Markdown page (docs/certificate.md); equal certificates give equal bytes."""

import math
from collections.abc import Iterable, Iterator
from textwrap import fill

from scipy import stats

from attacks.audit.loss.noise_check import ALPHA
from netsim.algorithms.planted_faults import FAULTS
from scenarios.certificate import false_alarms as games
from scenarios.certificate import false_alarms as sound
from scenarios.certificate import power
from scenarios.certificate.certificate import (
    ERROR,
    REPETITIONS,
    SEED,
    SELF_CHECKS,
    Certificate,
    Promise,
    failures,
    promises,
    together,
)
from scenarios.certificate.false_alarms import CONFIDENCE, FIRST, Rate, Row
from scenarios.certificate.worlds import CONFIDENCE as AUDITS
from scenarios.certificate.worlds import DELTA, DIMENSION, ROUNDS

NONE = "–"
WIDTH = 118
MOST = max(power.BUDGETS)
INFORMATION = {"Laplace": 1.0, "Gaussian": 2.0}
"""Of one value of noise about the logarithm of its scale."""


def page(certificate: Certificate) -> str:
    """The whole page. Sections without rows are left out."""
    blocks = [
        *_head(certificate),
        *_audits(certificate.part(sound.SOUND_PART)),
        *_games(certificate.part(games.PART)),
        *_planted(certificate.part(power.PLANTED)),
        *_subtle(certificate.part(power.SUBTLE)),
        *_reading(),
    ]
    return "\n\n".join(blocks) + "\n"


def _command(certificate: Certificate) -> str:
    """The command that makes it again."""
    repetitions = "" if certificate.repetitions == REPETITIONS else f" --repetitions {certificate.repetitions}"
    seed = "" if certificate.seed == SEED else f" --seed {certificate.seed}"
    return f"netsim certificate{repetitions}{seed} --out docs/certificate.md --json docs/certificate.json"


def _head(certificate: Certificate) -> Iterator[str]:
    yield "# The auditor's certificate"
    yield _text(
        "netsim's audits are audited here: how often they accuse a mechanism whose claim is true, and how often",
        "they find the faults of the [gallery](gallery.md). Every number is computed. The page is written by",
    )
    yield f"```\n{_command(certificate)}\n```"
    wrong = failures(certificate)
    if wrong:
        yield "**It does not hold:**"
        yield "\n".join(f"- {line}" for line in wrong)
    else:
        yield _held(list(promises(certificate)))
    audits, planted = certificate.part(sound.SOUND_PART), certificate.part(power.PLANTED)
    alarms, caught = together(audits, sound.SOUND_ALARM), together(_with_most(planted), power.NAMED)
    yield "\n".join(
        [
            f"- False alarms: {alarms.count} of {alarms.trials:,} audits of {len(audits)} sound mechanisms, "
            f"{_share(alarms)}; interval {_interval(alarms)}, nominal at most {_percent(ERROR)}.",
            f"- Planted faults: {caught.count:,} of {caught.trials:,} audits with {MOST} transcripts catch and name "
            "theirs.",
        ]
    )


def _held(promised: list[Promise]) -> str:
    """Sentences on rates of which none is proven to be too high: some are proven to be nominal, others are open."""
    words = (
        f"of {len(promised)} rates that have a nominal value none is proven above it, and with {MOST} transcripts",
        "every planted fault is caught and named in every audit.",
    )
    unsure = [one for one in promised if one.open]
    if not unsure:
        return _text("**It holds**:", *words)
    worst = max(unsure, key=lambda one: one.excess)
    return _text(
        "**Not contradicted**:",
        *words,
        f"{len(promised) - len(unsure)} of the rates are proven, each by itself, to be at most nominal. The other",
        f"{len(unsure)} have too few repetitions to exclude more than rates above the upper ends of their intervals.",
        f"The farthest is *{worst.what}* of {worst.whose}: {worst.rate.count} of {worst.rate.trials:,} excludes",
        f"rates above {_percent(worst.rate.interval.upper)}, nominal {_percent(worst.nominal)}.",
    )


def _with_most(rows: list[Row]) -> list[Row]:
    return [row for row in rows if row.name.endswith(f" {MOST} transcripts")]


def _audits(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield "## False alarms of whole audits"
    yield _text(
        "Each mechanism is sound and its claim tight: what is claimed is the ε of the audited pair, known by a",
        "formula or a sum that the auditor does not use, so that an error in any part of an audit can accuse it.",
        f"Claims are {_list(sound.CLAIMS)} in turn, at δ = 0, or at δ = {DELTA} (`WrongClip`, and where the name",
        f"says Gaussian or δ); {sound.SOUND_TRIALS} transcripts of each world, "
        f"{_percent(AUDITS)} confidence, new seeds",
        "for every audit. The first ten are the gallery's twins with the pair that costs most.",
    )
    yield _text(
        "*Game* counts audits whose game proves more than the truth, *interval* those whose exact interval does",
        "not hold it, *refused* those without a verdict. What an audit says holds together at its confidence, so",
        f"each of these is nominally at most {_percent(ERROR)}. *Exact* and *proven* are medians of the exact ε",
        "and of what the game proves, divided by the truth.",
    )
    heads = ["sound mechanism", "audits", "false alarms", "game", "interval", "refused", "alarm rate", "its interval"]
    yield _table([*heads, "exact", "proven"], [*map(_mechanism, rows), _all(rows)])
    yield from _self_checks(rows)


COUNTED = (
    (sound.SOUND_ALARM,),
    (sound.GAME,),
    (sound.EXACT,),
    (sound.SELF_CHECK, sound.DISAGREEMENT, sound.REFUSED),
)


def _mechanism(row: Row) -> list[str]:
    alarms = row.rate(sound.SOUND_ALARM)
    return [
        row.name,
        f"{row.repetitions:,}",
        *(str(row.rate(*marks).count) for marks in COUNTED),
        _share(alarms),
        _interval(alarms),
        _ratio(row.medians.get(sound.EXACTLY)),
        _ratio(row.medians.get(sound.PROVEN)),
    ]


def _all(rows: list[Row]) -> list[str]:
    counts = [together(rows, *marks) for marks in COUNTED]
    alarms = counts[0]
    return [
        "**all**",
        f"{alarms.trials:,}",
        *(str(c.count) for c in counts),
        _share(alarms),
        _interval(alarms),
        "",
        "",
    ]


def _self_checks(rows: list[Row]) -> Iterator[str]:
    yield _text(
        "At δ = 0 an exact loss is above the truth only by rounding, and has no upper end: what can err is the",
        "game. At δ > 0 the sampled losses and the cost of Gaussian releases enclose ε from both sides, and both",
        "can err.",
    )
    yield _text(
        "The self-checks that gate every verdict may refuse a sound mechanism with probability",
        f"{_percent(SELF_CHECKS)}: two checks, two directions, {ALPHA:g} each. The p-value of the noise check,",
        f"Bonferroni's of six properties, may be below {_percent(sound.LOW)} in {_percent(sound.LOW)} of the",
        "directions; a check that is out of true shows there long before it refuses.",
    )
    low = together(rows, sound.LOW_P[0]) + together(rows, sound.LOW_P[1])
    lines = [
        ["a self-check failed, of audits", *_line(together(rows, sound.SELF_CHECK), SELF_CHECKS)],
        ["game and exact loss disagreed, of audits", *_line(together(rows, sound.DISAGREEMENT), ERROR)],
        ["refused for another reason, of audits", *_line(together(rows, sound.REFUSED), ERROR)],
        [f"noise law p < {_percent(sound.LOW)}, of directions", *_line(low, sound.LOW)],
    ]
    yield _table(["of sound mechanisms", "count", "of", "rate", "interval", "nominal, at most"], lines)


def _line(rate: Rate, nominal: float) -> list[str]:
    return [str(rate.count), f"{rate.trials:,}", _share(rate), _interval(rate), _percent(nominal)]


def _games(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield "## False alarms of the game alone"
    yield _text(
        f"{sum(row.repetitions for row in rows):,} games with {games.TRIALS} trials of each world at",
        f"{_percent(AUDITS)} confidence, the exact loss as the score; true ε = {_list(sound.CLAIMS)} in turn, δ =",
        f"0, or {DELTA} where δ is named. *Above* counts games whose bound exceeds the truth, *rates* is how often",
        "the second statistic (hits over false alarms, by itself) does. Randomized response attains the game's",
        "inequality, so that its rate may come near the nominal one. *Proven* is the median of what a game",
        "proves, divided by the truth.",
    )
    heads = ["mechanism", "above", "of", "rate", "interval", "nominal, at most", "rates", "proven"]
    yield _table(heads, [_game(row) for row in rows])


def _game(row: Row) -> list[str]:
    line = _line(row.rate(games.ALARM), ERROR)
    return [row.name, *line, _share(row.rate(games.RATES)), _ratio(row.medians.get(sound.PROVEN))]


def _planted(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield "## Power on the planted faults"
    yield _text(
        f"The gallery's ten faults, {rows[0].repetitions} audits at each budget of {_list(power.BUDGETS)}",
        "transcripts of each world. *Caught*: refuted or unprotected. *Named*: the field in the clear by its",
        "name, or, where all messages have noise, refuted and none accused. *First violation* is the activation",
        f"by which the claim is proven to be exceeded, with {MOST} transcripts, and *exact / claim* the exact ε",
        "over the claim (∞: a message in the clear), both medians. *Game* is how often the game alone would have",
        "been enough.",
    )
    heads = [
        "fault",
        *(f"caught, {n}" for n in power.BUDGETS),
        f"named, {MOST}",
        "its interval",
        "first violation",
        "exact / claim",
        *(f"game, {n}" for n in power.BUDGETS),
    ]
    by_name = {row.name: row for row in rows}
    yield _table(heads, [_fault(fault.__name__, by_name) for fault in FAULTS])


def _fault(name: str, rows: dict[str, Row]) -> list[str]:
    each = [rows[f"{name}, {n} transcripts"] for n in power.BUDGETS]
    last = each[-1]
    violation = last.medians.get(power.VIOLATION)
    return [
        f"`{name}`",
        *(_share(row.rate(power.CAUGHT)) for row in each),
        _share(last.rate(power.NAMED)),
        _interval(last.rate(power.NAMED)),
        NONE if violation is None else f"{violation:g}",
        _ratio(last.medians.get(power.TIGHTNESS, math.inf)),
        *(_share(row.rate(power.BY_GAME)) for row in each),
    ]


def _subtle(rows: list[Row]) -> Iterator[str]:
    if not rows:
        return
    yield "## How small a fault, with how many transcripts"
    yield _text(
        f"Noise that is a little too small, {rows[0].repetitions} audits each. *Declared*: the code's own noise is",
        f"so many times what its claim of ε = {power.EPSILON:g} asks for, and the replay knows the law. With",
        "Laplace noise (δ = 0) one transcript with a loss above the claim is a proof, however small the excess.",
        f"With Gaussian noise (δ = {DELTA}) the proof waits for as many transcripts as it takes to exclude that",
        "too many others cost less. The game sees only guesses, and needs a large fault or many transcripts.",
    )
    by_name = {row.name: row for row in rows}
    budgets = power.LARGER_BUDGETS
    heads = ["noise", "declared", *(f"caught, {n:,}" for n in budgets), *(f"game, {n:,}" for n in budgets)]
    yield _table(heads, _declared(by_name))
    yield _text(
        "*Drawn*: the code declares the right noise, and draws another. No replay of the code can see that; the",
        f"self-checks must, and refuse a verdict. {_list(budgets)} transcripts hold",
        f"{_list([n * ROUNDS * DIMENSION for n in budgets])} values of noise in each direction. For a factor of",
        "1.05 the best test, one that knows what it looks for, needs at the level of the noise check about",
        f"{_needed('Laplace')} values of Laplace or {_needed('Gaussian')} of Gaussian noise for an even chance.",
    )
    heads = ["noise", "drawn", *(f"refused, {n:,}" for n in budgets), *(f"interval, {n:,}" for n in budgets)]
    yield _table(heads, _drawn(by_name))


def _declared(rows: dict[str, Row]) -> Iterator[list[str]]:
    for law in power.LAWS:
        for factor in power.FACTORS:
            each = [rows[power.SubtleCase(law, factor, 1.0, n).name] for n in power.LARGER_BUDGETS]
            caught = (_share(row.rate(power.CAUGHT)) for row in each)
            yield [law, f"{factor:g}", *caught, *(_share(row.rate(power.BY_GAME)) for row in each)]


def _drawn(rows: dict[str, Row]) -> Iterator[list[str]]:
    for law in power.LAWS:
        for factor in power.HIDDEN_FACTORS:
            names = [power.SubtleCase(law, 1.0, factor, n).name for n in power.LARGER_BUDGETS]
            each = [rows[name].rate(sound.SELF_CHECK) for name in names]
            yield [law, f"{factor:g}", *map(_share, each), *map(_interval, each)]


def _needed(law: str) -> str:
    """Values for an even chance of the two-sided test of a scale 5 % off: (z/ln 1.05)²/information."""
    z = float(stats.norm.isf(ALPHA / 2))
    return f"{round((z / math.log(1.05)) ** 2 / INFORMATION[law], -2):,.0f}"


def _reading() -> Iterator[str]:
    yield "## How to read and repeat it"
    yield _text(
        f"Intervals are two-sided Clopper–Pearson at {_percent(CONFIDENCE)}, each by itself. A rate breaks its",
        "promise where its interval lies wholly above the nominal value: where the true rate is the nominal one,",
        f"that happens with probability {_percent((1 - CONFIDENCE) / 2)} at most. The command's exit status is 1",
        "if one does, or if a planted fault gets by.",
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
