"""No child run is lost, however it is started and however soon its agent ends. RALPH_TORTURE says how often."""

import os
import random
import shlex
import sys

import pytest

from support.workshop import ProjectFixture

ROUNDS = int(os.environ.get("RALPH_TORTURE", "3"))
MAX_DELAY_SECONDS = 2.0
SLOW_EXEC = "import os, sys, time; os.fork() or (time.sleep(0.3), os.execv(sys.executable, os.environ['W'].split('|')))"
STARTS = {
    "as its prompt says": "{detached}",
    "by a process that forks": "setsid -f {line}",
    "on a machine so busy that exec takes its time": "W={joined} {python} -c {slow_exec}",
    "by another shell": "sh -c {quoted} &",
    "in the background": "{line} &",
    "in a session of its own": "setsid {line} &",
    "by a process that stays": "timeout 60 {line} &",
    "deaf to the terminal": "nohup {line} &",
    "in a subshell": "(cd / && {line}) &",
    "by a program": "{python} -c 'import subprocess as s, sys; s.Popen(sys.argv[1:], start_new_session=True)' {line}",
}


def lose_child(workshop: ProjectFixture, number: int, start: str, delay: float) -> str:
    """An agent starts a child, waits and ends: what went wrong."""
    task, child = workshop.repo / f"p/task-{number}", workshop.repo / f"p/child-{number}"
    for folder in (task, child):
        folder.mkdir(parents=True)
        (folder / "TASK.md").write_text("Do it.\n")
    words = [sys.executable, "-m", "ralph", "supervise", str(child), "--", "sh", "-c", f"sleep 0.3; touch {child}/DONE"]
    line = shlex.join(words)
    detached = shlex.join((*words[:5], "--detach", *words[5:]))
    started = STARTS[start].format(
        line=line,
        detached=detached,
        quoted=shlex.quote(line),
        joined=shlex.quote("|".join(words)),
        python=sys.executable,
        slow_exec=shlex.quote(SLOW_EXEC),
    )
    script = f"{{ {started}\n}} >{task}/child.log 2>&1; sleep {delay}; touch {task}/DONE"
    done = workshop.ralph("supervise", str(task), "--poll-interval", "0.1", "--", "sh", "-c", script)
    if (child / "DONE").exists() and done.returncode == 0 and "no active children" in done.stdout:
        return ""
    return f"{start}, {delay:.3f} s: exit code {done.returncode}, {(task / 'child.log').read_text()!r}"


@pytest.mark.timeout(1800)
def test_no_child_is_lost(workshop: ProjectFixture) -> None:  # 003-17
    wrong = []
    for number in range(ROUNDS):
        start = list(STARTS)[number % len(STARTS)]
        delay = 0.0 if number < len(STARTS) else random.uniform(0, random.choice((0.1, MAX_DELAY_SECONDS)))
        wrong.append(lose_child(workshop, number, start, delay))
    assert list(filter(None, wrong)) == []
