"""Histories of iterations, honest and spinning, as the facts a journal would hold."""

from collections.abc import Iterable, Sequence
from typing import Any

from msgspec import Struct

from ralph.core.standstill import judge_iteration, watch_fact
from ralph.model.loop import Checked, Fact, GateResult, Landed, Looked, Reported, RunOutcome, Saved, Verified
from ralph.model.receipt import SignedCommit
from ralph.model.standstill import Standstill

COMMIT = SignedCommit("c0ffee", "d1")


class Iteration(Struct, frozen=True, kw_only=True):
    """One agent run and what came after it. `red` and `green` are checks, `wrong` what a verification said, `unlanded`
    what was wrong with the merged tree."""

    tree: str = "T"
    head: str = ""
    says: str = "I am at work."
    ended: RunOutcome = "finished"
    detail: str = ""
    red: str = ""
    green: bool = False
    wrong: str = ""
    passed: bool = False
    saved: bool = False
    tool_error: str = ""
    role: str = ""
    children: bool = False
    needs: bool = False
    unlanded: str = ""

    def as_facts(self) -> Iterable[Fact]:
        tree = f"{self.head} {self.tree}".strip()
        yield Reported(
            outcome=self.ended,
            text=self.says,
            detail=self.detail or self.ended,
            tree=tree,
            head=self.head,
            tool_error=self.tool_error,
        )
        if self.red:
            tail = self.red.splitlines()
            result = GateResult(gate="make test", passed=False, exit_code=1, summary=tail[-1], tail=self.red)
            yield Checked((result,))
        elif self.green:
            yield Checked((GateResult(gate="make test", passed=True),))
        if self.wrong or self.passed:
            yield Verified(verified=self.passed, reason=self.wrong)
        if self.saved:
            yield Saved(done=("commit",), commit=COMMIT)
        if self.children:
            yield Looked(children=("child",))
        if self.needs:
            yield Looked(needs=("TASK-1",))
        if self.unlanded:
            yield Landed(done=False, red=self.unlanded)


def list_counts(history: Sequence[Iteration], before: Standstill | None = None) -> list[int]:
    """After each iteration: how many in a row were alike."""
    standstill, counts = before or Standstill(), []
    for number, iteration in enumerate(history, 1):
        for fact in iteration.as_facts():
            standstill = watch_fact(standstill, fact, iteration=number, role=iteration.role)
        standstill = judge_iteration(standstill)
        counts.append(standstill.count)
    return counts


def fold(history: Sequence[Iteration]) -> Standstill:
    """What is remembered after all of them."""
    standstill = Standstill()
    for number, iteration in enumerate(history, 1):
        for fact in iteration.as_facts():
            standstill = watch_fact(standstill, fact, iteration=number, role=iteration.role)
        standstill = judge_iteration(standstill)
    return standstill


def _each(count: int, **changes: Any) -> list[Iteration]:
    """So many iterations; `#` in a text is the number of each."""

    def fill_in(number: int) -> dict[str, Any]:
        return {
            key: value.replace("#", str(number)) if isinstance(value, str) else value for key, value in changes.items()
        }

    return [Iteration(**fill_in(number)) for number in range(1, count + 1)]


def _reds(*reds: str, **changes: Any) -> list[Iteration]:
    """A tree of its own each, and these failures."""
    return [Iteration(tree=f"T{n}", red=red, **changes) for n, red in enumerate(reds, 1)]


_FINDINGS = (
    "The parser reads its input twice, once for the header and once for the body of the message.",
    "Upstream dropped support for Python 3.8 in release four; our pin keeps the older branch alive.",
    "Three callers rely on the undocumented return value; two of them live in the billing service.",
    "Benchmarks show the cache never hits, since keys contain the request's own timestamp.",
    "According to the specification a trailing comma is legal, yet our grammar rejects every one.",
    "The memory leak starts when sessions expire while their sockets stay registered elsewhere.",
    "Licences of all dependencies are permissive except one font, which demands attribution.",
)
_REVIEWS = (
    "Please rename the helper, its name promises validation though nothing is validated there.",
    "Error paths leave the temporary directory behind; wrap creation and removal in one block.",
    "Tests cover the happy case only, an empty list and unicode input deserve examples too.",
    "The new dependency duplicates what the standard library offers through its own module.",
)
_TRACEBACKS = (
    "ImportError: cannot import name 'parse'",
    "AttributeError: 'Parser' object has no attribute 'feed'",
    "TypeError: feed() missing 1 required positional argument",
    "AssertionError: expected 3 tokens",
    "IndexError: list index out of range",
    "KeyError: 'line'",
)

_FAILING = ("header", "body", "trailer", "empty", "unicode", "nested")

HONEST: dict[str, list[Iteration]] = {
    # the failure changes
    "another traceback each time": _reds(*_TRACEBACKS),
    "another traceback, no file of the tree changes": [Iteration(red=red) for red in _TRACEBACKS],
    "fewer tests fail each time": _reds(*(f"{9 - n} failed, {n} passed in 0.{n}s" for n in range(8))),
    "more tests pass each time": _reds(*(f"1 failed, {n} passed" for n in range(8))),
    "unittest counts down": _reds(*(f"FAILED (failures={n})" for n in range(8, 1, -1))),
    "jest counts down": _reds(*(f"Tests: {n} failed, 20 total" for n in range(8, 1, -1))),
    "go: another test fails": _reds(*(f"--- FAIL: TestStep{chr(65 + n)} (0.0{n}s)" for n in range(7))),
    "cargo counts down": _reds(*(f"test result: FAILED. {9 - n} passed; {n} failed" for n in range(8, 1, -1))),
    "eslint problems go down": _reds(*(f"✖ {n} problems" for n in range(40, 20, -3))),
    "mypy errors go down": _reds(*(f"Found {n} errors in 4 files" for n in range(30, 10, -3))),
    "ruff errors go down": _reds(*(f"Found {n} errors." for n in range(12, 4, -1))),
    "coverage goes up": _reds(*(f"FAIL Required coverage of 80% not reached: {n}%" for n in range(50, 78, 4))),
    "a value comes nearer": _reds(*(f"assert {n} == 10" for n in range(1, 9))),
    "a size shrinks": _reds(*(f"bundle is {n} kB, at most 200" for n in range(400, 200, -30))),
    "compile errors one after the other": _reds(
        *(f"error: undeclared name {name}" for name in ("a_b", "c_d", "e_f", "g_h", "i_j"))
    ),
    "another file is wrong each time": _reds(
        *(f"{name}.py: syntax error" for name in ("one", "two", "three", "four", "five"))
    ),
    "two failures alternate, then a third": _reds("a fails", "b fails", "a fails", "c fails", "d fails", "e fails"),
    "a failure comes back once": _reds("a fails", "b fails", "c fails", "a fails", "d fails", "e fails"),
    "three tries at one failure, then on": _reds("x", "x", "x", "y", "y", "y", "z", "z", "z"),
    "four tries at one failure, then on": _reds("x", "x", "x", "x", "y", "y", "y", "y", "z"),
    "other words of one check": _reds("module not found", "undefined symbol", "wrong result", "too slow", "leak"),
    "set-up of ignored files: no tree changes": [
        Iteration(red=r) for r in ("no node", "no npm", "no modules", "1 failed")
    ],
    "as many tests fail, but others": _reds(*(f"FAILED test_{name}\n1 failed, 9 passed" for name in _FAILING)),
    "the merged tree fails otherwise": [
        Iteration(tree=f"T{n}", role="coder", unlanded=red) for n, red in enumerate(_TRACEBACKS)
    ],
    "verification objects to something else": [
        Iteration(tree=f"T{n}", wrong=text, role="coder") for n, text in enumerate(_REVIEWS)
    ],
    "verification counts down": [Iteration(tree=f"T{n}", wrong=f"{9 - n} failed", role="coder") for n in range(7)],
    # commits
    "a commit each time, the same failure": _each(8, tree="T#", head="h#", red="1 failed"),
    "a commit each time, nothing is checked": _each(8, tree="T#", head="h#"),
    "green and committed by ralph": _each(8, tree="T#", green=True, saved=True),
    "committed by ralph, the head unknown": _each(7, tree="T#", saved=True),
    "committed by ralph, the same tool error": _each(7, tree="T#", saved=True, tool_error="npm WARN deprecated"),
    "work of one iteration committed in the next": [
        *(Iteration(tree=f"T{(n + 1) // 2}", head=f"h{n // 2}", red="1 failed") for n in range(1, 10))
    ],
    "commits in a language without checks": _each(6, tree="T#", head="h#", says="Chapter # is written."),
    "a long refactoring, committed in steps": _each(10, tree="T#", head="h#", red="ImportError: old_name"),
    # the tree changes, nothing is checked or all is green
    "files change, nothing is checked": _each(9, tree="T#"),
    "files change, all green, no claim": _each(9, tree="T#", green=True),
    "files change, the same words": _each(9, tree="T#", says="Done for now."),
    "files change, and there are some tool errors": _each(6, tree="T#", says="Step #", tool_error=""),
    "files change, another tool error each time": [
        Iteration(tree=f"T{n}", tool_error=text) for n, text in enumerate(_TRACEBACKS)
    ],
    "green, a tool error that does not matter": _each(
        6, tree="T#", green=True, tool_error="File has not been read yet"
    ),
    "documents grow": _each(6, tree="T#", says="Section # is done."),
    "a pause of two": [*_each(3, tree="T#"), *_each(2, tree="T3"), *_each(3, tree="U#")],
    "a pause of three": [*_each(3, tree="T#"), *_each(3, tree="T3"), *_each(3, tree="U#")],
    "one step back, then on": [Iteration(tree=t) for t in ("A", "B", "A", "C", "D", "E", "F")],
    "undone and done otherwise": [Iteration(tree=t) for t in ("A", "B", "C", "A", "D", "E", "F")],
    # cut off, and yet at work
    "timed out each time, files grow": _each(7, tree="T#", ended="timed_out", detail="stopped after 1800s"),
    "idle each time, files grow": _each(7, tree="T#", ended="idle"),
    "cut short by turns, files grow": _each(7, tree="T#", ended="cut_short", detail="max turns"),
    "crashes after its work": _each(7, tree="T#", ended="crashed", detail="exit code 1"),
    "timed out with another failure each time": [
        Iteration(tree=f"T{n}", ended="timed_out", red=red) for n, red in enumerate(_TRACEBACKS)
    ],
    "crashes, each for another reason": [
        Iteration(ended="crashed", detail=text)
        for text in ("no memory left", "bad flag", "lost its socket", "bug in node")
    ],
    "overloaded, then at work": [*_each(6, ended="overloaded"), *_each(3, tree="T#")],
    "limited for long": _each(9, ended="limited", detail="limit reached"),
    "offline for long": _each(9, ended="offline", detail="connection refused"),
    # work that changes no file
    "research: another finding each time": [Iteration(says=text) for text in _FINDINGS],
    "research outside git": [Iteration(tree="", says=text) for text in _FINDINGS],
    "research by a supervised agent": [Iteration(says=text, role="") for text in reversed(_FINDINGS)],
    "reviews in other words": [Iteration(says=text, role="reviewer") for text in _REVIEWS],
    "a tester without a verdict yet": [Iteration(says=text, role="tester") for text in _FINDINGS[:5]],
    "qa reads on": [Iteration(says=text, role="qa") for text in _FINDINGS[2:]],
    "a review that passes": [Iteration(role="coder", passed=True), Iteration(role="reviewer", passed=True)],
    "every stage passes without a change": _each(7, tree="T", role="stage#", passed=True),
    "coder and reviewer in turns": [
        step
        for n, text in enumerate(_REVIEWS)
        for step in (
            Iteration(tree=f"T{n}", role="coder", passed=True),
            Iteration(tree=f"T{n}", role="reviewer", says=text),
        )
    ],
    "it waits and says so": _each(9, says="CI still runs. <waiting>the build of #42</waiting>"),
    "it waits, in small letters and with a newline": _each(9, says="Not yet.\n<Waiting>a person</WAITING>\n"),
    "it waits for its children": _each(9, children=True),
    "it waits for other tasks": _each(9, needs=True),
    "it waits three times, then works": [*_each(4, says="<waiting>a deploy</waiting>"), *_each(4, tree="T#")],
    "two tries between waits": [
        *_each(2, red="1 failed"),
        *_each(4, says="<waiting>x</waiting>"),
        *_each(2, red="1 failed"),
    ],
    # outside git
    "no tree is known, other words": [Iteration(tree="", says=text) for text in (*_FINDINGS[:3], *_REVIEWS)],
    "no tree is known, another failure": [Iteration(tree="", red=red) for red in _TRACEBACKS],
    "no tree is known, counts go down": [Iteration(tree="", red=f"{n} failed") for n in range(9, 2, -1)],
    # short ones
    "nothing happens once": _each(1),
    "nothing happens four times": _each(4),
    "done at the fourth try of the same": [*_each(4, red="1 failed"), Iteration(tree="U", green=True)],
    "first nothing, then work": [*_each(4), *_each(5, tree="T#")],
}

_NOISE = ("in 0.12s", "in 3.4s", "in 11 ms", "in 1.01 seconds", "in 2 min", "in 0.9s", "in 7s")

SPINNING: dict[str, list[Iteration]] = {
    # nothing changes
    "nothing at all": _each(5),
    "nothing, all green, no claim": _each(5, green=True),
    "nothing, and other numbers in its answer": _each(5, says="Attempt # of many, still thinking."),
    "nothing, in other words": [
        Iteration(says=f"I looked at the code {word} and it seems fine to me now.")
        for word in ("again", "twice", "once", "more", "deeply")
    ],
    "nothing, in quite other words, checks green": [Iteration(says=text, green=True) for text in _FINDINGS[:5]],
    "a coder who only talks": [Iteration(says=text, role="coder") for text in _FINDINGS[:5]],
    "an implementer who only talks": [Iteration(says=text, role="implement") for text in _FINDINGS[:5]],
    "silent": _each(5, says=""),
    "says ok": [Iteration(says=text) for text in ("ok", "fine", "sure", "yes", "done")],
    "a reviewer who repeats himself": _each(5, says=_REVIEWS[0], role="reviewer"),
    "outside git, the same words": _each(5, tree="", says="Working on it."),
    "outside git, silent": _each(5, tree="", says=""),
    "nothing, and nobody knows the commit now and then": [Iteration(head="h" * (n % 2)) for n in range(5)],
    "empty commits": _each(6, head="h#", tree="T"),
    # the same failure
    "the same failure, no change": _each(5, red="1 failed, 2 passed"),
    "the same failure, files change": _each(5, tree="T#", red="1 failed, 2 passed"),
    "the same failure, files change, nothing is committed": _each(5, tree="T#", head="h", red="1 failed"),
    "the same failure of the merged tree": _each(5, tree="T#", role="coder", unlanded="1 failed"),
    "the same failure, other times": [
        Iteration(tree=f"T{n}", red=f"1 failed {noise}") for n, noise in enumerate(_NOISE[:5])
    ],
    "the same failure, a clock in it": _each(5, tree="T#", red="2026-11-17 09:0#:11,12# ERROR no such table"),
    "the same failure, an address in it": _each(5, tree="T#", red="panic at 0x7ffe12a#"),
    "the same failure, a hash in it": _each(5, tree="T#", red="commit 1f3c9a7b2e# is bad"),
    "the same failure, a process in it": _each(5, tree="T#", red="pid 41#: segmentation fault"),
    "the same failure, a port in it": _each(5, tree="T#", red="cannot bind localhost:4300#"),
    "the same failure, a temporary path in it": _each(5, tree="T#", red="/tmp/pytest-of-me/pytest-#/x: no such file"),
    "the same failure, one line further down": _each(5, tree="T#", red="src/a.py:1#:4: E501 line too long"),
    "the same failure, a uuid in it": _each(5, tree="T#", red="job 123e4567-e89b-12d3-a456-42661417400# failed"),
    "the same failure, a large random number": _each(5, tree="T#", red="token 9918273# rejected"),
    "no change, and any number in the failure": _each(5, red="got # of 9"),
    "the same failure claimed as done each time": _each(5, tree="T#", says="<response>DONE</response>", red="1 failed"),
    "the same objection of a verification": _each(5, tree="T#", role="coder", wrong="Command exited with 1"),
    "the same failure outside git": _each(5, tree="", red="1 failed"),
    "timed out at the same failure": _each(5, tree="T#", ended="timed_out", red="1 failed"),
    # round and round
    "two failures in turns": _reds("a fails", "b fails", "a fails", "b fails", "a fails", "b fails"),
    "two trees in turns": [Iteration(tree=t) for t in "ABABAB"],
    "three trees in turns": [Iteration(tree=t) for t in "ABCABCA"],
    "two trees in turns, green": [Iteration(tree=t, green=True) for t in "ABABAB"],
    "a revert, committed in turns": [Iteration(tree="AB"[n % 2], head=f"h{n}") for n in range(1, 8)],
    "three failures in turns": _reds(*(f"{letter} fails" for letter in "abcabca")),
    "coder and reviewer, the same in turns": [
        Iteration(role="coder", passed=True),
        Iteration(role="reviewer", says=_REVIEWS[0]),
        *[Iteration(role="coder", passed=True), Iteration(role="reviewer", says=_REVIEWS[0])] * 3,
    ],
    # how it ends
    "crashes the same way": _each(5, ended="crashed", detail="exit code 1 and no result"),
    "crashes the same way, after other seconds": _each(5, ended="crashed", detail="ended after #s"),
    "crashes the same way, with any number": _each(5, ended="crashed", detail="lost # of 9 workers"),
    "times out and changes nothing": _each(5, ended="timed_out", detail="stopped after 180#s"),
    "is silent until it is stopped": _each(5, ended="idle", detail="silent for too long"),
    "empty answers": _each(5, ended="empty", says=""),
    "its own limit, nothing done": _each(5, ended="cut_short", detail="max turns (30)"),
    # tools
    "the same tool error, files change": _each(5, tree="T#", tool_error="npm ERR! network timeout"),
    "the same tool error, other numbers": _each(5, tree="T#", tool_error="exit code 1#: permission denied"),
}
