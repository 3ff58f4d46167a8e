"""A transcript that is written while the run goes on, in bounded memory, and read back lazily.

A spool is one Arrow IPC stream. Each record batch holds what the taps heard between two moments, in order of
arrival: first what went over links, then what passed doors. Its columns are those of `netsim.transcript.COLUMNS`
(`place`, `event` and `kind` as dictionaries of strings) and two more:

- ``values``, map<string, list<float64>>: field name → numbers, replica-major. A map, because nobody knows at the
  start which fields there will be. A message that several rows of a batch carry is written with the first only,
  and the map is empty in the others, in acknowledgements and where sealed;
- ``values_at``, int32: the row of the batch whose `values` are this row's, its own or an earlier one.

Each batch names in its metadata (``netsim``, JSON) how many rows are from links, the earliest and latest time at
links and at doors, and the fields. A process killed at any moment leaves every batch it wrote readable.
"""

from netsim.spool.reader import SpooledTranscript
from netsim.spool.writer import Spool

__all__ = ["Spool", "SpooledTranscript"]
