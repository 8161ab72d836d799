"""What a command prints once."""
