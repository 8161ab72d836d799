"""Use cases about what runs leave behind: undone, recovered, cleaned up."""
