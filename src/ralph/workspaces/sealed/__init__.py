"""A copy of a work tree for checks: some files as they were, dependencies linked, caches away."""
