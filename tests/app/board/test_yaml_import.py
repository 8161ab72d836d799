"""Tasks out of YAML."""

from pathlib import Path

import pytest

from ralph.app.board import tasks as use_cases
from ralph.app.board.yaml_import import ImportedTasks, ImportRefused, import_tasks
from ralph.app.paths import Paths, find_paths
from ralph.model.spec import TaskCompletionSpec, VerificationMethod

JWT = (Path(__file__).parents[2] / "fixtures/complete_task.yaml").read_text()
LISTED = """\
- id: TASK-001
  title: "Implement JWT authentication"
  description: "Add JWT-based authentication to API"
  priority: 1
  dependencies: []

  completion:
    outcome: "All API endpoints require valid JWT tokens for access"
    acceptance_criteria:
      - "JWT middleware validates tokens on all protected routes"
      - "Invalid/expired tokens return 401 Unauthorized"

    coder:
      promise: "AUTH_IMPLEMENTED"
      description: "Authentication code complete and committed"
      verification_method: external
      verification_config:
        command: "test -f src/auth/middleware.py && test -f src/auth/jwt.py"

    qa:
      promise: "AUTH_QA_PASSED"
      description: "Meets all acceptance criteria"
      verification_method: multi_stage
      verification_config:
        stages:
          - name: "all_tests"
            method: external
            config:
              command: "pytest tests/"
          - name: "criteria_check"
            method: semantic
            config:
              check_for: "{{acceptance_criteria}}"
"""


def small(id_: str, more: str = "", completion: str = "{outcome: It works, acceptance_criteria: [a]}") -> str:
    return f"- {{id: {id_}, title: Do it, completion: {completion}{', ' + more if more else ''}}}\n"


@pytest.fixture
def here(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path))


def imported(here: Paths, text: str, spec: str = "auth") -> ImportedTasks:
    return import_tasks(here, text, name="tasks.yaml", spec=spec)


def refused(here: Paths, text: str, spec: str = "auth") -> str:
    """What is said; and that nothing was imported."""
    with pytest.raises(ImportRefused) as error:
        imported(here, text, spec)
    assert error.value.exit_code == 2
    assert error.value.hint
    assert [card.id for card in use_cases.list_cards(here)] == []
    return error.value.message


def completion(here: Paths, id_: str = "TASK-001") -> TaskCompletionSpec:
    found = use_cases.load_task_details(here, id_).entry.task.completion_spec
    assert found
    return found


def test_the_seeds_task_is_imported_as_written(here: Paths) -> None:  # 002-02, 002-03, 002-04
    imported(here, JWT, spec="")
    task = use_cases.load_task_details(here, "TASK-001").entry.task
    spec = completion(here)
    assert (task.spec_id, task.title, task.priority, task.depends_on) == (
        "auth-feature",
        "Implement JWT authentication",
        1,
        (),
    )
    assert spec.acceptance_criteria[4] == "Invalid/expired tokens return 401 Unauthorized"
    assert len(spec.acceptance_criteria) == 7
    assert spec.coder
    assert spec.reviewer
    assert spec.tester
    assert spec.qa
    assert (spec.coder.promise, spec.coder.verification_method, spec.coder.max_iterations) == (
        "AUTH_IMPLEMENTED",
        VerificationMethod.EXTERNAL,
        15,
    )
    assert str(spec.coder.verification_config["command"]).count("\n") == 4
    assert spec.reviewer.verification_config["negative_patterns"] == ["TODO", "FIXME", "hardcoded", "password ="]
    assert spec.tester.verification_config["output_not_contains"] == "FAILED"
    stages = spec.qa.verification_config["stages"]
    assert isinstance(stages, list)
    assert [stage["name"] for stage in stages] == ["all_tests_pass", "no_security_issues", "acceptance_verified"]


def test_the_slash_commands_list_is_imported_too(here: Paths) -> None:  # 002-14
    found = import_tasks(here, LISTED, name="auth.yaml", spec="", or_else="auth")
    assert (found.tasks[0].spec_id, [spec.id for spec in found.specs]) == ("auth", ["auth"])
    assert completion(here).reviewer is None


@pytest.mark.parametrize(
    "text", [f"tasks:\n{small('T-1')}", small("T-1")[2:], f"task: {small('T-1')[2:]}", small("T-1")]
)
def test_every_form_will_do(here: Paths, text: str) -> None:
    assert [task.id for task in imported(here, text).tasks] == ["T-1"]


def test_an_import_makes_its_specs_known(here: Paths) -> None:
    specs = "specs:\n  auth: Tokens!\n  pay: {title: Pay, text: Money}\n"
    imported(here, f"{specs}tasks:\n{small('T-1')}{small('T-2', 'spec: new')}")
    with use_cases.open_board(here) as tasks:
        found = {spec.id: (spec.title, spec.text, count) for spec, count in tasks.specs.list_all()}
    assert found == {"auth": ("auth", "Tokens!", 1), "new": ("new", "", 1), "pay": ("Pay", "Money", 0)}


def test_which_spec_is_meant(here: Paths) -> None:
    text = f"spec: theirs\ntasks:\n{small('T-1')}{small('T-2', 'spec_id: own')}"
    assert [task.spec_id for task in import_tasks(here, text, name="f", spec="", or_else="stem").tasks] == [
        "theirs",
        "own",
    ]
    text = text.replace("T-", "U-")
    assert [task.spec_id for task in import_tasks(here, text, name="f", spec="given", or_else="stem").tasks] == [
        "given",
        "own",
    ]
    assert "needs a spec_id" in refused(find_paths(here.folder + "/x"), small("T-1"), spec="")


def test_a_task_without_criteria_is_warned_of(here: Paths) -> None:  # C15
    found = imported(here, "- id: T-1\n  title: Old\n")
    (warning,) = found.warnings
    assert warning.startswith("tasks.yaml:1: task 'T-1' has no completion criteria")
    criteria = use_cases.load_task_details(here, "T-1").criteria["coder"].criteria
    assert criteria.verification_method is VerificationMethod.SEMANTIC


def test_gaps_in_an_agents_criteria_are_filled(here: Paths) -> None:  # 002-21, 002-23
    agents = (
        "coder: {verification_config: {command: make}}, reviewer: {promise: R}, tester: {verification_method: pytest}"
    )
    imported(here, small("TASK-001", completion=f"{{outcome: o, acceptance_criteria: [a], {agents}}}"))
    spec = completion(here)
    assert spec.coder
    assert spec.reviewer
    assert spec.tester
    assert (spec.coder.promise, spec.coder.verification_method.value) == ("IMPLEMENTATION_COMPLETE", "external")
    assert spec.coder.description == "Complete coder stage for: Do it"
    assert (spec.reviewer.verification_method.value, spec.reviewer.verification_config) == (
        "semantic",
        {"check_for": "{{acceptance_criteria}}"},
    )
    assert (spec.tester.verification_method.value, spec.tester.verification_config) == (
        "external",
        {"command": "pytest"},
    )


@pytest.mark.parametrize(
    ("before", "after", "at", "told"),
    [
        ("outcome: ", "outcom: ", "outcom:", "unknown key 'outcom'; did you mean 'outcome'?"),
        ("    outcome: ", "    #", "  completion:", "needs an outcome"),
        ("method: semantic", "method: magic", "_method: magic", "reviewer: no verification method 'magic'"),
        (
            "method: semantic\n          ",
            "method: m\n          ",
            'name: "acceptance',
            "stage 'acceptance_verified': Unk",
        ),
        ("output_not_contains", "output_not", "output_not", "tester: Invalid external verification config"),
        ("success_exit_code: 0\n      max", "timeout: -1\n      max", "timeout: -1", "coder: Invalid external"),
        ("max_iterations: 10", "max_iterations: 0", "max_iterations: 0", "a whole number ≥ 1, got 0"),
        ("max_iterations: 10", "max_iterations: yes", "max_iterations: yes", "got true"),
        ('"AUTH_QA_COMPLETE"', "yes", "promise: yes", "qa: promise has to be text, got true"),
        ('"AUTH_QA_COMPLETE"', '"a\\nb"', 'promise: "a', "one line"),
        ("priority: 1", "priority: high", "priority", "priority has to be a whole number, got 'high'"),
        ("priority: 1", "prio: 1", "prio: 1", "unknown key 'prio'; did you mean 'priority'?"),
        ("dependencies: []", "dependencies: [TASK-000]", "dependencies", "depends on 'TASK-000', which is not there"),
        ("dependencies: []", "depends_on: [TASK-001]", "depends_on", "TASK-001 → TASK-001"),
        ("priority: 1", "priority: 1\n  priority: 2", "priority: 2", "the key 'priority' appears twice"),
        ("id: TASK-001", "id: ../x", "id: ../x", "may hold only letters"),
        ("id: TASK-001", "id: 001", "id: 001", "id has to be text, got 1"),
        ("spec_id: auth-feature", "spec_id: a b", "spec_id", "spec id 'a b' may hold only"),
        ('title: "Implement JWT authentication"', "title:", "title:", "needs a title"),
        ("dependencies: []", "metadata: {ralph: 1}", "metadata", "'ralph' is ralph's own"),
        ("dependencies: []", "metadata: {day: 2024-01-01}", "metadata", "holds a date"),
        ("dependencies: []", "metadata: &m {again: *m}", "metadata", "nested without end"),
        ("dependencies: []", 'metadata: {a: "\\0"}', "metadata", "NUL"),
        ("priority: 1", "priority: [1", "dependencies", "not YAML"),
        ("task:", "job:", "job:", "unknown key 'job'"),
    ],
    ids=lambda value: str(value)[:30],
)
def test_what_is_wrong_is_told_with_its_line(
    here: Paths, before: str, after: str, at: str, told: str
) -> None:  # 002-13
    text = JWT.replace(before, after, 1)
    assert text != JWT
    message = refused(here, text, spec="")
    assert told in message
    line = next(number for number, line in enumerate(text.splitlines(), 1) if at in line)
    assert f"tasks.yaml:{line}:" in message, message


def test_a_quote_that_is_never_closed_is_told_with_the_line_it_began_in(here: Paths) -> None:  # 002-13
    text = JWT.replace('"AUTH_QA_COMPLETE"', '"AUTH_QA_COMPLETE', 1)
    line = text[: text.index('"AUTH_QA_COMPLETE')].count("\n") + 1
    assert f"that began in line {line}" in refused(here, text, spec="")


def test_all_problems_are_told_at_once_in_the_files_order(here: Paths) -> None:
    text = small("T-1", "priority: x") + small("T-1 2") + small("T-3", "dependencies: 3")
    message = refused(here, text)
    assert message.splitlines()[0] == "3 problems, nothing was imported"
    assert [line.split(": ")[0].strip() for line in message.splitlines()[1:]] == [f"tasks.yaml:{n}" for n in (1, 2, 3)]
    many = refused(here, "".join(small(f"T-{n}", "priority: x") for n in range(30)))
    assert many.splitlines()[-1] == "  … and 10 more"


def test_what_the_board_refuses_is_told_with_its_line(here: Paths) -> None:
    ring = (
        small("T-1", "dependencies: [T-3]") + small("T-2", "dependencies: [T-1]") + small("T-3", "dependencies: [T-2]")
    )
    assert refused(here, ring).endswith("tasks.yaml:1: tasks wait for each other: T-1 → T-3 → T-2 → T-1")
    assert refused(here, small("T-1") * 2) == "tasks.yaml:2: there is a task 'T-1' already"


def test_an_import_is_all_or_nothing(here: Paths) -> None:
    imported(here, small("T-1"))
    with pytest.raises(ImportRefused, match="yaml:2: there is a task 'T-1' already"):
        imported(here, small("T-0") + small("T-1", "spec: unheard"))
    assert [card.id for card in use_cases.list_cards(here)] == ["T-1"]
    with use_cases.open_board(here) as tasks:
        assert [spec.id for spec, _ in tasks.specs.list_all()] == ["auth"]


@pytest.mark.parametrize(
    "text",
    ["", "# nothing\n", "[]", "tasks: []", "tasks: 3", "just text", "a: 1\n---\nb: 2", "- !!python/name:os.system x"],
)
def test_a_file_without_tasks_is_refused(here: Paths, text: str) -> None:
    assert "tasks.yaml" in refused(here, text)


def test_merged_keys_are_no_repetition(here: Paths) -> None:
    base = "{outcome: o, acceptance_criteria: [a]}"
    text = f"- &one {{id: T-1, title: One, completion: {base}}}\n- {{<<: *one, id: T-2}}\n"
    assert [(task.id, task.title) for task in imported(here, text).tasks] == [("T-1", "One"), ("T-2", "One")]


def test_a_task_may_have_a_setup_of_its_own(here: Paths) -> None:
    assert "setup" in refused(here, small("T-3", "setup: [npm, ci]"))
    first, second = imported(here, small("T-1", "setup: npm ci") + small("T-2")).tasks
    assert (first.setup, second.setup) == ("npm ci", "")
