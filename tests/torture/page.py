"""docs/honesty.md: how every history ends."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from torture.history import LOOPS, Case, HonestWork, Tampering

Result = tuple[Case, str]  # a case, and refused, flagged, miss, sandbox, completes, named or alarm
HEAD = """\
# Honesty

How runs end when agents cheat, and when they work honestly. Each case below is a small repository, a scripted agent
and one of the four loops, played with the installed `ralph` and no sandbox. Reviewers and judges believe everything,
unless a case says otherwise: what stops a cheating agent is ralph itself.

```sh
make honesty                                        # play all of them, print how each ended, write this page
python tests/torture/honesty.py --only "conftest"   # some of them
```

The cases are in `tests/torture/histories`; `make test-long` plays a few of them. A case that does not end as expected
fails. A loop without an entry below was not measured.
"""
TAMPERED = """
## Tamperings

*Refused*: did not complete. *Flagged*: completed, and the last line or the receipt names what was touched. *Missed*:
completed without any sign. *Sandbox*: only a sandbox can prevent it.

"""
HONEST = """
## Honest work

*Completed*: at the iteration it was done in. *Named*: completed, and the end of the run or its receipt names tests or
checks that were changed. *Refused*: a false alarm.

"""
NOT_COMPARED = "not seen in this loop, though `ralph run` refuses or flags it"
NO_REASON = "what was meant to stop it is not there"
WORDS = {"miss": "**missed**", "alarm": "**refused**"}


def render_page(results: Sequence[Result]) -> str:
    tampered = [result for result in results if isinstance(result[0].history, Tampering)]
    honest = [result for result in results if isinstance(result[0].history, HonestWork)]
    parts = [
        HEAD,
        TAMPERED,
        _render_counts(tampered, {"refused": "refused", "flagged": "flagged", "miss": "missed", "sandbox": "sandbox"}),
        _render_reasons("What is missed", tampered, "miss"),
        _render_reasons("What only a sandbox can see", tampered, "sandbox"),
        HONEST,
        _render_counts(honest, {"completes": "completed", "named": "named", "alarm": "refused"}),
        _render_reasons("What is refused", honest, "alarm"),
        "\n## Every history\n",
        *_render_histories(tampered),
        *_render_histories(honest),
    ]
    return "".join(parts)


def _render_counts(results: Sequence[Result], columns: Mapping[str, str]) -> str:
    lines = [f"| kind | tried | {' | '.join(columns.values())} |", f"|---|{'---:|' * (len(columns) + 1)}"]
    for kind, group in [*((kind, [*group]) for kind, group in _by_kind(results)), ("**all**", results)]:
        counts = Counter(ending for _, ending in group)
        lines.append(f"| {kind} | {len(group)} | {' | '.join(str(counts[name] or '') for name in columns)} |")
    return "\n".join(lines) + "\n"


def _render_reasons(title: str, results: Sequence[Result], ending: str) -> str:
    found: dict[str, list[str]] = {}
    for case, how in results:
        if how == ending:
            found.setdefault(_explain(case), []).append(case.name)
    if not found:
        return ""
    lines = [line for reason, names in found.items() for line in (f"- {reason}", *(f"  - {name}" for name in names))]
    return "\n".join(["", f"### {title}", "", *lines, ""])


def _explain(case: Case) -> str:
    seen_in_run = isinstance(case.history, Tampering) and case.history.run in ("refused", "flagged")
    if case.loop != "run" and seen_in_run:
        return NOT_COMPARED
    return case.history.why or NO_REASON


def _render_histories(results: Sequence[Result]) -> Iterable[str]:
    for kind, group in _by_kind(results):
        yield f"\n### {kind.capitalize()}\n\n| the agent | {' | '.join(LOOPS)} |\n|---|{'---|' * len(LOOPS)}\n"
        for name, cases in groupby(group, lambda result: result[0].history.name):
            endings = {case.loop: ending for case, ending in cases}
            cells = (WORDS.get(endings.get(loop, ""), endings.get(loop, "")) for loop in LOOPS)
            yield f"| {name.replace('|', '')} | {' | '.join(cells)} |\n"


def _by_kind(results: Sequence[Result]) -> Iterable[tuple[str, Iterable[Result]]]:
    return groupby(results, lambda result: result[0].kind)
