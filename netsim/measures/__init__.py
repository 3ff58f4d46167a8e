"""How far a run got, and what it cost to get there, measured from outside: nothing here is ever on the wire.

`Run.measures` has every measure as a curve, the costs so far at every round or activation, and what it cost to reach
a given accuracy. Definitions, with their symbols, are in `netsim.measures.formulas`.
"""

from netsim.measures.costs import Costs
from netsim.measures.course import Course
from netsim.measures.measures import DEFINITIONS, Curve, Measures, Reached, defined

__all__ = ["DEFINITIONS", "Costs", "Course", "Curve", "Measures", "Reached", "defined"]
