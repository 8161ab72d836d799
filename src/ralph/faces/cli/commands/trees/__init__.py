"""Commands about snapshots of the work tree."""
