"""Runs coding agents until the work is verifiably done."""
