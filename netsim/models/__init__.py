"""Models: how a record's loss depends on the parameters, and what the penalty adds to it; all of it public.

A model holds no record. The private objectives are made of it and of records (`netsim.problems`); an attack has
the model alone.
"""

from netsim.models.lenet import LeNet
from netsim.models.model import NOTHING, Linear, Logistic, Model, Penalty, mixed_gradient, stepped
from netsim.models.networks import MLP, ActivationName, Dense, Softmax

__all__ = [
    "MLP",
    "NOTHING",
    "ActivationName",
    "Dense",
    "LeNet",
    "Linear",
    "Logistic",
    "Model",
    "Penalty",
    "Softmax",
    "mixed_gradient",
    "stepped",
]
