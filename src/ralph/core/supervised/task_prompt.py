"""The prompt of a supervised task: its text, and what its agent must know about the loop it runs in."""

from collections.abc import Sequence

from ralph.core.standstill import NO_PROGRESS_MARK

# What the guide below orders, as permissions have it.
GUIDE_COMMANDS = ("bus *", "supervise *")
CONTINUE_PROMPT_PREFIX = "Continue working on the following:\n\n"
_LOOP_GUIDE = """

## How this loop works

You run in a loop that starts you again until the task is done.
- When everything is done, create the file {done}. Only that ends the loop; your exit code does not.
- Tell others what they should know: `{ralph} bus post --type PROGRESS "…"` (or FACT, DECISION, QUESTION, ERROR).
- To ask a person something, end your answer with <question>your question</question>: you are started again with the
  answer.
- When only a person or an event can help, create {wait} with the reason in it, or exit with code 42: you are not
  started again until somebody starts the loop again.
"""
_CHILD_GUIDE = """\
- To hand a part to another agent, write its task into the TASK.md of a new folder below {folder} and start it:
  `{ralph} supervise FOLDER --detach`. It runs in the background, and the loop waits for it before it ends.
"""
_REFUSED_DONE = """
## DONE did not count

DONE was there, but a check failed, so it was removed. Fix this, then create it again:

"""


def compose_task_prompt(
    text: str,
    *,
    task_folder: str,
    run_folder: str,
    again: bool,
    failures: Sequence[str] = (),
    own_program: str = "ralph",
    can_start_runs: bool = True,
) -> str:
    """As conductor-loop's own agents get it: where the task lies, the task, how to finish, why DONE did not count."""
    guide = f"{_LOOP_GUIDE}{_CHILD_GUIDE if can_start_runs else ''}".format(
        done=f"{task_folder}/DONE",
        wait=f"{task_folder}/WAIT_WITHOUT_RESTART",
        folder=task_folder,
        ralph=own_program,
    )
    lead = CONTINUE_PROMPT_PREFIX if again else ""
    refused = [failure for failure in failures if not failure.startswith(NO_PROGRESS_MARK)]
    complaints = f"{_REFUSED_DONE}{chr(10).join(refused)}\n" if refused else ""
    complaints += "".join(f"\n{note}\n" for note in failures if note.startswith(NO_PROGRESS_MARK))
    return f"TASK_FOLDER={task_folder}\nRUN_FOLDER={run_folder}\n\n{lead}{text.rstrip()}{guide}{complaints}"
