"""Specs and tasks: what is to be done, and what the board shows."""
