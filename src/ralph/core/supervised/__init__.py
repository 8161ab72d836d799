"""Supervised tasks: their names, and the message bus."""
