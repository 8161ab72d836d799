"""`ralph init`, `doctor`, `demo` and `plugin`."""
