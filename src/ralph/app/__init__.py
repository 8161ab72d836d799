"""Use cases: what the doors may ask for, wired together here and nowhere else."""
