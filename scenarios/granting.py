"""What a scenario grants to the attacks it names, as far as that is known before time 0."""

from attacks.reconstruction.attack import Attack
from netsim.errors import ScenarioError
from netsim.problems import Dataset
from scenarios.deciding.checks import PUBLISHED, check_deciding
from scenarios.holding import Holding
from scenarios.schema import Scenario
from scenarios.schema.attacks import RebuildModel


def check_attacks(scenario: Scenario, dataset: Dataset, holding: Holding | None) -> None:
    """You get a `ScenarioError` for a parameter that an attack refuses, and for what it needs and cannot get here.

    What only the run can tell (whether gradients can be inferred, whether the law of their errors is known) is a
    refusal in the results.
    """
    asked = scenario.attacks
    if holding is None:
        if asked.holding != 1:
            raise ScenarioError("attacks.holding", asked.holding, "no record is rebuilt", "reconstruct: [{kind: …}]")
        return
    check_deciding(scenario, dataset, holding)
    for index, spec in enumerate(asked.reconstruct):
        where = f"attacks.reconstruct[{index}]"
        try:
            attack = spec.build()
        except ScenarioError as error:
            raise error.under(where) from None
        _check(scenario, dataset, holding, attack, spec, where)


def _check(
    scenario: Scenario, dataset: Dataset, holding: Holding, attack: Attack, spec: RebuildModel, where: str
) -> None:
    """The first thing that is missing."""
    needs, asked, kind = attack.needs, scenario.attacks, scenario.problem.kind
    model = holding.problem.model
    if model is None:
        why = f"{kind} losses are no mean of one public loss over records: there is nothing to rebuild from"
        raise ScenarioError(where, spec.label, why, "another problem.kind")
    if needs.models and model.name not in needs.models:
        why = f"it is for {' or '.join(needs.models)} models, and the loss of a record is {model.name} here"
        raise ScenarioError(where, spec.label, why, "another attack, or another problem.kind")
    if needs.one_record and asked.holding != 1:
        raise ScenarioError(
            where, spec.label, f"it rebuilds one record, and agents hold {asked.holding}", "holding: 1"
        )
    if needs.labels and (spec.labels or asked.labels) == "private":
        raise ScenarioError(where, spec.label, "it is told the labels, and they are private", "labels: public")
    if needs.image and dataset.image_shape is None:
        raise ScenarioError(where, spec.label, f"it rebuilds images, and {dataset.name} has none", "digits, mnist, …")
    if spec.inversion == "published" and not any(one.kind in PUBLISHED for one in scenario.algorithms):
        why = "no paper of these algorithms infers gradients"
        raise ScenarioError(f"{where}.inversion", "published", why, f"strongest, or one of {', '.join(PUBLISHED)}")
    rounds = spec.rounds or asked.rounds
    if needs.rounds > 1 and rounds != "all":
        raise ScenarioError(f"{where}.rounds", rounds, f"it needs {needs.rounds} gradients of an agent", "all")
