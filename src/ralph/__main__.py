"""The entry: answers `--version` before importing anything, leaves without tearing the interpreter down."""

import sys


def main() -> int:
    """Run the command line; its exit code."""
    arguments = sys.argv[1:]
    if None in (sys.stdin, sys.stdout, sys.stderr):
        _open_closed_streams()
    if arguments in (["--version"], ["-v"]):
        from ralph._version import VERSION

        return _print_text(f"ralph {VERSION}\n")
    if sys.platform == "win32":
        sys.stderr.write("ralph: Windows is not supported: it cannot end an agent's whole process tree\n")
        sys.stderr.write("  → run ralph inside WSL2\n")
        return 2
    import gc

    gc.disable()  # nothing that is made while importing is garbage
    if arguments in (["status"], ["status", "--json"]) and (shown := _render_status(arguments)):
        sys.stdout.reconfigure(errors="replace")  # type: ignore[union-attr]  # it is a text stream here
        return _print_text(shown)
    guardian = None
    if arguments[:1] in (["run"], ["supervise"], ["story"], ["-p"], ["-f"]):
        from ralph.process.spawner import start_guardian

        try:
            guardian = start_guardian()  # it starts while we import
        except OSError:
            pass  # tried again, and told, where it is needed
    from ralph.faces.cli.main import main as command_line

    return command_line(arguments, guardian)


def _print_text(text: str, code: int = 0) -> int:
    """The exit code: what cannot be printed is told, but for a closed pipe, which is the reader's choice."""
    try:
        sys.stdout.write(text)
        sys.stdout.flush()
    except (BrokenPipeError, ValueError):
        return code
    except OSError as error:
        if code == 0:  # else it was told
            _complain(f"ralph: cannot print: {error.strerror}\n  → free some space, then try again\n")
        return code or 2
    return code


def _complain(text: str) -> None:
    try:
        sys.stderr.write(text)
        sys.stderr.flush()
    except (OSError, ValueError):
        pass  # nobody can be told


def _render_status(arguments: list[str]) -> str:
    """Half the start-up of the whole command line; empty when that shall tell what is wrong."""
    from ralph.faces.cli.pages.runs import render_status
    from ralph.model.errors import RalphError

    try:
        return render_status("--json" in arguments) + "\n"
    except (RalphError, FileNotFoundError):
        return ""


def _open_closed_streams() -> None:
    """Who starts ralph with `>&-` wants silence; what we open must not take the place of a terminal."""
    import os

    while (free := os.open(os.devnull, os.O_RDWR)) < 3:
        os.set_inheritable(free, True)
    os.close(free)
    sys.stdin = sys.stdin or os.fdopen(0, encoding="utf-8")
    sys.stdout = sys.stdout or os.fdopen(1, "w", encoding="utf-8")
    sys.stderr = sys.stderr or os.fdopen(2, "w", encoding="utf-8")


def entry() -> None:
    import os

    code = _print_text("", main())
    _complain("")
    os._exit(code)


if __name__ == "__main__":
    entry()
