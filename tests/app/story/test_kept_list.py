"""The list that survives a deleted database."""

from pathlib import Path

from ralph.app.paths import find_paths
from ralph.app.story.kept_list import KeptList
from ralph.model.loop import Brief


def test_a_list_is_kept_until_its_iteration_was_judged(tmp_path: Path) -> None:
    variables = {"XDG_STATE_HOME": str(tmp_path / "state")}
    kept = KeptList(find_paths(str(tmp_path)), str(tmp_path / "ralph"), variables)
    assert kept.read() is None
    brief = Brief(iteration=2, limit=5, role="review", story="US-001", tasks="{}")
    kept.keep(brief)
    assert KeptList(find_paths(str(tmp_path)), str(tmp_path / "ralph"), variables).read() == brief
    assert KeptList(find_paths(str(tmp_path)), str(tmp_path / "other"), variables).read() is None
    kept.forget()
    assert kept.read() is None


def test_what_nobody_can_read_is_none(tmp_path: Path) -> None:
    kept = KeptList(find_paths(str(tmp_path)), "x", {"XDG_STATE_HOME": str(tmp_path)})
    kept.keep(Brief(iteration=1, limit=1))
    (file,) = (tmp_path / "ralph" / "stories").iterdir()
    file.write_text("{")
    assert kept.read() is None
