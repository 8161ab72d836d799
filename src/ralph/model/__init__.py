"""Nouns: what the loop sees, decides and remembers. Frozen, and free of effects."""
