"""Variants of a scenario, and what a paper shows: checks computed from results, an outcome, figures.

`variants` makes the variants, `names` finds names that nobody has before time 0, `study` runs them, `series` reads
curves from results, `measures` numbers, `outcome` decides, `plots` collects what is drawn, `budget` follows the
claimed ε over rounds.
"""
