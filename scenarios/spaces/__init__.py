"""What a search may put in place of an agent's objective, within the adjacency that a scenario names."""

from scenarios.spaces.data import Data
from scenarios.spaces.moved import Moved
from scenarios.spaces.records import Records

Spaces = Moved | Records | Data

__all__ = ["Data", "Moved", "Records", "Spaces"]
