"""Use cases that start and steer what runs: every door (command line, board, web, MCP) calls these."""
