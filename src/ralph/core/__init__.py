"""Verbs: pure functions over the nouns."""
