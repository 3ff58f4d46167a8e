"""The property game: runs with records drawn under hypotheses in turn, and how often the right one is named."""

from dataclasses import dataclass, replace

from attacks.reconstruction.decision import Choice
from attacks.reconstruction.property_inference import PropertyInference
from attacks.score.decisions import PropertyScore, allowed_right, score_property
from netsim.randomness import Streams
from scenarios.deciding.allowed import Allowance, allowance
from scenarios.deciding.play import Game, begun, counted, guarded
from scenarios.describe import Results
from scenarios.report import decisions
from scenarios.schema.deciding import PropertySpec


@dataclass(frozen=True)
class PropertyGame(Game):
    """Plays it for one algorithm."""

    def play(self, spec: PropertySpec) -> Results:
        """The entry's `property`."""
        said = begun(spec, PropertyInference({}).source, self.records)
        said["hypotheses"] = [one.model_dump() for one in spec.hypotheses]
        self.progress.begin(f"{self.subject.spec.name}: property", spec.trials)
        found = said | guarded("property inference", lambda: self._played(spec))
        return found | {"sentence": decisions.properties(found)}

    def _played(self, spec: PropertySpec) -> Results:
        attack = PropertyInference(self.staging.hypotheses(spec), spec.draws)
        prior, activations = self.staging.prior, 0
        choices: list[Choice] = []
        true: list[int] = []
        for trial in range(spec.trials):
            true.append(trial % len(spec.hypotheses))
            run = self.run(spec.agent, self.staging.like(spec, true[-1], trial), trial, 1)
            case = self.case(run.views[0], spec, lambda known: replace(known, prior=prior))
            rng = Streams(self.experiment.scenario.seed).generator("property", self.subject.spec.name, trial)
            choices += attack.decide([case], rng)
            activations = max(activations, run.largest_activations)
            self.progress.advance(1)
        score = score_property(choices, true, spec.confidence)
        allowed = allowance(self.experiment, self.subject, activations, self.records)
        return {"trials": spec.trials, "estimates": len(choices[0].queries)} | scored(score, allowed)


def scored(score: PropertyScore, allowed: Allowance) -> Results:
    """How often it was right, beside a guess, and beside what the claim allows."""
    hypotheses = len(score.confusion)
    most = None if allowed.epsilon is None else allowed_right(hypotheses, allowed.epsilon, allowed.delta)
    return {
        "right": counted(score.right, score.count, score.trials) | {"allowed": most},
        "guess": 1 / hypotheses,
        "said": score.said,
        "bits": score.bits,
        "confusion": score.confusion.astype(int).tolist(),
        "claim": allowed.described(),
    }
