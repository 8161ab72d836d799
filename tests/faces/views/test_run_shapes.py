"""What a run's page says of its diff."""

from ralph.faces.views.run_shapes import list_changed_files

DIFF = """\
diff --git a/calc.py b/calc.py
index 1..2 100644
--- a/calc.py
+++ b/calc.py
@@ -1,3 +1,4 @@
 def add(a, b):
--- no head: a line that was removed
+++ no head: a line that was added
+    return a + b
 # end
diff --git a/logo.png b/logo.png
Binary files a/logo.png and b/logo.png differ
diff --git a/gone.txt b/gone.txt
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-bye
"""


def test_lines_are_counted_by_the_hunks_not_by_how_they_begin() -> None:
    found = [(each.path, each.added, each.removed) for each in list_changed_files(DIFF)]
    assert found == [("calc.py", 2, 1), ("logo.png", 0, 0), ("gone.txt", 0, 1)]


def test_no_diff_changes_nothing() -> None:
    assert list_changed_files("") == []
