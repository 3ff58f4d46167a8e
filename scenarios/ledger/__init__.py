"""The ledger: every shipped algorithm audited at its paper's own parameters, in one table.

An entry is a scenario of this folder, NAME.yaml; `ENTRIES` puts them in order.
"""

from scenarios.ledger.entries import (
    ENTRIES,
    Entry,
    Row,
    StoredEntry,
    chosen,
    rows,
    run_entry,
    stored_entry,
    write_page,
)

__all__ = ["ENTRIES", "Entry", "Row", "StoredEntry", "chosen", "rows", "run_entry", "stored_entry", "write_page"]
