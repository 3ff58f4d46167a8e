"""Distinguishing game: thresholds, bounds, wagers that may stop at any time, and power."""
