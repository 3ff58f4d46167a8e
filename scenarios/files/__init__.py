"""Scenario files: load, extend, dump, mistakes with line numbers."""
