"""What a scenario can say of algorithms with a planted fault: ten ways to get it wrong, and their sound twins."""

from typing import Literal

from netsim.algorithms import Algorithm
from netsim.algorithms import planted_faults as gallery
from scenarios.schema.algorithms.base import AlgorithmModel, Ground
from scenarios.schema.base import Count, Positive

FaultName = Literal[
    "l1_l2_mix_up", "one_scalar", "sent_before", "composition_forgotten", "reused_seed", "averaged", "fading_noise",
    "second_message", "wrong_clip", "half_noise",
]  # fmt: skip
FAULTS: dict[str, type[gallery.Fault]] = {
    "l1_l2_mix_up": gallery.L1L2MixUp,
    "one_scalar": gallery.OneScalar,
    "sent_before": gallery.SentBefore,
    "composition_forgotten": gallery.CompositionForgotten,
    "reused_seed": gallery.ReusedSeed,
    "averaged": gallery.Averaged,
    "fading_noise": gallery.FadingNoise,
    "second_message": gallery.SecondMessage,
    "wrong_clip": gallery.WrongClip,
    "half_noise": gallery.HalfNoise,
}


class PlantedFaultSpec(AlgorithmModel):
    """Private gradient descent with a planted `fault`, for teaching and for examining auditors (docs/gallery.md); or
    its `sound` twin, which claims the same. Gradients are clipped to the `bound`, `scale` is a Laplace b."""

    kind: Literal["planted_fault"] = "planted_fault"
    name: str = "planted fault"
    fault: FaultName
    sound: bool = False
    rounds: Count = 4
    step: Positive = 0.1
    scale: Positive = 0.8
    bound: Positive = 0.5

    def build(self, ground: Ground) -> Algorithm:
        del ground
        return FAULTS[self.fault](
            rounds=self.rounds, step=self.step, scale=self.scale, bound=self.bound, sound=self.sound
        )
