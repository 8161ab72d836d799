"""Coding agents, one a file: how to call it, how to understand it."""
