"""One look at what a stage promised: the claim put together, verified, told to who watches, and paid for."""

import os
from collections.abc import Mapping, Sequence

from ralph.core.policies.staged import REPAIR_ROLE
from ralph.core.text.secrets import redact
from ralph.engine.emit import emit
from ralph.engine.stage_setup import StageSetup, TaskRunConfig
from ralph.engine.verification_events import describe_verification_end, describe_verification_start
from ralph.model.events import Noted
from ralph.model.ports import TaskBoard, Watcher, Workspace
from ralph.model.spec import CompletionCriteria, Role
from ralph.model.verdict import CheckOutput, Claim, ClaimVerifier, Verdict


class StageVerification:
    """The looks at one task's work. What the latest of each command said goes to who judges the next claim."""

    def __init__(
        self,
        config: TaskRunConfig,
        stages: Mapping[Role, StageSetup],
        *,
        board: TaskBoard,
        workspace: Workspace,
        verifier: ClaimVerifier,
        watchers: Sequence[Watcher],
    ) -> None:
        self._config, self._stages = config, stages
        self._board, self._workspace = board, workspace
        self._verifier, self._watchers = verifier, watchers
        self._checks: dict[str, CheckOutput] = {}  # by command: its latest look at the work

    def verify(
        self,
        title: str,
        role: Role,
        *,
        iteration: int,
        criteria: CompletionCriteria,
        text: str,
        folder: str,
        tree: str = "",
        is_confirmed: bool = False,
        sealed: ClaimVerifier | None = None,
    ) -> Verdict:
        """`text`: the agent's message; `folder`: the tree that is looked at. `is_confirmed`: it was verified before,
        and only its commands are run again; `sealed`: the verifier of a sealed tree, whose findings are no news for
        who judges the work."""
        is_confirmed = is_confirmed or sealed is not None
        is_here = sealed is not None or folder == self._workspace.folder
        spec, setup = self._board.entry().task.completion_spec, self._stages[role]
        is_coder, is_changed = role == REPAIR_ROLE, self._workspace.is_changed(tree)
        claim = Claim(
            promise=criteria.promise,
            output=text,
            folder=folder,
            environment=self._config.environment,
            agent=role,
            outcome=spec.outcome if spec else "",
            acceptance_criteria=tuple(spec.acceptance_criteria) if spec else (),
            diff=self._workspace.diff if is_here else lambda: self._workspace.diff_landing(folder),
            tree=tree,
            checks=tuple(self._checks.values()),
            loose=self._config.loose,
            can_commit=setup.can_commit,
            log_prefix=self._build_log_prefix(role, folder, iteration, "_sealed" if sealed else ""),
            contradictable=setup.is_verified and not is_confirmed,
            has_sign=is_changed if is_coder else role == "tester" and setup.merged_tree_criteria is not None,
            has_done_nothing=is_coder and not is_changed and not self.may_change_nothing() and not is_confirmed,
            is_merged=is_confirmed,
        )
        emit(self._watchers, iteration, describe_verification_start(title, criteria))
        verdict = (sealed or self._verifier).verify(claim, criteria)
        self._checks |= {} if sealed else {check.command: check for check in verdict.list_checks()}
        self._board.charge(verdict.cost_usd)
        notes = [Noted(redact(f"{role}: {note}")) for note in verdict.notes]
        emit(self._watchers, iteration, *notes, describe_verification_end(title, verdict))
        return verdict

    def may_change_nothing(self) -> bool:
        """Whether the task may be done without a change."""
        spec = self._board.entry().task.completion_spec
        return spec is not None and spec.may_change_nothing

    def _build_log_prefix(self, role: Role, folder: str, iteration: int, mark: str) -> str:
        tree = mark or ("" if folder == self._workspace.folder else "_merged")
        return os.path.join(self._config.run_dir, f"verification_{iteration:03}_{role}{tree}")
