"""Tasks of an existing SpecFlow project, brought over from real databases and logs."""

import json
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from ralph.app.board import tasks as use_cases
from ralph.app.board.specflow_import import import_specflow_database, import_specflow_log, is_database
from ralph.app.board.yaml_import import ImportRefused
from ralph.app.paths import Paths, find_paths
from ralph.model.spec import Task, VerificationMethod
from support.workshop import ProjectFixture

BASE = """
CREATE TABLE specs (id TEXT PRIMARY KEY, title TEXT NOT NULL, status TEXT NOT NULL DEFAULT 'draft', source_type TEXT,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, metadata TEXT DEFAULT '{}');
CREATE TABLE tasks (id TEXT PRIMARY KEY, spec_id TEXT NOT NULL, title TEXT NOT NULL,
  description TEXT NOT NULL DEFAULT '', status TEXT NOT NULL DEFAULT 'pending', priority INTEGER NOT NULL DEFAULT 0,
  dependencies TEXT DEFAULT '[]', assignee TEXT, worktree TEXT, iteration INTEGER DEFAULT 0,
  created_at TEXT NOT NULL, updated_at TEXT NOT NULL, metadata TEXT DEFAULT '{}');
INSERT INTO specs(id, title, created_at, updated_at) VALUES ('auth', 'Logins', '2024-01-15', '2024-01-15');
INSERT INTO tasks(id, spec_id, title, status, priority, dependencies, created_at, updated_at) VALUES
  ('TASK-001', 'auth', 'Tokens', 'done', 1, '[]', '2024-01-15T10:30:00', '2024-01-16'),
  ('TASK-002', 'auth', 'Logout', 'implementing', 2, '["TASK-001", "TASK-000"]', '2024-01-15T10:31:00', '2024-01-16');
"""
COLUMN = "ALTER TABLE tasks ADD COLUMN completion_spec TEXT;"
TABLES = """
CREATE TABLE task_completion_specs (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL UNIQUE,
  outcome TEXT NOT NULL, acceptance_criteria TEXT NOT NULL, created_at TIMESTAMP DEFAULT CURRENT_TIMESTAMP,
  FOREIGN KEY (task_id) REFERENCES tasks(id) ON DELETE CASCADE);
CREATE TABLE task_agent_criteria (id INTEGER PRIMARY KEY AUTOINCREMENT, task_id TEXT NOT NULL, agent_type TEXT NOT NULL,
  promise TEXT NOT NULL, description TEXT NOT NULL, verification_method TEXT NOT NULL, verification_config TEXT,
  max_iterations INTEGER, UNIQUE (task_id, agent_type));
INSERT INTO task_completion_specs(task_id, outcome, acceptance_criteria) VALUES ('TASK-002', 'No session', '["401"]');
INSERT INTO task_agent_criteria(task_id, agent_type, promise, description, verification_method, verification_config)
  VALUES ('TASK-002', 'tester', 'OUT', 'It logs out', 'external', '{"command": "make test"}'),
         ('TASK-002', 'coder', 'IN', 'It is there', 'external', '{}');
"""
SPEC = {
    "outcome": "No session",
    "acceptance_criteria": ["401"],
    "tester": {
        "promise": "OUT",
        "description": "It logs out",
        "verification_method": "external",
        "verification_config": {"command": "make test"},
        "max_iterations": None,
    },
}


@pytest.fixture
def paths(tmp_path: Path) -> Paths:
    return find_paths(str(tmp_path))


@pytest.fixture
def database(tmp_path: Path) -> Path:
    folder = tmp_path / ".specflow"
    folder.mkdir()
    return folder / "specflow.db"


def execute(database: Path, *scripts: str) -> None:
    with closing(sqlite3.connect(database)) as connection:
        connection.executescript("".join(scripts))


def read_task(paths: Paths, id_: str) -> Task:
    return use_cases.load_task_details(paths, id_).entry.task


def test_a_database_with_tables_of_criteria_is_brought_over(paths: Paths, database: Path) -> None:  # 002-28
    execute(database, BASE, TABLES)
    (database.parent.parent / "specs/auth").mkdir(parents=True)
    (database.parent.parent / "specs/auth/spec.md").write_text("All about logins.\n")
    assert is_database(str(database))
    imported = import_specflow_database(paths, str(database))
    assert [(spec.id, spec.title, spec.text) for spec in imported.specs] == [("auth", "Logins", "All about logins.\n")]
    done, open_ = read_task(paths, "TASK-001"), read_task(paths, "TASK-002")
    assert (done.status, open_.status, open_.depends_on, open_.priority) == ("done", "todo", ("TASK-001",), 2)
    assert open_.created_at > done.created_at > 0
    assert open_.completion_spec
    assert open_.completion_spec.to_dict() == SPEC
    assert len(imported.warnings) == 3
    assert "coder: " in imported.warnings[0]  # an external verification without a command
    assert "waited for 'TASK-000'" in imported.warnings[1]
    assert "start over: TASK-002" in imported.warnings[2]


def test_a_database_with_a_column_of_criteria_is_brought_over(paths: Paths, database: Path) -> None:  # 002-28
    told = json.dumps(SPEC).replace("'", "''")
    execute(database, BASE, COLUMN, f"UPDATE tasks SET completion_spec='{told}' WHERE id='TASK-002';")
    import_specflow_database(paths, str(database))
    spec = read_task(paths, "TASK-002").completion_spec
    assert spec
    assert spec.tester
    assert (spec.tester.promise, spec.tester.verification_method) == ("OUT", VerificationMethod.EXTERNAL)


def test_a_database_of_the_first_version_has_no_criteria(paths: Paths, database: Path) -> None:  # 002-28, C15
    execute(database, BASE)
    imported = import_specflow_database(paths, str(database))
    assert [line for line in imported.warnings if "TASK-001" in line] == []  # it is done
    assert any(line.startswith("task 'TASK-002' has no completion criteria") for line in imported.warnings)
    assert read_task(paths, "TASK-002").completion_spec is None


def test_nothing_is_written_to_it_and_twice_is_refused(paths: Paths, database: Path) -> None:
    execute(database, BASE, TABLES)
    database.chmod(0o444)
    before = database.read_bytes()
    import_specflow_database(paths, str(database))
    with pytest.raises(ImportRefused, match="TASK-001"):
        import_specflow_database(paths, str(database))
    assert database.read_bytes() == before
    assert [path.name for path in database.parent.iterdir()] == ["specflow.db"]


@pytest.mark.parametrize(
    ("script", "problem"),
    [
        ("CREATE TABLE other (x);", "no table `tasks`"),
        (BASE + "DELETE FROM tasks;", "no tasks"),
        (BASE + "UPDATE tasks SET title='' WHERE id='TASK-002';", "TASK-002.*title"),
        (BASE + "UPDATE tasks SET status='odd' WHERE id='TASK-002';", "unknown status 'odd'"),
        (BASE + "UPDATE tasks SET id='../x' WHERE id='TASK-002';", "may hold only letters"),
        (BASE + "UPDATE tasks SET spec_id='../x' WHERE id='TASK-002';", "may hold only letters"),
        (BASE + "UPDATE tasks SET dependencies='[\"TASK-001\"' WHERE id='TASK-002';", "TASK-002.*no JSON"),
        (BASE + "UPDATE tasks SET dependencies='[\"TASK-002\"]' WHERE id='TASK-001';", "TASK-00"),
    ],
)
def test_what_cannot_be_taken_over_is_named_and_nothing_is(
    paths: Paths, database: Path, script: str, problem: str
) -> None:
    execute(database, script)
    with pytest.raises(ImportRefused, match=problem):
        import_specflow_database(paths, str(database))
    assert use_cases.list_cards(paths) == []


def test_a_broken_database_is_named(paths: Paths, database: Path) -> None:
    execute(database, BASE)
    database.write_bytes(database.read_bytes()[:5000])
    with pytest.raises(ImportRefused, match=r"specflow\.db"):
        import_specflow_database(paths, str(database))


def test_its_log_of_changes_is_brought_over(workshop: ProjectFixture) -> None:  # 002-28
    task = {"id": "A", "spec_id": "auth", "title": "Tokens", "status": "testing", "completion_spec": SPEC}
    head = {"timestamp": "2024-01-15T10:30:00", "change_type": "create"}
    lines = [
        {**head, "entity_type": "spec", "entity_id": "auth", "data": {"id": "auth", "title": "Logins"}},
        {**head, "entity_type": "task", "entity_id": "A", "data": task},
    ]
    (workshop.repo / "specs.jsonl").write_text("\n".join(map(json.dumps, lines)))
    done = workshop.ralph("task", "import", "specs.jsonl")
    assert (done.returncode, done.stdout) == (0, "Imported A. See `ralph task list`.\n")
    assert "start over: A" in done.stderr
    shown = json.loads(workshop.ralph("task", "show", "A", "--json").stdout)
    assert shown["task"]["completion_spec"]["tester"]["promise"] == "OUT"


def test_the_command_takes_a_database(workshop: ProjectFixture) -> None:  # 002-28
    execute(workshop.repo / "specflow.db", BASE, TABLES)
    done = workshop.ralph("task", "import", "specflow.db", "--json")
    assert json.loads(done.stdout) == {"tasks": ["TASK-001", "TASK-002"], "specs": ["auth"]}
    broken = workshop.ralph("task", "import", "-", stdin='{"entity_type": "task"}\n')
    assert (broken.returncode, "the task has no data" in broken.stderr) == (2, True)


def test_a_task_of_the_api_can_be_imported(paths: Paths) -> None:  # 000-26, 002-28
    task = Task("T-1", "auth", "Tokens", status="in_progress", stage="coder", depends_on=())
    import_specflow_log(paths, json.dumps(task.to_dict()), "tasks.jsonl")
    assert read_task(paths, "T-1").status == "todo"
