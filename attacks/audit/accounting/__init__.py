"""Accounting: confidence intervals, the hockey-stick divergence of products of releases, and proven ends of ε."""
