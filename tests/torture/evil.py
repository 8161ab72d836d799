"""An agent that leaves seven kinds of awkward descendants, each with TOKEN as a word of its command line.

usage: evil.py TOKEN stay|leave     grows the tree, then sleeps or ends normally
       evil.py TOKEN KIND           is one of them
"""

import os
import signal
import subprocess
import sys
import time

DEAF = ("deaf", "nameless", "nohup", "chain")
KINDS = ("plain", "session", "daemon", *DEAF)
LIFE = 120  # seconds: a survivor ends itself in the end


def grow(token: str) -> None:
    def leaf(kind: str) -> list[str]:
        return [sys.executable, "-I", "-S", os.path.abspath(__file__), token, kind]

    subprocess.Popen(leaf("plain"))
    for kind in ("session", "deaf", "chain"):
        subprocess.Popen(leaf(kind), start_new_session=True)
    subprocess.Popen(["setsid", "-f", *leaf("daemon")])
    subprocess.Popen(["env", "-i", f"PATH={os.environ['PATH']}", "setsid", "-f", *leaf("nameless")])
    subprocess.Popen(["bash", "-c", 'nohup "$@" >/dev/null 2>&1 & disown; exit 0', "bash", *leaf("nohup")])


def live(kind: str) -> None:
    if kind in DEAF:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
    end = time.monotonic() + LIFE
    while kind == "chain" and time.monotonic() < end:  # a moving target: each lives 5 ms, then its child goes on
        if os.fork():
            os._exit(0)
        os.setsid()
        time.sleep(0.005)
    time.sleep(LIFE)


if __name__ == "__main__":
    token, what = sys.argv[1:3]
    if what in ("stay", "leave"):
        grow(token)
        time.sleep(LIFE if what == "stay" else 0.3)
    else:
        live(what)
