"""What is where in a sandbox, in the order it is mounted."""

from pathlib import Path

from ralph.model.sandbox import HomeContent, SandboxPlan
from ralph.sandboxes._mounts import Mount, list_plan_mounts, order_mounts


def test_parents_of_what_is_closed_are_mounts_and_cannot_be_renamed(tmp_path: Path) -> None:
    tree = tmp_path / "tree"
    (tree / "a/b").mkdir(parents=True)
    (tree / "a/b/c").write_text("")
    plan = SandboxPlan(
        run="r",
        folder=str(tree),
        scratch=str(tmp_path / "scratch"),
        home=HomeContent(folder=str(tmp_path / "home")),
        protected=(f"{tree}/a/b/c",),
        hidden=(f"{tree}/a/d",),
    )
    made = [(mount.path.removeprefix(f"{tree}/"), mount.kind) for mount in list_plan_mounts(plan)]
    inner = [each for each in made if not each[0].startswith("/")]
    assert inner == [("a", "bind"), ("a/b", "bind"), ("a/d", "ro-bind"), ("a/b/c", "ro-bind")]


def test_the_last_word_on_a_path_holds_and_parents_come_first() -> None:
    mounts = [Mount("/a/b", "bind"), Mount("/a", "tmpfs"), Mount("/a/b", "ro-bind")]
    assert order_mounts(mounts) == [Mount("/a", "tmpfs"), Mount("/a/b", "ro-bind")]
