"""Use cases that steer what runs: every door (command line, board, web, MCP) calls these."""
