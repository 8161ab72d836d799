"""Tools that steer: only with --allow-control, and never inside an agent of ralph's own."""

from collections.abc import Mapping
from typing import Annotated, Literal

from pydantic import Field

from ralph.app.board.active import cancel_task
from ralph.app.board.tasks import list_cards
from ralph.app.control.launching import StartBody, launch_loop
from ralph.app.control.notes import add_note, answer_question
from ralph.app.control.pausing import lift_pause, pause
from ralph.app.control.person import identify_person
from ralph.app.control.tasks import is_execute_running
from ralph.app.paths import Paths
from ralph.app.runs.status import cancel_run
from ralph.faces.board_words import format_cancelled_loop, format_cancelled_run
from ralph.faces.control_words import describe_answer, describe_note, describe_pause, describe_resume
from ralph.model.errors import UsageError

Name = Annotated[str, Field(description="A task's id, a run's id or the beginning of it; empty: what is running.")]


class ControlTools:
    """Of one repository. Every call is refused where an agent of a living run is behind it."""

    def __init__(self, paths: Paths, variables: Mapping[str, str]) -> None:
        self._paths, self._variables = paths, variables

    def start(
        self,
        *,
        kind: Literal["run", "execute", "story"] = "run",
        prompt: Annotated[str, Field(description="What the agent is to do; for a run.")] = "",
        tasks: Annotated[list[str] | None, Field(description="For execute; none: all that are open.")] = None,
        agent: Annotated[str, Field(description="claude, codex …; empty: as the settings say.")] = "",
        max_iterations: Annotated[int | None, Field(description="Not for execute.", ge=1)] = None,
        budget_usd: Annotated[float | None, Field(description="Stop when this much is spent.", gt=0)] = None,
        jobs: Annotated[int, Field(description="For execute: tasks at once.", ge=1)] = 1,
        worktree: Annotated[bool, Field(description="For a run: use a separate work tree and branch.")] = False,
    ) -> object:
        """Start a loop in the background; it goes on when this server ends. Watch it with run_show and events_since."""
        self._identify("start")
        body = StartBody(
            kind=kind,
            prompt=prompt,
            tasks=tuple(tasks or ()),
            agent=agent,
            max_iterations=max_iterations,
            budget_usd=budget_usd,
            jobs=jobs,
            worktree=worktree,
        )
        launched = launch_loop(body, self._paths, self._variables)
        return {"run": launched.start.run, "log": launched.start.log, "output": launched.output}

    def note(self, name: Name, text: Annotated[str, Field(description="For the next agent, word for word.")]) -> object:
        """Tell the next agent of a run or task something; it stands in exactly one prompt."""
        target = add_note(self._paths, name, text, by=self._identify("note"))
        return {"done": describe_note(target)}

    def pause(
        self,
        name: Name = "",
        now: Annotated[bool, Field(description="Stop the agent at work, too; its work is kept.")] = False,
    ) -> object:
        """Start no more agents of a run or task until it is resumed."""
        target = pause(self._paths, name, by=self._identify("pause"), now=now)
        return {"done": describe_pause(target, now=now)}

    def resume(self, name: Name = "") -> object:
        """Lift a pause."""
        self._identify("resume")
        target = lift_pause(self._paths, name)
        if target is None:
            raise UsageError(f"{name or 'nothing'} is not paused" if name else "nothing is paused", "see the board")
        return {"done": describe_resume(target)}

    def answer(self, name: Name, text: str) -> object:
        """Answer the question an agent asked; it stands in the next prompt, and a blocked task is reopened."""
        target = answer_question(self._paths, name, text, by=self._identify("answer"))
        return {"done": describe_answer(target, is_execute_running=is_execute_running(self._paths))}

    def cancel(self, name: Name) -> object:
        """Stop the work on a task, or a run; what was done is kept."""
        self._identify("cancel")
        if any(card.id == name for card in list_cards(self._paths)):
            return {"done": format_cancelled_loop(cancel_task(self._paths, name))}
        return {"done": format_cancelled_run(cancel_run(self._paths, name))}

    def _identify(self, action: str) -> str:
        return identify_person(self._variables, f"ralph mcp: {action}", via="mcp")
