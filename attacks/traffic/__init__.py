"""Traffic analysis: what times and sizes of packets give away, when all else is sealed.

`analysed(view)` takes an `AdversaryView` and looks at four columns of the rows that taps on links observed: time,
sender, receiver and size (and whether a row was sealed). Number and values of a row are not looked at, even where a
link is in the clear. Beside them it uses what is public: the algorithm's code, the graph, the codec, and how messages
are carried (`netsim.network.links.Transport`). The public dimension is not used to estimate the dimension.
"""

from attacks.traffic.analysis import analysed
from attacks.traffic.packets import Activity, Amount, Computing, Dimension, Event, LinkTraffic, Sealed

__all__ = ["Activity", "Amount", "Computing", "Dimension", "Event", "LinkTraffic", "Sealed", "analysed"]
