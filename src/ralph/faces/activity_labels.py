"""What a run does at the moment, in words for its decisions."""

ACTIVITY_LABELS = {
    "run_agent": "agent at work",
    "take_snapshot": "taking a snapshot",
    "check": "running the checks",
    "save": "committing",
    "survey": "looking at the stories",
    "look": "looking for DONE",
    "await": "waiting for others",
    "verify": "verifying",
    "land": "merging",
    "wait": "waiting",
    "pause": "paused",
}
