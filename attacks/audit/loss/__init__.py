"""Exact privacy loss of an adjacent pair: replay, comparison, cost, pooling."""
