"""All histories, by kind."""
