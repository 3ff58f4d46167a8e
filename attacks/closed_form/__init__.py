"""Closed_form."""
