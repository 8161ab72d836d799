"""The terminal itself: its look, and writing to it."""
