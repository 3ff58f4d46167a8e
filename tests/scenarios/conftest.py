"""Fixtures of the tests below."""

from tests.scenarios.browser import chromium

__all__ = ["chromium"]
