"""`ralph dev`: tools for people who write agent adapters."""

import json

import click

from ralph.devtools.llm import serve_script


@click.group("dev", short_help="Tools for writing agent adapters.")
def command() -> None:
    """Tools for people who write agent adapters; see docs/agents.md."""


@command.command("llm")
@click.argument("script", metavar="SCRIPT")
@click.option("--port", type=click.IntRange(0, 65535), default=0, show_default=True, help="0: any that is free.")
@click.option("--once", is_flag=True, help="Exit after the last run of the script.")
@click.option("--log", metavar="FILE", help="Append every request as a line of JSON, without keys.")
def serve_llm_command(script: str, port: int, once: bool, log: str | None) -> None:
    """Serve a model on 127.0.0.1 that plays SCRIPT, until Ctrl-C. SCRIPT is JSON or YAML.

    Speaks Anthropic Messages, OpenAI Responses and Chat Completions, and Gemini. Prints {"url": …} when it is ready.
    """
    serve_script(script, port, once=once, log=log, ready=lambda url: click.echo(json.dumps({"url": url})))
