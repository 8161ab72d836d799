"""Kinds of guardrails, one a file."""
