"""Which agents there are, and what an installed one really does."""
