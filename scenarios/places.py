"""The names of the files that every results folder holds."""

MANIFEST = "manifest.json"
"""What was run: the whole scenario, versions, the machine, the command."""
RESULTS = "results.json"
"""What was found; `docs/results.md` describes it."""
PAGE = "report.html"
"""The same to read."""
