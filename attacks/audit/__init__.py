"""Audits: what a mechanism costs, what a game proves about it, and the verdict on its claim."""
