"""Tasks of the board: criteria, rules, order, prompts."""
