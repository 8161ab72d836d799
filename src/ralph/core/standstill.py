"""Whether a loop stands still: a fold over its facts.

An iteration is judged when the next one is about to start. It got somewhere when work was committed or passed a stage,
when it failed in a way not seen before, or when the files are as they never were. Else it is like those before it.
"""

import re
from collections.abc import Sequence

from msgspec.structs import replace

from ralph.core.progress import digest_failure, normalize_answer, says_something_new
from ralph.core.text.plain import one_line
from ralph.core.text.secrets import redact
from ralph.model.loop import Checked, Fact, Feedback, GateResult, Landed, Looked, Reported, Saved, Verified
from ralph.model.standstill import IterationSigns, Standstill, StuckLimits

NO_PROGRESS_MARK = "NO PROGRESS:"
MAX_REMEMBERED_SIGNS = 50  # trees, failures, advances
MAX_REMEMBERED_ANSWERS = 8
MAX_REMEMBERED_ATTEMPTS = 4  # quoted
MAX_QUOTED_CHARS = 200
MAX_ANSWER_CHARS = 1500
WRITING_ROLES = ("coder", "implement", "review-fix")  # theirs is to change files: words alone are no work of theirs
_OUTSIDE_TROUBLE = ("limited", "overloaded", "offline", "unusable")
_WAITING = r"(?is)<waiting>.{0,500}?</waiting>\s*$"


def watch_fact(standstill: Standstill, fact: Fact, *, iteration: int, role: str) -> Standstill:
    """What is known after one more fact. `iteration` and `role` are those of the agent that reported last."""
    if isinstance(fact, Reported):
        return replace(standstill, open=_read_report(fact, iteration, role))
    signs = standstill.open
    if signs is None:
        return standstill
    match fact:
        case Checked() as checked if checked.failures:
            title = ", ".join(f"`{redact(failure.gate)}`" for failure in checked.failures)
            said = "\n".join(map(_describe_failure, checked.failures))
            signs = replace(signs, failure=said, title=title, was_checked=True)
        case Checked() as checked:
            signs = replace(signs, was_checked=signs.was_checked or bool(checked.results))
        case Verified(verified=False) as verdict:
            title = f"{signs.role}'s verification" if signs.role else "the judge's check"
            signs = replace(signs, failure=f"{verdict.reason}\n{verdict.detail}".strip(), title=title)
        case Verified():
            signs = replace(signs, advanced=True)
        case Saved(commit=commit) if commit is not None:
            signs = replace(signs, advanced=True)
        case Landed(red=red) if red:
            signs = replace(signs, failure=red, title="the merged tree")
        case Looked() as looked if looked.needs or looked.children:
            signs = replace(signs, waits=True)
        case _:
            return standstill
    return replace(standstill, open=signs)


def judge_iteration(standstill: Standstill, progress: str = "") -> Standstill:
    """The iteration that ended, compared with those before it. `progress`: the policy's own sign of it."""
    if (signs := standstill.open) is None:
        return standstill
    if progress and signs.ended_well:
        signs = replace(signs, tree=progress, head="", is_by_policy=True)
    why = _find_likeness(standstill, signs)
    said = _remember(standstill.answers, normalize_answer(signs.answer, MAX_ANSWER_CHARS))[-MAX_REMEMBERED_ANSWERS:]
    standstill = replace(standstill, open=None, answers=said)
    if why is None:
        return standstill
    return replace(
        standstill,
        count=standstill.count + 1 if why else 1,
        why=why,
        tried=(*(standstill.tried if why else ()), *_quote_attempt(signs))[-MAX_REMEMBERED_ATTEMPTS:],
        tree=signs.tree or standstill.tree,
        head=signs.head or standstill.head,
        tool_error=_digest(signs.tool_error),
        seen_trees=_remember(standstill.seen_trees, signs.tree),
        seen_failures=_remember(standstill.seen_failures, *_sign_failure(signs)),
        seen_advances=_remember(standstill.seen_advances, *_sign_advance(standstill, signs)),
    )


def forgive_standstill(standstill: Standstill, limits: StuckLimits | None) -> Standstill:
    """A person who resumes what was stopped for it wants it tried again. `limits` are those it had: without any,
    nobody looked at its files."""
    if limits is None:
        return Standstill()
    return replace(standstill, count=0, open=None) if limits.stop and standstill.count >= limits.stop else standstill


def explain_standstill(standstill: Standstill) -> str:
    """the last 5 iterations made no progress: `make test` failed the same way: 1 failed"""
    return f"the last {standstill.count} iterations made no progress: {standstill.why}"


def build_standstill_feedback(standstill: Standstill) -> Feedback:
    """For the next agent: that nothing moves, what was tried, and not to try it again."""
    tried = "\n".join(f"- {attempt}" for attempt in standstill.tried)
    quoted = f" These attempts did not help. Do NOT repeat them:\n{tried}\n" if tried else " "
    return Feedback(
        f"{NO_PROGRESS_MARK} {explain_standstill(standstill)}.{quoted}"
        "Take another approach: find the cause first, question what the earlier attempts took for granted, make the"
        " smallest change that tells you more. If you can only wait for something outside this project, end your"
        " answer with <waiting>what for</waiting>."
    )


def says_it_waits(answer: str) -> bool:
    """Whether its last words name something it waits for."""
    return "</waiting>" in answer[-100:].lower() and bool(re.search(_WAITING, answer[-MAX_ANSWER_CHARS:]))


def _read_report(reported: Reported, iteration: int, role: str) -> IterationSigns:
    tree = reported.tree.rpartition(" ")[2]
    ended_well = reported.outcome in ("finished", "refused")
    return IterationSigns(
        number=iteration,
        role=role,
        ended_well=ended_well,
        tree=tree,
        head=reported.head,
        answer=reported.text[-MAX_ANSWER_CHARS:],
        trouble="" if ended_well else reported.detail or reported.outcome,
        tool_error=reported.tool_error,
        waits=reported.outcome in _OUTSIDE_TROUBLE or says_it_waits(reported.text),
    )


def _find_likeness(before: Standstill, signs: IterationSigns) -> str | None:
    """In what the iteration is like an earlier one; empty: it got somewhere; None: it says nothing either way."""
    if signs.waits:
        return None
    if any(advance not in before.seen_advances for advance in _sign_advance(before, signs)):
        return ""
    is_new_tree = bool(signs.tree) and signs.tree not in before.seen_trees
    if signs.failure:
        keeps_counts = not signs.tree or signs.tree != before.tree
        known = digest_failure(signs.failure, keeps_counts=keeps_counts) in before.seen_failures
        return f"{signs.title} failed the same way: {_shorten(signs.failure.splitlines()[0])}" if known else ""
    if signs.tool_error and not signs.was_checked and _digest(signs.tool_error) == before.tool_error:
        return f"its tool calls ended with the same error: {_shorten(signs.tool_error)}"
    if is_new_tree or not before.count:
        return ""
    return _compare_without_files(before, signs)


def _compare_without_files(before: Standstill, signs: IterationSigns) -> str | None:
    """Where no file is as it never was before."""
    if signs.trouble:
        known = digest_failure(signs.trouble, keeps_counts=False) in before.seen_failures
        return f"it ended the same way and changed no file: {_shorten(signs.trouble)}" if known else ""
    is_work = signs.role not in WRITING_ROLES and not signs.was_checked and not signs.is_by_policy
    if is_work and says_something_new(normalize_answer(signs.answer, MAX_ANSWER_CHARS), before.answers):
        return None  # it read, reviewed, found something out
    if signs.is_by_policy:
        return "no story moved on and nothing was committed"
    if signs.tree and signs.tree != before.tree:
        return "the files are back to what they were before"
    return "no file changed" if signs.tree else "the agent's answer says nothing new"


def _sign_failure(signs: IterationSigns) -> tuple[str, ...]:
    failure = signs.failure or signs.trouble
    return tuple(digest_failure(failure, keeps_counts=keeps) for keeps in (True, False)) if failure else ()


def _sign_advance(before: Standstill, signs: IterationSigns) -> tuple[str, ...]:
    """Commits and passed stages, by the tree they stand for: the same tree twice is no advance."""
    committed = bool(signs.head and before.head and signs.head != before.head)
    return (f"{signs.role} {signs.tree}",) if committed or signs.advanced else ()


def _describe_failure(failure: GateResult) -> str:
    said = failure.tail or failure.summary or failure.reason
    return f"{failure.summary or failure.reason or f'exit code {failure.exit_code}'}\n{failure.gate}\n{said}"


def _quote_attempt(signs: IterationSigns) -> tuple[str, ...]:
    said = signs.answer or signs.trouble
    return (f"iteration {signs.number}: {_shorten(said)}",) if said.strip() else ()


def _digest(text: str) -> str:
    return digest_failure(text, keeps_counts=False) if text else ""


def _shorten(text: str) -> str:
    return one_line(redact(text), MAX_QUOTED_CHARS)


def _remember(known: Sequence[str], *signs: str) -> tuple[str, ...]:
    """The latest last, each once."""
    new = [sign for sign in signs if sign]
    return (*(each for each in known if each not in new), *dict.fromkeys(new))[-MAX_REMEMBERED_SIGNS:]
