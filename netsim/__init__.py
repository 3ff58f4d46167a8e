"""netsim: private decentralized optimization on a simulated, hostile network.

The names below are loaded when they are first used, so that `import netsim` takes no time; `netsim.audit` is
`scenarios.audit`, where that is installed.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from netsim.adversary import Adversary
    from netsim.algorithms import Algorithm
    from netsim.claims import Adjacency, Claim
    from netsim.mechanisms import Gaussian, Laplace
    from netsim.node import Node
    from netsim.problems import Problem, objective
    from netsim.simulation import Simulation
    from netsim.topology import Topology

_HOMES = {
    "Adjacency": "netsim.claims",
    "Adversary": "netsim.adversary",
    "Algorithm": "netsim.algorithms",
    "Claim": "netsim.claims",
    "Gaussian": "netsim.mechanisms",
    "Laplace": "netsim.mechanisms",
    "Node": "netsim.node",
    "Problem": "netsim.problems",
    "Simulation": "netsim.simulation",
    "Topology": "netsim.topology",
    "objective": "netsim.problems",
}

__all__ = [
    "Adjacency",
    "Adversary",
    "Algorithm",
    "Claim",
    "Gaussian",
    "Laplace",
    "Node",
    "Problem",
    "Simulation",
    "Topology",
    "objective",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("netsim-lab")
    if name == "audit":
        return import_module("netsim.shown").above(name)
    if name not in _HOMES:
        raise AttributeError(f"module 'netsim' has no attribute {name!r}", name=name, obj=import_module(__name__))
    return getattr(import_module(_HOMES[name]), name)


def __dir__() -> list[str]:
    return sorted({*__all__, "__version__", "audit", *(name for name in globals() if name.startswith("__"))})
