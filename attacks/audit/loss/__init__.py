"""The exact privacy loss of an adjacent pair: replayed, explained, priced and pooled."""
