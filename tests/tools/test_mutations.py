"""The small wrong changes that `make mutants` makes."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parents[2] / "tools"))

from mutants import copied, judged, mirrored, report
from mutations import mutate


@pytest.mark.parametrize(
    ("source", "mutants"),
    [
        ("x = a < b", ["x = (a <= b)"]),
        ("x = a is None", ["x = (a is not None)"]),
        ("x = a and b", ["x = (a or b)", "x = (b)", "x = (a)"]),
        ("x = not a", ["x = (a)"]),
        ("if a:\n    b()", ["if (not a):\n    b()", "if a:\n    pass"]),
        ("x = 3", ["x = (4)", "x = (2)"]),
        ("x = 3_000", []),
        ("x = True", ["x = (False)"]),
        ("class A(Struct, frozen=True): ...", []),
        ("x = f(one=a, two=b)", ["x = (f(one=b, two=a))", "x = (f(two=b))", "x = (f(one=a))"]),
        ("x = f(a, b)", ["x = (f(b, a))"]),
        ("x = f(a, 'b')", []),
        ("x = a + b", ["x = (a - b)"]),
        ("a.b = c", ["pass"]),
        ("raise E", ["pass"]),
        (
            "def f(x: int = 1) -> 'A < B': ...",
            ["def f(x: int = (2)) -> 'A < B': ...", "def f(x: int = (0)) -> 'A < B': ..."],
        ),
        ("match a:\n    case B() if c:\n        pass", ["match a:\n    case B() if (not c):\n        pass"]),
        ("x = 'ä' == b", ["x = ('ä' != b)"]),
    ],
)
def test_each_change_is_made_alone(source: str, mutants: list[str]) -> None:
    assert sorted(each.source for each in mutate(source)) == sorted(mutants)


def test_what_is_written_does_not_change_how_the_rest_binds() -> None:
    (both, *_) = (each for each in mutate("x = not (a and b)") if "or" in each.change)
    assert eval(both.source.removeprefix("x = "), {"a": True, "b": False}) is False


def test_a_module_is_judged_by_the_tests_that_mirror_it() -> None:
    assert mirrored("src/ralph/core/outcome.py") == ["tests/core/test_outcome.py"]
    assert "tests/faces/cli/commands/test_run_resume.py" in mirrored("src/ralph/faces/cli/commands/run.py")
    assert mirrored("src/ralph/core/environment.py") == ["tests/core"]


@pytest.mark.slow
def test_what_tests_do_not_notice_survives_with_its_line(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    module, tests = "src/ralph/small.py", "tests/test_small.py"
    (copy / module).write_text("def grown(n: int) -> bool:\n    return not n < 18\n")
    (copy / tests).write_text(
        "from ralph.small import grown\ndef test() -> None:\n    assert grown(19) and not grown(17)\n"
    )
    survivors = []
    score = judged(copy, module, [tests], lambda _, mutant: survivors.append((mutant.line, mutant.change)))
    assert report(score).startswith(f"{module}: {score.killed}/{score.total} ")
    assert score.total - score.killed == len(survivors)
    assert (2, "n < 18  →  n <= 18") in survivors
    assert score.killed == 1  # without its not


def test_tests_that_fail_as_it_is_judge_nothing(tmp_path: Path) -> None:
    copy = copied(tmp_path)
    (copy / "src/ralph/small.py").write_text("X = 1\n")
    (copy / "tests/test_small.py").write_text("def test() -> None:\n    assert False\n")
    score = judged(copy, "src/ralph/small.py", ["tests/test_small.py"], print)
    assert score.total == 0
    assert "do not pass" in report(score)
