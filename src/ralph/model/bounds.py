"""How much may be asked for."""

MOST = 10**12  # of what is counted: more than any run does, and no more than a database can hold
LARGEST = 1e9  # seconds (31 years) or dollars: a clock can show it, and infinity is beyond it
