"""Guardrails by their kind."""

from pathlib import Path

import pytest

from ralph.app.guardrails import build_gates, check_guardrails, find_guardrail_problems, name_gates
from ralph.config.schema import Guardrail
from ralph.model.errors import BrokenExtension, ConfigError
from ralph.model.ports import Evidence
from support.stories import SUBMIT_FIELDS, StoryFixture, make_approval, make_story
from support.workshop import ProjectFixture

BROKEN = "def build(options, processes):\n    return 1 / 0\n"
RAISING = """\
class Moon:
    title = "moon"
    def check(self, evidence):
        return {}["phase"]
def build(options, processes):
    return Moon()
"""


def install(folder: Path, **kinds: str) -> None:
    """A package with these guardrail kinds, as pip would leave it."""
    info = folder / "moon-1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: moon\nVersion: 1\n")
    entries = "".join(f"{name} = {name}_kind\n" for name in kinds)
    (info / "entry_points.txt").write_text(f"[ralph.guardrails]\n{entries}")
    for name, text in kinds.items():
        (folder / f"{name}_kind.py").write_text(text)


def test_each_has_a_name_of_its_own() -> None:
    unchanged = Guardrail(kind="files_unchanged", options={"paths": ["tests"]})
    rails = (Guardrail(command="make test"), unchanged, unchanged)
    assert name_gates(rails) == ("make_test", "files_unchanged", "files_unchanged_1")
    assert check_guardrails(rails) == ("make test", "files_unchanged tests", "files_unchanged tests")


def test_an_unknown_kind_names_those_that_are_known_and_the_nearest() -> None:
    with pytest.raises(ConfigError) as caught:
        check_guardrails((Guardrail(command="make"), Guardrail(kind="file_unchanged", options={"paths": ["x"]})))
    known = "no guardrail kind named 'file_unchanged'; known: files_unchanged, shell"
    assert (caught.value.message, caught.value.hint) == (f"guardrails[1]: {known}", "did you mean 'files_unchanged'?")


def test_options_its_kind_does_not_take_name_the_guardrail() -> None:
    (found,) = find_guardrail_problems((Guardrail(kind="files_unchanged"),))
    assert found.startswith("guardrails[0]: files_unchanged: ")


def test_a_kind_that_breaks_ends_the_run_by_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, unimportable="import sea", unbuildable=BROKEN, raising=RAISING)
    monkeypatch.syspath_prepend(str(tmp_path))
    (gate,) = build_gates([Guardrail(kind="raising")], None, folder="", run_dir="").values()  # type: ignore[arg-type]
    with pytest.raises(BrokenExtension, match=r"'raising' failed in .*raising_kind.py:4: KeyError: 'phase'"):
        gate.check(Evidence(1, "", {}))
    for kind, said in (("unimportable", "package moon cannot be loaded"), ("unbuildable", "ZeroDivisionError")):
        with pytest.raises(ConfigError, match=said):
            check_guardrails([Guardrail(kind=kind)])


def test_before_a_run_its_guardrails_are_looked_at(workshop: ProjectFixture) -> None:
    workshop.settings(guardrails=[{"kind": "shel", "command": "make test"}])
    for words in (("run", "-p", "x"), ("run", "-p", "x", "--dry-run")):
        done = workshop.ralph(*words)
        assert done.returncode == 2
        assert "guardrails[0]: no guardrail kind named 'shel'; known: files_unchanged, shell" in done.stderr
        assert "did you mean 'shell'?" in done.stderr
    assert workshop.calls == 0
    shown = workshop.ralph("config", "show")
    assert (shown.returncode, "no guardrail kind named 'shel'" in shown.stderr) == (0, True)


def test_a_story_takes_them_too(workshop: ProjectFixture) -> None:
    stories = StoryFixture(workshop)
    (stories.repo / "work.txt").write_text("which every iteration changes\n")
    stories.plan(make_story("US-001"), verifyCommands=["true", {"kind": "files_unchanged", "paths": ["work.txt"]}])
    stories.script(
        ("US-001", SUBMIT_FIELDS, "feat: US-001 - work"), ("US-001", make_approval(1), "review: US-001 - approved")
    )
    ended = workshop.ralph("story", "run", "-n", "2")
    assert "files_unchanged work.txt" in ended.stdout, ended.stdout + ended.stderr
    assert ended.returncode == 1  # approved, and not done


def test_a_story_refuses_kinds_nobody_knows(workshop: ProjectFixture) -> None:
    stories = StoryFixture(workshop)
    stories.plan(make_story("US-001"), verifyCommands=[{"kind": "shel", "command": "x"}])
    ended = workshop.ralph("story", "run", "-n", "1")
    assert ended.returncode == 2
    assert "verifyCommands[0]: no guardrail kind named 'shel'" in ended.stderr
