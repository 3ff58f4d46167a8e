"""Stages of a run: simulate, audit, attack, reconstruct, write."""
