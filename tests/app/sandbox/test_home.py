"""What of the user's home a sandbox gets."""

from pathlib import Path

from ralph.app.sandbox.home import read_home
from ralph.model.agent_card import AgentCard


def test_programs_of_tools_and_of_the_agents_at_work_are_open(tmp_path: Path) -> None:
    for name in (".local/bin", ".local/share/one", ".local/share/other"):
        (tmp_path / name).mkdir(parents=True)
    card = AgentCard(title="One", program_paths=(".local/share/one", ".local/share/gone"))
    found = read_home(str(tmp_path), [card], {}, str(tmp_path / "caches"))
    assert found.tools == (str(tmp_path / ".local/bin"), str(tmp_path / ".local/share/one"))
