"""Use cases: what runs come to, for who was not there."""
