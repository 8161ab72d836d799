"""`ralph story`: stories, each reviewed by a fresh context."""
