"""The specification's complete task, end to end: an obedient agent passes, a lying one does not."""

from pathlib import Path

import pytest

from support.workshop import ProjectFixture

EXAMPLE = Path(__file__).parents[3] / "fixtures/complete_task.yaml"

AGENT = r"""#!/bin/sh
prompt=$(cat)
if [ "$RALPH_STAGE" = judge ]; then
    echo "$prompt" > {home}/question
    # Believes what changed, not what is said of it.
    case $prompt in *"+    return jwt.verify(token)"*) echo VERIFIED;; *) echo "NOT_VERIFIED: it is not there";; esac
    exit
fi
echo "$prompt" > {home}/prompt.$RALPH_STAGE
case $RALPH_STAGE in
coder)
    mkdir -p src/auth
    {work}
    git add -A; git commit -qm "Require tokens"
    echo "JWT authentication is implemented and committed."
    echo "<promise>AUTH_IMPLEMENTED</promise>";;
reviewer)
    echo "Approved. I found no hardcoded secrets or keys, proper error handling for auth failures,"
    echo "input validation on credentials, secure password hashing and token expiration handling."
    echo "<promise>AUTH_REVIEWED</promise>";;
tester)
    mkdir -p tests
    echo "grep -q 'return jwt.verify(token)' src/auth/middleware.py" > tests/test_auth.py
    git add -A; git commit -qm "Test it"
    echo "All tests passed; before the work the tests failed."
    echo "<promise>AUTH_TESTS_PASS</promise>";;
qa)
    echo "JWT middleware validates tokens, Login returns JWT, 401 for invalid tokens: all tried out."
    echo "<promise>AUTH_QA_COMPLETE</promise>";;
esac
"""
OBEDIENT = """
    printf 'def check(token):\\n    return jwt.verify(token)\\n' > src/auth/middleware.py
    touch src/auth/jwt.py src/auth/routes.py
"""
LYING = """
    echo '# jwt.verify' > src/auth/middleware.py
    touch src/auth/jwt.py src/auth/routes.py
"""
PYTEST = "#!/bin/sh\nsh tests/test_auth.py && echo '1 passed' || { echo '1 FAILED'; exit 1; }\n"


@pytest.fixture
def project(workshop: ProjectFixture) -> ProjectFixture:
    (workshop.repo / "README").write_text("An API.\n")
    workshop.git("add", "-A")
    workshop.git("commit", "-qm", "Start")
    workshop.environment["RALPH_AGENT_COMMAND"] = "worker"
    for name, text in (("pytest", PYTEST), ("bandit", "#!/bin/sh\ntest -d src/auth\n")):
        (workshop.home / name).write_text(text)
        (workshop.home / name).chmod(0o755)
    assert workshop.ralph("task", "import", str(EXAMPLE)).returncode == 0
    return workshop


def play(project: ProjectFixture, work: str) -> "tuple[int, str]":
    program = project.home / "worker"
    program.write_text(AGENT.replace("{work}", work).replace("{home}", str(project.home)))
    program.chmod(0o755)
    done = project.ralph("execute", timeout=60)
    return done.returncode, done.stdout + done.stderr


def test_an_obedient_agent_passes_the_complete_example(project: ProjectFixture) -> None:  # 002-29
    code, said = play(project, OBEDIENT)
    assert code == 0, said
    assert "merged as" in said
    assert "by words only" not in said
    assert "regression only" not in said
    told = (project.home / "prompt.reviewer").read_text()
    assert [word for word in ("`TODO`", "`FIXME`", "`hardcoded`", "`password =`") if word not in told] == []
    assert "+    return jwt.verify(token)" in (project.home / "question").read_text()


def test_a_lying_one_does_not_though_its_command_passes(project: ProjectFixture) -> None:  # 002-29
    before = project.git("rev-parse", "main")
    code, said = play(project, LYING)
    assert code == 1, said
    assert "landed" not in said.splitlines()[-1]
    assert project.git("rev-parse", "main") == before
    shown = project.ralph("task", "show", "TASK-001").stdout
    assert "NOT_VERIFIED: it is not there" in shown
