"""Durable memory."""
