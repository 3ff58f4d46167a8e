"""Exam for auditors: netsim's games and other people's auditors on the certificate's mechanisms and faults.

`python -m benchmarks.exam` examines netsim's own and what is installed of jax-privacy and privacy-estimates (extra
`exam`); `--dp-auditorium` and `--dp-sniper` take checkouts of google/differential-privacy and eth-sri/dp-sniper. It
prints the page docs/exam.md, which also says what was not there and why. The page in the docs is of

    python -m benchmarks.exam --repetitions 1000 --dp-auditorium CHECKOUT --dp-sniper CHECKOUT \\
        --json docs/exam.json --out docs/exam.md

and `--page docs/exam.json` writes it anew from its numbers. Seconds are CPU time of one core in this run.
"""

import argparse
import os
import sys
import warnings
from pathlib import Path

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
os.environ.setdefault("OMP_NUM_THREADS", "1")

from benchmarks import exam_adapters as adapters
from benchmarks.exam_page import Exam, page
from scenarios.certificate import exam


def sat(arguments: argparse.Namespace) -> Exam:
    """The exam, sat by everybody who is there; its numbers are kept in the file of `--json`, question by question.

    With `--resume` questions that everybody there has answered in that file are not asked again.
    """
    checkouts = {"dp_auditorium": arguments.dp_auditorium, "dpsniper": arguments.dp_sniper}
    candidates, versions, missing = adapters.all_of(checkouts)
    candidates = [*exam.OWN, *candidates]
    settings = arguments.repetitions, arguments.samples, arguments.seed
    stored: list[exam.Mark] = []
    if arguments.resume:
        begun = Exam.from_json(arguments.json.read_text(encoding="utf-8"))
        if (begun.repetitions, begun.samples, begun.seed, begun.versions) != (*settings, versions):
            raise SystemExit(f"{arguments.json} is of other settings or libraries: begin anew, without --resume")
        stored = begun.marks
    answered = {(one.part, one.question) for one in stored}
    left = [question for question in exam.questions() if (question.part, question.name) not in answered]

    def asked(marks: list[exam.Mark]) -> None:
        print(f"{marks[-1].part}: {marks[-1].question}", file=sys.stderr, flush=True)
        if arguments.json is not None:
            numbers = Exam(*settings, versions, missing, [*stored, *marks]).as_json()
            arguments.json.write_text(numbers, encoding="utf-8")

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # libraries warn of their own dependencies, and of rates of 0
        marks = exam.examine(
            candidates,
            arguments.repetitions,
            samples=arguments.samples,
            seed=arguments.seed,
            asked=left,
            progress=asked,
        )
    return Exam(*settings, versions, missing, [*stored, *marks])


def main() -> None:
    parser = argparse.ArgumentParser(description="Exam for auditors.")
    parser.add_argument("--repetitions", type=int, default=50, help="of each game; others are fewer")
    parser.add_argument("--samples", type=int, default=exam.SAMPLES, help="of each world")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--dp-auditorium", type=Path, help="checkout of google/differential-privacy")
    parser.add_argument("--dp-sniper", type=Path, help="checkout of eth-sri/dp-sniper")
    parser.add_argument("--json", type=Path, help="where to write the numbers")
    parser.add_argument("--out", type=Path, help="where to write the page; default: it is printed")
    parser.add_argument("--resume", action="store_true", help="go on from the numbers in the file of --json")
    parser.add_argument("--page", type=Path, metavar="JSON", help="write the page of these numbers, and ask nobody")
    arguments = parser.parse_args()
    if arguments.resume and arguments.json is None:
        parser.error("--resume goes on from the numbers in the file of --json: name it")
    stored = arguments.page
    found = sat(arguments) if stored is None else Exam.from_json(stored.read_text(encoding="utf-8"))
    if arguments.out is None:
        print(page(found), end="")
    else:
        arguments.out.write_text(page(found), encoding="utf-8")


if __name__ == "__main__":
    main()
