#!/usr/bin/env python3
"""A coding agent in a few lines, called as Claude Code is. FAULT is what it does wrong."""

import json
import os
import subprocess
import sys
import urllib.error
import urllib.request
from typing import Any

FAULT = ""
TOOLS = ["Write", "Bash"]


def ask_model(messages: list[dict[str, Any]]) -> dict[str, Any]:
    tools = [{"name": name, "input_schema": {"type": "object"}} for name in TOOLS]
    body = json.dumps({"model": "mini", "max_tokens": 9, "messages": messages, "tools": tools}).encode()
    headers = {"content-type": "application/json", "x-claude-code-session-id": str(os.getpid())}
    request = urllib.request.Request(f"{os.environ['ANTHROPIC_BASE_URL']}/v1/messages", body, headers)
    answer: dict[str, Any] = json.load(urllib.request.urlopen(request))
    return answer


def print_event(event: dict[str, Any]) -> None:
    if FAULT == "new events":
        sys.stdout.write('{"type":"novelty"}\n')
    if "--verbose" in sys.argv and not (FAULT == "silent" and event["type"] != "result"):
        sys.stdout.write(json.dumps(event) + "\n")
    sys.stdout.flush()


def run_tool(call: dict[str, Any]) -> dict[str, Any]:
    given = call["input"]
    if call["name"] == "Write":
        with open(given["file_path"], "w") as file:
            file.write(given["content"])
        output = "written"
    else:
        words = ["sh", "-c", given["command"]]
        output = subprocess.run(words, stdout=subprocess.PIPE, text=True, start_new_session=True, check=False).stdout
    return {"type": "tool_result", "tool_use_id": call["id"], "content": output}


def main() -> None:
    if "--version" in sys.argv:
        print("mini 1")
        return
    prompt = sys.stdin.read(100 if FAULT == "deaf" else -1)
    messages: list[dict[str, Any]] = [{"role": "user", "content": prompt}]
    result: dict[str, Any] = {"type": "result", "subtype": "success", "is_error": False}
    tokens = {"input_tokens": 0, "output_tokens": 0}
    print_event({"type": "system", "subtype": "init", "session_id": "" if FAULT == "nameless" else "mini-1"})
    while True:
        try:
            answer = ask_model(messages)
        except urllib.error.HTTPError as error:
            told = {
                "is_error": FAULT != "cheerful",
                "api_error_status": error.code,
                "result": json.load(error)["error"]["message"],
            }
            print_event({**result, **told})
            sys.exit(0 if FAULT == "cheerful" else 1)
        for name in tokens:
            tokens[name] += answer["usage"][name]
        print_event({"type": "assistant", "message": answer})
        messages.append({"role": "assistant", "content": answer["content"]})
        calls = [block for block in answer["content"] if block["type"] == "tool_use"]
        if not calls:
            break
        results = [run_tool(call) for call in calls]
        messages.append({"role": "user", "content": results})
        print_event({"type": "user", "message": {"role": "user", "content": results}})
    text = "".join(block.get("text", "") for block in answer["content"])
    cost = {} if FAULT == "free" else {"total_cost_usd": 0.5}
    print_event({**result, **cost, "result": text, "usage": tokens, "num_turns": 1})
    if "--verbose" not in sys.argv:
        print(text)


if __name__ == "__main__":
    main()
