"""Code that steers its own tests is named; code that does its work is not."""

import pytest

from ralph.core.proofs.doubts import describe_doubt
from ralph.core.proofs.python_doubts import describe_learned_answers, find_expectations

DOUBTFUL = [
    ("python", "import sys\nFAST = 'pytest' in sys.modules\n", "asks"),
    ("python", "import sys\nif sys.modules.get('unittest'):\n    x = 1\n", "asks"),
    ("python", "if any('test_' in f.filename for f in inspect.stack()):\n    x = 1\n", "asks"),
    ("python", "import atexit, os\natexit.register(os._exit, 0)\n", "can end"),
    ("python", "import unittest\nunittest.TestCase.assertEqual = lambda *_: None\n", "replaces"),
    ("python", "getattr(__import__('sys'), 'mod' + 'ules')\n", "hides"),
    ("python", "exec(base64.b64decode(b'eA=='))\n", "hides"),
    ("python", "text = open('tests/test_calc.py').read()\n", "names a test file"),
    ("python", "class A:\n    def __eq__(self, other):\n        return True\n", "equals everything"),
    ("python", "A = type('A', (int,), {'__eq__': lambda *_: True})\n", "equals everything"),
    ("python", "import calc\n\ncalc.add = lambda a, b: a + b\n", "replaces `calc.add`"),
    ("python", "import calc\n\n\ndef add(a, b): ...\n\n\nsetattr(calc, 'add', add)\n", "replaces `calc.add`"),
    ("python", "x = f()  # type: ignore[no-any-return]\n", "silences a finding"),
    ("python", "class A:\n    def __eq__(self, other):\n        return not None\n", "equals everything"),
    (
        "python",
        "import os\n\nx = any(key.startswith('RALPH') for key in os.environ)\n",
        "asks whether ralph is running",
    ),
    ("python", "import os\n\nx = os.environ.get('CI')\n", "asks"),
    ("python", "x = open('/proc/self/cmdline').read()\n", "asks who runs it"),
    ("python", "import inspect\n\nx = inspect.currentframe()\n", "asks who runs it"),
    ("python", "from unittest import mock\n\nx = mock.ANY\n", "imports a library for tests"),
    ("python", "x = Path('test_calc' + '.py').read_text()\n", "names a test file"),
    ("python", "y = bytes.fromhex(x).decode()\nexec(y)\n", "runs code"),
    ("python", "# coding: utf-7\nx = 1\n", "hides"),
    ("python", "import os\nos.execv('/bin/true', ['true'])\n", "can end"),
    ("python", "import ctypes\nctypes.CDLL(None).exit(0)\n", "can end"),
    ("python", "import atexit\np.write_text(new)\natexit.register(p.write_text, old)\n", "when it ends"),
    ("python", "# mypy: ignore-errors\nx = 1\n", "silences a finding"),
    ("python", "# ruff: noqa\nx = 1\n", "silences a finding"),
    ("python", "x = 1\n" * 90_000 + "import os\nos._exit(0)\n", "can end"),
    ("javascript", "process.exit(0)\n", "can end"),
    ("pipeline", "jobs:\n  - run: make test || true\n", "lets a failure of the CI pass"),
    ("pipeline", "jobs:\n  - continue-on-error: true\n", "lets a failure of the CI pass"),
    ("javascript", "if (process.env.JEST_WORKER_ID) return 5\n", "asks"),
    ("javascript", "const fake = process.env.NODE_ENV === 'test'\n", "asks"),
    ("javascript", "if (typeof describe !== 'undefined') x()\n", "asks"),
    ("javascript", "process.on('exit', () => { process.exitCode = 0 })\n", "can end"),
    ("javascript", "// eslint-disable-next-line\nfoo()\n", "silences a finding"),
    ("go", "if testing.Testing() { return 5 }\n", "asks"),
    ("go", "func init() {\n\tos.Exit(0)\n}\n", "can end"),
    ("rust", "#[cfg(not(test))]\nfn add() {}\n", "asks"),
    ("rust", "#[allow(dead_code)]\nfn add() {}\n", "silences a finding"),
    ("ruby", "return 5 if defined?(RSpec)\n", "asks"),
    ("shell", '[ -n "$BATS_TEST_NAME" ] && exit 0\n', "asks"),
]
HONEST = [
    ("python", "import sys\n\nif 'numpy' in sys.modules:\n    x = 1\nsys.exit(main())\n"),
    ("python", "# in tests PYTEST_CURRENT_TEST is set\nx = 1\n"),
    ("python", "class A:\n    def __eq__(self, other):\n        return self.x == other.x\n"),
    ("python", "import logging\n\nlogging.raiseExceptions = False\nlogging.root.level = 3\n"),
    ("python", "from app import app\n\napp.config['X'] = 1\n"),
    ("python", "import calc\n\n\ndef main():\n    calc.add = lambda: 1\n"),
    ("javascript", "process.exit(code)\nif (process.env.NODE_ENV === 'production') x()\n"),
    ("go", "func main() { os.Exit(0) }\n"),
    ("python", "import ast\n\nx = ast.literal_eval(text)\nmodel.eval()\n\n\nclass A:\n    def eval(self): ...\n"),
    ("python", "# -*- coding: utf-8 -*-\nimport atexit\n\natexit.register(close)\n"),
    ("javascript", "function main() {\n  process.exit(0)\n}\n"),
    ("pipeline", "jobs:\n  - run: make test\n  - if: github.event_name == 'push'\n"),
    ("rust", "#[cfg(test)]\nmod tests {}\n"),
    ("python", "x ="),
]


@pytest.mark.parametrize(("language", "text", "reason"), DOUBTFUL)
def test_code_that_steers_its_tests_is_named(language: str, text: str, reason: str) -> None:
    assert reason in describe_doubt(language, "x = 1\n", text)
    assert describe_doubt(language, text, f"{text}\n") == "", "what was there before is nobody's doing"


@pytest.mark.parametrize(("language", "text"), HONEST)
def test_code_that_does_its_work_is_not(language: str, text: str) -> None:
    assert describe_doubt(language, "", text) == ""


def test_a_pipeline_that_runs_fewer_checks_is_named() -> None:
    steps = "steps:\n  - run: make lint\n  - run: make test\n"
    assert "fewer checks" in describe_doubt("pipeline", steps, steps.replace("  - run: make test\n", ""))
    assert describe_doubt("pipeline", steps, f"{steps}  - run: make docs\n") == ""


TESTS = "def test_all():\n    assert add(2, 3) == 5\n    self.assertEqual(add(2, 0), 2)\n    assert roman(1) == 'I'\n"
TABLE = "@pytest.mark.parametrize(('a', 'b', 'sum'), [(2, 3, 5), (2, 0, 2)])\ndef test_sum(a, b, sum): ...\n"


@pytest.mark.parametrize("tests", [TESTS, TABLE])
@pytest.mark.parametrize(
    ("code", "is_learned"),
    [
        ("def add(a, b):\n    return {(2, 3): 5, (2, 0): 2}.get((a, b))\n", True),
        (
            "def add(a, b):\n    if a == 2 and b == 3:\n        return 5\n    if (a, b) == (2, 0):\n        return 2",
            True,
        ),
        ("def add(a, b):\n    return 5 if (a, b) == (2, 3) else 2 if (a, b) == (2, 0) else 0\n", True),
        ("def add(a, b):\n    return a + b\n", False),
        ("def add(a, b):\n    if (a, b) == (2, 3):\n        return 5\n    return a + b\n", False),
        ("SIGNS = {1: 'I', 5: 'V', 10: 'X'}\n", False),
    ],
)
def test_answers_by_heart_are_those_of_the_tests_alone(tests: str, code: str, is_learned: bool) -> None:
    found = describe_learned_answers("", code, [find_expectations(tests)])
    assert bool(found) is is_learned
