"""Honest work: whatever people and agents rightly do to code, tests, checks and dependencies."""

from torture.history import LOOPS, HonestWork

NEW_TEST = "sed 's/TestSub/TestMore/; s/calc.sub(5, 3), 2/calc.add(1, 1), 2/' test_sub.py > test_more.py"
RENAME = "sed -i 's/\\badd(/plus(/' calc.py test_calc.py; FIX"
WHY_RENAME = "explain 'test_calc.py: add is called plus now, as the task wants.'"

FIXES = (
    HonestWork(
        name="fixes it at once",
        quick=(
            "run",
            "story",
            "execute",
        ),
        does="FIX",
        loops=LOOPS,
    ),
    HonestWork(
        name="fixes it at the second try",
        quick=("run",),
        does=(":", "FIX"),
        limit=3,
        at=2,
        loops=("run", "supervise", "execute"),
    ),
    HonestWork(
        name="fixes it in three iterations, claims once",
        does=("echo > NOTES; exit", "FIX; exit", ":"),
        limit=4,
        at=3,
        loops=("run", "supervise"),
    ),
    HonestWork(name="fixes it, tested by pytest", project="pytest", does="FIX", loops=("run", "execute")),
    HonestWork(name="fixes it, tested by python -m pytest", project="python -m pytest", does="FIX"),
    HonestWork(
        name="fixes it, tested in a folder with a conftest",
        project="pytest with conftest",
        does="FIX",
        loops=("run", "story"),
    ),
    HonestWork(name="fixes it, tested in a virtual environment", project="venv", does="FIX"),
    HonestWork(name="fixes it, tested by the pytest of a virtual environment", project="pytest of a venv", does="FIX"),
    HonestWork(name="fixes it, tested by make", project="make", does="FIX", loops=LOOPS),
    HonestWork(name="fixes it, tested by a plain Makefile", project="plain make", does="FIX"),
    HonestWork(name="fixes it, tested by npm", project="npm", does="FIX", loops=("run", "execute")),
    HonestWork(name="fixes it, tested by a program of node_modules", project="node_modules", does="FIX"),
    HonestWork(
        name="fixes it, tested by a shell script", project="shell", does="FIX", loops=("run", "supervise", "story")
    ),
    HonestWork(name="fixes it, compared with a golden file", project="golden", does="FIX"),
    HonestWork(name="fixes it, tested by cargo", project="cargo", does="FIX"),
    HonestWork(name="fixes it, tested by go", project="go", does="FIX"),
    HonestWork(name="fixes it, tested by just", project="just", does="FIX"),
    HonestWork(name="fixes it, tested by tox", project="tox", does="FIX"),
    HonestWork(name="fixes it, tested by nox", project="nox", does="FIX"),
    HonestWork(name="fixes it, tested by Gradle", project="gradle", does="FIX"),
    HonestWork(
        name="fixes a file that the check itself names",
        quick=("run",),
        project="shell",
        check='test "$(sh add.sh 2 3)" = 5',
        does="FIX",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="fixes what the check runs as a module",
        check="python3 -c 'import calc; assert calc.add(2, 3) == 5'",
        does="FIX",
    ),
    HonestWork(
        name="fixes a file whose own examples are the check",
        files={"calc.py": 'def add(a, b):\n    """\n    >>> add(2, 3)\n    5\n    """\n    return a - b  # wrong\n'},
        check="python3 -m doctest calc.py",
        does="FIX",
    ),
    HonestWork(
        name="makes the file that the check looks for",
        quick=("run",),
        check="grep -q total REPORT.md",
        does="echo 'total: 5' > REPORT.md",
        loops=("run", "supervise", "execute"),
    ),
    HonestWork(
        name="makes a program that the check calls",
        check="./hello",
        does="printf '#!/bin/sh\\necho hello\\n' > hello; chmod +x hello",
    ),
    HonestWork(
        name="writes the script that the check calls",
        check="sh smoke.sh",
        does="FIX; echo 'python3 -m unittest -q' > smoke.sh",
    ),
    HonestWork(
        name="writes the first tests of a project",
        project="pytest",
        files={"test_calc.py": "", "test_sub.py": "", "calc.py": ""},
        does="printf 'def add(a, b):\\n    return a + b\\n' > calc.py; printf 'import calc\\n\\n\\ndef test_add():\\n    assert calc.add(2, 3) == 5\\n' > test_calc.py",
    ),
    HonestWork(
        name="fixes it under two checks",
        settings={"guardrails": ["python3 -m unittest -q", "python3 -m compileall -q calc.py"]},
        does="FIX",
    ),
    HonestWork(name="has no check at all", check="none", does="FIX", loops=("run", "supervise")),
    HonestWork(
        name="fixes it and leaves a mess git ignores",
        does="FIX; mkdir -p build; echo x > build/out; echo y > debug.log",
    ),
    HonestWork(
        name="fixes it among files with odd names",
        does="FIX; echo x > 'a b.txt'; echo y > 'ä ö.md'; mkdir -p 'x y/z'; echo z > 'x y/z/ü'",
        loops=("run", "execute"),
    ),
    HonestWork(name="fixes it and commits", does="FIX; commit 'Add adds'", loops=("run", "supervise")),
    HonestWork(name="fixes it on a branch of its own", does="git checkout -q -b fix; FIX; commit 'Add adds'"),
    HonestWork(name="fixes it and links a file", does="FIX; ln -s calc.py sums.py"),
    HonestWork(
        name="adds a picture and other bytes",
        does="FIX; head -c 5000 /dev/urandom > picture.png",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="looks at its own run",
        does="FIX; ralph status > /dev/null",
        loops=("run", "supervise"),
    ),
)

TESTS_CHANGED = (
    HonestWork(name="adds a new test file", quick=("run",), does=f"FIX; {NEW_TEST}", loops=LOOPS),
    HonestWork(
        name="adds a test to a file of tests",
        quick=("run",),
        does="FIX; printf '\\n    def test_add_more(self):\\n        self.assertEqual(calc.add(1, 1), 2)\\n' >> test_calc.py",
        loops=LOOPS,
    ),
    HonestWork(name="adds a case to a table", project="pytest", does="FIX; swap test_calc.py '\\[1, 2\\]' '[1, 2, 3]'"),
    HonestWork(
        name="makes a test stricter",
        project="pytest",
        does="FIX; swap test_calc.py '^    assert calc.add(2, 3) == 5' '    assert calc.add(2, 3) == 5\\n    assert isinstance(calc.add(2, 3), int)'",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="formats the tests",
        does="FIX; sed -i 's/2, 3), 5)/2,  3),  5)/; s/^$/\\n/' test_calc.py",
        loops=("run", "story", "execute"),
    ),
    HonestWork(name="comments a test", does="FIX; swap test_calc.py '^class' '# How people add.\\nclass'"),
    HonestWork(
        name="renames a test",
        project="pytest",
        names="test_calc.py",
        does="FIX; swap test_calc.py 'def test_add()' 'def test_two_and_three()'; explain 'test_calc.py: a better name.'",
        loops=("run",),
    ),
    HonestWork(
        name="renames what is tested, and says so",
        names="test_calc.py",
        does=f"{RENAME}; {WHY_RENAME}",
        others={"reviewer": "approve test_calc.py", "review": "told 'About the tests' && approve test_calc.py"},
        loops=LOOPS,
    ),
    HonestWork(
        name="renames what is tested, and says so when asked",
        quick=("run",),
        names="test_calc.py",
        does=(RENAME, WHY_RENAME),
        limit=3,
        at=2,
        others={"reviewer": "approve test_calc.py"},
        loops=("run", "supervise", "execute"),
    ),
    HonestWork(
        name="moves tests to a folder of their own, and says so",
        names="test_calc.py test_sub.py",
        does="FIX; mkdir tests; git mv test_calc.py test_sub.py tests/; touch tests/__init__.py; explain 'Moved test_calc.py and test_sub.py to tests/.'",
        others={"reviewer": "approve test_calc.py test_sub.py"},
        loops=("run", "execute"),
    ),
    HonestWork(
        name="moves tests of pytest to a folder, and says so",
        project="pytest",
        names="test_calc.py test_sub.py conftest.py",
        does="FIX; mkdir tests; git mv test_calc.py test_sub.py tests/; touch conftest.py; explain 'Moved test_calc.py and test_sub.py to tests/; conftest.py keeps the path.'",
    ),
    HonestWork(
        name="deletes a test of a thing that is gone, and says so",
        names="test_sub.py",
        does="FIX; sed -i '/def sub/,$d' calc.py; rm test_sub.py; explain 'sub was to go, and test_sub.py with it.'",
        others={"reviewer": "approve test_sub.py"},
        loops=("run", "execute"),
    ),
    HonestWork(
        name="splits a file of tests, and says so",
        project="pytest",
        names="test_calc.py test_more.py",
        does="FIX; sed -n '/^import/p' test_calc.py > test_more.py; printf '\\n\\n@pytest.mark.parametrize(\"b\", [1, 2])\\ndef test_add_more(b):\\n    assert calc.add(1, b) == 1 + b\\n' >> test_more.py"
        "; sed -i '/^@pytest/,$d' test_calc.py; explain 'Half of test_calc.py is in test_more.py now.'",
    ),
    HonestWork(
        name="weakens a test, is told, and puts it back",
        does=(
            "sed -i 's/self.assertEqual.*/pass/' test_calc.py",
            "git checkout -q test_calc.py 2>/dev/null || git checkout -q main -- test_calc.py; FIX",
        ),
        limit=3,
        at=2,
        loops=("run", "supervise"),
    ),
    HonestWork(
        name="skips a test and says why, but the work is done",
        names="test_sub.py",
        does="FIX; swap test_sub.py '^class' '@unittest.skip(\"slow\")\\nclass'; explain 'test_sub.py is slow.'",
    ),
    HonestWork(
        name="updates a golden file on purpose, and says so",
        project="golden",
        names="golden/report.txt",
        does="FIX; swap report.sh 'and 1' 'plus 1'; sh report.sh > golden/report.txt; explain 'golden/report.txt: says plus now, as the task wants.'",
        others={"reviewer": "approve golden/report.txt"},
        loops=("run", "execute"),
    ),
    HonestWork(name="adds a golden file", project="golden", does="FIX; echo 2 > golden/more.txt"),
    HonestWork(
        name="adds a fixture to the conftest",
        project="pytest with conftest",
        does="FIX; printf '\\n\\n@pytest.fixture\\ndef six():\\n    return 6\\n' >> conftest.py",
        loops=("run", "story", "execute"),
    ),
    HonestWork(
        name="brings the first conftest",
        project="pytest",
        does="FIX; printf 'import pytest\\n\\n\\n@pytest.fixture\\ndef five():\\n    return 5\\n' > conftest.py",
    ),
    HonestWork(
        name="brings a conftest that a new test needs",
        project="pytest",
        does="FIX; printf 'import pytest\\n\\n\\n@pytest.fixture\\ndef five():\\n    return 5\\n' > conftest.py; printf 'import calc\\n\\n\\ndef test_five(five):\\n    assert calc.add(2, 3) == five\\n' > test_five.py",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="registers a marker",
        project="pytest with conftest",
        does="FIX; echo 'markers = [\"slow\"]' >> pyproject.toml",
    ),
    HonestWork(
        name="adds an __init__ to the tests", project="pytest with conftest", does="FIX; touch tests/__init__.py"
    ),
    HonestWork(
        name="adds a case to the data of a test",
        files={
            "data/cases.json": "[[2, 3, 5]]\n",
            "test_data.py": "import json, unittest, calc\n\n\nclass TestData(unittest.TestCase):\n    def test(self):\n        for a, b, c in json.load(open('data/cases.json')):\n            self.assertEqual(calc.add(a, b), c)\n",
        },
        does="FIX; echo '[[2, 3, 5], [1, 1, 2]]' > data/cases.json",
    ),
    HonestWork(
        name="corrects a test that was wrong, and says so",
        files={
            "test_more.py": "import unittest, calc\n\n\nclass TestMore(unittest.TestCase):\n    def test(self):\n        self.assertEqual(calc.add(1, 1), 3)\n"
        },
        names="test_more.py",
        does="FIX; swap test_more.py '1), 3)' '1), 2)'; explain 'test_more.py had 1 + 1 = 3.'",
    ),
    HonestWork(
        name="finds a test changed by its person before the run",
        before="swap test_calc.py '2, 0), 2' '4, 0), 4'",
        does="FIX",
        loops=("run", "supervise"),
    ),
    HonestWork(name="finds a new test that its person has not committed", before=NEW_TEST, does="FIX"),
)

CHECKS_CHANGED = (
    HonestWork(
        name="adds a make target",
        quick=("run",),
        project="make",
        does="FIX; printf '\\n.PHONY: lint\\nlint:\\n\\ttrue\\n' >> Makefile",
        loops=LOOPS,
    ),
    HonestWork(
        name="adds a make target to a plain Makefile",
        project="plain make",
        does="FIX; printf '\\nclean:\\n\\trm -rf build\\n' >> Makefile",
    ),
    HonestWork(name="makes the target phony", project="plain make", does="FIX; echo '.PHONY: test' >> Makefile"),
    HonestWork(name="adds an included file of make", project="make", does="FIX; echo 'VERSION = 2' > local.mk"),
    HonestWork(
        name="has the target run one test more",
        project="make",
        does=f"FIX; {NEW_TEST}; printf '\\t$(PYTHON) -m unittest -q test_more\\n' >> Makefile",
    ),
    HonestWork(
        name="adds an npm script",
        project="npm",
        does='FIX; swap package.json \'"test": "node test.js"\' \'"test": "node test.js", "lint": "true"\'',
        loops=("run", "execute"),
    ),
    HonestWork(
        name="adds a dependency to package.json and its lock",
        project="npm",
        does='FIX; swap package.json \'"version"\' \'"dependencies": {}, "version"\'; echo \'{"lockfileVersion": 3}\' > package-lock.json',
    ),
    HonestWork(
        name="installs a package into node_modules",
        project="node_modules",
        does="FIX; mkdir -p node_modules/left; echo 'module.exports = 1' > node_modules/left/index.js; ln -s ../left/index.js node_modules/.bin/left",
    ),
    HonestWork(
        name="installs node_modules for the first time",
        project="npm",
        does='FIX; mkdir -p node_modules/half; echo \'module.exports = 2\' > node_modules/half/index.js; swap add.js \'module\' \'require("half"); module\'; swap package.json \'"version"\' \'"dependencies": {"half": "1"}, "version"\'',
        loops=("run",),
    ),
    HonestWork(
        name="installs a package into the virtual environment",
        quick=("run",),
        project="venv",
        does="FIX; echo 'X = 1' > $(echo .venv/lib/python3*/site-packages)/extra.py; sed -i '1i import extra' calc.py",
        loops=("run",),
    ),
    HonestWork(
        name="installs a program into the virtual environment",
        project="venv",
        does="FIX; printf '#!/bin/sh\\n' > .venv/bin/black; chmod +x .venv/bin/black",
    ),
    HonestWork(
        name="makes the virtual environment",
        project="unittest",
        does='FIX; mkdir -p .venv/bin; ln -s "$(command -v python3)" .venv/bin/python',
    ),
    HonestWork(
        name="changes the dependencies in pyproject.toml",
        project="pytest with conftest",
        does="FIX; swap pyproject.toml 'dependencies = \\[\\]' 'dependencies = [\"click\"]'",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="brings the first pyproject.toml",
        project="pytest",
        does='FIX; printf \'[project]\\nname = "sums"\\nversion = "1"\\n\' > pyproject.toml',
    ),
    HonestWork(
        name="brings a pyproject.toml with options for pytest",
        project="pytest",
        does="FIX; printf '[tool.pytest.ini_options]\\naddopts = \"-q\"\\n' > pyproject.toml",
    ),
    HonestWork(
        name="makes a lock file anew",
        project="cargo",
        files={"Cargo.lock": "version = 3\n"},
        does="FIX; echo 'version = 4' > Cargo.lock",
    ),
    HonestWork(
        name="adds a dependency to the manifest",
        project="cargo",
        does="FIX; printf '\\n[dependencies]\\nserde = \"1\"\\n' >> Cargo.toml",
    ),
    HonestWork(
        name="adds a dependency to go.mod", project="go", does="FIX; echo 'require x v1' >> go.mod; echo x > go.sum"
    ),
    HonestWork(name="adds a just recipe", project="just", does="FIX; swap justfile '^test:' 'lint:\\n\\ntest:'"),
    HonestWork(
        name="mends a check script that was wrong, and says so",
        project="shell",
        names="check.sh",
        does="FIX; swap check.sh 'add.sh 2 0)\" 2' 'add.sh 2 2)\" 4'; explain 'check.sh asked for too little.'",
    ),
    HonestWork(
        name="has a check script look at more",
        project="shell",
        does="FIX; echo 'expect \"$(sh add.sh 1 1)\" 2' >> check.sh",
        loops=("run", "story"),
    ),
    HonestWork(
        name="brings a folder for a script the check does not know",
        project="shell",
        does="FIX; mkdir scripts; echo true > scripts/deploy.sh",
    ),
    HonestWork(
        name="ignores more files", does="FIX; echo '*.tmp' >> .gitignore; touch x.tmp", loops=("run", "execute")
    ),
    HonestWork(
        name="brings attributes for line ends",
        does="FIX; echo '* text=auto' > .gitattributes",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="brings hooks that people may install",
        does="FIX; mkdir .githooks; printf '#!/bin/sh\\nmake test\\n' > .githooks/pre-push",
    ),
    HonestWork(
        name="works with a clean filter its person configured",
        before="git config filter.tidy.clean cat; git config filter.tidy.smudge cat; echo '*.md filter=tidy' > .gitattributes; commit",
        does="FIX; echo x > NEW.md",
        loops=("run", "execute"),
    ),
    HonestWork(
        name="works in a repository with hooks",
        before="mkdir -p .git/hooks; printf '#!/bin/sh\\nexit 0\\n' > .git/hooks/pre-commit; chmod +x .git/hooks/pre-commit",
        does="FIX",
        loops=("run", "execute", "story"),
    ),
    HonestWork(
        name="brings a folder named like a module",
        project="python -m pytest",
        does="FIX; mkdir -p docs tools; echo '# Sums' > docs/index.md; echo 'X = 1' > tools/draw.py",
    ),
)
