"""Results of a run: a tree of frozen types, its serialization, and the folder that keeps it."""
