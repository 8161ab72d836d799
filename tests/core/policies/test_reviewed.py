"""The story loop, played in memory: who may approve what, and what happens to those who try."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from ralph.core.policies.reviewed import ReviewPolicy
from ralph.core.step import Rules, step
from ralph.model.loop import (
    Began,
    Brief,
    Check,
    Checked,
    Decision,
    Fact,
    GateResult,
    Limits,
    LoopState,
    Observation,
    Outcome,
    Reported,
    Restore,
    Restored,
    RunAgent,
    Stop,
    Survey,
    Surveyed,
)

Change = Callable[[dict[str, Any]], object]


def story(id_: str = "US-001", **fields: Any) -> dict[str, Any]:
    return {
        "id": id_,
        "title": f"Title {id_}",
        "acceptanceCriteria": ["works"],
        "priority": 1,
        "passes": False,
        "reviewStatus": None,
        "reviewCount": 0,
        "reviewFeedback": "",
        "notes": "",
        "dependsOn": [],
        **fields,
    }


def document(*stories: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"project": "p", "branchName": "ralph/p", "description": "d", "userStories": list(stories), **more}


class Project:
    """tasks.json and a branch; each agent run changes them as its script says."""

    def __init__(self, tasks: dict[str, Any], *changes: Change, red: bool = False, text: str = "") -> None:
        self.text: str | None = json.dumps(tasks)
        self.commits = 1
        self.subject = "start"
        self.briefs: list[Brief] = []
        self.restored: list[str] = []
        self._changes = list(changes)
        self._red, self._said = red, text
        self.uncommitted: tuple[str, ...] = ()
        self.lost: tuple[str, ...] = ()  # by the first agent
        self.put_back: list[str] = []

    @property
    def tasks(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text or "{}")
        return found

    def perform(self, decision: Decision) -> Fact:
        match decision:
            case RunAgent(brief):
                self.briefs.append(brief)
                if self._changes:
                    tasks = self.tasks
                    if self._changes.pop(0)(tasks) != "nothing":
                        self.text = json.dumps(tasks)
                        self.commits += 1
                        self.subject = f"feat: [{brief.story}] - x"
                return Reported(outcome="finished", text=self._said)
            case Survey():
                lost = self.lost if self.briefs else ()
                return Surveyed(
                    text=self.text,
                    head=str(self.commits),
                    subject=self.subject,
                    uncommitted=self.uncommitted,
                    lost=lost,
                )
            case Restore(text, files=files):
                self.restored += [] if text is None else [text]
                self.put_back += files
                self.lost = ()
                self.text = self.text if text is None else text
                return Restored()
            case Check(gates):
                return Checked(tuple(GateResult(gate=gate, passed=not self._red) for gate in gates))
            case _:
                raise AssertionError(decision)


def play(project: Project, policy: ReviewPolicy | None = None, limit: int = 15) -> Stop:
    state: LoopState[Any] | None = None
    fact: Fact = Began(Limits(limit))
    for at in range(500):
        state, decision = step(Rules(policy or ReviewPolicy()), state, Observation(fact=fact, at=float(at)))
        if isinstance(decision, Stop):
            return decision
        fact = project.perform(decision)
    raise AssertionError("the loop does not end")


def submit(tasks: dict[str, Any]) -> None:
    tasks["userStories"][0].update(reviewStatus="needs_review", notes="done")


def approve(tasks: dict[str, Any]) -> None:
    first = tasks["userStories"][0]
    first.update(reviewStatus="approved", passes=True, reviewCount=first["reviewCount"] + 1)


def reject(tasks: dict[str, Any]) -> None:
    first = tasks["userStories"][0]
    first.update(reviewStatus="changes_requested", reviewFeedback="fix it", reviewCount=first["reviewCount"] + 1)


def resubmit(tasks: dict[str, Any]) -> None:
    tasks["userStories"][0].update(reviewStatus="needs_review", reviewFeedback="")


def nothing(tasks: dict[str, Any]) -> str:
    return "nothing"


def test_the_whole_life_of_a_story() -> None:  # 004-07, 004-31
    project = Project(document(story()), submit, reject, resubmit, approve)
    stop = play(project)
    assert stop == Stop(Outcome.COMPLETED, "every story is approved")
    assert [b.role for b in project.briefs] == ["implement", "review", "review-fix", "review"]
    assert project.tasks["userStories"][0]["reviewCount"] == 2


def test_an_implementer_that_approves_itself_is_undone_and_told() -> None:  # 004-17, C18
    def cheat(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, reviewStatus="approved", notes="all mine")

    project = Project(document(story()), cheat, submit, approve)
    assert play(project).outcome is Outcome.COMPLETED
    undone = json.loads(project.restored[0])["userStories"][0]
    assert (undone["passes"], undone["reviewStatus"], undone["notes"]) == (False, None, "all mine")
    told = " ".join(item.text for item in project.briefs[1].feedback)
    assert "Implement iterations cannot set passes=true or approve stories" in told
    assert "Undone by the runner" in told
    assert [b.role for b in project.briefs] == ["implement", "implement", "review"]


@pytest.mark.parametrize("broken", [None, "", "{not json", "[]"])
def test_a_broken_list_is_put_back(broken: str | None) -> None:
    before = document(story())
    project = Project(before)

    def wreck(tasks: dict[str, Any]) -> str:
        project.text = broken
        return "nothing"

    project._changes = [wreck, submit, approve]
    assert play(project).outcome is Outcome.COMPLETED
    assert json.loads(project.restored[0]) == before


def test_at_the_cap_the_runner_approves() -> None:  # 004-25
    project = Project(document(story()), submit, reject)
    stop = play(project, ReviewPolicy(cap=1))
    assert stop.outcome is Outcome.COMPLETED
    first = project.tasks["userStories"][0]
    assert first["passes"] is True
    assert first["reviewFeedback"].startswith("[AUTO-APPROVED AT CAP]")


def test_without_reviews_implementing_is_enough() -> None:  # 004-26
    def finish(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, notes="done")

    project = Project(document(story()), finish)
    assert play(project, ReviewPolicy(skip_review=True)) == Stop(Outcome.COMPLETED, "every story passes without review")
    assert [b.role for b in project.briefs] == ["implement"]


def test_the_tag_alone_completes_nothing() -> None:  # 004-08
    project = Project(document(story()), submit, nothing, nothing, nothing, text="<promise>COMPLETE</promise>")
    stop = play(project)
    assert stop.outcome is Outcome.STUCK
    assert "You promised COMPLETE" in project.briefs[1].feedback[0].text


def test_the_file_alone_completes_and_the_tag_is_recorded() -> None:  # 004-08
    assert play(Project(document(story()), submit, approve)).why == "every story is approved"
    tagged = Project(document(story()), submit, approve, text="<promise>COMPLETE</promise>")
    assert play(tagged).why == "every story is promised and approved"


def test_red_verify_commands_keep_it_from_completing() -> None:
    project = Project(document(story()), submit, approve, red=True)
    stop = play(project, ReviewPolicy(gates=("make_test",)))
    assert stop == Stop(Outcome.FAILED, "every story is approved, but not every verifyCommand passes: make_test")


def test_dependencies_come_first_whatever_the_priority() -> None:  # 004-23
    stories = document(story("US-001", priority=5), story("US-002", priority=1, dependsOn=["US-001"]))
    project = Project(stories, submit, approve)
    play(project, limit=3)
    assert [b.story for b in project.briefs] == ["US-001", "US-001", "US-002"]


def test_the_highest_priority_is_worked_on_first() -> None:  # 004-23
    project = Project(document(story("US-001", priority=2), story("US-002", priority=1)))
    play(project, limit=1)
    assert project.briefs[0].story == "US-002"


@pytest.mark.parametrize(
    ("stories", "says"),
    [
        ([], "no user stories"),
        ([story("A", dependsOn=["B"]), story("B", dependsOn=["A"])], "wait for each other"),
        ([story("A", dependsOn=["nope"])], "does not have"),
        ([story("A"), story("A")], "Duplicate"),
    ],
)
def test_a_list_that_cannot_work_is_refused(stories: list[dict[str, Any]], says: str) -> None:
    stop = play(Project(document(*stories)))
    assert stop.outcome is Outcome.UNUSABLE
    assert stop.outcome.exit_code == 2
    assert says in stop.why


def test_no_progress_ends_the_loop() -> None:
    stop = play(Project(document(story()), nothing))
    assert stop == Stop(Outcome.STUCK, "3 iterations in a row changed neither tasks.json nor the branch")


def test_uncommitted_work_goes_into_the_feedback() -> None:  # 004-21
    project = Project(document(story()), submit, approve)
    project.uncommitted = ("src/a.py",)
    stop = play(project)
    assert "uncommitted changes: src/a.py" in project.briefs[1].feedback[0].text
    assert stop.why.endswith("not committed: src/a.py")


def test_a_commit_under_another_name_is_told() -> None:  # 004-24
    project = Project(document(story()), submit, reject, resubmit)
    play(project, limit=3)
    assert "agreed is `review: [US-001] - approved`" in project.briefs[2].feedback[0].text


def test_what_a_cut_off_iteration_did_is_judged_first() -> None:  # C18
    before = document(story())
    after = document(story(passes=True, reviewStatus="approved", notes="mine"))
    project = Project(after, submit, approve)
    earlier = Brief(iteration=1, limit=15, role="implement", story="US-001", tasks=json.dumps(before))
    assert play(project, ReviewPolicy(earlier=earlier)).outcome is Outcome.COMPLETED
    assert json.loads(project.restored[0])["userStories"][0]["passes"] is False
    assert [b.role for b in project.briefs] == ["implement", "review"]


@pytest.mark.parametrize(
    ("change", "says"),
    [({"dependsOn": ["nope"]}, "does not have"), ({"dependsOn": ["US-001"]}, "Stories wait for each other")],
)
def test_a_plan_is_looked_at_again_when_a_loop_goes_on(change: dict[str, Any], says: str) -> None:
    earlier = Brief(iteration=1, limit=15, role="implement", story="US-001", tasks=json.dumps(document(story())))
    cheats: list[dict[str, Any]] = [{}, {"passes": True, "notes": "mine"}]  # also when something has to be undone first
    for cheat in cheats:
        project = Project(document(story(**change, **cheat)))
        stop = play(project, ReviewPolicy(earlier=earlier))
        assert (stop.outcome, project.briefs) == (Outcome.UNUSABLE, [])
        assert says in stop.why


def test_a_plan_an_agent_spoils_is_no_reason_to_refuse_it_in_the_middle() -> None:
    def block(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0]["dependsOn"] = ["nope"]

    assert play(Project(document(story()), block)).outcome is Outcome.BLOCKED


def test_lost_files_are_put_back_and_the_next_agent_is_told() -> None:
    project = Project(document(story()), submit, approve)
    project.lost = ("prompt.md",)
    assert play(project).outcome is Outcome.COMPLETED
    assert (project.put_back, project.restored) == (["prompt.md"], [])
    assert "prompt.md was gone or empty; the runner put it back." in project.briefs[1].feedback[0].text


def test_however_much_is_wrong_a_prompt_can_hold_it() -> None:
    def cheat(tasks: dict[str, Any]) -> None:
        for each in tasks["userStories"]:
            each.update(passes=True, notes="x")

    project = Project(document(*(story(f"US-{number}") for number in range(1000))), cheat)
    play(project, limit=2)
    told = [item.text for item in project.briefs[1].feedback]
    assert len(told) < 100
    assert max(map(len, told)) <= 1000
    assert "… and 970 more of that kind" in told


def test_a_reviewer_learns_that_the_measure_was_changed() -> None:
    def ease(tasks: dict[str, Any]) -> None:
        submit(tasks)
        tasks["userStories"][0]["acceptanceCriteria"] = ["exists"]

    project = Project(document(story()), ease, approve)
    play(project)
    told = [item.text for item in project.briefs[1].feedback]
    assert 'The last iteration changed the acceptanceCriteria of US-001. They were: ["works"]' in told


def test_stories_that_were_removed_are_named_at_the_end() -> None:
    def drop(tasks: dict[str, Any]) -> None:
        tasks["userStories"].pop()

    project = Project(document(story(), story("US-002")), drop, submit, approve)
    assert play(project).why == "every story is approved; taken from the list by an agent: US-002"


def test_a_finished_list_completes_at_once() -> None:
    project = Project(document(story(passes=True, reviewStatus="approved", reviewCount=1, notes="done")))
    assert play(project).outcome is Outcome.COMPLETED
    assert project.briefs == []
