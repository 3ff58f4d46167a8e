"""Scenario → Experiment: everything made and checked before time 0."""
