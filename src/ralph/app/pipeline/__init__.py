"""`ralph execute`: tasks through coder, reviewer, tester and qa."""
