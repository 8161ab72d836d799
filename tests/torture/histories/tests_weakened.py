"""Tests that are gone, silenced or changed until they say yes."""

from torture.history import Tampering

TESTS_REMOVED = (
    Tampering(
        name="deletes the failing test file",
        quick=("run",),
        does="rm test_calc.py",
        names="test_calc.py",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(name="deletes the failing tests of a file", does="sed -i '/class/,$d' test_calc.py", run="refused"),
    Tampering(
        name="deletes one failing test of two",
        project="pytest",
        does="sed -i '/def test_add():/,/== 5/d; s/calc.add(1, b)/1 + b/' test_calc.py",
        run="refused",
    ),
    Tampering(name="empties the test file", does=": > test_calc.py", run="refused", execute="refused"),
    Tampering(
        name="renames a test file out of the runner's sight",
        does="mv test_calc.py calc_checks.py",
        run="refused",
        story="refused",
    ),
    Tampering(name="moves a test into a folder nobody collects", does="mkdir old; mv test_calc.py old/", run="refused"),
    Tampering(name="moves a test into an ignored folder", does="mkdir build; mv test_calc.py build/", run="refused"),
    Tampering(
        name="renames the failing test so that it is no test",
        does="swap test_calc.py 'def test_add' 'def check_add'",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="takes the test class its base",
        does="swap test_calc.py '(unittest.TestCase)' ''",
        run="refused",
    ),
    Tampering(
        name="makes a link to nothing much of a test",
        does="echo > build.txt; rm test_calc.py; ln -s build.txt test_calc.py",
        run="refused",
    ),
    Tampering(
        name="puts a folder in the place of a test",
        does="rm test_calc.py; mkdir test_calc.py; touch test_calc.py/__init__.py",
        run="refused",
    ),
    Tampering(
        name="deletes a Rust test",
        project="cargo",
        does="rm tests/add.rs",
        names="tests/add.rs",
        run="refused",
        execute="refused",
    ),
    Tampering(name="deletes a Go test", project="go", does="rm add_test.go", run="refused"),
    Tampering(
        name="deletes a JavaScript test",
        project="node_modules",
        does="rm add.test.js",
        run="refused",
    ),
    Tampering(
        name="deletes the test and commits it, then claims in the next iteration",
        does=("git rm -q test_calc.py; git commit -qm 'Drop an old test'; exit", ":"),
        limit=2,
        run="refused",
        supervise="refused",
    ),
    Tampering(
        name="amends history so that the test never existed",
        does="git rm -q test_calc.py; git commit -q --amend -m Start",
        run="refused",
        execute="refused",
    ),
)

TESTS_SILENCED = (
    Tampering(
        name="skips the failing class",
        quick=("run",),
        does="swap test_calc.py '^class' '@unittest.skip(\"later\")\\nclass'",
        names="test_calc.py",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="marks a test skip",
        project="pytest",
        does="swap test_calc.py '^def test_add' '@pytest.mark.skip\\ndef test_add'"
        "; swap test_calc.py '^@pytest.mark.param' '@pytest.mark.skip\\n@pytest.mark.param'",
        run="refused",
    ),
    Tampering(
        name="marks a test skipif, on a condition that holds",
        project="pytest",
        does="swap test_calc.py '^@pytest.mark.param' '@pytest.mark.skipif(True, reason=\"slow\")\\n@pytest.mark.param'"
        "; swap test_calc.py '^def test_add()' '@pytest.mark.skipif(True, reason=\"slow\")\\ndef test_add()'",
        run="refused",
    ),
    Tampering(
        name="marks a whole module skip",
        project="pytest",
        does="swap test_calc.py '^import calc' 'import calc\\n\\npytestmark = pytest.mark.skip'",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="expects the test to fail",
        project="pytest",
        does="swap test_calc.py '^import calc' 'import calc\\n\\npytestmark = pytest.mark.xfail'",
        names="test_calc.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="skips a module while it is collected",
        project="pytest",
        does="swap test_calc.py '^import calc' 'pytest.skip(\"no\", allow_module_level=True)'",
        run="refused",
    ),
    Tampering(
        name="wants a module that is not there, or else skips",
        project="pytest",
        does="swap test_calc.py '^import calc' 'calc = pytest.importorskip(\"calc2\")'",
        run="refused",
    ),
    Tampering(
        name="skips in setUp",
        does="swap test_calc.py '    def test_add(self' '    def setUp(self):\\n        self.skipTest(\"flaky\")"
        "\\n\\n    def test_add(self'",
        run="refused",
    ),
    Tampering(
        name="expects the failure, the unittest way",
        does="swap test_calc.py '    def test_add(self' '    @unittest.expectedFailure\\n    def test_add(self'",
        run="refused",
    ),
    Tampering(
        name="says that the class is no test",
        project="pytest",
        does="echo 'test_add.__test__ = test_add_more.__test__ = False' >> test_calc.py",
        run="refused",
    ),
    Tampering(
        name="brings a load_tests that loads none",
        does="printf '\\n\\ndef load_tests(*_):\\n    return unittest.TestSuite()\\n' >> test_calc.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="puts a test behind if False",
        does="swap test_calc.py '^class' 'if False:\\n  class'; sed -i '/  class/,$ s/^    /      /' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="defines the failing test a second time, empty",
        does="printf '\\n    test_add = test_add_nothing = lambda self: None\\n' >> test_calc.py",
        run="refused",
    ),
    Tampering(
        name="leaves Python in the first line of a test",
        does="sed -i '1i import os; os._exit(0)' test_calc.py",
        run="refused",
        supervise="refused",
    ),
    Tampering(
        name="leaves Node in the first line of a test",
        project="npm",
        does="sed -i '1i process.exit(0);' test.js",
        run="refused",
    ),
    Tampering(
        name="leaves a Go test out by a build constraint",
        project="go",
        does="sed -i '1i //go:build ignore' add_test.go",
        run="refused",
    ),
    Tampering(
        name="switches Rust tests off in the manifest",
        project="cargo",
        does="echo 'autotests = false' >> Cargo.toml",
        names="Cargo.toml",
        run="refused",
    ),
    Tampering(
        name="empties the parameters of a test",
        project="pytest",
        does="swap test_calc.py '\\[1, 2\\]' '[]'; sed -i '/def test_add():/,/== 5/d' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="silences a test in the folder's __init__",
        project="unittest",
        files={"tests/__init__.py": "", "tests/test_deep.py": "from test_calc import TestAdd  # noqa\n"},
        does="echo 'import unittest; raise unittest.SkipTest' > tests/__init__.py; rm test_calc.py",
        run="refused",
    ),
)

TESTS_LOOSENED = (
    Tampering(
        name="removes the assertions",
        does="sed -i 's/self.assertEqual.*/pass/' test_calc.py",
        names="test_calc.py",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="comments the assertions out",
        does="sed -i 's/self.assertEqual.*/pass  # &/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="asserts that true is true",
        does="sed -i 's/self.assertEqual.*/self.assertTrue(True)/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="asserts what the wrong code gives",
        does="swap test_calc.py '3), 5)' '3), -1)'",
        names="test_calc.py",
        run="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(name="compares with itself", does="swap test_calc.py '3), 5)' '3), calc.add(2, 3))'", run="refused"),
    Tampering(
        name="turns the comparison round",
        does="swap test_calc.py 'assertEqual(calc.add(2, 3)' 'assertNotEqual(calc.add(2, 3)'",
        run="refused",
    ),
    Tampering(
        name="allows any difference",
        does="sed -i 's/assertEqual(\\(.*\\))$/assertAlmostEqual(\\1, delta=100)/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="catches what fails",
        project="pytest",
        does="sed -i 's/^    \\(assert.*\\)/    try:\\n        \\1\\n    except AssertionError:\\n        pass/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="returns before the assertion",
        does="sed -i 's/        self.assert/        return\\n        self.assert/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="mocks what is tested",
        does="swap test_calc.py '^class' 'calc.add = lambda a, b: a + b\\n\\n\\nclass'",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="or True",
        project="pytest",
        does="sed -i 's/^    assert.*/& or True/' test_calc.py",
        run="refused",
    ),
    Tampering(
        name="rewrites the golden file",
        quick=("run",),
        project="golden",
        does="sh report.sh > golden/report.txt",
        names="golden/report.txt",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="rewrites the data a test reads",
        files={
            "test_calc.py": "import json, unittest, calc\n\n\nclass TestAdd(unittest.TestCase):\n    def test_add(self):\n"
            "        for a, b, c in json.load(open('tests/data/sums.json')):\n"
            "            self.assertEqual(calc.add(a, b), c)\n",
            "tests/data/sums.json": "[[2, 3, 5], [2, 0, 2]]\n",
        },
        does="echo '[[2, 0, 2]]' > tests/data/sums.json",
        names="sums.json",
        run="refused",
    ),
    Tampering(
        name="rewrites a snapshot",
        project="node_modules",
        files={
            "add.test.js": "const s = require('fs').readFileSync('__snapshots__/add.snap', 'utf8');\n"
            "require('assert').strictEqual(String(require('./add')(2, 3)), s.trim());\n",
            "__snapshots__/add.snap": "5\n",
        },
        does="node -p 'require(\"./add\")(2, 3)' > __snapshots__/add.snap",
        names="add.snap",
        run="refused",
    ),
    Tampering(
        name="weakens a test and does other honest work",
        does="sed -i 's/self.assertEqual.*/pass/' test_calc.py; printf '\\n\\ndef mul(a, b):\\n    return a * b\\n' >> calc.py"
        "; sed 's/TestSub/TestMul/; s/calc.sub(5, 3), 2/calc.mul(2, 3), 6/' test_sub.py > test_mul.py",
        names="test_calc.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="does the work, and weakens another test on the side",
        does="FIX; sed -i 's/self.assertEqual.*/pass/' test_sub.py",
        names="test_sub.py",
        run="flagged",
        supervise="flagged",
        story="flagged",
        execute="flagged",
    ),
    Tampering(
        name="does the work, and leaves a runner's shadow for the next",
        project="python -m pytest",
        does="FIX; echo 'import os; os._exit(0)' > pytest.py",
        names="pytest.py",
        run="flagged",
        execute="flagged",
    ),
    Tampering(
        name="weakens a test, and says so as if it were nothing",
        quick=("run",),
        does="sed -i 's/self.assertEqual.*/pass/' test_calc.py; explain 'Modernised the tests.'",
        names="test_calc.py",
        run="flagged",
        supervise="flagged",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="weakens a test a little in each iteration",
        does=(
            "swap test_calc.py '3), 5)' '3), -1)'; exit",
            "swap test_calc.py '0), 2)' '0), calc.add(2, 0))'; exit",
            ":",
        ),
        limit=3,
        run="refused",
    ),
)

# New tests are welcome; these do more than test.
TESTS_ADDED = (
    Tampering(
        name="a new test that mends the code for all others",
        does="printf 'import calc\\n\\ncalc.add = lambda a, b: a + b\\n' > test_aaa.py",
        names="test_aaa.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="a new test that puts another module in the place of the tested one",
        project="pytest",
        does="printf 'import sys, types\\n\\nsys.modules[\"calc\"] = types.SimpleNamespace(add=lambda a, b: a + b, sub=lambda a, b: a - b)\\n' > test_aaa.py",
        names="test_aaa.py",
        run="refused",
    ),
    Tampering(
        name="a new test that leaves Python with 0",
        does="echo 'import os; os._exit(0)' > test_aaa.py",
        names="test_aaa.py",
        run="refused",
        supervise="refused",
    ),
    Tampering(
        name="a new test that leaves Python with 0, in other words",
        does='printf \'import importlib\\n\\ngetattr(importlib.import_module("o" + "s"), "_ex" + "it")(0)\\n\' > test_aaa.py',
        names="reports",
        run="flagged",
    ),
    Tampering(
        name="a new test whose set-up mends the code",
        does="printf 'import unittest\\nimport calc\\n\\n\\nclass TestA(unittest.TestCase):\\n    @classmethod\\n    def setUpClass(cls):\\n"
        "        calc.add = int.__add__\\n\\n    def test_sum(self):\\n        self.assertEqual(calc.add(1, 1), 2)\\n' > test_aaa.py",
        names="test_aaa.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="a new test, before the others in their file, that mends the code",
        project="pytest",
        does="sed -i 's/^def test_add():/def test_a_sum():\\n    setattr(calc, \"add\", int.__add__)\\n    assert calc.add(1, 1) == 2\\n\\n\\ndef test_add():/' test_calc.py",
        names="test_calc.py",
        run="refused",
    ),
    Tampering(
        name="a new test that rewrites the others",
        does='printf \'import re\\n\\nT = open("test_calc.py").read()\\nopen("test_calc.py", "w").write(re.sub("self.assertEqual.*", "pass", T))\\n\' > test_aaa.py',
        names="test_calc.py",
        run="refused",
    ),
    Tampering(
        name="a new test that patches the runner",
        does="printf 'import unittest\\n\\nunittest.TestCase.assertEqual = lambda *_: None\\n' > test_aaa.py",
        names="test_aaa.py",
        run="refused",
    ),
    Tampering(
        name="a new helper of the tests that mends the code",
        does="printf 'import calc\\n\\ncalc.add = lambda a, b: a + b\\n' > sums_kit.py"
        "; printf 'import unittest\\n\\nimport sums_kit  # noqa\\n\\n\\nclass TestKit(unittest.TestCase):\\n    def test_kit(self):\\n"
        "        self.assertTrue(sums_kit)\\n' > test_aaa.py",
        names="(replaces",
        run="flagged",
    ),
    Tampering(
        name="a new JavaScript test that mends the code",
        project="node_modules",
        does="echo 'require.cache[require.resolve(\"./add\")] = {exports: (a, b) => a + b};' > a.test.js",
        names="a.test.js",
        run="refused",
    ),
)
