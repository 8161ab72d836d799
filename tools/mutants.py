"""Changes a module in a small way, one way after the other, and tells which changes its tests did not notice.

python tools/mutants.py src/ralph/core/step.py …     the modules, each with the tests that mirror it
python tools/mutants.py src/ralph/core               all modules below a folder

Works on a copy; needs Linux or macOS (it forks). A module without tests of its own is judged by those of its folder.
"""

import argparse
import compileall
import os
import resource
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from mutations import Mutant, mutate

ROOT = Path(__file__).resolve().parent.parent
COPIED = ("src", "tests", "pyproject.toml", "plugins", "docs", "README.md", "Makefile")
MAX_MEMORY_BYTES = 4 << 30  # a mutant that never stops collecting ends here
SLOWER = 4.0  # than the module as it is: then it hangs
PATIENCE_SECONDS = 10.0
PYTEST = ["-x", "-q", "--tb=no", "--no-header", "-p", "no:xdist", "--hypothesis-seed=0"]


@dataclass(kw_only=True)
class Score:
    """How one module did."""

    module: str
    tests: Sequence[str]
    killed: int = 0
    survivors: int = 0
    problem: str = ""

    @property
    def total(self) -> int:
        return self.killed + self.survivors


def main(arguments: list[str]) -> int:
    """Exit 0 whatever survives: a score is to be read, not to be passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("modules", nargs="+", help="modules, or folders of modules")
    parser.add_argument("--tests", nargs="*", help="judge by these instead of those that mirror the module")
    parser.add_argument("--nice", type=int, default=10, help="how far to step back for others (10)")
    options = parser.parse_args(arguments)
    os.nice(options.nice)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        copy = copied(Path(scratch))
        scores = []
        for module in modules(options.modules):
            score = judged(copy, module, options.tests or mirrored(module), survived)
            print(report(score), flush=True)
            scores.append(score)
    killed, total = sum(each.killed for each in scores), sum(each.total for each in scores)
    print(f"{killed} of {total} mutants noticed ({percent(killed, total)}) in {len(scores)} modules")
    return 0


def copied(scratch: Path) -> Path:
    """What tests need, compiled: only the changed module is compiled again each time."""
    for name in COPIED:
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(
                source, scratch / name, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"), symlinks=True
            )
        else:
            shutil.copy(source, scratch / name)
    compileall.compile_dir(scratch / "src", quiet=1)
    return scratch


def modules(names: Sequence[str]) -> Iterator[str]:
    for name in names:
        path = (ROOT / name).resolve()
        found = sorted(path.rglob("*.py")) if path.is_dir() else [path]
        yield from (str(each.relative_to(ROOT)) for each in found if each.name != "__init__.py")


def mirrored(module: str) -> list[str]:
    """`core/step.py` → `core/test_step*.py`; else the tests of its folder."""
    path = Path(module)
    folder = Path("tests", *path.parent.parts[2:])
    name = path.stem.lstrip("_")
    own = sorted((ROOT / folder).glob(f"test_{name}.py")) + sorted((ROOT / folder).glob(f"test_{name}_*.py"))
    return [str(each.relative_to(ROOT)) for each in own] or [str(folder)]


def survived(module: str, mutant: Mutant) -> None:
    print(f"  {module}:{mutant.line}: {mutant.change}", flush=True)


def judged(copy: Path, module: str, tests: Sequence[str], tell: Callable[[str, Mutant], object]) -> Score:
    """Every mutant of a module; `tell` hears of each that survives, for it takes long."""
    score = Score(module=module, tests=tests)
    path = copy / module
    source = path.read_text(encoding="utf-8")
    for stale in path.parent.glob(f"__pycache__/{path.stem}.*"):
        stale.unlink()
    began = time.monotonic()
    if passed(copy, tests, limit=600) is not True:
        score.problem = "its tests do not pass as it is"
        return score
    limit = (time.monotonic() - began) * SLOWER + PATIENCE_SECONDS
    try:
        for mutant in mutate(source):
            path.write_text(mutant.source, encoding="utf-8")
            if passed(copy, tests, limit):
                score.survivors += 1
                tell(module, mutant)
            else:
                score.killed += 1
    finally:
        path.write_text(source, encoding="utf-8")
    return score


def passed(copy: Path, tests: Sequence[str], limit: float) -> bool:
    """Whether the tests pass, in a process of their own that has all but ralph imported already."""
    import hypothesis  # noqa: F401  # imported once, here, and not by every child
    import msgspec  # noqa: F401
    import pytest

    child = os.fork()
    if child == 0:
        code = 1
        try:
            code = in_child(copy, tests, pytest.main)
        finally:
            os._exit(code)
    until = time.monotonic() + limit
    while time.monotonic() < until:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status) == 0
        time.sleep(0.01)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return False


def in_child(copy: Path, tests: Sequence[str], run: Callable[[list[str]], int]) -> int:
    os.setsid()
    resource.setrlimit(resource.RLIMIT_AS, (MAX_MEMORY_BYTES, MAX_MEMORY_BYTES))
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(nowhere, stream)
    os.chdir(copy)
    os.environ |= {"PYTHONPATH": str(copy / "src"), "PYTHONDONTWRITEBYTECODE": "1"}
    sys.dont_write_bytecode = True
    sys.path.insert(0, str(copy / "src"))
    for name in [each for each in sys.modules if each.partition(".")[0] in ("ralph", "support")]:
        del sys.modules[name]  # of a caller's that has it imported already
    return int(run([*PYTEST, *tests]))


def report(score: Score) -> str:
    share = f"{score.killed}/{score.total} ({percent(score.killed, score.total)})"
    return f"{score.module}: {score.problem or share} by {' '.join(score.tests)}"


def percent(part: int, whole: int) -> str:
    return f"{100 * part / whole:.0f} %" if whole else "–"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
