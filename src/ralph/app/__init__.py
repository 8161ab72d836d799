"""The composition root: what the doors may ask for."""
