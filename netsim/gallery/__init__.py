"""Ten ways to get differential privacy wrong, each a small algorithm with a sound twin: an auditor's exam.

All are gradient descent in rounds, x_i ← Σ_j w_ij x̃_j − η clip(∇f_i(x_i)), with noise on what is sent, and all claim
the same for their fault and for its twin. `Fault.lesson` is what to take home.
"""

from netsim.gallery.accounting import CompositionForgotten, L1L2MixUp, WrongClip
from netsim.gallery.fault import Fault
from netsim.gallery.messages import Averaged, SecondMessage, SentBefore
from netsim.gallery.noise import FadingNoise, HalfNoise, OneScalar, ReusedSeed

FAULTS: tuple[type[Fault], ...] = (
    L1L2MixUp,
    OneScalar,
    SentBefore,
    CompositionForgotten,
    ReusedSeed,
    Averaged,
    FadingNoise,
    SecondMessage,
    WrongClip,
    HalfNoise,
)

__all__ = [
    "FAULTS",
    "Averaged",
    "CompositionForgotten",
    "FadingNoise",
    "Fault",
    "HalfNoise",
    "L1L2MixUp",
    "OneScalar",
    "ReusedSeed",
    "SecondMessage",
    "SentBefore",
    "WrongClip",
]
