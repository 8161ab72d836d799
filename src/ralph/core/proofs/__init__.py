"""Proofs: which files a check rests on, and whether they still say what they said."""
