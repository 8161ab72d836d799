"""Settings: one schema, many sources, complaints with file and line."""
