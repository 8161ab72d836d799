"""Values people type: amounts, durations, criteria, names of runs."""
