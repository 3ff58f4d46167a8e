"""The stage of a run in which attacks decide."""

from collections.abc import Callable

from scenarios.deciding.membership import MembershipGame
from scenarios.deciding.properties import PropertyGame
from scenarios.describe import Results
from scenarios.experiment import Experiment, Subject
from scenarios.telling import Progress


def deciding(
    experiment: Experiment, subject: Subject, entry: Results, progress: Progress, save: Callable[[], None]
) -> None:
    """Fill an entry's `membership` and `property`, as far as the scenario asks for them; `save` after each."""
    asked = experiment.scenario.attacks
    if asked.membership is not None:
        entry["membership"] = MembershipGame(experiment, subject, progress, "membership").play(asked.membership)
        save()
    if asked.property is not None:
        entry["property"] = PropertyGame(experiment, subject, progress, "property").play(asked.property)
        save()
