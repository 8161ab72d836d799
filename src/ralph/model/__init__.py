"""Frozen structs: what a loop sees, decides and remembers; and the Protocols between the rooms."""
