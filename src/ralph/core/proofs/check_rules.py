"""From a check's command to what it rests on: scripts, runners, their configuration, what would be taken for them."""

import re
from typing import Protocol

from msgspec import Struct

from ralph.core.proofs import justfile, makefile
from ralph.core.proofs.calls import Call, find_calls
from ralph.core.proofs.config_parts import read_package_scripts
from ralph.core.proofs.justfile import JustUse
from ralph.core.proofs.makefile import MakeUse
from ralph.core.proofs.runners import COMPARING_COMMANDS, LOOKING_COMMANDS, MAKE_RUNNERS, PACKAGE_RUNNERS, RUNNERS
from ralph.core.proofs.script_parts import (
    find_from_own_folder,
    list_imported_files,
    list_library_modules,
    list_looped_patterns,
)
from ralph.core.proofs.shell_line import join_path
from ralph.core.proofs.suites import is_check_name, is_golden_name

ANY_LANGUAGE = "any"
ANY_FOLDER = "*"  # of a package.json: that of a workspace nobody named
_INSTALLED_FOLDERS = (".venv/", "venv/", "node_modules/", "vendor/", "env/")
_MAX_DEPTH = 6
_MAX_CALLS = 400
# Subcommands that run no tests.
_TESTLESS = {
    "cargo": ("clippy", "fmt", "build", "check", "doc", "deny", "audit"),
    "go": ("vet", "build", "fmt", "generate", "mod"),
    "dotnet": ("build", "format", "restore"),
    "deno": ("lint", "fmt", "check"),
    "mix": ("format", "credo", "compile", "dialyzer"),
    "swift": ("build",),
    "dart": ("analyze", "format"),
    "flutter": ("analyze",),
    "composer": ("install", "validate"),
}
EXAMPLE_RUNNER = "doctest"
_PYTHON_PATH = r"\bPYTHONPATH=[\"']?([^\s;&|\"'$]+)"
_PROGRAM_READERS = ("awk", "gawk", "mawk", "sed", "jq")
_FILE_OPTIONS = ("-f", "--file", "--from-file")
_FOLDER_OPTIONS = ("-C", "--directory", "--prefix", "--cwd", "--dir")
_WORKSPACE_OPTIONS = ("-w", "--workspace", "-ws", "--workspaces", "-r", "--recursive", "--filter", "-F", "workspaces")
_SCRIPT_RUNNERS = ("pytest", "unittest", "tox", "nox", "jest", "vitest", "mocha", "cargo", "gradle", "mvn", "rspec")


class ProjectFiles(Protocol):
    """The files of the tree a check was first run on, by their path from its root."""

    def read(self, path: str) -> str | None:
        """Its text, or the beginning of it; None: there is no such file."""
        ...

    def find(self, pattern: str) -> list[str]:
        """The paths that match, a star for anything."""
        ...


class MakefilePart(Struct, frozen=True):
    """What a check uses of one Makefile, or of all that match a pattern."""

    path: str
    use: MakeUse


class JustfilePart(Struct, frozen=True):
    """What a check uses of one justfile."""

    path: str
    use: JustUse


class PackagePart(Struct, frozen=True):
    """What a check uses of one package.json."""

    folder: str  # of its package.json
    scripts: tuple[str, ...]


class Shadow(Struct, frozen=True):
    """A name that must not appear: it would be taken for something else."""

    path: str
    reason: str


class CheckedProgram(Struct, frozen=True):
    """A program as the check names it."""

    name: str
    folder: str = ""  # where it is run


class CheckRules(Struct, frozen=True, kw_only=True):
    """What one check rests on, by the tree it began with."""

    command: str
    runners: tuple[str, ...] = ()
    languages: tuple[str, ...] = ()  # whose tests it runs
    scripts: tuple[str, ...] = ()  # files that judge, or patterns of them
    tests: tuple[str, ...] = ()  # files it names as tests
    examples: tuple[str, ...] = ()  # work whose own examples it tries: those judge, the rest does not
    work: tuple[str, ...] = ()  # files it runs that may be the work itself
    looks: tuple[str, ...] = ()  # files that are all it looks at: it runs nothing
    makefiles: tuple[MakefilePart, ...] = ()
    justfiles: tuple[JustfilePart, ...] = ()
    packages: tuple[PackagePart, ...] = ()
    shadows: tuple[Shadow, ...] = ()
    modules: tuple[str, ...] = ()  # Python modules that would be taken for the runner's
    folders: tuple[str, ...] = ()  # where it runs something
    programs: tuple[CheckedProgram, ...] = ()
    unknown: tuple[str, ...] = ()  # programs of which nobody knows what configures them
    lines: tuple[str, ...] = ()  # all that it leads a shell to run


def resolve_check(command: str, files: ProjectFiles, folder: str = "") -> CheckRules:
    """Total: any command gives rules. What it runs through make, npm, just or a shell script is looked into. `folder`:
    where it is run, from the root of the tree."""
    resolver = _Resolver(files)
    resolver.add_line(command, folder, 0)
    return resolver.build_rules(command)


class _Resolver:
    """Collects while it follows the calls."""

    def __init__(self, files: ProjectFiles) -> None:
        self._files = files
        self._seen: dict[tuple[str, str], None] = {}
        self._runners: dict[str, None] = {}
        self._languages: dict[str, None] = {}
        self._scripts: dict[str, None] = {}
        self._tests: dict[str, None] = {}
        self._examples: dict[str, None] = {}
        self._work: dict[str, None] = {}
        self._looks: dict[str, None] = {}
        self._only_looks = True
        self._makefiles: list[MakefilePart] = []
        self._justfiles: list[JustfilePart] = []
        self._packages: list[PackagePart] = []
        self._shadows: dict[Shadow, None] = {}
        self._modules: dict[str, None] = {}
        self._folders: dict[str, None] = {}
        self._programs: dict[CheckedProgram, None] = {}
        self._unknown: dict[str, None] = {}
        self._script_folder = ""  # of the script whose lines are followed

    def build_rules(self, command: str) -> CheckRules:
        return CheckRules(
            command=command,
            runners=(*self._runners, *(("npm",) if self._packages else ())),
            languages=tuple(self._languages),
            scripts=tuple(self._scripts),
            tests=tuple(self._tests),
            examples=tuple(self._examples),
            work=tuple(path for path in self._work if path not in self._scripts),
            looks=tuple(self._looks) if self._only_looks else (),
            makefiles=tuple(self._makefiles),
            justfiles=tuple(self._justfiles),
            packages=tuple(self._packages),
            shadows=tuple(self._shadows),
            modules=tuple(self._modules),
            folders=tuple(self._folders),
            programs=tuple(self._programs),
            unknown=tuple(self._unknown),
            lines=tuple(line for line, _ in self._seen),
        )

    def add_line(self, line: str, folder: str, depth: int) -> None:
        key = (line, folder)
        if depth > _MAX_DEPTH or key in self._seen or len(self._seen) > _MAX_CALLS:
            return
        self._seen[key] = None
        for found in re.findall(_PYTHON_PATH, line):
            self._folders.update((join_path(folder, place), None) for place in found.split(":") if place[:1] != "/")
        self._scripts.update(
            (join_path(folder, each), None) for each in list_looped_patterns(line) if is_check_name(each)
        )
        for call in find_calls(line, folder):
            self._add_call(call, depth)

    def _add_call(self, call: Call, depth: int) -> None:
        self._folders[call.folder] = None
        self._only_looks = self._only_looks and call.name in LOOKING_COMMANDS
        self._looks.update(dict.fromkeys(join_path(call.folder, word) for word in call.arguments if word[:1] != "-"))
        named = call.launchers if call.launchers[-1:] == ("-m",) else (*call.launchers, call.program)
        for program in named:
            if program and program not in ("-m", *LOOKING_COMMANDS) and "$" not in program:
                self._programs[CheckedProgram(program, call.folder)] = None
        if (
            any(launcher.rpartition("/")[2].startswith("python") for launcher in call.launchers)
            or call.name == "python"
        ):
            self._modules["sitecustomize"] = self._modules["usercustomize"] = None
        if call.name in MAKE_RUNNERS:
            self._add_make(call, depth)
        elif call.name in PACKAGE_RUNNERS and not (call.name == "bun" and call.arguments[:1] == ("test",)):
            self._add_package(call, depth)
        elif call.name == "just":
            self._add_just(call, depth)
        elif call.name in RUNNERS and not self._is_project_script(call):
            self._add_runner(call.name, call)
        elif call.script:
            self._add_script(call, depth)
        elif call.name in COMPARING_COMMANDS:
            paths = (join_path(call.folder, word) for word in call.arguments if not word.startswith("-"))
            self._scripts.update(dict.fromkeys(path for path in paths if path and is_golden_name(path)))
        elif call.name not in LOOKING_COMMANDS and call.name != "python":
            self._languages[ANY_LANGUAGE] = None
            self._unknown[call.name] = None
        if call.name in _PROGRAM_READERS:
            pairs = zip(call.arguments, call.arguments[1:], strict=False)
            self._scripts.update(
                (join_path(call.folder, path), None) for option, path in pairs if option in _FILE_OPTIONS
            )

    def _is_project_script(self, call: Call) -> bool:
        """`bin/rake` of the project is a script of its own; an installed one is not in the tree."""
        return (
            bool(call.script)
            and not call.script.startswith(_INSTALLED_FOLDERS)
            and call.name not in ("gradlew", "mvnw")
        )

    def _add_runner(self, name: str, call: Call | None = None) -> None:
        runner = RUNNERS[name]
        self._runners[name] = None
        self._modules.update(dict.fromkeys(runner.modules))
        if "python" in runner.languages:
            self._modules["sitecustomize"] = self._modules["usercustomize"] = None
        arguments = call.arguments if call else ()
        if next((word for word in arguments if not word.startswith(("-", "+"))), "") not in _TESTLESS.get(name, ()):
            self._languages.update(dict.fromkeys(runner.languages))
        for before, word in zip(("", *arguments), arguments, strict=False):
            path = join_path(call.folder, word.partition("=")[2] or word.partition("::")[0]) if call else ""
            is_option = "=" in word or before.startswith("-")
            if path and "." in path.rpartition("/")[2] and (runner.languages or is_option) and self._may_be_file(path):
                (self._examples if name == EXAMPLE_RUNNER else self._tests)[path] = None

    def _may_be_file(self, path: str) -> bool:
        """One that is there, or could be written: `pytest test_new.py`."""
        return not any(char in path for char in "*?$[]{} ") and not path.startswith("-")

    def _add_script(self, call: Call, depth: int) -> None:
        path = call.script
        if "$" in path:
            path = find_from_own_folder(call.program or path, self._script_folder, call.folder, self._exists) or path
        text = self._files.read(path)
        is_judge = is_check_name(path) and not (call.is_compared and not is_check_name(path.rpartition("/")[2]))
        (self._scripts if is_judge or call.is_sourced else self._work)[path] = None
        if path.startswith(_INSTALLED_FOLDERS):  # a runner nobody knows
            self._languages[ANY_LANGUAGE] = None
        if text is None:
            return
        if _is_shell_script(path, text):
            outer, self._script_folder = self._script_folder, path.rpartition("/")[0]
            self.add_line(text, call.folder, depth + 1)
            self._script_folder = outer
        else:
            self._add_imports(path, text, is_judge=is_judge, depth=depth)
            for name in _SCRIPT_RUNNERS:
                if name in text:
                    self._add_runner(name)

    def _add_imports(self, path: str, text: str, *, is_judge: bool, depth: int) -> None:
        """Modules beside a script that judges do so too, if they are called so; others may be the work itself."""
        folder = path.rpartition("/")[0]
        if path.endswith(".py"):
            self._folders[folder] = None
            for module in list_library_modules(text):
                self._shadows[Shadow(join_path(folder, f"{module}.py"), f"would be imported as {module}")] = None
        for found in list_imported_files(path, text, self._exists) if is_judge and depth < _MAX_DEPTH else ():
            if found not in self._scripts and is_check_name(found):
                is_named_so = is_check_name(found.rpartition("/")[2])
                (self._scripts if is_named_so else self._work)[found] = None
                self._add_imports(found, self._files.read(found) or "", is_judge=is_named_so, depth=depth + 1)

    def _exists(self, path: str) -> bool:
        return self._files.read(path) is not None

    def _add_make(self, call: Call, depth: int) -> None:
        goals, folder, path = _read_make_arguments(call)
        path = path or next(
            (name for name in _join_paths(makefile.MAKEFILE_NAMES, folder) if self._files.read(name) is not None), ""
        )
        text = self._files.read(path) if path else None
        if text is None:
            use = MakeUse(targets=frozenset(goals), is_default=not goals)
            names = [path] if path else _join_paths(makefile.MAKEFILE_NAMES, folder)
            self._makefiles += [MakefilePart(name, use) for name in names]
            self._languages[ANY_LANGUAGE] = None
            return
        main = makefile.parse_makefile(text)
        found = [self._files.find(name) if "*" in name else [name] for name in self._list_includes(main, folder)]
        included = {name: self._files.read(name) for names in found for name in names}
        whole = makefile.merge_makefiles(main, *(makefile.parse_makefile(text or "") for text in included.values()))
        use = makefile.find_make_use(whole, goals)
        patterns = [name for name in self._list_includes(main, folder) if "*" in name]
        self._makefiles += [MakefilePart(name, use) for name in (path, *included, *patterns)]
        for target, recipe in makefile.list_stamps(whole, use):
            if any(call.name in RUNNERS and call.name not in PACKAGE_RUNNERS for call in find_calls(recipe)):
                self._shadows[Shadow(join_path(folder, target), f"make would not run `{target}` again")] = None
        for target in makefile.list_fakeable_targets(whole, use):
            self._shadows[Shadow(join_path(folder, target), f"named like the make target `{target}`")] = None
        for name in _list_earlier(makefile.MAKEFILE_NAMES, path, folder):
            self._shadows[Shadow(name, f"make would read it instead of {path}")] = None
        for line in makefile.list_make_lines(whole, use):
            self.add_line(line, folder, depth + 1)

    def _list_includes(self, main: makefile.Makefile, folder: str) -> list[str]:
        written = re.sub(r"\$[({]wildcard\s+([^)}]*)[)}]", r"\1", " ".join(main.includes))
        names = (join_path(folder, name) for name in main.expand(written).split())
        return [name for name in names if name]

    def _add_just(self, call: Call, depth: int) -> None:
        goals = tuple(word for word in call.arguments if not word.startswith("-") and "=" not in word)
        found = ((name, self._files.read(name)) for name in _join_paths(justfile.JUSTFILE_NAMES, call.folder))
        path, text = next(((name, text) for name, text in found if text is not None), ("", ""))
        if not path or text is None:
            return
        parsed = justfile.parse_justfile(text)
        use = justfile.find_just_use(parsed, [name for name in goals if name in parsed.recipes] or goals[:1])
        self._justfiles.append(JustfilePart(path, use))
        for line in justfile.list_just_lines(parsed, use):
            self.add_line(line, call.folder, depth + 1)

    def _add_package(self, call: Call, depth: int) -> None:
        script, folder, is_anywhere = _read_package_arguments(call)
        if not script:
            return
        text = self._files.read(join_path(folder, "package.json")) or ""
        lines = read_package_scripts(text)
        if script not in lines and call.name != "npm" and not is_anywhere and text:
            self.add_line(" ".join((script, *call.arguments[1:])), folder, depth + 1)  # yarn jest: a program
            return
        self._packages.append(PackagePart(ANY_FOLDER if is_anywhere else folder, (script,)))
        if script not in lines:
            self._languages["javascript"] = None
        for name in (f"pre{script}", script, f"post{script}"):
            if name in lines:
                self.add_line(lines[name], folder, depth + 1)


def _read_make_arguments(call: Call) -> tuple[list[str], str, str]:
    """The goals, the folder and the file that was named."""
    goals: list[str] = []
    folder, path = call.folder, ""
    words = iter(call.arguments)
    for word in words:
        option, _, value = word.partition("=")
        if option in _FOLDER_OPTIONS:
            folder = join_path(folder, value or next(words, ""))
        elif option in ("-f", "--file", "--makefile"):
            path = join_path(folder, value or next(words, ""))
        elif option in ("-j", "-l", "-o", "-W", "-I", "--jobs", "--load-average"):
            if not value and option != "-j":
                next(words, "")
        elif not word.startswith("-") and "=" not in word and not word.isdigit() and "$" not in word:
            goals.append(word)
    return goals, folder, path


def _read_package_arguments(call: Call) -> tuple[str, str, bool]:
    """The script, the folder, and whether it may be the script of any workspace; no script: nothing is run."""
    folder, plain = call.folder, []
    is_anywhere = False
    words = iter(call.arguments)
    for word in words:
        option, _, value = word.partition("=")
        if word == "--":
            break
        if option in _FOLDER_OPTIONS:
            folder = join_path(folder, value or next(words, ""))
        elif option in _WORKSPACE_OPTIONS:
            is_anywhere = True
            if option in ("-w", "--workspace", "--filter", "-F") and not value:
                next(words, "")
        elif not word.startswith("-"):
            plain.append(word)
    if call.name == "yarn" and plain[:1] == ["workspace"]:
        is_anywhere, plain = True, plain[2:]
    match plain:
        case ["run" | "run-script" | "rum", script, *_]:
            return script, folder, is_anywhere
        case ["t" | "tst", *_] if call.name == "npm":
            return "test", folder, is_anywhere
        case ["test" | "start" | "stop" | "restart" as script, *_]:
            return script, folder, is_anywhere
        case [script, *_] if call.name != "npm" and script not in ("install", "add", "i", "ci", "audit"):
            return script, folder, is_anywhere
        case _:
            return "", folder, is_anywhere


def _join_paths(names: tuple[str, ...], folder: str) -> list[str]:
    return [join_path(folder, name) for name in names]


def _list_earlier(names: tuple[str, ...], path: str, folder: str) -> list[str]:
    """Names that would be found before this one."""
    placed = _join_paths(names, folder)
    return placed[: placed.index(path)] if path in placed else []


def _is_shell_script(path: str, text: str) -> bool:
    first = text.partition("\n")[0]
    if first.startswith("#!"):
        return first.rstrip().endswith("sh") or "sh " in first
    name = path.rpartition("/")[2]
    return name.endswith((".sh", ".bash", ".bats", ".zsh")) or "." not in name
