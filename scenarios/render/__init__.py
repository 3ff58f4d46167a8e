"""Rendering of results, with one set of words: terminal, page, comparison, trace."""
