"""Fixtures of the tests below."""

from tests.scenarios.pair import pair, study

__all__ = ["pair", "study"]
