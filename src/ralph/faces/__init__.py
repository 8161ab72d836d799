"""Doors: the ways a person meets ralph."""
