"""Readers of views: from what was seen to gradients, to data, to the ε it proves.

An attack takes an `AdversaryView` and nothing else. Only `attacks.score` may open a run's truth.
"""
