"""One file a command: parse, one use case, render, exit code."""
