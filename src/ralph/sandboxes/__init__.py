"""Sandboxes: a command in, the same command kept within bounds out. One module a backend, found by its name."""
