"""Git: work trees of tasks, landing, snapshots."""
