"""Limits of a loop and of its agents, as every command that runs agents has them."""

import click

from ralph.faces.cli.options.amounts import DollarsParam
from ralph.faces.cli.options.durations import DurationParam

max_time_option = click.option("--max-time", type=DurationParam(), help="Maximum total time: 90s, 15m, 8h.")
budget_option = click.option("--budget", type=DollarsParam(), metavar="USD", help="Stop when this much (USD) is spent.")
timeout_option = click.option("--timeout", type=DurationParam(), help="Stop an agent that runs longer than this.")
idle_timeout_option = click.option(
    "--idle-timeout", type=DurationParam(), help="Stop an agent after this long without output."
)
