"""Verification methods, one a file."""
