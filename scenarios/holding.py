"""Who holds what in the run that is attacked: so many records an agent, and a prior of those that nobody holds."""

from dataclasses import dataclass

import numpy as np

from attacks.reconstruction import Prior
from netsim.arrays import Array
from netsim.errors import ScenarioError
from netsim.problems import Dataset, Problem
from netsim.randomness import Streams
from scenarios.problem import problem_of
from scenarios.schema import Scenario


@dataclass(frozen=True)
class Holding:
    """The `parts` of the agents, as many records each, the `problem` of these, and a `prior` of what nobody holds
    (`unheld`)."""

    parts: tuple[Dataset, ...]
    problem: Problem
    prior: Prior | None
    unheld: Dataset | None = None

    @classmethod
    def of(cls, scenario: Scenario, dataset: Dataset, agents: int) -> "Holding | None":
        """None where a scenario rebuilds nothing. You get a `ScenarioError` where the records do not suffice."""
        asked = scenario.attacks
        if not (asked.images or asked.reconstruct or asked.membership or asked.property):
            return None
        if scenario.attacks.images:
            _check_images(scenario, dataset)
        held = _dealt(scenario, dataset, agents)
        parts = tuple(dataset.take(own) for own in held)
        rest = _rest(dataset, held)
        problem = problem_of(scenario, parts)
        return cls(parts, problem, prior_of(rest, problem), rest)

    @property
    def records(self) -> int:
        """How many each agent holds."""
        return self.parts[0].records

    def labels(self, agent: int) -> Array:
        """Of an agent's records, as the model counts them: (m,), PRIVATE."""
        return counted(self.parts[agent].labels, self.parts[agent], self.problem)


def _check_images(scenario: Scenario, dataset: Dataset) -> None:
    if dataset.image_shape is None or scenario.problem.kind != "logistic":
        raise ScenarioError(
            "attacks.images",
            True,
            "images are rebuilt from logistic losses on image data",
            "kind: logistic, and data: digits, mnist, …",
        )
    if scenario.attacks.holding != 1:
        why = f"one image an agent is rebuilt in closed form, and agents hold {scenario.attacks.holding}"
        raise ScenarioError("attacks.images", True, why, "holding: 1, or reconstruct: [{kind: …}]")


def _dealt(scenario: Scenario, dataset: Dataset, agents: int) -> list[list[int]]:
    """Which records the agents hold: the classes in turn, drawn by the scenario's seed; one of each is left over."""
    rng = Streams(scenario.seed).generator("images")
    order = rng.permutation(dataset.records)
    kinds = _kinds(dataset)
    pools = [[int(k) for k in order if kinds[k] == kind] for kind in np.unique(kinds)]
    size, wanted = len(pools), scenario.attacks.holding
    most = size * (min(map(len, pools)) - 1)
    if agents * wanted > most:
        raise _too_many(scenario, agents, most)
    flat = [pools[k % size][k // size] for k in range(agents * wanted)]
    return [flat[i * wanted : (i + 1) * wanted] for i in range(agents)]


def _too_many(scenario: Scenario, agents: int, most: int) -> ScenarioError:
    wanted = scenario.attacks.holding
    if wanted == 1 and scenario.attacks.images:
        return ScenarioError(
            "attacks.images", True, f"{agents} agents cannot hold an image each", f"<= {most} agents"
        )
    why = f"{agents} agents cannot hold so many each and leave a prior"
    return ScenarioError("attacks.holding", wanted, why, f"<= {most // agents}")


def _kinds(dataset: Dataset) -> Array:
    """The class of each record; all the same where labels are numbers."""
    return np.zeros(dataset.records) if _numbers(dataset) else dataset.labels


def _numbers(dataset: Dataset) -> bool:
    """Whether the labels are the targets of a regression."""
    return len(np.unique(dataset.labels)) > MOST_CLASSES


MOST_CLASSES = 100
"""More different labels than these are the targets of a regression."""


def _rest(dataset: Dataset, held: list[list[int]]) -> Dataset:
    taken = {k for own in held for k in own}
    return dataset.take([k for k in range(dataset.records) if k not in taken])


def prior_of(public: Dataset, problem: Problem) -> Prior:
    """What is believed of a record beforehand, from public ones."""
    made = Prior.of_numbers if _numbers(public) else Prior.of
    return made(public.features, counted(public.labels, public, problem))


def counted(labels: Array, dataset: Dataset, problem: Problem) -> Array:
    """Labels of some of a data set's records as the problem's model counts them, (records,): two classes are −1 and 1
    in data, and 0 and 1 to a model of several outputs."""
    several = problem.model is not None and 0.0 in problem.model.classes
    return (labels + 1) / 2 if several and dataset.class_count == 2 else labels
