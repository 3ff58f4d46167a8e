"""What each lesson computes: typed, and tested apart from its notebook."""
