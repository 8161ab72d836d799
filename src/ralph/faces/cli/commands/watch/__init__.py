"""Commands that show what ran, what it cost and what came of it."""
