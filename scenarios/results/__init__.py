"""Results of runs as typed trees, and their serialization."""

from scenarios.results.serialize import dumps, loads, schema
from scenarios.results.tree import SCHEMA_VERSION, AlgorithmResult, Results

__all__ = ["SCHEMA_VERSION", "AlgorithmResult", "Results", "dumps", "loads", "schema"]
