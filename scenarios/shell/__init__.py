"""Commands of `netsim`, one file each.

Nothing here is slow to import: what a command works with, it imports itself, when it runs.
"""
