"""The HTML page of a sweep: its quantities over one or two of its fields, as lines or as heat maps, from its table's
rows."""

import math
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Any, TypeAlias, cast

import matplotlib as mpl
import numpy as np
from matplotlib.colors import to_hex

from attacks.audit.verdict import BROKEN
from netsim.errors import ScenarioError, did_you_mean, meant
from scenarios.files.document import setting
from scenarios.render.page.charts import HEIGHT, WIDTH, coinciding
from scenarios.render.page.drawing import Chart, Drawing, Series, canvas
from scenarios.render.page.report import chart_of, environment
from scenarios.render.plain_words import COLUMNS
from scenarios.render.sentences import MARKS
from scenarios.render.terminal import leaves, of_algorithm
from scenarios.results.findings import capitalized
from scenarios.results.numbers import MISSING, alone, between, count, plural, show, show_epsilon, ten_to
from scenarios.results.reproduction import FigureCurve, FigureResult

Point: TypeAlias = Mapping[str, object]
"""A row of the table: of one algorithm at one point."""
_REFUTED = "share refuted"
_COLUMNS = {
    "final_error": "Final relative error",
    _REFUTED: "Claims refuted or unprotected, share",
    "epsilon_claimed": "ε claimed",
    "epsilon_exact_lower": "ε exact, at least",
    "epsilon_audited": "ε audited, at least",
    "gradient_error": "Error of inferred gradients",
    "learned": "Share of gradients learned",
    "identifiable": "Share of gradients with an estimate",
    "image_skill": "Skill of rebuilt images",
    "best_skill": "Skill of the best attack on records",
    "packets": "Packets",
    "bytes": "Bytes sent",
    "time": "Virtual seconds",
}
"""Columns that are drawn, and a share of verdicts."""
_MEANINGS = {
    **{name: f"{capitalized(words)}." for name, words in COLUMNS.items()},
    _REFUTED: "Of the points at which a number is claimed; where it is 1, every claim is false.",
    "learned": "Those with an estimate that is better than guessing, of all gradients; smaller is more private.",
    "identifiable": "Those of which there is an estimate at all, of all gradients. Under noise it may be no better "
    "than guessing.",
    "image_skill": "1 is the image itself, 0 no better than the prior's guess; smaller is more private.",
    "best_skill": "1 is the record itself, 0 no better than the prior's guess; smaller is more private.",
    "packets": "All that were sent, acknowledgements and repeats too.",
    "bytes": "Of all packets, acknowledgements and repeats too.",
    "time": "How long the run takes, in the simulation's time.",
}
"""What a figure shows, and which way is better."""
_CERTAIN = 12
"""Significant digits of a number that are no rounding."""
_NAMED = 3
"""Values of a field that are named one by one, at most."""
_FEWEST, _CURVES = 4, 7
"""Values of both fields from which on a heat map is drawn, and curves of one figure at most."""
_MOST, _GROUPS = 12, 8
"""Values of a field beyond which neighbours are put together, into so many groups."""
_FAR, _LEAST, _WHOLE = 1000, 1e-4, 1e7
"""Times between two numbers of a map from which on they have no decimals in common; the least that is written with
decimals alone; whole numbers below are written out."""
_CELLS, _LETTERS, _DARK = 80, 50, 0.18
"""Cells of a heat map of which each has its number; letters of a row of them in the larger type; light of a cell
below which that is white."""
_PAIRS, _ROWS = 6, 300
_MOST_COLUMNS, _LEAST_FOUND = 11, 3
"""Columns of a table that are in sight on a page, and those of results in each, at least."""


@dataclass(frozen=True)
class SweptTable:
    """A sweep's table: `fields` are those that it varies, of which those `drawn` have laws; `algorithms` are the
    scenario's, by name."""

    scenario: str
    command: str
    version: str
    fields: tuple[str, ...]
    rows: Sequence[Point]
    algorithms: tuple[str, ...] = ()
    drawn: tuple[str, ...] = ()

    @property
    def words(self) -> dict[str, str]:
        """The fields as axes and columns name them."""
        every = (*self.fields, *self.seeds)
        return dict(zip(every, leaves(every, self.algorithms), strict=True))

    @property
    def seeds(self) -> tuple[str, ...]:
        """The column of the scenario's seed, where there are several."""
        return ("seed",) if len(self.values("seed")) > 1 else ()

    def word(self, name: str) -> str:
        """A column as axes and captions name it."""
        return self.words.get(name, _COLUMNS.get(name, name))

    @property
    def varied(self) -> tuple[str, ...]:
        """The fields that take several values."""
        return tuple(name for name in self.fields if len(self.values(name)) > 1)

    def look(self, algorithm: object, group: int, groups: int) -> Series:
        """The look of an algorithm's curve at one of the values of a second field: one colour for each algorithm, in
        every figure, and a marker for each value; of a single algorithm a colour for each value, too."""
        order = list(dict.fromkeys([*self.algorithms, *(row.get("algorithm") for row in self.rows)]))
        if len(order) == 1:
            return Series(group)
        k = order.index(algorithm)
        return Series(k * _MOST + group, k, group if groups > 1 else k)

    def touches(self, name: str, algorithm: object) -> bool:
        """Whether a column can matter to an algorithm: the field of another one cannot."""
        index, _ = of_algorithm(name)
        return index is None or algorithm not in self.algorithms or self.algorithms.index(str(algorithm)) == index

    def values(self, name: str) -> list[object]:
        """What a column has, in order: numbers by size."""
        return sorted({_key(row[name]) for row in self.rows if row.get(name) is not None}, key=_order)


def figures(table: SweptTable, over: Sequence[str] = (), of: Sequence[str] = ()) -> list[tuple[str, list[Chart]]]:
    """Charts of the quantities `of` (default: all there are), over one or two columns, or over each pair of fields
    that take several values: the pair in words, and its charts.

    You get a `ScenarioError` for what is no column, or no quantity.
    """
    there = [name for name in _COLUMNS if any(not math.isnan(_number(row, name)) for row in table.rows)]
    known = [*table.fields, *(name for name in there if name != _REFUTED)]
    for option, names, columns in (("--over", over, known), ("--of", of, there)):
        for name in names:
            if name in _COLUMNS and name not in columns and name != _REFUTED:
                raise ScenarioError(option, name, "no point of this sweep has a number there", ", ".join(columns))
            if name not in columns:
                parts = [one for one in columns if any(part.startswith(name) for part in re.split(r"[._]", one))]
                hint = meant(name, columns) or did_you_mean(parts)
                raise ScenarioError(option, name, f"unknown{hint}", ", ".join(columns))
    varied = table.varied or table.fields[:1]
    wanted = of or [name for name in there if name in _shown(table)]
    pairs = [tuple(over)] if over else list(combinations(varied, min(2, len(varied))))[:_PAIRS]
    found: list[tuple[str, list[Chart]]] = []
    for k, pair in enumerate(pairs):
        charts: list[Chart] = []
        for n, name in enumerate(wanted):
            for m, one in enumerate(_charts(table, name, pair, f"s{k}-{n}", len(pairs) == 1)):
                charts.append(replace(one, caption=(_MEANINGS[name], *one.caption)) if m == 0 else one)
        found.append((" and ".join(map(table.word, pair)), charts))
    return found


def _shown(table: SweptTable) -> list[str]:
    """Columns of results: without that of all estimates where it is known which of them are better than guessing."""
    known = any(row.get("learned") is not None for row in table.rows)
    return [name for name in _COLUMNS if not (known and name == "identifiable")]


def constant(table: SweptTable) -> dict[str, str]:
    """Quantities that are the same at every point, of each algorithm, in words."""
    found: dict[str, str] = {}
    for name in _shown(table):
        words = _COLUMNS[name]
        same = {one: next(iter(values)) for one, values in _each(table, name).items() if len(values) == 1}
        if len(set(same.values())) == 1 and len(same) == len(_algorithms(table)) > 1:
            found[name] = f"{words}: {_cell(next(iter(same.values())), name)}"
        elif same:
            found[name] = f"{words}: {'; '.join(f'{one} {_cell(value, name)}' for one, value in same.items())}"
    return found


def verdicts(table: SweptTable) -> list[tuple[str, list[tuple[str, str, str]]]]:
    """Of each algorithm that was audited its verdicts, the most frequent first: the word, its severity class, and at
    how many points and which."""
    found: list[tuple[str, list[tuple[str, str, str]]]] = []
    for one in _algorithms(table):
        words = Counter(str(row["verdict"]) for row in _judged(table, one))
        if words:
            marks = {word: MARKS.get(word, ("open", ""))[0] for word in words}
            each = [(word, marks[word], _points(table, one, {word})) for word, _ in words.most_common()]
            found.append((str(one), each))
    return found


def outcome(table: SweptTable) -> str:
    """What came of the claims: which were shown to be false, and at which points."""
    claims = {str(one): rows for one in _algorithms(table) if (rows := _judged(table, one, claimed=True))}
    silent = [row for row in table.rows if row.get("verdict") and math.isnan(_number(row, "epsilon_claimed"))]
    if not claims and not silent:
        return "Nothing was audited at any point."
    besides = f" Audited without a claimed number: {_silent(table, silent)}." if silent else ""
    return f"{_claims(table, claims)}{besides}"


def _silent(table: SweptTable, rows: Sequence[Point]) -> str:
    """The algorithms that were audited without a claimed number, each with its verdicts and at how many points."""
    found: list[str] = []
    for one in _algorithms(table):
        words = Counter(str(row["verdict"]) for row in rows if row.get("algorithm") == one)
        every = len([row for row in table.rows if row.get("algorithm") == one])
        each = (
            f"{word} at {f'every point ({count(every)})' if times == every else plural(times, 'point')}"
            for word, times in words.most_common()
        )
        found += [f"{one}, {', '.join(each)}"] if words else []
    return "; ".join(found)


def _claims(table: SweptTable, claims: Mapping[str, Sequence[Point]]) -> str:
    """Which claims were shown to be false, and at which points."""
    if not claims:
        return "No number was claimed at any point."
    groups: dict[str, list[str]] = {}
    for one, rows in claims.items():
        broken = any(row["verdict"] in BROKEN for row in rows)
        groups.setdefault(_points(table, one, BROKEN, claimed=True) if broken else "", []).append(one)
    sound = groups.pop("", [])
    if not groups:
        return "No claim was shown to be false at any point."
    said = [f"The claim is false at {where}: {'; '.join(names)}." for where, names in groups.items()]
    return " ".join(said + [f"Not shown to be false at any point: {'; '.join(sound)}."] * bool(sound))


def _algorithms(table: SweptTable) -> list[object]:
    return list(dict.fromkeys(row.get("algorithm") for row in table.rows))


def _judged(table: SweptTable, algorithm: object, *, claimed: bool = False) -> list[Point]:
    """The rows of an algorithm that have a verdict; `claimed`: on a number."""
    return [
        row for row in table.rows
        if row.get("algorithm") == algorithm and row.get("verdict")
        and not (claimed and math.isnan(_number(row, "epsilon_claimed")))
    ]  # fmt: skip


def _points(table: SweptTable, algorithm: object, words: Collection[str], *, claimed: bool = False) -> str:
    """At how many points an algorithm has one of these verdicts, and where one field tells these from the others."""
    rows = _judged(table, algorithm, claimed=claimed)
    these = [row for row in rows if row["verdict"] in words]
    if len(these) == len(rows):
        return f"every point ({count(len(rows))})"
    return f"{count(len(these))} of {plural(len(rows), 'point')}{_where(table, algorithm, these, rows)}"


def _where(table: SweptTable, algorithm: object, these: Sequence[Point], rows: Sequence[Point]) -> str:
    """The values of a single field that all these rows have, and no other of the rows has; "" where there is none."""
    others = [row for row in rows if row not in these]
    for name in table.varied:
        inside, outside = ({_key(row[name]) for row in some if row.get(name) is not None} for some in (these, others))
        if not inside or not outside or inside & outside:
            continue
        word = table.word(name).removesuffix(f" of {algorithm}")
        least, most = min(inside, key=_order), max(inside, key=_order)
        numeric = all(isinstance(value, int | float) for value in inside | outside)
        if numeric and _order(least) > max(map(_order, outside)):
            return f", where {word} is {_cell(least)}{' or more' * (len(inside) > 1)}"
        if numeric and _order(most) < min(map(_order, outside)):
            return f", where {word} is {_cell(most)}{' or less' * (len(inside) > 1)}"
        if len(inside) <= _NAMED:
            return f", where {word} is {' or '.join(_cell(value) for value in sorted(inside, key=_order))}"
    return ""


def unchanging(table: SweptTable) -> list[str]:
    """A sentence for each field that takes several values and changes no quantity and no verdict, all else being the
    same. Nothing is said of a field of which no two points can be compared."""
    idle = [table.word(name) for name in table.varied if _idle(table, name)]
    return [f"{word} changes nothing: all else being the same, so is every number and verdict." for word in idle]


def _idle(table: SweptTable, name: str) -> bool:
    others = [one for one in (*table.fields, "seed", "algorithm") if one != name]
    found: dict[tuple[str, ...], set[tuple[str, ...]]] = {}
    at: dict[tuple[str, ...], set[object]] = {}
    for row in table.rows:
        if row.get("error") is None:
            place = tuple(repr(row.get(one)) for one in others)
            found.setdefault(place, set()).add(tuple(repr(row.get(one)) for one in ("verdict", *_COLUMNS)))
            at.setdefault(place, set()).add(_key(row.get(name)))
    compared = [place for place, values in at.items() if len(values) > 1]
    return bool(compared) and all(len(found[place]) == 1 for place in compared)


def _each(table: SweptTable, quantity: str) -> dict[object, set[float]]:
    """The different numbers of each algorithm."""
    found: dict[object, set[float]] = {}
    for row in table.rows:
        if not math.isnan(value := _number(row, quantity)):
            found.setdefault(row.get("algorithm"), set()).add(value)
    return found


def sweep_page(table: SweptTable, drawn: Sequence[tuple[str, Sequence[Chart]]]) -> str:
    """The page with these `figures` as text, which loads nothing; the same table gives the same page."""
    points = {row.get("point") for row in table.rows}
    failed = {row.get("point"): str(row["error"]) for row in table.rows if row.get("error") is not None}
    fixed = [name for name in table.fields if name not in table.varied]
    return (
        environment()
        .get_template("sweep.html.j2")
        .render(
            title=f"A sweep of {table.scenario}",
            first="figures",
            series=len(table.algorithms or "1") * _MOST,
            points=len(points),
            fields=[(name, [_cell(value) for value in table.values(name)]) for name in (*table.varied, *table.seeds)],
            fixed=[(name, next(map(_cell, table.values(name)), "null")) for name in fixed],
            failed=list(dict.fromkeys(failed.values()))[:_GROUPS],
            failures=len(failed),
            seeds=sum(len(table.values(name)) for name in table.seeds),
            figures=[(words, *_common(table, charts)) for words, charts in drawn],
            tables=_tables(table),
            rows=len(table.rows),
            more=max(0, len(table.rows) - _ROWS),
            command=table.command,
            outcome=outcome(table),
            verdicts=(judged := verdicts(table)),
            meanings=[
                (word, *MARKS[word])
                for word in MARKS
                if any(word == found[0] for _, each in judged for found in each)
            ],
            constant=[f"{words}. {_MEANINGS[name]}" for name, words in constant(table).items()],
            unchanging=unchanging(table),
            version=table.version,
        )
    )


def _tables(table: SweptTable) -> list[tuple[list[str], list[list[str]]]]:
    """The heads and the cells of the first rows, in as many tables as a page is wide for: the algorithm, the fields
    that take several values, and what is not the same in all rows."""

    def several(name: str) -> bool:
        return len({repr(row.get(name)) for row in table.rows}) > 1

    whose = ["algorithm", *(name for name in (*table.fields, *table.seeds) if several(name))]
    judged = ["verdict"] if any(row.get("verdict") for row in table.rows) else []
    found = [*judged, *(name for name in _shown(table) if name != _REFUTED and several(name))]
    room = max(_LEAST_FOUND, _MOST_COLUMNS - len(whose))
    parts = np.array_split(np.array(found, dtype=object), max(1, math.ceil(len(found) / room)))
    shown: list[list[str]] = [[*whose, *part] for part in parts]
    return [
        (
            [_COLUMNS.get(name) or table.words.get(name) or name.capitalize() for name in names],
            [[_cell(row.get(name), name) for name in names] for row in table.rows[:_ROWS]],
        )
        for names in shown
    ]


def _common(table: SweptTable, charts: Sequence[Chart]) -> tuple[list[str], list[Chart]]:
    """What all captions say, or several of the fields, once, and the charts without it, drawn as they are below their
    titles."""
    for one in charts:
        _draw(one)
    lines = Counter(line for one in charts for line in one.caption)
    of_fields = {words(table, name) for name in (*table.fields, *_COLUMNS) for words in (_grouped, _anew)}
    notes = [line for line, times in lines.items() if times > 1 and (times == len(charts) or line in of_fields)]
    return notes, [replace(one, caption=tuple(line for line in one.caption if line not in notes)) for one in charts]


def _draw(chart: Chart) -> None:
    """Draw it for the page, where the title stands above the axis; a file for a paper has no title, but the label."""
    axes: Any = chart.drawing.figure.axes[0]
    if chart.title.endswith(label := axes.get_ylabel()):
        axes.set_ylabel("")
    _ = chart.drawing.svg  # it is kept
    axes.set_ylabel(label)


def _cell(value: object, column: str = "") -> str:
    """A value as a column has it, an ε with its four digits."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        return show_epsilon(value) if column.startswith("epsilon") else alone(value)
    return MISSING if value is None else setting(value)


def _alike(values: Sequence[float]) -> tuple[list[str], str]:
    """Numbers of one map, all in the same form, and the unit that they are in, if any."""
    finite = [abs(value) for value in values if math.isfinite(value) and value]
    if not finite:
        return [show(value) for value in values], ""
    low, high = min(finite), max(finite)
    if all(value == int(value) for value in finite) and high < _WHOLE:
        return [count(value) for value in values], ""
    if high > _FAR * low:  # no number of decimals is right for all
        small = low < _LEAST or high >= 1e5
        return [_power(value) if small and math.isfinite(value) else show(value, 2) for value in values], ""
    unit = 0 if low >= _LEAST and high < 1e5 else math.floor(math.log10(high))
    places = max(0, 1 - math.floor(math.log10(low)) + unit)
    scaled = [f"{value / 10.0**unit:.{places}f}" if math.isfinite(value) else show(value) for value in values]
    return [one.replace("-", "−") for one in scaled], ten_to(unit) if unit else ""


def _power(value: float) -> str:
    """With a power of ten, whatever its size."""
    if value == 0:
        return "0"
    mantissa, exponent = f"{value:.1e}".split("e")
    return f"{mantissa} × {ten_to(int(exponent))}".replace("-", "−")


# ── numbers ─────────────────────────────────────────────────────────────────────────────────────────────
def _number(row: Point, name: str) -> float:
    """A quantity of a row, without what may be rounding; nan where it has none."""
    if name == _REFUTED:  # of claims: who claims nothing has none that could be refuted
        verdict = None if math.isnan(_number(row, "epsilon_claimed")) else row.get("verdict")
        return math.nan if verdict is None else float(verdict in BROKEN)
    value = row.get(name)
    return float(f"{value:.{_CERTAIN}g}") if isinstance(value, int | float) else math.nan


def _key(value: object) -> object:
    return value if isinstance(value, int | float | str) else setting(value)


def _order(value: object) -> tuple[bool, float, str]:
    numeric = isinstance(value, int | float)
    return not numeric, float(value) if numeric else 0.0, str(value)


def _places(table: SweptTable, name: str) -> dict[object, object]:
    """Where each value of a column goes: to itself, or to the median of its group where there are many."""
    values = table.values(name)
    if len(values) <= _MOST or not all(isinstance(value, int | float) for value in values):
        return {value: value for value in values}
    groups = np.array_split(np.array(values, dtype=np.float64), _GROUPS)
    found = {float(value): float(np.median(group)) for group in groups for value in group}
    return {value: found[float(cast("float", value))] for value in values}


def _by(
    table: SweptTable, quantity: str, pair: Sequence[str], algorithm: object
) -> dict[tuple[object, ...], list[float]]:
    """The numbers of one algorithm at each place of the columns `pair`."""
    places = [_places(table, name) for name in pair]
    found: dict[tuple[object, ...], list[float]] = {}
    for row in table.rows:
        value = _number(row, quantity)
        if row.get("algorithm") != algorithm or math.isnan(value) or any(row.get(name) is None for name in pair):
            continue
        at = tuple(place[_key(row[name])] for place, name in zip(places, pair, strict=True))
        found.setdefault(at, []).append(value)
    return found


# ── figures ─────────────────────────────────────────────────────────────────────────────────────────────
def _charts(table: SweptTable, quantity: str, pair: Sequence[str], name: str, level: bool) -> list[Chart]:
    """A quantity over one or two columns: a heat map of each algorithm where both take several values, else lines.

    None where nothing changes along these columns, unless what is `level` is to be drawn. An algorithm is drawn over
    those columns alone along which its numbers change; one whose number is the same everywhere, over none.
    """
    numbers = _each(table, quantity)
    if all(len(values) == 1 for values in numbers.values()):
        return []
    drawn: list[_Numbers] = []
    for one, values in numbers.items():
        over = tuple(column for column in pair if table.touches(column, one)) if len(values) > 1 else ()
        over = _moving(table, quantity, over, one)
        if cells := _by(table, quantity, over, one):
            drawn.append(_Numbers(table, quantity, one, over, cells))
    if not level and not any(one.over for one in drawn):
        return []
    notes = [_grouped(table, one) for one in pair if len(set(_places(table, one).values())) < len(table.values(one))]
    notes += [_anew(table, one) for one in table.drawn if one not in pair and len(table.values(one)) > 1]
    if len(pair) > 1 and not any(pair[0] in one.over for one in drawn):  # nothing changes along the first
        pair = pair[1:] if any(one.over for one in drawn) else pair[:1]
    mapped = [one for one in drawn if len(one.over) == 2]
    heat = bool(mapped) and all(len({at[k] for one in mapped for at in one.cells}) >= _FEWEST for k in (0, 1))
    if not heat and sum(len(one.curves(pair)) for one in drawn) <= _CURVES:
        return [_lines(drawn, pair, f"{name}-0", notes)]
    same = {one: min(values) for one, values in numbers.items() if len(values) == 1}
    notes += [f"{one}: {_cell(value, quantity)} everywhere, not drawn." for one, value in same.items()]
    left = [one for one in drawn if one.algorithm not in same]
    if not heat:
        return [_lines([one], one.over or pair, f"{name}-{k}", notes) for k, one in enumerate(left) if one.finite]
    notes += [one.spread for one in left if not one.over]
    groups: dict[tuple[str, ...], list[_Numbers]] = {}
    for one in left:
        if len(one.over) == 1 and one.finite:
            groups.setdefault(one.over, []).append(one)
    charts = [_heat(one, f"{name}-{k}", notes) for k, one in enumerate(mapped)]
    some = enumerate(groups.items(), start=len(charts))
    return charts + [_lines(together, over, f"{name}-{k}", () if charts else notes) for k, (over, together) in some]


def _grouped(table: SweptTable, name: str) -> str:
    return f"{plural(len(table.values(name)), 'value')} of {table.word(name)}, in {_GROUPS} groups at their medians."


def _anew(table: SweptTable, name: str) -> str:
    return f"{table.word(name)} is drawn anew at every point: it changes along an axis too."


def _moving(table: SweptTable, quantity: str, over: Sequence[str], algorithm: object) -> tuple[str, ...]:
    """Those of the columns along which the numbers of an algorithm change at all."""
    found = tuple(over)
    for column in over:
        rest = tuple(one for one in found if one != column)
        along: dict[tuple[object, ...], set[tuple[float, ...]]] = {}
        for at, values in _by(table, quantity, found, algorithm).items():
            others = tuple(value for one, value in zip(found, at, strict=True) if one != column)
            along.setdefault(others, set()).add(tuple(sorted(values)))
        if all(len(sets) == 1 for sets in along.values()):
            found = rest
    return found


@dataclass(frozen=True)
class _Numbers:
    """A quantity of one algorithm, at each place of the columns `over`."""

    table: SweptTable
    quantity: str
    algorithm: object
    over: tuple[str, ...]
    cells: Mapping[tuple[object, ...], Sequence[float]]

    @property
    def finite(self) -> bool:
        return any(math.isfinite(self.middle(values)) for values in self.cells.values())

    @property
    def title(self) -> str:
        several = len({row.get("algorithm") for row in self.table.rows}) > 1
        return f"{self.algorithm}: " * several + _COLUMNS[self.quantity]

    @property
    def spread(self) -> str:
        """Its numbers in words, where they depend on no column."""
        values = [value for some in self.cells.values() for value in some]
        ends = between((min(values), max(values)))
        middle = _cell(self.middle(values), self.quantity)
        return f"{self.algorithm}: {middle} (median; {ends}), whatever the fields, not drawn."

    @property
    def counts(self) -> str:
        """What a place shows: the median of so many points; empty where each is one, or its points are the same."""
        counts = {len(values) for values in self.cells.values()}
        if all(len(set(values)) == 1 for values in self.cells.values()):
            return ""
        about = "mean" if self.quantity == _REFUTED else "median"
        return f"{about} of {'up to ' * (len(counts) > 1)}{max(counts)} points"

    def middle(self, values: Sequence[float]) -> float:
        return float(np.mean(values)) if self.quantity == _REFUTED else float(np.median(values))

    def level(self, pair: Sequence[str]) -> bool:
        """Whether it is level along the first column of the pair."""
        return pair[0] not in self.over

    def curves(self, pair: Sequence[str]) -> list[FigureCurve]:
        """A curve over the first column of the pair for each value of the second; a level one says of how many points
        it is."""
        level = self.level(pair)
        several = len({row.get("algorithm") for row in self.table.rows}) > 1
        found: list[FigureCurve] = []
        groups = {at if level else at[1:] for at in self.cells}
        for group in sorted(groups, key=lambda at: _order(at[0]) if at else (False, 0.0, "")):
            if level:
                places = sorted({*_places(self.table, pair[0]).values()}, key=_order)
                each = [self.cells[group]] * len(places)
            else:
                at = sorted((place for place in self.cells if place[1:] == group), key=lambda at: _order(at[0]))
                places, each = [place[0] for place in at], [self.cells[place] for place in at]
            few = all(len(set(values)) == 1 for values in each) or self.quantity == _REFUTED
            words = [str(self.algorithm)] * (several or not group)
            second = self.table.word(pair[1]).removesuffix(f" of {self.algorithm}") if group else ""
            words += [f"{second} {_cell(value)}" for value in group]
            found.append(
                FigureCurve(
                    label=", ".join(words) + f" ({plural(len(each[0]), 'point')})" * level,
                    algorithm=str(self.algorithm),
                    variant="",
                    x=tuple(cast("Any", place) for place in places),
                    y=tuple(map(self.middle, each)),
                    low=() if few else tuple(map(min, each)),
                    high=() if few else tuple(map(max, each)),
                )
            )
        return found


def _lines(numbers: Sequence[_Numbers], pair: Sequence[str], name: str, notes: Sequence[str]) -> Chart:
    """Infinite values are counted in the caption: they have no place on an axis of numbers."""
    table, quantity = numbers[0].table, numbers[0].quantity
    x = table.word(pair[0])
    curves = [(curve, one.level(pair)) for one in numbers for curve in one.curves(pair)]
    seen: list[FigureCurve] = []
    for one, _ in curves:
        kept = [k for k, y in enumerate(one.y) if math.isfinite(y)]
        low, high = (tuple(row[k] for k in kept) if row else () for row in (one.low, one.high))
        places, middle = tuple(one.x[k] for k in kept), tuple(one.y[k] for k in kept)
        seen.append(replace(one, x=places, y=middle, low=low, high=high))
    words: list[str] = []
    ranges = "; {}: from the least to the most" if any(one.low for one in seen) else ""
    if marked := [one.counts for one in numbers if not one.level(pair) and one.counts]:
        words.append(f"Each marker: the {max(marked, key=len)}{ranges.format('whiskers')}.")
    if any(level for _, level in curves):
        ends = f"median of its points{ranges.format('band')}"
        words.append(f"A line with its marker at the right end does not depend on {x}: {ends}.")
    words += [*filter(None, [_coinciding(seen)]), *notes]
    if infinite := sum(math.isinf(y) for one, level in curves if not level for y in one.y):
        words.append(f"∞ at {plural(infinite, 'place')}, not drawn.")
    words += [f"{one.label}: ∞, not drawn." for one, level in curves if level and math.isinf(one.y[0])]
    few = len(numbers) < len({row.get("algorithm") for row in table.rows if not math.isnan(_number(row, quantity))})
    figure = FigureResult(
        title=f"{', '.join(str(one.algorithm) for one in numbers)}: " * few + _COLUMNS[quantity],
        x=x,
        y=_COLUMNS[quantity],
        log=_logarithmic(y for one in seen for y in one.y),
        log_x=False,
        points=True,
        level=None,
        curves=tuple(seen),
        absent=tuple(words),
    )
    level = [one.label for one, level in curves if level]
    groups, looks = max(len(one.curves(pair)) for one in numbers), dict[str, Series]()
    for one in numbers:
        looks |= {curve.label: table.look(one.algorithm, k, groups) for k, curve in enumerate(one.curves(pair))}
    return chart_of(figure, looks, name, level=level)


def _coinciding(curves: Sequence[FigureCurve]) -> str:
    """Which curves are drawn one over the other, in a sentence."""
    return coinciding((re.sub(r" \(\d[^)]*\)$", "", one.label), one.x, one.y) for one in curves)


def _logarithmic(values: Iterable[float]) -> bool:
    given = [value for value in values if math.isfinite(value)]
    return bool(given) and min(given) > 0 and max(given) > 10 * min(given)


def _heat(numbers: _Numbers, name: str, notes: Sequence[str]) -> Chart:
    """Dark is little and bright is much; a cell without a number is empty."""
    axes, cells, title = [numbers.table.word(one) for one in numbers.over], numbers.cells, numbers.title
    across, up = (sorted({at[k] for at in cells}, key=_order) for k in (0, 1))
    middles = {at: numbers.middle(values) for at, values in cells.items()}
    finite = [value for value in middles.values() if math.isfinite(value)]
    log = _logarithmic(finite)
    low, high = (f(map(math.log10, finite) if log else finite) for f in (min, max)) if finite else (0.0, 1.0)
    colours: Any = cast("Any", mpl).colormaps["cividis"]
    texts, unit = _alike(list(middles.values()))
    small = 9 if max(map(len, texts), default=0) * len(across) <= _LETTERS else 7
    with canvas(WIDTH, max(HEIGHT, 60 + 26 * len(up))) as (figure, plot):
        for ((x, y), value), text in zip(middles.items(), texts, strict=True):
            share = 1.0 if math.isinf(value) else ((math.log10(value) if log else value) - low) / ((high - low) or 1)
            at, shade = (across.index(x), up.index(y)), colours(share)
            plot.fill_between([at[0] - 0.5, at[0] + 0.5], at[1] - 0.5, at[1] + 0.5, color=to_hex(shade), lw=0)
            if len(across) * len(up) <= _CELLS:
                light = sum(w * c**2.2 for w, c in zip((0.2126, 0.7152, 0.0722), shade[:3], strict=True))
                ink = "#ffffff" if light < _DARK else "#000000"
                plot.text(*at, text, ha="center", va="center", fontsize=small, color=ink)
        plot.set_xlim(-0.5, len(across) - 0.5)
        plot.set_ylim(-0.5, len(up) - 0.5)
        plot.set_xticks(range(len(across)), [_cell(value) for value in across], rotation=45 if len(across) > 7 else 0)
        plot.set_yticks(range(len(up)), [_cell(value) for value in up])
        plot.tick_params(length=0)
        for side in ("left", "bottom"):
            plot.spines[side].set_visible(False)
        plot.set_xlabel(axes[0])
        plot.set_ylabel(axes[1])
        words = f"{title} by {axes[0]} and {axes[1]}"
        ends = f"from {show(min(finite))} to {show(max(finite))}" if finite else "infinite everywhere"
        drawing = Drawing(name, f"{words}, {ends}.", figure)
    scale = "∞ everywhere."
    if finite:
        dark, bright = (_cell(end(finite), numbers.quantity) for end in (min, max))
        scale = f"Dark: {dark}; bright: {bright}{', on a logarithmic scale' * log}."
    counted = f"Each cell: the {numbers.counts}." if numbers.counts else ""
    counted += f"{' ' * bool(counted)}Numbers are in units of {unit}." if unit else ""
    return Chart(title, drawing, (), tuple(filter(None, (scale, counted, *notes))))
