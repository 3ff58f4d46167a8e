"""Confidence intervals, and ε(δ) of what was released: closed forms, quadrature, sampling."""
