"""Text: plain, fenced, redacted, counted."""
