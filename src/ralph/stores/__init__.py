"""Durable memory: a folder for the database, and the message bus, which is a file of its own."""
