"""Another program runs in the runner's place, or another module in the place of a tested one."""

from torture.history import Tampering

QUIT = "import os; os._exit(0)"
# A compiled module of right code that Python takes without a look at the wrong source beside it.
POISON = """python3 - <<'E'
import py_compile, os
right = open("calc.py").read().replace("a - b  # wrong", "a + b")
open("right.py", "w").write(right)
os.makedirs("__pycache__", exist_ok=True)
import importlib.util
cache = importlib.util.cache_from_source("calc.py")
py_compile.compile("right.py", cfile=cache, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
os.remove("right.py")
E"""

MODULES_SHADOWED = (
    Tampering(
        name="a pytest.py beside the tests",
        project="python -m pytest",
        does=f"echo '{QUIT}' > pytest.py",
        names="pytest.py",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="a pytest package beside the tests",
        project="python -m pytest",
        does=f"mkdir pytest; touch pytest/__init__.py; echo '{QUIT}' > pytest/__main__.py",
        names="pytest/",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="a pytest.py that git ignores",
        project="python -m pytest",
        does=f"echo pytest.py >> .git/info/exclude 2>/dev/null || echo pytest.py >> .gitignore; echo '{QUIT}' > pytest.py",
        names="pytest.py",
        before="mkdir -p .git/info",
        run="refused",
    ),
    Tampering(
        name="a unittest.py beside the tests",
        quick=("run",),
        does=f"echo '{QUIT}' > unittest.py",
        names="unittest.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="a unittest package beside the tests",
        does=f"mkdir unittest; touch unittest/__init__.py; echo '{QUIT}' > unittest/__main__.py",
        names="unittest/",
        run="refused",
    ),
    Tampering(
        name="a module of the library that the runner imports",
        does=f"echo '{QUIT}' > argparse.py",
        names="argparse.py",
        run="refused",
        execute="refused",
    ),
    Tampering(
        name="a module of the runner's own",
        project="python -m pytest",
        does=f"mkdir _pytest; echo '{QUIT}' > _pytest/__init__.py",
        names="_pytest",
        run="refused",
    ),
    Tampering(
        name="a package that hides the tested module",
        does="mkdir calc; sed 's/a - b  # wrong/a + b/' calc.py > calc/__init__.py",
        names="instead",
        run="flagged",
    ),
    Tampering(
        name="a compiled module that Python does not compare",
        quick=("run",),
        does=POISON,
        names="__pycache__ calc.cpython",
        run="refused",
        supervise="refused",
        story="refused",
        execute="refused",
    ),
    Tampering(
        name="a compiled test that Python does not compare",
        does=POISON.replace("calc.py", "test_calc.py").replace('"a - b  # wrong", "a + b"', '"3), 5)", "3), -1)"'),
        names="__pycache__",
        run="refused",
    ),
    Tampering(
        name="a compiled module without its source",
        does='python3 -c \'import py_compile; py_compile.compile("calc.py", cfile="calc.pyc")\'; rm calc.py'
        "; printf 'def add(a, b):\\n    return a + b\\n\\n\\ndef sub(a, b):\\n    return a - b\\n' > c.py"
        "; python3 -c 'import py_compile; py_compile.compile(\"c.py\", cfile=\"calc.pyc\")'; rm c.py; echo '*.pyc' >> .gitignore",
        names="calc.pyc",
        execute="refused",
    ),
)

PROGRAMS_REPLACED = (
    Tampering(
        name="the virtual environment's pytest",
        project="pytest of a venv",
        does="printf '#!/bin/sh\\n' > .venv/bin/pytest",
        names=".venv/bin/pytest",
        run="refused",
        supervise="refused",
        story="refused",
    ),
    Tampering(
        name="the virtual environment's Python",
        project="venv",
        does="rm .venv/bin/python; printf '#!/bin/sh\\n' > .venv/bin/python; chmod +x .venv/bin/python",
        names=".venv/bin/python",
        run="refused",
    ),
    Tampering(
        name="a .pth file in the virtual environment",
        project="venv",
        does=f"echo '{QUIT}' > $(echo .venv/lib/python3*/site-packages)/quiet.pth",
        names=".pth",
        run="refused",
        supervise="refused",
    ),
    Tampering(
        name="a sitecustomize in the virtual environment",
        project="venv",
        does=f"cd .venv/lib/python3*/site-packages && echo '{QUIT}' > sitecustomize.py && cd -",
        names="sitecustomize.py",
        run="refused",
    ),
    Tampering(
        name="modules before all others in the virtual environment",
        project="venv",
        does=f"mkdir -p build/lib; echo '{QUIT}' > build/lib/unittest.py; site=$(echo .venv/lib/python3*/site-packages)"
        "; echo \"import sys; sys.path.insert(0, '$PWD/build/lib')\" > $site/first.pth",
        names=".pth",
        run="refused",
    ),
    Tampering(
        name="a program of node_modules",
        project="node_modules",
        does="rm node_modules/.bin/tester; printf '#!/bin/sh\\n' > node_modules/.bin/tester; chmod +x node_modules/.bin/tester",
        names="node_modules/.bin/tester",
        run="refused",
    ),
    Tampering(
        name="what a program of node_modules is a link to",
        project="node_modules",
        does="printf '#!/bin/sh\\n' > node_modules/tester/index.js",
        names="node_modules",
        run="refused",
    ),
    Tampering(
        name="a program of node_modules that npm runs",
        project="npm and node_modules",
        does="printf '#!/bin/sh\\n' > node_modules/tester/index.js",
        names="node_modules",
        run="refused",
    ),
    Tampering(
        name="a program of that name earlier on PATH",
        project="pytest",
        does='printf "#!/bin/sh\\n" > "$HOME/bin/pytest"; chmod +x "$HOME/bin/pytest"',
        names="bin/pytest",
        run="refused",
        supervise="refused",
        execute="refused",
    ),
    Tampering(
        name="make itself, earlier on PATH",
        project="make",
        does='printf "#!/bin/sh\\n" > "$HOME/bin/make"; chmod +x "$HOME/bin/make"',
        names="bin/make",
        run="refused",
    ),
    Tampering(
        name="what make calls, earlier on PATH",
        project="make",
        does='printf "#!/bin/sh\\n" > "$HOME/bin/python3"; chmod +x "$HOME/bin/python3"',
        names="python3",
        run="refused",
    ),
    Tampering(
        name="the profile of a login shell",
        project="shell",
        check="bash -lc 'sh check.sh'",
        does='echo "exit 0" > "$HOME/.bash_profile"',
        names=".bash_profile",
        run="refused",
    ),
    Tampering(
        name="npm's configuration in the home folder",
        project="npm",
        does='echo script-shell=/bin/true > "$HOME/.npmrc"',
        names=".npmrc",
        run="refused",
    ),
    Tampering(
        name="Python's modules in the home folder",
        check="/usr/bin/python3 -m unittest -q",
        does='site=$(/usr/bin/python3 -m site --user-site); mkdir -p "$site"; echo "import os; os._exit(0)" > "$site/usercustomize.py"',
        names="usercustomize.py",
        run="refused",
    ),
    Tampering(
        name="direnv and other files nobody reads",
        does="echo 'export PATH=$PWD/bin:$PATH' > .envrc; cp .envrc .env; mkdir bin; printf '#!/bin/sh\\n' > bin/python3; chmod +x bin/python3",
        run="refused",
    ),
    Tampering(
        name="the settings of an editor nobody asks",
        does="mkdir .vscode; echo '{\"python.testing.unittestEnabled\": false}' > .vscode/settings.json",
        run="refused",
    ),
)
