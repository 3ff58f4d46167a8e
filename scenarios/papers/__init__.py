"""Items of papers: their numbers, checks, outcome and figures."""
