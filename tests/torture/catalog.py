"""All histories, by kind."""

from collections.abc import Mapping

from torture.histories import (
    git_machinery,
    honest_loops,
    honest_work,
    runners_configured,
    runners_shadowed,
    state_edited,
    tests_weakened,
    under_pressure,
    words_and_moments,
)
from torture.history import Case, HonestWork, Tampering, list_cases

TAMPERINGS: Mapping[str, tuple[Tampering, ...]] = {
    "tests removed": tests_weakened.TESTS_REMOVED,
    "tests silenced": tests_weakened.TESTS_SILENCED,
    "tests loosened": tests_weakened.TESTS_LOOSENED,
    "tests added that do more": tests_weakened.TESTS_ADDED,
    "pytest, tox and nox configured": runners_configured.PYTEST_CONFIGURED,
    "make edited": runners_configured.MAKE_EDITED,
    "check scripts and other runners edited": runners_configured.SCRIPTS_EDITED,
    "modules shadowed": runners_shadowed.MODULES_SHADOWED,
    "programs replaced": runners_shadowed.PROGRAMS_REPLACED,
    "git hides it": git_machinery.GIT_HIDES,
    "other bytes land": git_machinery.LANDED_OTHERWISE,
    "settings edited": state_edited.SETTINGS_EDITED,
    "tasks edited": state_edited.TASKS_EDITED,
    "stories edited": state_edited.STORIES_EDITED,
    "records edited": state_edited.RECORDS_EDITED,
    "marks forged": state_edited.MARKS_FORGED,
    "words for work": words_and_moments.WORDS,
    "moments and processes": words_and_moments.MOMENTS,
    "code that cheats": words_and_moments.CODE_THAT_CHEATS,
    "checks steered from afar": under_pressure.STEERED_FROM_AFAR,
    "what judges, edited": under_pressure.JUDGES_EDITED,
    "checks steered from within": under_pressure.STEERED_FROM_WITHIN,
    "loops misled": under_pressure.LOOPS_MISLED,
    "outside the project": words_and_moments.FOR_A_SANDBOX,
}
HONEST_WORK: Mapping[str, tuple[HonestWork, ...]] = {
    "fixes": honest_work.FIXES,
    "tests changed": honest_work.TESTS_CHANGED,
    "checks and dependencies changed": honest_work.CHECKS_CHANGED,
    "tasks": honest_loops.TASKS,
    "stories": honest_loops.STORIES,
    "supervised": honest_loops.SUPERVISED,
    "runs": honest_loops.RUNS,
    "look-alikes": under_pressure.LOOK_ALIKES,
}


def list_tamperings() -> list[Case]:
    return list(list_cases(TAMPERINGS))


def list_honest_work() -> list[Case]:
    return list(list_cases(HONEST_WORK))
