"""What a Makefile says about some of its targets: their rules, what they depend on, the variables they use."""

import fnmatch
import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

MAKEFILE_NAMES = ("GNUmakefile", "makefile", "Makefile")  # in the order make looks for them
MAX_CLOSURE = 500  # targets
_DIRECTIVE = r"(ifeq|ifneq|ifdef|ifndef|else|endif|vpath|undefine|unexport|\$\(eval)\b"
_INCLUDE = r"[-s]?include\s+(.+)"
_ASSIGNMENT = r"(?s)((?:(?:export|override|private)\s+)*)([^\s:#=+?!]+)\s*(:::?=|::=|:=|\+=|\?=|!=|=)\s*(.*)"
_RULE = r"(?s)([^:=#\t][^:=#]*?)\s*(::?)(?!=)\s*([^;]*?)\s*(?:;(.*))?"
_BUILT_IN = {"MAKE": "make", "CURDIR": ".", "PWD": "."}
_REFERENCE = r"\$[({]([\w.-]+)"
# Variables that steer make or the programs it starts, whoever uses them.
_STEERING = frozenset(
    "SHELL .SHELLFLAGS MAKEFLAGS GNUMAKEFLAGS MFLAGS MAKE VPATH .RECIPEPREFIX .DEFAULT_GOAL PATH HOME PYTHONPATH"
    " PYTHONSTARTUP PYTEST_ADDOPTS PYTEST_PLUGINS NODE_OPTIONS NODE_PATH GOFLAGS RUSTFLAGS CARGO JAVA_TOOL_OPTIONS"
    " MAVEN_OPTS GRADLE_OPTS RUBYOPT PERL5OPT LD_PRELOAD BASH_ENV ENV CI".split()
)


class MakeRule(Struct, frozen=True, kw_only=True):
    """One rule as it is written."""

    targets: tuple[str, ...]
    needs: tuple[str, ...] = ()
    recipe: tuple[str, ...] = ()
    variable: str = ""  # an assignment that holds for these targets only


class Makefile(Struct, frozen=True, kw_only=True):
    """One file, read but not carried out: both sides of a condition count."""

    rules: tuple[MakeRule, ...] = ()
    variables: Mapping[str, tuple[str, ...]] = {}  # name → its assignments
    exported: frozenset[str] = frozenset()
    includes: tuple[str, ...] = ()
    directives: tuple[str, ...] = ()  # conditions and other lines that may change the rest

    @property
    def phony(self) -> frozenset[str]:
        return frozenset(name for rule in self.rules if ".PHONY" in rule.targets for name in rule.needs)

    @property
    def first_target(self) -> str:
        names = (name for rule in self.rules for name in rule.targets if not rule.variable)
        return next((name for name in names if not name.startswith(".") and "%" not in name), "")

    def expand(self, text: str, depth: int = 0) -> str:
        """With simple variables filled in, as far as they are known."""
        if "$" not in text or depth > 10:
            return text

        def fill(found: re.Match[str]) -> str:
            name = found[1] or found[2]
            values = self.variables.get(name, ())
            return self.expand(values[-1].partition("=")[2].strip(), depth + 1) if values else _BUILT_IN.get(name, "")

        return re.sub(r"\$[({]([\w.-]+)[)}]|\$(\w)", fill, text.replace("$$", "\0")).replace("\0", "$")


class MakeUse(Struct, frozen=True, kw_only=True):
    """What one check uses of a Makefile: what must stay as it was. New targets may come."""

    targets: frozenset[str]
    variables: frozenset[str] = frozenset()
    is_default: bool = False  # no target was named: it is the first that counts


def parse_makefile(text: str) -> Makefile:
    """Total: any text gives a Makefile."""
    rules: list[MakeRule] = []
    variables: dict[str, tuple[str, ...]] = {}
    exported: set[str] = set()
    includes: list[str] = []
    directives: list[str] = []
    for line, recipe in _read_logical_lines(text):
        if found := re.fullmatch(_INCLUDE, line):
            includes += found[1].split()
        elif re.match(_DIRECTIVE, line) or line.startswith("define "):
            directives.append("\n".join((line, *recipe)))
        elif found := re.fullmatch(_ASSIGNMENT, line):
            variables[found[2]] = (*variables.get(found[2], ()), f"{found[3][:-1]}={found[4]}")
            if "export" in found[1]:
                exported.add(found[2])
        elif line.startswith("export"):
            exported.update(line.split()[1:] or ("*",))
        elif found := re.fullmatch(_RULE, line):
            rules.append(_build_rule(found, recipe))
    return Makefile(
        rules=tuple(rules),
        variables=variables,
        exported=frozenset(exported),
        includes=tuple(includes),
        directives=tuple(directives),
    )


def merge_makefiles(first: Makefile, *others: Makefile) -> Makefile:
    """A file and those it includes, as one."""
    variables = dict(first.variables)
    for other in others:
        for name, values in other.variables.items():
            variables[name] = (*variables.get(name, ()), *values)
    return Makefile(
        rules=(*first.rules, *(rule for other in others for rule in other.rules)),
        variables=variables,
        exported=first.exported.union(*(other.exported for other in others)),
        includes=first.includes,
        directives=(*first.directives, *(line for other in others for line in other.directives)),
    )


def find_make_use(makefile: Makefile, goals: Collection[str]) -> MakeUse:
    """The goals, all they depend on, and the variables all of it uses."""
    wanted = list(goals) or [name for name in (makefile.first_target,) if name]
    targets: dict[str, None] = {}
    while wanted and len(targets) < MAX_CLOSURE:
        name = wanted.pop()
        if name not in targets:
            targets[name] = None
            wanted += [need for rule in _find_rules(makefile, name) for need in _split_needs(makefile, rule)]
    used = frozenset(targets)
    rules = [rule for rule in makefile.rules if not used.isdisjoint(rule.targets) or _is_general(rule)]
    names = {name for rule in rules for name in _find_references(makefile, _join_rule(rule))}
    return MakeUse(targets=used, variables=frozenset(names), is_default=not goals)


def extract_make_use(makefile: Makefile, use: MakeUse) -> object:
    """A comparable value: it differs when what the check uses has changed."""
    steering = _STEERING | makefile.exported
    names = use.variables | steering
    return (
        [rule for rule in makefile.rules if not use.targets.isdisjoint(rule.targets) or _is_general(rule)],
        use.targets & makefile.phony,
        {name: values for name, values in makefile.variables.items() if name in names},
        makefile.exported,
        makefile.includes,
        makefile.directives,
        makefile.first_target if use.is_default else "",
    )


def list_make_lines(makefile: Makefile, use: MakeUse) -> Iterator[str]:
    """The shell lines that are run for these targets, variables filled in."""
    for rule in makefile.rules:
        if not use.targets.isdisjoint(rule.targets) or any("%" in target for target in rule.targets):
            for line in rule.recipe:
                yield makefile.expand(line.lstrip("@-+ \t"))


def list_fakeable_targets(makefile: Makefile, use: MakeUse) -> list[str]:
    """Targets that are names, not files: a file called like one of them would be taken for the work done."""
    names = []
    for name in sorted(use.targets - makefile.phony):
        rules = _find_rules(makefile, name)
        recipe = "\n".join(line for rule in rules for line in rule.recipe)
        is_name = "." not in name and "/" not in name and "$" not in name
        if rules and is_name and not _makes_file(recipe, name):
            names.append(name)
    return names


def list_stamps(makefile: Makefile, use: MakeUse) -> Iterator[tuple[str, str]]:
    """Files that say when something was last run, with what is run: who makes one need not run it."""
    for name in sorted(use.targets - makefile.phony):
        recipe = "\n".join(makefile.expand(line.lstrip("@-+ \t")) for line in _list_recipe(makefile, name))
        touched = re.search(r"\btouch\s[^;&|\n]*", "\n".join(_list_recipe(makefile, name)))
        if touched and ("$@" in touched[0] or name in makefile.expand(touched[0]).split()):
            yield name, recipe


def _list_recipe(makefile: Makefile, name: str) -> list[str]:
    return [line for rule in _find_rules(makefile, name) for line in rule.recipe]


def _makes_file(recipe: str, name: str) -> bool:
    """Whether the recipe seems to make a file or folder called like its target."""
    made = rf"(?:mkdir|touch|cp|mv|-o|>|-d|venv)\s[^;&|]*(?<![\w/.-]){re.escape(name)}\b"
    return "$@" in recipe or bool(re.search(made, recipe))


def _read_logical_lines(text: str) -> Iterator[tuple[str, list[str]]]:
    """Each line outside recipes, continuations joined, comments gone, with the recipe that follows it."""
    lines = re.sub(r"\\\r?\n", " ", text).splitlines()
    at = 0
    while at < len(lines):
        line = lines[at]
        at += 1
        if line.startswith("define "):
            end = next((i for i in range(at, len(lines)) if lines[i].strip() == "endef"), len(lines))
            yield line.strip(), lines[at:end]
            at = end + 1
            continue
        line = re.sub(r"(^|\s)#.*", "", line) if not line.startswith("\t") else ""
        recipe = []
        while at < len(lines) and (lines[at].startswith("\t") or _is_between_recipes(lines, at)):
            if lines[at].strip() and not lines[at].strip().startswith("#"):
                recipe.append(lines[at].strip())
            at += 1
        if line.strip():
            yield line.strip(), recipe


def _is_between_recipes(lines: list[str], at: int) -> bool:
    """Whether it is an empty line or a comment with more of the recipe behind it."""
    while at < len(lines) and (not lines[at].strip() or lines[at].startswith("#")):
        at += 1
    return at < len(lines) and lines[at].startswith("\t")


def _build_rule(found: re.Match[str], recipe: list[str]) -> MakeRule:
    targets, needs = tuple(found[1].split()), found[3]
    if re.fullmatch(_ASSIGNMENT, needs):
        return MakeRule(targets=targets, variable=needs)
    inline = (found[4].strip(),) if found[4] else ()
    return MakeRule(targets=targets, needs=tuple(needs.replace("|", " ").split()), recipe=(*inline, *recipe))


def _find_rules(makefile: Makefile, name: str) -> list[MakeRule]:
    exact = [rule for rule in makefile.rules if name in rule.targets]
    if any(rule.recipe for rule in exact):
        return exact
    patterns = [rule for rule in makefile.rules if any(_matches(target, name) for target in rule.targets)]
    return [*exact, *patterns]


def _matches(target: str, name: str) -> bool:
    return "%" in target and fnmatch.fnmatchcase(name, target.replace("%", "*"))


def _is_general(rule: MakeRule) -> bool:
    """Pattern rules and special targets, which hold for others; `.PHONY` counts only for the targets that are used."""
    return any("%" in target or re.fullmatch(r"\.[A-Z_]+", target) for target in rule.targets if target != ".PHONY")


def _split_needs(makefile: Makefile, rule: MakeRule) -> list[str]:
    return makefile.expand(" ".join(rule.needs)).split()


def _join_rule(rule: MakeRule) -> str:
    return "\n".join((*rule.targets, *rule.needs, *rule.recipe, rule.variable))


def _find_references(makefile: Makefile, text: str) -> set[str]:
    """The variables a text names, and those their values name."""
    found: set[str] = set()
    wanted = re.findall(_REFERENCE, text)
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            wanted += [more for value in makefile.variables.get(name, ()) for more in re.findall(_REFERENCE, value)]
    return found
