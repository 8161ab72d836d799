"""Several loops in one process: who loses its guardian ends its own children and nobody else's."""

import json
import os
import subprocess
import sys
from pathlib import Path

from support.processes import find_processes_with

# Two loops, each in its thread. The first loses its guardian while both run a command, then both go on.
TWO_LOOPS = r"""
import json, os, signal, sys, threading, time
sys.path.insert(0, sys.argv[1])
from ralph.model.command import Command
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox

guardians, found = set(), {}
loops = {name: Supervisor(QuietInbox(), sibling_guardians=guardians) for name in ("one", "two")}

def run(loop, script):
    said = bytearray()
    command = Command(argv=("/bin/sh", "-c", script), environment={"PATH": os.environ["PATH"]}, cwd="/")
    exited = loop.run(command, said.extend, len)
    return [exited.code, exited.error, said.decode()]

def work(name, script):
    found[name] = run(loops[name], script)

scripts = {"one": f"setsid sleep {sys.argv[2]} & sleep {sys.argv[2]}", "two": "sleep 1.5; echo well"}
threads = [threading.Thread(target=work, args=item) for item in scripts.items()]
for thread in threads:
    thread.start()
time.sleep(0.5)
os.kill(loops["one"].guardian_pid, signal.SIGKILL)
for thread in threads:
    thread.join()
found["again"] = [run(loops[name], "echo up") for name in loops]
for loop in loops.values():
    loop.close()
print(json.dumps(found))
"""


def test_a_lost_guardian_costs_only_its_own_loop(tmp_path: Path) -> None:
    tests, seconds = str(Path(__file__).parents[1]), f"63.{os.getpid()}"
    done = subprocess.run(
        [sys.executable, "-c", TWO_LOOPS, tests, seconds], capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    assert found["one"] == [-9, "its guardian was killed", ""]
    assert found["two"] == [0, "", "well\n"]
    assert found["again"] == [[0, "", "up\n"]] * 2
    assert not find_processes_with(seconds)
