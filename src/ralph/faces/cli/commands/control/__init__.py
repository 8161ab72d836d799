"""Commands that steer what runs."""
