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
        self.committed = ""
        self.briefs: list[Brief] = []
        self.restored: list[str] = []
        self._changes = list(changes)
        self._red, self._said = red, text
        self.uncommitted: tuple[str, ...] = ()
        self.lost: tuple[str, ...] = ()  # by the first agent
        self.branches: list[str] = []  # after each agent; the last one stays
        self.put_back: list[str] = []
        self.reasons: list[str] = []  # what watchers are told of it
        self.problem = ""
        self.endings: list[Reported] = []  # of the first agents, where they do not finish

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
                return self.endings.pop(0) if self.endings else Reported(outcome="finished", text=self._said)
            case Survey():
                lost = self.lost if self.briefs else ()
                return Surveyed(
                    text=self.text,
                    head=str(self.commits),
                    committed=self.committed,
                    subject=self.subject,
                    uncommitted=self.uncommitted,
                    lost=lost,
                    problem=self.problem,
                    branch=self.branches[min(len(self.briefs), len(self.branches)) - 1] if self.branches else "",
                )
            case Restore(text, why, files):
                self.reasons += why
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


def told(project: Project, run: int) -> str:
    return "\n".join(item.text for item in project.briefs[run].feedback)


def test_an_agent_that_leaves_the_branch_is_told_to_come_back() -> None:  # C34
    project = Project(document(story()), submit, reject, resubmit, approve)
    project.branches = ["ralph/mine", "", "ralph/p", "ralph/p"]
    assert play(project, ReviewPolicy(branch="ralph/p")).why == "every story is approved"
    assert "works on branch ralph/p, but ralph/mine is checked out" in told(project, 1)
    assert "works on branch ralph/p, but no branch is checked out" in told(project, 2)
    assert "ralph/p" not in told(project, 3)


def test_who_ends_on_another_branch_is_named() -> None:  # C34
    project = Project(document(story()), submit, approve)
    project.branches = ["ralph/p", "main"]
    stop = play(project, ReviewPolicy(branch="ralph/p"))
    assert stop.why == "every story is approved; main is checked out, not ralph/p"


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
    assert "Implement iterations cannot set passes=true or approve stories" in told(project, 1)
    assert "Undone by the runner" in told(project, 1)
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
    assert stop == Stop(Outcome.COMPLETED, "every story is approved; not committed: tasks.json")
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
    assert project.briefs[1].feedback[0].text == "You promised COMPLETE, but these stories are not done: US-001."


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


def test_a_commit_alone_is_progress() -> None:
    project = Project(document(story()))

    def commit(tasks: dict[str, Any]) -> str:
        project.commits += 1
        return "nothing"

    project._changes = [commit] * 9
    assert play(project, limit=5).outcome is Outcome.EXHAUSTED


@pytest.mark.parametrize(("committed", "outcome"), [("same", Outcome.STUCK), ("", Outcome.EXHAUSTED)])
def test_an_empty_commit_is_no_progress_where_trees_are_told(committed: str, outcome: Outcome) -> None:
    project = Project(document(story()))
    project.committed = committed

    def commit(tasks: dict[str, Any]) -> str:
        project.commits += 1
        return "nothing"

    project._changes = [commit] * 9
    assert play(project, limit=5).outcome is outcome


def test_a_change_of_the_list_alone_is_progress() -> None:
    project = Project(document(story()))

    def note(tasks: dict[str, Any]) -> str:
        tasks["userStories"][0]["notes"] += "x"
        project.text = json.dumps(tasks)
        return "nothing"

    project._changes = [note] * 9
    assert play(project, limit=5).outcome is Outcome.EXHAUSTED


def test_progress_ends_a_row_without() -> None:
    project = Project(document(story()), nothing, nothing, submit, nothing, nothing, approve)
    assert play(project).outcome is Outcome.COMPLETED


def test_a_run_that_did_not_end_well_is_told_once() -> None:
    project = Project(document(story()), nothing, submit, approve)
    project.endings = [Reported(outcome="timed_out", detail="It ran longer than 60s.")]
    play(project)
    assert told(project, 1) == "It failed: It ran longer than 60s."
    assert "It failed" not in told(project, 2)


def test_a_run_without_a_word_about_its_end_is_told_by_its_outcome() -> None:
    project = Project(document(story()), nothing, submit)
    project.endings = [Reported(outcome="crashed")]
    play(project, limit=2)
    assert told(project, 1) == "It failed: crashed"


def test_no_progress_because_of_trouble_names_the_trouble() -> None:
    project = Project(document(story()), nothing)
    project.endings = [Reported(outcome="crashed", detail="It crashed.")] * 3
    assert play(project).why.endswith("nor the branch; the last one: It crashed.")


def test_a_promise_of_a_run_that_crashed_is_none() -> None:
    project = Project(document(story()), submit, approve)
    said = "<promise>COMPLETE</promise>"
    project.endings = [Reported(outcome="crashed", text=said), Reported(outcome="finished")]
    assert play(project).why == "every story is approved"


def test_what_was_told_is_told_once() -> None:
    def cheat(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, notes="all mine")

    project = Project(document(story()), cheat, submit, nothing)
    play(project, limit=3)
    assert "Undone by the runner" in told(project, 1)
    assert told(project, 2) == ""


def test_the_next_agent_commits_what_the_runner_put_right() -> None:
    def cheat(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, notes="all mine")

    project = Project(document(story()), cheat, nothing, nothing, nothing)
    play(project)
    note = "The runner changed tasks.json after that: commit it with your work."
    assert (note in told(project, 1), note in told(project, 2)) == (True, False)
    assert not any("cut off" in reason for reason in project.reasons)


def test_a_list_that_is_not_committed_anyway_is_named_once() -> None:
    def cheat(tasks: dict[str, Any]) -> None:
        tasks["userStories"][0].update(passes=True, notes="all mine")

    project = Project(document(story()), cheat, nothing, nothing, nothing)
    project.uncommitted = ("ralph/tasks.json",)
    play(project)
    assert "uncommitted changes: ralph/tasks.json" in told(project, 1)
    assert "The runner changed tasks.json" not in told(project, 1)


def test_an_agent_may_split_a_story() -> None:
    def split(tasks: dict[str, Any]) -> None:
        tasks["userStories"].append(story("US-002", priority=2))
        submit(tasks)

    project = Project(document(story()), split, approve)
    play(project, limit=3)
    assert (project.restored, [b.story for b in project.briefs]) == ([], ["US-001", "US-001", "US-002"])


def test_thirty_lines_of_a_kind_are_told_in_full() -> None:
    def cheat(tasks: dict[str, Any]) -> None:
        for each in tasks["userStories"]:
            each.update(passes=True, notes="x")

    project = Project(document(*(story(f"US-{number}") for number in range(15))), cheat)  # two problems each
    play(project, limit=2)
    assert told(project, 1).count("\n") == 30 + 15
    assert "more of that kind" not in told(project, 1)


@pytest.mark.parametrize("first", [submit, nothing], ids=["the agreed name", "no commit"])
def test_a_commit_is_told_only_when_it_is_called_otherwise(first: Change) -> None:
    project = Project(document(story()), first)
    play(project, limit=2)
    assert told(project, 1) == ""


def test_files_that_are_put_back_are_no_change_of_the_list() -> None:
    project = Project(document(story()), submit, approve)
    project.lost = ("prompt.md",)
    play(project)
    assert "The runner changed tasks.json" not in told(project, 1)


@pytest.mark.parametrize(
    ("problem", "why"), [("", "tasks.json is missing."), ("tasks.json is a folder.", "tasks.json is a folder.")]
)
def test_without_a_list_nothing_begins(problem: str, why: str) -> None:
    project = Project(document(story()))
    project.text, project.problem = None, problem
    assert play(project) == Stop(Outcome.UNUSABLE, why)


def test_a_story_with_more_reviews_than_the_cap_allows_is_refused() -> None:
    waiting = document(story(reviewStatus="needs_review", reviewCount=3, notes="done"))
    stop = play(Project(waiting), ReviewPolicy(cap=2))
    assert stop.outcome is Outcome.UNUSABLE
    assert "raise the review cap to 3" in stop.why


def test_the_most_urgent_review_comes_first() -> None:
    waiting = [story(f"US-{n}", priority=p, reviewStatus="needs_review", notes="x") for n, p in ((1, 2), (2, 1))]
    project = Project(document(*waiting))
    play(project, limit=1)
    assert project.briefs[0].story == "US-2"


def test_the_first_commit_is_held_to_its_name_too() -> None:
    project = Project(document(story()))

    def rename(tasks: dict[str, Any]) -> str:
        project.commits += 1
        project.subject = "wip"
        return "nothing"

    project._changes = [rename, nothing]
    play(project, limit=2)
    assert told(project, 1) == "The last commit is called 'wip'; agreed is `feat: [US-001] - Title US-001`."


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


def test_a_person_reads_which_rule_undid_a_change() -> None:
    project = Project(document(story(notes="mine")), approve)
    play(project, limit=1)
    assert project.reasons[0] == "Undone in tasks.json: US-001: passes true → false"
    assert [line.split(". ")[0] for line in project.reasons if line.startswith("Why: ")] == [
        "Why: Implement iterations cannot set passes=true or approve stories"
    ]


def test_what_a_cut_off_iteration_did_is_judged_first() -> None:  # C18
    before = document(story())
    after = document(story(passes=True, reviewStatus="approved", notes="mine"))
    project = Project(after, submit, approve)
    earlier = Brief(iteration=1, limit=15, role="implement", story="US-001", tasks=json.dumps(before))
    assert play(project, ReviewPolicy(earlier=earlier)).outcome is Outcome.COMPLETED
    assert json.loads(project.restored[0])["userStories"][0]["passes"] is False
    assert [b.role for b in project.briefs] == ["implement", "review"]
    assert "(left by an iteration that was cut off; --as-is keeps it)" in project.reasons[0]


def test_a_cut_off_review_is_judged_as_a_review() -> None:
    waiting = story(reviewStatus="needs_review", notes="done")
    approved = {**waiting, "reviewStatus": "approved", "passes": True, "reviewCount": 1}
    project = Project(document(approved))
    earlier = Brief(iteration=2, limit=15, role="review", story="US-001", tasks=json.dumps(document(waiting)))
    assert play(project, ReviewPolicy(earlier=earlier)).outcome is Outcome.COMPLETED
    assert (project.restored, project.briefs) == ([], [])


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
    lines = [item.text for item in project.briefs[1].feedback]
    assert len(lines) < 100
    assert max(map(len, lines)) <= 1000
    assert "… and 970 more of that kind" in lines


def test_a_reviewer_learns_that_the_measure_was_changed() -> None:
    def ease(tasks: dict[str, Any]) -> None:
        submit(tasks)
        tasks["userStories"][0]["acceptanceCriteria"] = ["exists"]

    project = Project(document(story()), ease, approve)
    play(project)
    assert 'The last iteration changed the acceptanceCriteria of US-001. They were: ["works"]' in told(project, 1)


def test_stories_that_were_removed_are_named_at_the_end() -> None:
    def drop(tasks: dict[str, Any]) -> None:
        tasks["userStories"].pop()

    project = Project(document(story(), story("US-002")), drop, submit, approve)
    assert play(project).why == "every story is approved; taken from the list by an agent: US-002"


def test_a_finished_list_completes_at_once() -> None:
    project = Project(document(story(passes=True, reviewStatus="approved", reviewCount=1, notes="done")))
    assert play(project).outcome is Outcome.COMPLETED
    assert project.briefs == []
