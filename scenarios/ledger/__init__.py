"""The ledger: every shipped algorithm audited at its paper's own parameters, in one table.

An entry is a scenario of this folder, NAME.yaml; `catalogue` puts them in order.
"""

from scenarios.ledger.catalogue import ENTRIES, Entry, chosen
from scenarios.ledger.keeping import Kept, kept, run_entry
from scenarios.ledger.page import write_page
from scenarios.ledger.rows import Row, rows

__all__ = ["ENTRIES", "Entry", "Kept", "Row", "chosen", "kept", "rows", "run_entry", "write_page"]
