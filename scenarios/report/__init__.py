"""Results as one self-contained page to look at."""

from scenarios.report.page import render

__all__ = ["render"]
