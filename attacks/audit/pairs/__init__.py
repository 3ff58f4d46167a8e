"""The search for the adjacent pair that costs most."""
