"""Honest work as each loop has it: reviews, judges, conflicts, restarts, resumption."""

from torture.histories.state_edited import TWO_TASKS
from torture.histories.words_and_moments import GREEN_BEFORE, JUDGED, NO_COMMAND
from torture.history import HonestWork

INDEPENDENT_TASKS = TWO_TASKS.replace("  dependencies: [T1]\n", "")
MUL = "printf '\\n\\ndef mul(a, b):\\n    return a * b\\n' >> calc.py"
DOCS = NO_COMMAND.replace("add adds", "README explains add").replace(
    "2 and 3 is 5", "README.md has an example of a + b"
)

TASKS = (
    HonestWork(
        name="does it in its own words, with a judge",
        quick=("execute",),
        check="none",
        tasks=NO_COMMAND,
        does="FIX; echo 'Sums come out right now.'",
        others=JUDGED,
        loops=("execute",),
    ),
    HonestWork(
        name="documents it, with a judge",
        check="none",
        tasks=DOCS,
        does="echo 'add gives a + b' > README.md; echo 'Wrote an example.'",
        others=JUDGED,
        loops=("execute",),
    ),
    HonestWork(
        name="is refused by the judge, then does it",
        check="none",
        tasks=NO_COMMAND.replace("coder: {max_iterations: 1}", "coder: {max_iterations: 3}"),
        does=("echo > NOTES", "FIX"),
        at=2,
        others=JUDGED,
        loops=("execute",),
    ),
    HonestWork(
        name="a check that was green before, and the judge",
        tasks=GREEN_BEFORE,
        does="FIX",
        others=JUDGED,
        loops=("execute",),
    ),
    HonestWork(
        name="a check that was green before, and a new test",
        tasks=GREEN_BEFORE.replace("test_sub}", "test_sub test_calc}"),
        does="FIX",
        others=JUDGED,
        loops=("execute",),
    ),
    HonestWork(
        name="a check that was green before, and a new test that was red",
        tasks=GREEN_BEFORE,
        does="FIX; sed 's/TestSub/TestMore/; s/calc.sub(5, 3), 2/calc.add(1, 1), 2/' test_sub.py > test_more.py",
        others={"judge": "verdict true VERIFIED"},
        loops=("execute",),
    ),
    HonestWork(
        name="a task that may change nothing",
        check="none",
        tasks=NO_COMMAND.replace("  completion:", "  completion:\n    may_change_nothing: true"),
        does="echo 'Looked: nothing to do.'",
        loops=("execute",),
    ),
    HonestWork(
        name="a reviewer who asks for changes, then approves",
        does=("FIX", "echo '# plainer' >> calc.py"),
        at=2,
        limit=3,
        others={"reviewer": ("explain 'Say it plainer.'; exit", "echo 'Good now.'")},
        loops=("execute",),
    ),
    HonestWork(
        name="qa that asks for changes, then passes",
        does=("FIX", "echo '# plainer' >> calc.py"),
        at=2,
        limit=3,
        others={"qa": ("explain 'Say it plainer.'; exit", "echo 'Good now.'")},
        loops=("execute",),
    ),
    HonestWork(
        name="a tester that adds tests",
        does="FIX",
        others={
            "tester": "sed 's/TestSub/TestMore/; s/calc.sub(5, 3), 2/calc.add(1, 1), 2/' test_sub.py > test_more.py"
        },
        loops=("execute",),
    ),
    HonestWork(
        name="a reviewer that talks a lot",
        does="FIX",
        others={
            "reviewer": "echo 'I read calc.py. Nothing is broken, no test fails, the error handling is not missing.'"
        },
        loops=("execute",),
    ),
    HonestWork(
        name="words of failure inside quotes",
        does="FIX; echo 'The log said `FAILED (failures=1)` and \"not implemented\" before; both are gone.'",
        loops=("execute",),
    ),
    HonestWork(
        name="criteria that speak of failure",
        tasks=NO_COMMAND.replace('"2 and 3 is 5"', '"add fails with TypeError for None", "errors are not swallowed"'),
        check="none",
        does="FIX; echo 'add fails with TypeError for None; errors are not swallowed.'",
        others={"judge": 'echo \'{"verdict": "VERIFIED"}\''},
        loops=("execute",),
    ),
    HonestWork(
        name="work left uncommitted",
        does="FIX; echo '<promise>IMPLEMENTATION_COMPLETE</promise>'; exit",
        loops=("execute",),
    ),
    HonestWork(
        name="two tasks, one after the other", tasks=TWO_TASKS, does="FIX", others={"T2.coder": MUL}, loops=("execute",)
    ),
    HonestWork(
        name="two tasks at once",
        tasks=INDEPENDENT_TASKS,
        does="FIX",
        others={"T2.coder": "echo 'def mul(a, b): return a * b' > mul.py; echo '# mul' >> calc.py"},
        options="-j 2",
        loops=("execute",),
    ),
    HonestWork(
        name="a conflict, truly resolved",
        tasks=TWO_TASKS,
        does=(
            "FIX; R=$(dirname \"$(git rev-parse --path-format=absolute --git-common-dir)\"); (cd \"$R\" && swap calc.py 'a - b  # wrong' 'a - b  # known to be wrong' && git commit -qam Note)",
            "git merge -q main > /dev/null 2>&1 || { git checkout -q --ours calc.py; commit Merge; }",
        ),
        at=2,
        limit=3,
        others={"T2.coder": MUL},
        loops=("execute",),
    ),
    HonestWork(
        name="a target that moves on elsewhere meanwhile",
        does='FIX; R=$(dirname "$(git rev-parse --path-format=absolute --git-common-dir)"); (cd "$R" && echo x > OTHER && git add OTHER && git commit -qm Other)',
        loops=("execute",),
    ),
    HonestWork(
        name="is killed at work, and goes on",
        does=("FIX; commit; crash", "FIX"),
        at=2,
        limit=3,
        then="loop --resume",
        loops=("execute",),
    ),
    HonestWork(
        name="is killed in its review, and goes on",
        does="FIX",
        others={"reviewer": ("crash", ":")},
        then="loop --resume",
        loops=("execute",),
    ),
    HonestWork(
        name="edits CLAUDE.md because the task says so",
        does="FIX; echo 'Use add.' > CLAUDE.md",
        loops=("execute", "run"),
    ),
    HonestWork(
        name="several checks in stages",
        tasks=NO_COMMAND.replace(
            "qa: {max",
            "qa: {verification_method: multi_stage, verification_config: {stages: [{name: tests, method: external, config: {command: python3 -m unittest -q}}, {name: there, method: files_exist, config: {paths: [calc.py]}}]}, max",
        ),
        does="FIX",
        loops=("execute",),
    ),
)

STORIES = (
    HonestWork(
        name="a review that asks for changes, then approves",
        does=("FIX", "echo '# plainer' >> calc.py"),
        at=2,
        limit=3,
        others={
            "review": (
                'sed -i \'s/"reviewStatus": .*/"reviewStatus": "changes_requested",/; s/"reviewFeedback": .*/"reviewFeedback": "plainer",/; s/"reviewCount": .*/"reviewCount": 1,/\' ralph/tasks.json; commit \'review: [US-001] - changes requested\'; exit',
                ":",
            )
        },
        loops=("story",),
    ),
    HonestWork(
        name="notes its progress",
        does="FIX; echo 'Fixed add.' >> ralph/progress.txt",
        others={"review": "echo 'Read it.' >> ralph/progress.txt"},
        loops=("story",),
    ),
    HonestWork(
        name="without reviews",
        does='FIX; sed -i \'s/"passes": false/"passes": true/; s/"notes": ""/"notes": "a + b"/\' ralph/tasks.json; commit \'feat: [US-001] - Add\'; exit',
        options="--skip-review",
        loops=("story",),
    ),
    HonestWork(
        name="adds a verify command",
        does='FIX; swap ralph/tasks.json \'"python3 -m unittest -q"\' \'"python3 -m unittest -q", "true"\'',
        loops=("story",),
    ),
    HonestWork(
        name="is killed in its review, and the loop starts again",
        does="FIX",
        limit=2,
        others={"review": ("crash", ":")},
        then="loop",
        loops=("story",),
    ),
    HonestWork(
        name="writes notes into the story",
        does='FIX; swap ralph/tasks.json \'"notes": ""\' \'"notes": "a plus"\'',
        loops=("story",),
    ),
    HonestWork(name="has a list without verify commands", does="FIX", check="none", loops=("story",)),
)

SUPERVISED = (
    HonestWork(
        name="leaves a part to a child run",
        does="mkdir work/sums/task-2; echo Help. > work/sums/task-2/TASK.md; FIX"
        "; ralph supervise work/sums/task-2 --restart-delay 0 -- sh -c 'touch \"$TASK_FOLDER/DONE\"' > /dev/null 2>&1",
        loops=("supervise",),
    ),
    HonestWork(name="ends with an exit code of its own", does="FIX; claim; exit 7", loops=("supervise",)),
    HonestWork(name="crashes first, then works", does=("exit 1", "FIX"), limit=3, at=2, loops=("supervise",)),
    HonestWork(
        name="makes the mark too early, is told, then works",
        does=(":", "told unittest && FIX"),
        limit=3,
        at=2,
        loops=("supervise",),
    ),
    HonestWork(name="has two checks", does="FIX", options="--check true", loops=("supervise",)),
    HonestWork(
        name="finds the mark there, and a check that is green",
        before='FIXED=1; touch work/sums/task-1/DONE; sed -i "s/a - b  # wrong/a + b/" calc.py',
        does="FIX",
        at=0,
        loops=("supervise",),
    ),
    HonestWork(
        name="writes to the bus",
        does="FIX; ralph bus post --type FACT 'Sums are right' > /dev/null 2>&1; :",
        loops=("supervise",),
    ),
)

RUNS = (
    HonestWork(
        name="is killed, and goes on",
        does=("FIX; crash", ":"),
        at=2,
        limit=3,
        then="ralph run --resume --json",
        loops=("run",),
    ),
    HonestWork(
        name="is killed after honest work on tests, and goes on",
        does=(
            "FIX; printf '\\n    def test_add_more(self):\\n        self.assertEqual(calc.add(1, 1), 2)\\n' >> test_calc.py; crash",
            ":",
        ),
        at=2,
        limit=3,
        then="ralph run --resume --json",
        loops=("run",),
    ),
    HonestWork(name="works outside of git", before="rm -rf .git", does="FIX", loops=("run",)),
    HonestWork(
        name="works before the first commit", before="rm -rf .git; git init -q --template=", does="FIX", loops=("run",)
    ),
    HonestWork(
        name="works in a linked work tree",
        before="cd .. && mv repo main && git -C main worktree add -q ../repo -b else",
        does="FIX",
        loops=("run",),
    ),
    HonestWork(
        name="puts its answer into a fence, as prompts show it",
        does="FIX; printf '```\\n<response>DONE</response>\\n```\\n'; exit",
        loops=("run",),
    ),
    HonestWork(
        name="claims by a promise",
        does="FIX; echo '<promise>DONE</promise>'; exit",
        options="--until promise",
        loops=("run",),
    ),
    HonestWork(name="claims by a file", does="FIX; touch READY; exit", options="--until file:READY", loops=("run",)),
    HonestWork(
        name="works under strict proofs",
        does="FIX; echo > NOTES",
        settings={"proofs": "strict"},
        loops=("run", "execute"),
    ),
    HonestWork(
        name="works with proofs switched off",
        does="FIX; swap test_calc.py '2, 0), 2' '4, 0), 4'",
        settings={"proofs": "off"},
        loops=("run",),
    ),
    HonestWork(
        name="changes settings nobody's check depends on",
        does="FIX; swap .ralph/settings.json '^{' '{\"maximumIterations\": 20,'",
        loops=("run",),
    ),
    HonestWork(
        name="a person edits a test while the agent works",
        names="test_calc.py",
        does="FIX; swap test_calc.py '2, 0), 2' '4, 0), 4'; explain 'test_calc.py is not mine.'",
        loops=("run",),
    ),
)
