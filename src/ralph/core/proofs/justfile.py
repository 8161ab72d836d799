"""What a justfile says about some of its recipes: their lines, what they depend on, the variables and settings."""

import re
from collections.abc import Collection, Iterator, Mapping

from msgspec import Struct

JUSTFILE_NAMES = ("justfile", "Justfile", ".justfile")
_HEADER = r"@?([A-Za-z_][\w-]*)([^:=]*):(?!=)(.*)"
_ASSIGNMENT = r"(?:export\s+)?([A-Za-z_][\w-]*)\s*:=\s*(.*)"
_SETTING = r"(set|import\??|mod\??|alias)\s.*"


class JustRecipe(Struct, frozen=True):
    """One recipe as it is written."""

    needs: tuple[str, ...]
    text: tuple[str, ...]  # the head, the attributes above it, and its lines


class Justfile(Struct, frozen=True, kw_only=True):
    """One file, read but not carried out."""

    recipes: Mapping[str, JustRecipe] = {}
    variables: Mapping[str, str] = {}
    settings: tuple[str, ...] = ()

    @property
    def first_recipe(self) -> str:
        return next(iter(self.recipes), "")


class JustUse(Struct, frozen=True, kw_only=True):
    """What one check uses of a justfile."""

    recipes: frozenset[str]
    is_default: bool = False


def parse_justfile(text: str) -> Justfile:
    """Total: any text gives a Justfile."""
    recipes: dict[str, JustRecipe] = {}
    variables: dict[str, str] = {}
    settings: list[str] = []
    attributes: list[str] = []
    lines = text.splitlines()
    for at, line in enumerate(lines):
        if line.startswith((" ", "\t", "#")) or not line.strip():
            continue
        if line.startswith("["):
            attributes.append(line.strip())
        elif found := re.fullmatch(_ASSIGNMENT, line.strip()):
            variables[found[1]] = line.strip()
        elif re.fullmatch(_SETTING, line.strip()):
            settings.append(line.strip())
        elif found := re.fullmatch(_HEADER, line.rstrip()):
            body = tuple(_read_body(lines, at + 1))
            recipes[found[1]] = JustRecipe(_split_needs(found[3]), (*attributes, line.strip(), *body))
            attributes = []
    return Justfile(recipes=recipes, variables=variables, settings=tuple(settings))


def find_just_use(justfile: Justfile, goals: Collection[str]) -> JustUse:
    wanted = list(goals) or [justfile.first_recipe]
    found: set[str] = set()
    while wanted:
        name = wanted.pop()
        if name not in found:
            found.add(name)
            recipe = justfile.recipes.get(name)
            wanted += recipe.needs if recipe else ()
    return JustUse(recipes=frozenset(found), is_default=not goals)


def extract_just_use(justfile: Justfile, use: JustUse) -> object:
    """A comparable value: it differs when what the check uses has changed."""
    recipes = {name: recipe for name, recipe in justfile.recipes.items() if name in use.recipes}
    text = "\n".join(line for recipe in recipes.values() for line in recipe.text)
    used = {name: line for name, line in justfile.variables.items() if name in text or line.startswith("export")}
    return recipes, used, justfile.settings, justfile.first_recipe if use.is_default else ""


def list_just_lines(justfile: Justfile, use: JustUse) -> Iterator[str]:
    """The shell lines that are run, variables filled in where they are plain."""
    values = {name: line.partition(":=")[2].strip().strip("\"'") for name, line in justfile.variables.items()}
    for name in sorted(use.recipes & justfile.recipes.keys()):
        for line in justfile.recipes[name].text[1:]:
            if not line.startswith("["):
                yield re.sub(r"{{\s*([\w-]+)\s*}}", lambda found: values.get(found[1], ""), line.lstrip("@-"))


def _read_body(lines: list[str], at: int) -> Iterator[str]:
    while at < len(lines) and (lines[at].startswith((" ", "\t")) or not lines[at].strip()):
        if lines[at].strip():
            yield lines[at].strip()
        at += 1


def _split_needs(text: str) -> tuple[str, ...]:
    return tuple(re.findall(r"[A-Za-z_][\w-]*", re.sub(r"#.*|'[^']*'|\"[^\"]*\"", "", text)))
