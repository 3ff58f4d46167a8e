"""Branches of an algorithm's own code: those that no transcript took both ways are not audited."""
