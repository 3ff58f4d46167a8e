"""Experiments as data: schema, runner, reports, command line."""
