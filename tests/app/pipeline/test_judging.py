"""Who judges a stage, by which model, and what it gets to see."""

import json
from pathlib import Path
from typing import Any

import pytest

from ralph.app.pipeline.judging import StageJudge, resolve_judge
from ralph.app.pipeline.stages import AgentContext
from ralph.config.schema import Settings, convert_settings
from ralph.model.errors import ConfigError, MachineError
from ralph.model.judge import JUDGE_SCHEMA
from ralph.process.supervisor import Supervisor
from support.quiet_inbox import QuietInbox


class JudgeRoom:
    """A folder with programs of many names, each of which tells how it was called and answers what it is told."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.variables = {"PATH": f"{folder}:/usr/bin:/bin", "HOME": str(folder), "LANG": "C.UTF-8"}

    def program(self, name: str, script: str = "") -> None:
        told = 'printf "%s\\n" "$@" >> {0}/{1}.argv; pwd > {0}/cwd; ls -A > {0}/seen; env > {0}/env; cat > {0}/asked'
        path = self.folder / name
        path.write_text(f"#!/bin/sh\n{told.format(self.folder, name)}\n{script}\n")
        path.chmod(0o755)

    def argv(self, name: str) -> list[str]:
        return (self.folder / f"{name}.argv").read_text().splitlines()

    def resolve(self, role: str = "qa", **settings: Any) -> tuple[str, tuple[str, ...], str]:
        """Adapter, argv and model."""
        found = resolve_judge(role, convert_settings(settings), str(self.folder), self.variables)
        assert found.judges
        return found.adapter, found.argv, found.model

    def ask(self, settings: Settings, *models: str) -> list[Any]:
        """What it answers to the same question, asked once with each model."""
        inbox = QuietInbox()
        processes = Supervisor(inbox)
        work = self.folder / "work"
        work.mkdir()
        context = AgentContext(
            folder=str(work), variables=self.variables, run_variables={"RALPH_RUN_ID": "r"}, processes=processes
        )
        records = self.folder / "records"
        records.mkdir()
        try:
            judge = StageJudge("qa", settings, context, folder=str(self.folder), records=str(records))
            return [judge.ask("Is it done?", model) for model in models]
        finally:
            processes.close()
            inbox.close()


@pytest.fixture
def room(tmp_path: Path) -> JudgeRoom:
    made = JudgeRoom(tmp_path)
    for name in ("claude", "codex", "worker"):
        made.program(name)
    return made


def result(text: str) -> str:
    event = {"type": "result", "subtype": "success", "is_error": False, "result": text, "total_cost_usd": 0.5}
    return f"echo '{json.dumps(event)}'"


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({"agent": "claude"}, ("claude", ("claude",), "haiku")),
        (
            {"agent": {"command": "claude -v", "flags": ["-x"], "model": "opus"}},
            ("claude", ("claude",), "haiku"),
        ),
        ({"agent": "claude", "specflow": {"qa": {"agent": "codex"}}}, ("codex", ("codex",), "gpt-6-luna")),
        ({"agent": "worker --fast"}, ("command", ("worker", "--fast"), "")),
        ({"agent": "claude", "specflow": {"judge": {"agent": "codex"}}}, ("codex", ("codex",), "gpt-6-luna")),
        (
            {"agent": "codex", "specflow": {"judge": {"agent": "claude -v", "model": "m"}}},
            ("claude", ("claude", "-v"), "m"),
        ),
    ],
)
def test_the_judge_is_the_stages_own_vendor_unless_another_is_named(
    room: JudgeRoom, settings: dict[str, Any], expected: tuple[str, tuple[str, ...], str]
) -> None:
    adapter, argv, model = room.resolve(**settings)
    assert (adapter, (Path(argv[0]).name, *argv[1:]), model) == expected


def test_a_judge_sees_nothing_of_the_project(room: JudgeRoom) -> None:
    room.program("claude", result("VERIFIED"))
    (answer,) = room.ask(convert_settings({"agent": {"command": "claude", "permissions": "all"}}), "")
    assert (answer.text, answer.cost_usd, answer.judge) == ("VERIFIED", 0.5, "claude haiku")
    words = room.argv("claude")
    assert [words[words.index(flag) + 1] for flag in ("--setting-sources", "--tools", "--json-schema", "--model")] == [
        "",
        "",
        JUDGE_SCHEMA,
        "haiku",
    ]
    assert "--no-session-persistence" in words
    assert "--dangerously-skip-permissions" not in words
    assert (room.folder / "seen").read_text() == ""
    assert not (room.folder / "cwd").read_text().startswith(str(room.folder))
    assert (room.folder / "asked").read_text() == "Is it done?"
    assert "RALPH_STAGE=judge\n" in (room.folder / "env").read_text()


def test_an_agent_of_plain_words_judges_by_its_own_command(room: JudgeRoom) -> None:
    (room.folder / "ways.txt").write_text("")
    room.program("worker", 'echo "NOT_VERIFIED: nothing there"')
    (answer,) = room.ask(convert_settings({"agent": {"command": "worker ways.txt", "flags": ["--calm"]}}), "haiku")
    assert answer.text.strip() == "NOT_VERIFIED: nothing there"
    assert room.argv("worker") == [str(room.folder / "ways.txt"), "--calm"]  # and no model it may not know


@pytest.mark.parametrize(("model", "asked_for"), [("haiku", "gpt-6-luna"), ("", "gpt-6-luna"), ("gpt-9", "gpt-9")])
def test_a_small_model_of_another_vendor_means_the_small_one_of_this(
    room: JudgeRoom, model: str, asked_for: str
) -> None:
    room.ask(convert_settings({"agent": "codex"}), model)
    words = room.argv("codex")
    assert words[words.index("--model") + 1] == asked_for


def test_an_account_without_the_small_model_is_judged_by_its_usual_one(room: JudgeRoom) -> None:
    room.program("claude", f'case "$*" in *haiku*) echo no such model >&2; exit 1;; esac; {result("VERIFIED")}')
    first, second = room.ask(convert_settings({"agent": "claude"}), "", "")
    assert (first.problem != "", second.text, second.judge) == (True, "VERIFIED", "claude")


def test_whoever_cannot_judge_is_told_so_with_what_to_do(room: JudgeRoom) -> None:
    with pytest.raises(ConfigError, match="cannot judge") as refused:
        room.resolve(agent={"command": "worker", "adapter": "amp"})
    assert "specflow.semantic: words" in refused.value.hint
    with pytest.raises(MachineError, match="judge: agent not found"):
        room.resolve(agent="claude", specflow={"judge": {"agent": "no-such"}})
