"""The ledger: every shipped algorithm audited at its paper's own parameters, in one table.

An entry is a scenario of this folder, NAME.yaml; `entries.ENTRIES` puts them in order.
"""
