"""Pure functions: decisions, judgements, prompts, words. No clock, no files, no processes."""
