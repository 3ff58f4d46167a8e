"""What both games share: one run in a world of its own, what is inferred of the agent, and what is refused."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from attacks import gradients
from attacks.audit.statistics.intervals import Interval
from attacks.gradients import Evidence
from attacks.reconstruction.attack import Case, Known
from netsim.adversary import AdversaryView
from netsim.errors import AttackError, ScenarioError
from netsim.problems import Dataset
from netsim.run import Run
from scenarios.deciding.worlds import FIRST, Staging, staged
from scenarios.describe import Results
from scenarios.experiment import Experiment, Subject
from scenarios.reconstructing import chosen
from scenarios.schema.attacks import Inversion
from scenarios.schema.deciding import DecidingModel
from scenarios.telling import Progress


@dataclass(frozen=True)
class Game:
    """One game on one algorithm. `name` is the scenario's word for it, and names its noise."""

    experiment: Experiment
    subject: Subject
    progress: Progress
    name: str

    @property
    def staging(self) -> Staging:
        assert self.experiment.holding is not None
        return Staging(self.experiment.scenario, self.experiment.holding)

    @property
    def noisy(self) -> bool:
        """Whether transcripts of the same records differ."""
        return self.subject.simulation.algorithm.noisy

    @property
    def records(self) -> int:
        """How many records the agent holds, the candidate among them."""
        assert self.experiment.holding is not None
        return self.experiment.holding.records

    def run(self, agent: int, part: Dataset, number: int, replicas: int) -> Run:
        """The attacked run with these records in the agent's hands; `number` names its noise."""
        assert self.subject.attacked is not None
        chunk = FIRST[self.name] + number
        simulation = staged(self.subject.attacked, agent, self.staging.objective(agent, part), chunk, replicas)
        run = simulation.run()
        if run.interrupted:
            raise KeyboardInterrupt
        return run

    def case(self, view: AdversaryView, spec: DecidingModel, known: Callable[[Known], Known]) -> Case:
        """What is inferred of the agent, and what is known of it."""
        own = evidence_of(view, spec)
        public = Known.of(view.public, spec.agent, None, self.experiment.dataset.image_shape)
        return Case(own, known(replace(public, records=self.records)))


def evidence_of(view: AdversaryView, spec: DecidingModel) -> Evidence:
    """What is inferred of the agent's gradients. You get an `AttackError` where nothing is."""
    found = [one for one in inferred(view, spec.inversion, spec.agent) if one.agent == spec.agent]
    if not found:
        raise AttackError(f"nothing was inferred of the gradients of agent {spec.agent}")
    return chosen(found[0], spec.rounds)


def inferred(view: AdversaryView, inversion: Inversion, only: int | None = None) -> list[Evidence]:
    """What is inferred of every agent's gradients, or at least of one's."""
    return gradients.evidence(view, only) if inversion == "strongest" else gradients.published_evidence(view)


def begun(spec: DecidingModel, source: str, records: int) -> Results:
    """What results say of a game before it is played."""
    return {
        "refused": None,
        "agent": spec.agent,
        "holding": records,
        "inversion": spec.inversion,
        "rounds": spec.rounds,
        "source": source,
        "confidence": spec.confidence,
    }


def guarded(name: str, play: Callable[[], Results]) -> Results:
    """What a game found, or why it was refused."""
    try:
        return play()
    except AttackError as error:
        return {"refused": str(error)}
    except ScenarioError as error:
        return {"refused": f"a world of the game cannot be run: {error}"}
    except (np.linalg.LinAlgError, FloatingPointError) as error:
        return {"refused": f"{name} failed in its arithmetic: {error}"}


def counted(rate: Interval, count: int, of: int) -> Results:
    """A rate with its interval."""
    return {"count": count, "of": of, "rate": rate.estimate, "low": rate.lower, "high": rate.upper}


def bounded(found: Interval) -> Results:
    """A number with its interval."""
    return {"estimate": found.estimate, "low": found.lower, "high": found.upper}


def parts_of(total: int, chunk: int) -> Sequence[int]:
    """How many transcripts are simulated at once, one after the other."""
    return [min(chunk, total - done) for done in range(0, total, chunk)]
