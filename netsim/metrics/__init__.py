"""Metrics: how far a run got, and what it cost to get there, measured from outside."""
