"""`ralph run`: the prompt loop."""
