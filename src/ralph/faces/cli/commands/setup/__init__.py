"""Commands of the first minutes."""
