"""Attacks that decide, as stages of a run: whether a record is an agent's, and what an agent's records are like."""
