"""Computations of the lessons: typed, and tested apart from the notebooks."""
