"""`ralph completion`: the script that teaches a shell ralph's commands and options."""

import sys

import click
from click.shell_completion import ShellComplete, get_completion_class

_INSTALL_HINTS = {
    "bash": "echo 'eval \"$(ralph completion bash)\"' >> ~/.bashrc",
    "zsh": "echo 'eval \"$(ralph completion zsh)\"' >> ~/.zshrc",
    "fish": "mkdir -p ~/.config/fish/completions; ralph completion fish > ~/.config/fish/completions/ralph.fish",
}
_ZSH_FIXES = {  # in click's script for zsh
    # A zsh that nobody set up has no completion at all.
    "    compdef _": "    (( $+functions[compdef] )) || { autoload -Uz compinit && compinit -i; }\n    compdef _",
    # From the second time on, an autoloaded function is one like others.
    "== loadautofunc ": "== (loadautofunc|shfunc) ",
}


@click.command()
@click.argument("shell", type=click.Choice(list(_INSTALL_HINTS)))
@click.pass_context
def command(context: click.Context, shell: str) -> int:
    """Print the completion script for bash, zsh or fish."""
    click.echo(build_completion_script(context.find_root().command, shell))
    if sys.stdout.isatty():  # a shell that evaluates it at every start wants to hear nothing
        click.echo(f"To install it: {_INSTALL_HINTS[shell]}", err=True)
    return 0


def build_completion_script(root: click.Command, shell: str) -> str:
    """Click's own script, with our fixes for zsh. Click's check of the bash version is skipped: it would start a
    process."""
    kind = get_completion_class(shell)
    assert kind is not None
    text = ShellComplete.source(kind(root, {}, "ralph", "_RALPH_COMPLETE"))
    for part, better in _ZSH_FIXES.items():
        text = text.replace(part, better)
    return text
