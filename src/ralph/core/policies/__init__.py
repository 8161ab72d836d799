"""Completion rules, one a file: what a claim is, and who decides."""
