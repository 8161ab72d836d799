"""The page of a card: what stands first."""

from ralph.app.board.changes import FileDiffStat, RunChanges, count_changed_lines
from ralph.faces.glyphs import UNICODE_GLYPHS
from ralph.faces.tui.details import MAX_SHOWN_DIFF_LINES, _render_attempts, _render_changes, render_diff
from ralph.model.spec import VerificationAttempt

DIFF = """diff --git a/calc.py b/calc.py
index 1..2 100644
--- a/calc.py
+++ b/calc.py
@@ -1,2 +1,3 @@
 def add(a, b):
-    return a - b
+    return a + b
+
diff --git a/new.py b/new.py
new file mode 100644
--- /dev/null
+++ b/new.py
@@ -0,0 +1 @@
+--- no heading
"""


def test_lines_of_every_file_are_counted_without_headings() -> None:
    assert count_changed_lines(DIFF.splitlines()) == [FileDiffStat("calc.py", 2, 1), FileDiffStat("new.py", 1, 0)]


def test_what_changed_names_the_files_then_the_diff() -> None:
    found = RunChanges(run="r", diff=DIFF, files=tuple(count_changed_lines(DIFF.splitlines())))
    lines = _render_changes(found, UNICODE_GLYPHS, is_running=False)
    assert ("What changed: 2 files", "heading") in lines
    assert ("  calc.py  +2 -1", "said") in lines
    assert ("  +    return a + b", "good") in lines
    assert ("  -    return a - b", "bad") in lines
    assert "return a + b" in render_diff(found).plain


def test_a_long_diff_is_cut_and_says_so() -> None:
    diff = "diff --git a/a b/a\n@@ @@\n" + "+x\n" * 100
    found = RunChanges(run="r", diff=diff, files=(FileDiffStat("a", 100, 0),))
    lines = _render_changes(found, UNICODE_GLYPHS, is_running=False)
    assert lines[-1][0] == f"  … {102 - MAX_SHOWN_DIFF_LINES} more lines: d shows the whole diff"


def test_only_the_last_attempts_come_first() -> None:
    tried = [
        VerificationAttempt(
            iteration=n, promise_found=True, verified=n == 9, reason=f"reason {n}", agent="qa", timestamp=""
        )
        for n in range(1, 10)
    ]
    lines = [text for text, _ in _render_attempts(tried, UNICODE_GLYPHS)]
    assert lines[0] == "Attempts (the last 6 of 9)"
    assert lines[1] == "  ✗ qa 4: reason 4"
    assert lines[6] == "  ✓ qa 9: reason 9"
