#!/usr/bin/env python3
"""A scripted agent for the pictures: called as Claude Code is, as slow as people read, wrong at first now and then."""

import hashlib
import json
import os
import re
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

MODULES = {  # the task that wants it → its code; the second of two is right
    "totals": ("def total(prices):\n    return max(prices)\n", "def total(prices):\n    return sum(prices)\n"),
    "discount": ("def reduce(price, percent):\n    return price * (100 - percent) / 100\n",),
    "currency": (
        "def show(cents):\n    return f'{cents / 100} EUR'\n",
        "def show(cents):\n    return f'{cents / 100:.2f} EUR'\n",
    ),
    "stock": ("def is_left(count, wanted):\n    return count >= wanted\n",),
    "receipt": ("def line(name, price):\n    return f'{name:<20}{price:>8.2f}'\n",),
    "tax": ("def add_tax(net, rate):\n    return round(net * (1 + rate / 100), 2)\n",),
}
REMARKS = {
    "REVIEW": "I read the diff: the change is small, named well and does what the task asks.",
    "TEST": "I tried the edges too: nothing in the cart, one item, many.",
    "QA": "I checked every criterion by hand against the merged code.",
}


def main() -> None:
    """Play one run."""
    if "--version" in sys.argv:
        print("2.1.325 (Claude Code)")
        return
    prompt = sys.stdin.read()
    pace = float(os.environ.get("PICTURE_PACE", "0.7"))
    promise = (re.findall(r"<promise>([A-Z_]+)</promise>", prompt) or ["DONE"])[-1]
    print_event({"type": "system", "subtype": "init", "session_id": "picture"})
    name = next((name for name in MODULES if re.search(rf"\b{name}\b", prompt)), "")
    if name and "IMPLEMENTATION" in promise:
        write_module(name, pace)
    else:
        time.sleep(pace)
        say(next((text for word, text in REMARKS.items() if word in promise), "Everything is as the task wants it."))
        call_tool("Bash", {"command": "git diff --stat HEAD~1"}, " 1 file changed, 2 insertions(+)", pace)
    final = f"Done.\n\n<promise>{promise}</promise>"
    say(final)
    cost = 0.02 + int(hashlib.sha256(prompt.encode()).hexdigest()[:2], 16) / 4000
    usage = {"input_tokens": 5200 + len(prompt), "output_tokens": 640, "cache_read_input_tokens": 3100}
    result = {"type": "result", "subtype": "success", "is_error": False, "result": final}
    print_event({**result, "total_cost_usd": round(cost, 4), "usage": usage})


def write_module(name: str, pace: float) -> None:
    """The wrong version where there is none yet, the right one over it; one that is right is committed."""
    file = Path(f"{name}.py")
    versions = MODULES[name]
    version = versions[min(file.exists(), len(versions) - 1)]
    say(f"I'll write {file} and try it.")
    time.sleep(pace)
    file.write_text(version)
    call_tool("Write", {"file_path": str(file), "content": version}, f"File created successfully at: {file}", pace)
    call_tool("Bash", {"command": f"python3 -c 'import {name}'"}, "", pace)
    for words in (("add", str(file)), ("commit", "--quiet", "--message", f"Write {name}")):
        subprocess.run(("git", *words), check=False)


def say(text: str) -> None:
    """One message of the agent."""
    print_event({"type": "assistant", "message": {"role": "assistant", "content": [{"type": "text", "text": text}]}})


def call_tool(name: str, given: dict[str, Any], output: str, pace: float) -> None:
    """A tool's call, some time, its result."""
    call = {"type": "tool_use", "id": f"t{time.time_ns()}", "name": name, "input": given}
    print_event({"type": "assistant", "message": {"role": "assistant", "content": [call]}})
    time.sleep(pace)
    result = {"type": "tool_result", "tool_use_id": call["id"], "content": output}
    print_event({"type": "user", "message": {"role": "user", "content": [result]}})


def print_event(event: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
