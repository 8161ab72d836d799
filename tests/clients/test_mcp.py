"""`ralph mcp` with the real Claude Code as its client."""

import json
import sys

import pytest

from support.client_room import ClientFixture

claude = pytest.mark.parametrize("room", [pytest.param("claude", marks=pytest.mark.clients)], indirect=True)
TASK = {
    "id": "T-1",
    "title": "Do it",
    "spec": "new",
    "outcome": "it is done",
    "acceptance": ["a"],
    "check": "test -f x",
}


@claude
def test_claude_code_finds_the_tools_calls_them_and_reads_our_errors(room: ClientFixture) -> None:
    room.commit("Start", README="x\n")
    server = {"type": "stdio", "command": sys.executable, "args": ["-m", "ralph", "mcp"]}
    (room.home / "mcp.json").write_text(json.dumps({"mcpServers": {"ralph": server}}))
    room.model(
        [
            {"tool": {"name": "WaitForMcpServers"}},  # it connects to them while it begins to work
            {"tool": {"name": "mcp__ralph__task_create", "input": TASK}},
            {"tool": {"name": "mcp__ralph__board", "input": {}}},
            {"tool": {"name": "mcp__ralph__run_show", "input": {"run": "nothing"}}},
            {"say": "Seen."},
        ]
    )
    config = room.home / "mcp.json"
    tools = "mcp__ralph__task_create,mcp__ralph__board,mcp__ralph__run_show"
    words = ("-p", "Look at the board", "--mcp-config", config, "--strict-mcp-config", "--allowedTools", tools)
    done = room.client(*words, "--output-format", "stream-json", "--verbose")
    assert done.returncode == 0, done.stdout + done.stderr
    events = [json.loads(line) for line in done.stdout.splitlines()]
    offered = {*room.requests()[-1]["tools"]}
    assert {"mcp__ralph__events_since", "mcp__ralph__run_diff", "mcp__ralph__task_show"} <= offered
    assert not {"mcp__ralph__start", "mcp__ralph__cancel"} & offered
    results = [
        (part.get("is_error", False), json.dumps(part["content"]))
        for event in events
        if event["type"] == "user"
        for part in event["message"]["content"]
        if part.get("type") == "tool_result"
    ]
    answers = results[1:]  # the tool that waits is refused where there is nothing to wait for
    assert [bool(is_error) for is_error, _ in answers] == [False, False, True], results
    assert "T-1" in answers[1][1]
    assert "Hint: see `ralph status`" in answers[2][1]
    assert "T-1" in room.ralph("task", "list").stdout
