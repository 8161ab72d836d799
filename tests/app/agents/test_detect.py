"""Which agents a machine offers."""

from pathlib import Path

from ralph.app.agents.detect import detect_agent, list_detectable_agents


def program(folder: Path, name: str, mode: int = 0o755) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_text("#!/bin/sh\n")
    (folder / name).chmod(mode)


def test_the_first_known_agent_on_path_is_found(tmp_path: Path) -> None:
    path = {"PATH": f"{tmp_path / 'a'}:{tmp_path / 'b'}"}
    assert detect_agent(path) is None
    program(tmp_path / "a", "opencode")
    program(tmp_path / "a", "codex")
    found = detect_agent(path)
    assert found is not None
    assert (found.name, found.path) == ("codex", str(tmp_path / "a/codex"))
    program(tmp_path / "b", "claude")
    found = detect_agent(path)
    assert found is not None
    assert found.name == "claude"


def test_what_cannot_be_started_is_no_agent(tmp_path: Path) -> None:
    program(tmp_path, "claude", mode=0o644)
    (tmp_path / "codex").mkdir()
    assert detect_agent({"PATH": str(tmp_path)}) is None


def test_agents_are_looked_for_in_the_order_of_their_cards() -> None:
    names = list_detectable_agents()
    assert names[:5] == ("claude", "codex", "amp", "gemini", "opencode")
    assert not {"command", "scripted"} & set(names)


def test_what_is_found_brings_its_card(tmp_path: Path) -> None:
    program(tmp_path, "claude")
    found = detect_agent({"PATH": str(tmp_path)})
    assert found is not None
    assert found.card.title == "Claude Code"
