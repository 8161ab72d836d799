"""Which sandbox agents and checks run in, and what it opens."""
