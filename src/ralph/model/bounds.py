"""How much may be asked for."""

MAX_COUNT = 10**12  # of what is counted: more than any run does, and no more than a database can hold
MAX_AMOUNT = 1e9  # seconds (31 years) or dollars: a clock can show it, and infinity is beyond it
