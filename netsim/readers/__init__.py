"""Readers of the port: ways to run the same algorithm file. `live` runs it over the simulated network."""
