"""A repository with tasks, and an agent that works as its stage wants, lies once and minds once."""

import json
import subprocess
from typing import Any

from support.workshop import ProjectFixture

AGENT_SCRIPT = r"""#!/bin/sh
# Judges by the changes it is shown. Works as its stage wants: it does half of it on the first try of TASK-001, and its
# reviewer minds TASK-002 once.
if [ "$RALPH_STAGE" = judge ]; then
    question={home}/question.$(ls {home} | grep -c question)
    cat > $question
    {judge}
    exit
fi
cat > {home}/prompt.$RALPH_TASK.$RALPH_STAGE.$RALPH_ITERATION.$(ls {home} | grep -c "prompt.$RALPH_TASK")
{before}
case $RALPH_STAGE in
coder)
    {hook}
    if [ $RALPH_TASK-$RALPH_ITERATION = TASK-001-1 ] && [ ! -f {home}/lied ]; then
        touch {home}/lied; echo half > $RALPH_TASK.txt
    else echo done > $RALPH_TASK.txt; git add -A; git commit -qm "Do $RALPH_TASK"; fi
    echo '<promise>IMPLEMENTATION_COMPLETE</promise>';;
reviewer)
    if [ $RALPH_TASK = TASK-002 ] && [ ! -f {home}/minded ]; then touch {home}/minded
    echo '<changes>'; echo 'Say it louder.'; echo '</changes>'
    else echo 'The file is there and says done.'; echo '<promise>REVIEW_PASSED</promise>'; fi;;
tester) echo 'The file is there and says done.'; echo '<promise>TESTS_PASSED</promise>';;
qa) echo 'The file is there and says done.'; echo '<promise>QA_PASSED</promise>';;
esac
"""

FAIR_JUDGE = "grep -q '^+done' $question && echo VERIFIED || echo NOT_VERIFIED: nothing says done"


class PipelineFixture:
    """A repository with tasks and an agent."""

    def __init__(self, workshop: ProjectFixture) -> None:
        self.workshop = workshop
        self.repo, self.home = workshop.repo, workshop.home
        (self.repo / "README").write_text("x\n")
        workshop.git("add", "-A")
        workshop.git("commit", "-qm", "Start")
        self.agent()
        workshop.environment["RALPH_AGENT_COMMAND"] = "worker"
        workshop.call("spec", "create", "files")

    def agent(self, hook: str = ":", before: str = ":", judge: str = FAIR_JUDGE) -> None:
        """`hook` is what a coder does first, `before` what every agent does before that, `judge` how it judges what is
        in the file $question."""
        program = self.home / "worker"
        text = AGENT_SCRIPT.replace("{hook}", hook).replace("{before}", before).replace("{judge}", judge)
        text = text.replace("{home}", str(self.home))
        program.write_text(text)
        program.chmod(0o755)

    def honest(self) -> None:
        """It has lied already."""
        (self.home / "lied").touch()

    def task(self, name: str, *more: str) -> None:
        words = ["--outcome", f"{name}.txt is there", "--acceptance", "the file is there", "--acceptance", "says done"]
        verify = ["--coder-verify", "external", "--coder-verify-cmd", f"grep -q done {name}.txt"]
        qa = ["--qa-verify", "external", "--qa-verify-cmd", f"test -f {name}.txt"] if "--qa-verify" not in more else []
        self.workshop.call("task", "create", name, "files", f"Make {name}", *words, *verify, *qa, *more)

    def overtaken(self) -> str:
        """While the agent works, someone else commits the same file to the target."""
        change = (
            f"echo other > {self.repo}/TASK-001.txt; git -C {self.repo} add -A; git -C {self.repo} commit -qm Other"
        )
        return f"[ -f {self.home}/moved ] || {{ touch {self.home}/moved; {change}; }}"

    def shown(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.workshop.call("task", "show", name, "--json"))
        return found

    def status(self, name: str) -> dict[str, Any]:
        task: dict[str, Any] = self.shown(name)["task"]
        return task

    def told(self, name: str, stage: str) -> list[str]:
        """Every prompt of that stage, in order."""
        found = self.home.glob(f"prompt.{name}.{stage}.*")
        return [path.read_text() for path in sorted(found, key=lambda path: int(path.name.rpartition(".")[2]))]

    def execute(self, *words: str) -> "subprocess.CompletedProcess[str]":
        return self.workshop.ralph("execute", *words, timeout=60)
