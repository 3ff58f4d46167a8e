"""Numbers of an exam for auditors, and their page in Markdown."""

import json
import re
import statistics
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill

from pydantic import TypeAdapter

from scenarios.certificate import exam as sitting
from scenarios.certificate.exam import GAMES, NOMINAL, PLANTED, SOUND, Mark, alarms, failed
from scenarios.certificate.rows import Rate
from scenarios.certificate.worlds import DELTA

AS_WRITTEN = ("#", "|", "```", "- ")
"""Beginnings of blocks that are no prose."""


@dataclass(frozen=True)
class Exam:
    """All marks, what they were made with, the libraries that were there by version, and those that were not."""

    repetitions: int
    samples: int
    seed: int
    versions: dict[str, str]
    missing: dict[str, str]
    marks: list[Mark]

    def as_json(self) -> str:
        """A mark a line."""
        head = json.dumps({k: getattr(self, k) for k in ("repetitions", "samples", "seed", "versions", "missing")})
        marks = ",\n".join(json.dumps(asdict(one), ensure_ascii=False) for one in self.marks)
        return f'{head.removesuffix("}")}, "marks": [\n{marks}\n]}}\n'

    @classmethod
    def from_json(cls, text: str) -> "Exam":
        written = json.loads(text)
        return cls(**written | {"marks": TypeAdapter(list[Mark]).validate_python(written["marks"])})

    def of(self, part: str, auditor: str | None = None) -> list[Mark]:
        return [one for one in self.marks if one.part == part and auditor in (None, one.auditor)]

    @property
    def auditors(self) -> list[str]:
        return list(dict.fromkeys(one.auditor for one in self.marks))


WHERE = {
    "jax-privacy": "`pip install jax-privacy`, its `auditing`",
    "privacy-estimates": "`pip install privacy-estimates`",
    "dp_auditorium": "a checkout of google/differential-privacy (Apache 2.0); PyPI has no package of this name",
    "dpsniper": "a checkout of eth-sri/dp-sniper (MIT); PyPI has no package of this name",
}


def page(exam: Exam) -> str:
    """The whole page; parts that nobody was asked have no table."""
    wrong = failed(exam.marks)
    own = [one for one in wrong if one.auditor.startswith("netsim")]
    found = [f"- {one.auditor}, of {one.question}: {_counted(alarms([one]))}" for one in wrong]
    parts = [
        HEAD,
        f"**{'No' if not own else 'Some'} rate of netsim's own games is proven above {_percent(NOMINAL)}.** "
        + (
            "Nor is one of any other auditor."
            if not wrong
            else f"Proven above it, with its {_percent(sitting.kinds.CONFIDENCE)} interval:"
        ),
        "\n".join(found),
        SUMMARY.format(samples=f"{exam.samples:,}", taught=_percent(sitting.TAUGHT)),
        _summary(exam),
        GAMES_TEXT.format(delta=DELTA, claims="0.5, 1, 2 and 4"),
        _by_game(exam),
        PLANTED_TEXT.format(times=_times(exam, PLANTED)),
        _by_fault(exam),
        WHO,
        "\n".join(f"- {name} ({version}): {WHERE[name]}" for name, version in exam.versions.items()),
        "" if not exam.missing else "Not there in this run:",
        "\n".join(f"- {name}: {why}" for name, why in exam.missing.items()),
        LIMITS.format(samples=f"{exam.samples:,}"),
        REPEAT.format(repetitions=exam.repetitions),
    ]
    blocks = [block for part in parts for block in re.split(r"\n{2,}(?![^`]*```\n)", part.strip()) if block]
    return "\n\n".join(one if one.startswith(AS_WRITTEN) else _filled(one) for one in blocks) + "\n"


def _summary(exam: Exam) -> str:
    heads = ["", "auditor", "false alarms, games", "of", "interval", "false alarms, outputs", "of", "interval"]
    heads += ["of the truth", "caught", "of", "CPU ms"]
    rows: list[list[str]] = []
    for number, name in enumerate(exam.auditors, 1):
        games, outputs, faults = (exam.of(part, name) for part in (GAMES, SOUND, PLANTED))
        caught = alarms(faults)
        rows.append([
            str(number), name, *_alarms(games), *_alarms(outputs),
            f"{statistics.median([one.tightness for one in games if one.answered] or [0.0]):.2f}",
            _percent(caught.value) if faults else "–", f"{sum(one.answered for one in faults):,}",
            f"{1000 * statistics.median(one.seconds for one in exam.marks if one.auditor == name):.3g}",
        ])  # fmt: skip
    return _table(heads, rows, left=2)


def _alarms(marks: Sequence[Mark]) -> list[str]:
    if not any(one.answered for one in marks):
        return ["–", "0", "–"]
    rate = alarms(marks)
    return [_percent(rate.value), f"{rate.trials:,}", _interval(rate)]


def _by_game(exam: Exam) -> str:
    questions = list(dict.fromkeys(one.question for one in exam.of(GAMES)))
    rows: list[list[str]] = []
    for number, name in enumerate(exam.auditors, 1):
        marks = {one.question: one for one in exam.of(GAMES, name)}
        cells = [_cell(marks[question]) for question in questions]
        rows.append([str(number), name, *cells])
    return _table(["", "auditor", *questions], rows, left=2)


def _cell(mark: Mark) -> str:
    if not mark.answered:
        return "–"
    rate = alarms([mark])
    text = f"{_percent(rate.value)} of {rate.trials:,}; {mark.tightness:.2f}"
    return f"**{text}**" if rate.exceeds(NOMINAL) else text


def _by_fault(exam: Exam) -> str:
    questions = list(dict.fromkeys(one.question for one in exam.of(PLANTED)))
    by = {(one.auditor, one.question): one for one in exam.of(PLANTED)}
    rows = [
        [f"`{question}`" if question.isidentifier() else question]
        + [
            _percent(one.above / one.answered) if (one := by[name, question]).answered else "–"
            for name in exam.auditors
        ]
        for question in questions
    ]
    return _table(["fault", *map(str, range(1, len(exam.auditors) + 1))], rows)


def _times(exam: Exam, part: str) -> str:
    counts = sorted({one.repetitions for one in exam.of(part)})
    return " to ".join(map(str, dict.fromkeys((counts[0], counts[-1])))) if counts else "0"


def _counted(rate: Rate) -> str:
    return f"{rate.count} of {rate.trials:,}, {_percent(rate.value)}, {_interval(rate)}"


def _interval(rate: Rate) -> str:
    return f"{100 * rate.interval.lower:.2g}–{100 * rate.interval.upper:.3g}%"


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _table(heads: Sequence[str], rows: Iterable[Sequence[str]], left: int = 1) -> str:
    ruler = [*["---"] * left, *["---:"] * (len(heads) - left)]
    return "\n".join(f"| {' | '.join(row)} |" for row in (heads, ruler, *rows))


def _filled(text: str) -> str:
    return fill(" ".join(text.split()), 118, break_long_words=False, break_on_hyphens=False)


HEAD = """
# The exam for auditors

The [certificate](certificate.md) audits netsim's own auditor. Its sound mechanisms and planted faults are also an
exam that any auditor can sit: samples in, a lower bound of ε out.

```python
import numpy as np

from scenarios.certificate.exam import GAMES, Candidate, alarms, examine, questions


def by_one_threshold(zero, one, *, delta, confidence, rng):
    \"\"\"Scores above their first half's median name world 1; Hoeffding bounds both rates of the other half.\"\"\"
    cut = len(zero) // 2
    middle = np.median(np.concatenate([zero[:cut], one[:cut]]))
    room = np.sqrt(np.log(2 / (1 - confidence)) / (2 * (len(zero) - cut)))
    hits, alarms = np.mean(one[cut:] >= middle) - room, np.mean(zero[cut:] >= middle) + room
    return max(np.log((hits - delta) / alarms), 0.0) if hits > delta else 0.0


games = [question for question in questions() if question.part == GAMES]
marks = examine([Candidate("one threshold", by_one_threshold)], 20, asked=games)
assert alarms(marks).count <= 2  # of 120: it is sound
assert max(mark.tightness for mark in marks) < 0.9  # and not tight
```

`zero` and `one` are what the mechanism put out under either world, `(samples, columns)`; the bound shall be at most
the ε of this pair at `delta`, with probability `confidence` (95% here). Who cannot answer raises `PrivacyError`. A
false alarm is a bound above the true ε of a sound mechanism, which is known by a formula that no auditor sees; 5% of
bounds may be.
"""

SUMMARY = """
## All auditors

{samples} samples of each world for everybody, the same ones. *Games*: six mechanisms whose one output is the exact
loss, the best score there is. *Outputs*: all numbers that the certificate's seventeen sound mechanisms send (4 to 216
columns). Where an auditor takes scores, the audit's own classifier makes one of them, taught on {taught} of the
samples, which the auditor does not get; DP-Sniper gets the outputs. *Of the truth*: median of bound/ε over games.
*Caught*: bounds above what a planted fault claims. *CPU*: median of one answer, without the classifier, on one core
of this run.
"""

GAMES_TEXT = """
## Games, one by one

False alarms, of how many answers, and the median of bound/ε; bold where the rate is proven above nominal. True ε =
{claims} in turn, at δ = 0, or {delta} where δ is named. Randomized response attains the inequality that bounds rest
on, so that a rate may come near 5% there.
"""

PLANTED_TEXT = """
## Planted faults

Share of bounds above the claim, of {times} sets of samples; columns are the auditors of the first table. The first
ten are the [gallery](gallery.md)'s, the rest has noise of half the size that the claim of ε = 1 needs (*declared*),
or draw 0.8 of what they declare (*drawn*).
"""

WHO = """
## Who sat, and who did not
"""

LIMITS = """
Not examined: of dp_auditorium the hockey-stick and Rényi testers, which train with TensorFlow, and the one by mean
discrepancy; of privacy-estimates the joint posteriors, whose double integral takes from ten seconds to minutes an
answer; of jax_privacy what it calls estimates (raw counts, and the one that takes the mechanism for a Gaussian one).

## What it does not say

- Everybody has {samples} samples of each world. DP-Sniper is made for 10⁷, and looks for events of probability 0.01
  then; here for such of 0.1, with a third of the samples to learn, to choose and to count. One error
  term of the histogram tester is 6(1 + e^ε)·√(ln(4/α)/2n): above 1 from ε = 0.8 on at this n, so that it can prove
  nothing there.
- A library that leaves the choice of a threshold to its user (privacy-estimates) gets the best of 39 on half the
  samples; one that tests claims (dp_auditorium) is asked ε = 1/8, 2/8, … until it rejects no more.
- Samples are rounded to single precision: computed in doubles, a loss of Laplace noise is often ±ε exactly in one
  world, and off by its last bit in the other. Thresholds at observed scores find that, and are right: it is the
  sampler that leaks ([Sharp edges](sharp-edges.md)).
- Whole audits, which replay an algorithm's code, need far fewer transcripts than any of these games; they are in the
  [certificate](certificate.md).
"""

REPEAT = """
## How to repeat it

```
pip install -e '.[exam]'
python -m benchmarks.exam --repetitions {repetitions} --dp-auditorium CHECKOUT --dp-sniper CHECKOUT \\
    --json docs/exam.json --out docs/exam.md
```

Intervals are two-sided Clopper–Pearson at 99%, each by itself. A set of samples depends on the seed, the mechanism's
name and its number alone. `exam.json` has the first bounds of each auditor; the tests repeat some, and compare.
"""
