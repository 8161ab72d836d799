"""The imperative shell around the core."""
