"""Settings: one schema, many sources."""
