"""What times and sizes alone give away, as results."""

from dataclasses import asdict
from typing import Any

from attacks.score import TrafficScore, computing_times, score_traffic
from attacks.traffic import Sealed, analysed
from netsim.adversary import AdversaryView
from netsim.diary import Diary
from netsim.errors import AttackError
from netsim.run import Run
from scenarios import unscored

Results = dict[str, Any]
EVENTS = 2000
"""So many events are kept in results; the others are counted."""


def analysis(run: Run, diary: Diary) -> Results:
    """The analysis of the run's first view, scored; or why it was refused."""
    return analysis_of(run.views[0], run, diary)


def analysis_of(view: AdversaryView, run: Run | None, diary: Diary) -> Results:
    """The same of a kept transcript's view. Without a run there is no truth, and what needs it is null."""
    try:
        found = analysed(view)
    except AttackError as error:
        return {"refused": str(error)}
    if run is None:
        return unscored.described(found, EVENTS)
    return _described(found, score_traffic(found, run, diary), run, diary)


def _described(found: Sealed, score: TrafficScore, run: Run, diary: Diary) -> Results:
    """What is told without a truth, and the truth and the scores beside it."""
    told = unscored.described(found, EVENTS)
    told["activity"] |= {
        "asked": score.events,
        "found": score.events_found,
        "wrong": score.events_wrong,
        "guessed": score.guessed,
        "truth": list(run.activations),
        "score": asdict(score.activations),
    }
    told["computing"] |= {
        "truth": computing_times(run),
        "slowest_truth": score.slowest,
        "pairs": score.pairs,
        "ranked": score.ranked,
        "rightly": score.rightly,
        "score": asdict(score.computing),
    }
    for name, scored in (("repeated", score.repeated), ("lost", score.lost)):
        truth = [getattr(diary.links[i, j], name) for i, j in told[name]["links"]]
        told[name] |= {"truth": truth, "total_truth": sum(truth), "score": asdict(scored)}
    told["dimension"] |= {"truth": score.dimension}
    return told
