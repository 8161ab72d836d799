"""`ralph supervise`: the restart loop, and its public API."""
