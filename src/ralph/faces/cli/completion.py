"""`ralph completion`: the script that teaches a shell ralph's commands and options."""

import sys

import click

_HOW = {
    "bash": "echo 'eval \"$(ralph completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(ralph completion zsh)\"' >> ~/.zshrc",
    "fish": "ralph completion fish > ~/.config/fish/completions/ralph.fish",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_HOW)))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script for bash, zsh or fish."""
    click.echo(script(context.find_root().command, shell))
    if sys.stdout.isatty():  # a shell that evaluates it at every start wants to hear nothing
        click.echo(f"To install it: {_HOW[shell]}", err=True)
    return 0


def script(root: click.Command, shell: str) -> str:
    """Click's own script; its check of bash's version would start a process, so it is passed over."""
    from click.shell_completion import ShellComplete, get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    return ShellComplete.source(kind(root, {}, "ralph", "_RALPH_COMPLETE"))
