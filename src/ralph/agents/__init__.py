"""Coding agents, one a file: how to call it and how to understand it."""
