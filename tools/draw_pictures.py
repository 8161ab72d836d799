"""Draws the moving pictures of README and docs from real runs: `make pictures`, or draw_pictures.py run board."""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import yaml

from ralph.app.setup.demo import DEMO_FOLDER, isolate_variables, prepare_demo
from terminal_film import Film, draw, record

ROOT = Path(__file__).resolve().parent.parent
PICTURES = ROOT / "docs" / "pictures"
RALPH = str(Path(sys.executable).with_name("ralph"))
PACE_SECONDS = 0.7  # between the steps of the scripted agent: as fast as people read
PROMISES = {
    "coder": "IMPLEMENTATION_COMPLETE",
    "reviewer": "REVIEW_APPROVED",
    "tester": "TESTS_PASSED",
    "qa": "QA_PASSED",
}
TASKS = {
    "totals": ("Sum up the cart", "assert totals.total([2, 3]) == 5"),
    "discount": ("Apply a discount", "assert discount.reduce(200, 10) == 180"),
    "currency": ("Show amounts with two digits", "assert currency.show(250) == '2.50 EUR'"),
    "stock": ("Show remaining stock", "assert stock.is_left(3, 2)"),
    "receipt": ("Print receipt lines", "assert receipt.line('tea', 2).endswith('2.00')"),
    "tax": ("Add sales tax", "assert tax.add_tax(100, 19) == 119"),
}


def film_run(folder: Path, variables: Mapping[str, str]) -> Film:
    """The demonstration at reading pace: a claim made too early, caught by the guardrail, then the fix."""
    prepare_demo(str(folder), variables)
    runs = yaml.safe_load(Path(DEMO_FOLDER, "script.yaml").read_text(encoding="utf-8"))
    for run in runs:
        run["steps"] = [part for step in run["steps"] for part in ({"sleep": PACE_SECONDS}, step)]
    (folder / ".git" / "script.json").write_text(json.dumps(runs))
    settings = folder / ".ralph" / "settings.json"
    chosen = json.loads(settings.read_text())
    chosen["agent"]["flags"] = [str(folder / ".git" / "script.json")]
    settings.write_text(json.dumps(chosen))
    # what is typed, then what it does
    words = (
        "sh",
        "-c",
        f'printf "\\033[32m$\\033[0m ralph run -f PROMPT.md\\n"; sleep 1; exec {RALPH} run -f PROMPT.md',
    )
    return record(words, folder=str(folder), variables=variables, size=(96, 30))


def film_board(folder: Path, variables: Mapping[str, str]) -> Film:
    """Six tasks, three at a time, from the first coder to the last merge."""
    prepare_tasks(folder, variables)
    with subprocess.Popen(
        (RALPH, "execute", "-j", "3"), cwd=folder, env=variables, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as executing:
        time.sleep(1)
        typed = ((44.0, "q"),)
        film = record((RALPH, "board"), folder=str(folder), variables=variables, size=(132, 36), typed=typed, every=0.6)
        executing.terminate()
    return film


def prepare_tasks(folder: Path, variables: Mapping[str, str]) -> None:
    """A repository with a spec, six tasks and an agent that works on them."""
    agent = folder / "bin" / "claude"
    agent.parent.mkdir()
    shutil.copy(ROOT / "tools" / "picture_agent.py", agent)
    agent.chmod(0o755)
    tasks = [_describe_task(name, title, check) for name, (title, check) in TASKS.items()]
    (folder / "tasks.yaml").write_text(json.dumps({"tasks": tasks}))
    (folder / "SPEC.md").write_text("# A small shop\n\nPrices, discounts, receipts.\n")
    (folder / ".gitignore").write_text(".ralph/\n__pycache__/\nbin/\n")
    (folder / ".ralph").mkdir()
    settings = {"agent": {"command": str(agent)}}
    (folder / ".ralph" / "settings.json").write_text(json.dumps(settings))
    for words in (
        ("git", "init", "--quiet", "--initial-branch=main"),
        ("git", "add", "--all"),
        ("git", "commit", "--quiet", "--message=A shop"),
        (RALPH, "spec", "create", "shop", "--file", "SPEC.md"),
        (RALPH, "task", "import", "tasks.yaml", "--spec", "shop"),
    ):
        subprocess.run(words, cwd=folder, env=variables, check=True, stdout=subprocess.DEVNULL)


def _describe_task(name: str, title: str, check: str) -> dict[str, object]:
    """As a file for `ralph task import` has it."""
    command = {"command": f'python3 -c "import {name}; {check}"'}
    external = {"description": title, "verification_method": "external", "verification_config": command}
    stages = {role: {**external, "promise": promise} for role, promise in PROMISES.items()}
    return {"id": name, "title": title, "completion": {"outcome": title, "acceptance_criteria": [title], **stages}}


SCENES: dict[str, tuple[str, Callable[[Path, Mapping[str, str]], Film]]] = {
    "run": ("ralph run: the agent claims to be done, the guardrail fails, the next run fixes it", film_run),
    "board": ("ralph board: six tasks move from coder to merge", film_board),
}


@contextmanager
def open_stage() -> Iterator[tuple[Path, dict[str, str]]]:
    """An empty folder and the environment of a user who has set nothing."""
    scratch = Path(tempfile.mkdtemp(prefix="ralph-pictures-"))
    names = {f"GIT_{who}_{what}": value for who in ("AUTHOR", "COMMITTER") for what, value in _IDENTITY.items()}
    variables = {
        **isolate_variables(os.environ),
        **names,
        "HOME": str(scratch),
        "TERM": "xterm-256color",
        "COLORTERM": "truecolor",
        "LANG": "C.UTF-8",
        "PICTURE_PACE": str(PACE_SECONDS),
    }
    folder = scratch / "shop"
    folder.mkdir()
    try:
        yield folder, variables
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


_IDENTITY = {"NAME": "Ada", "EMAIL": "ada@localhost"}


def main(wanted: list[str]) -> int:
    """Draw the named scenes, or all; the exit code."""
    PICTURES.mkdir(exist_ok=True)
    for name in wanted or SCENES:
        title, play = SCENES[name]
        with open_stage() as (folder, variables):
            film = play(folder, variables)
        picture = PICTURES / f"{name}.svg"
        picture.write_text(draw(film, title), encoding="utf-8")
        told = f"{len(film.frames)} frames, {film.seconds:.0f} s, {picture.stat().st_size:,} bytes"
        print(f"{picture.relative_to(ROOT)}: {told}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
