"""What landed stays true, and no check runs twice on one tree."""

from ralph.app.pipeline.landed_checks import LandedCheck, LandedChecks
from ralph.model.spec import CompletionCriteria, Role, VerificationMethod


def check(task: str, command: str, target: str = "main", role: Role = "qa") -> LandedCheck:
    criteria = CompletionCriteria("P", "d", VerificationMethod.EXTERNAL, {"command": command})
    return LandedCheck(task=task, role=role, target=target, criteria=criteria)


def test_a_check_that_tasks_have_in_common_is_one() -> None:
    landed = LandedChecks()
    landed.add([check("A", "make test"), check("A", "make lint")], [], "c1")
    landed.add([check("B", "make test"), check("C", "make test", "next")], [], "c2")
    found = [(each.task, each.describe()) for each in landed.list_checks("main")]
    assert sorted(found) == [("A", "`make lint`"), ("A", "`make test`")]
    assert sorted(landed.list_targets()) == ["main", "next"]


def test_what_passed_on_a_commit_is_known_of_that_commit_only() -> None:
    landed, first, second = LandedChecks(), check("A", "make test"), check("B", "make lint")
    landed.add([first], [first.key], "c1")
    assert landed.has_passed_on(first, "c1")
    landed.add([second], [first.key, second.key], "c2")
    assert (landed.has_passed_on(first, "c1"), landed.has_passed_on(first, "c2")) == (False, True)
    assert not landed.has_passed_on(check("A", "make other"), "c2")
