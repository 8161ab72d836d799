"""What runs have left in a repository: kept for a while, undone, forgotten."""
