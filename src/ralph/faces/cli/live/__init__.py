"""What a loop shows while it runs."""
