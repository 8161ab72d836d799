"""What other programs get to see, as typed JSON: the board, runs, tasks, stories and costs."""
