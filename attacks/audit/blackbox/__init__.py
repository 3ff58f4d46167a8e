"""Scores that know no private data and no algorithm: inferred gradients, trained classifiers."""
