"""Limits of a loop and of its agents, as every command that runs agents has them."""

import click

from ralph.faces.cli.options.amounts import DollarsParam
from ralph.faces.cli.options.durations import DurationParam

max_time_option = click.option("--max-time", type=DurationParam(), help="Start no agent after so long: 90s, 15m, 8h.")
budget_option = click.option(
    "--budget", type=DollarsParam(), metavar="USD", help="Start no agent once so much is spent."
)
timeout_option = click.option("--timeout", type=DurationParam(), help="End an agent that runs longer than this.")
idle_timeout_option = click.option(
    "--idle-timeout", type=DurationParam(), help="End an agent that prints nothing for so long."
)
